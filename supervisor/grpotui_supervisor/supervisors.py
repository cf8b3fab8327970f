"""The processes beside a run: starting its shim and its monitor, and asking the shim for something."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from grpotui_supervisor.errors import StartError
from grpotui_supervisor.shim import kernel, pidfd
from grpotui_supervisor.source import liveness
from grpotui_supervisor.source.source import Source

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grpotui_supervisor.model.run_state import RunState
    from grpotui_supervisor.rundir import RunDirectory

_SHIM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "shim")
_READY_SECONDS = 10.0


def start_shim(directory: RunDirectory, document: Mapping[str, Any], environment: Mapping[str, str]) -> None:
    """Starts guard and worker, and returns once they hold the lock of the run.

    Raises:
        StartError: they did not come up.
    """
    env = {name: value for name, value in environment.items() if not name.startswith("GRPOTUI_RUN")}
    command = [sys.executable, "-I", "-S", _SHIM, directory.path]
    with open(os.open(directory.file("shim.err"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "wb") as stderr:
        shim = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=stderr, cwd="/", env=env,
            start_new_session=True,
        )  # fmt: skip
    try:
        shim.communicate(json.dumps(document).encode(), timeout=_READY_SECONDS)
    except (subprocess.TimeoutExpired, BrokenPipeError):
        shim.kill()
        shim.wait()
    if shim.returncode == 0 and _wait_for(lambda: _is_up(directory)):
        return
    raise StartError(f"the shim of {directory.run_id} did not come up: {_last_words(directory)}")


def _is_up(directory: RunDirectory) -> bool:
    if directory.is_locked("shim.lock"):
        return True
    source = Source(directory)  # a job of a few milliseconds may be over already
    source.update(None)
    return source.run.done


def _wait_for(condition: Any, seconds: float = _READY_SECONDS) -> bool:  # noqa: ANN401  (a callable)
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.002)
    return True


def _last_words(directory: RunDirectory) -> str:
    try:
        with open(directory.file("shim.err"), encoding="utf-8", errors="replace") as file:
            lines = file.read().strip().splitlines()
    except OSError as error:
        return f"{directory.file('shim.err')}: {error.strerror}"
    return lines[-1] if lines else "it said nothing"


def start_monitor(directory: RunDirectory) -> None:
    """Starts a monitor in a session of its own; a second one ends at once by itself."""
    command = [sys.executable, "-m", "grpotui_supervisor.monitor", directory.path]
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    env = {name: value for name, value in os.environ.items() if not name.startswith("GRPOTUI_RUN")}
    env["PYTHONPATH"] = os.pathsep.join(filter(None, (root, env.get("PYTHONPATH"))))
    with open(os.open(directory.file("monitor.err"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "wb") as stderr:
        monitor = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr, cwd="/", env=env,
            start_new_session=True,
        )  # fmt: skip
    monitor.wait()  # it leaves at once, and its child, nobody's, goes on


def ensure_monitor(directory: RunDirectory, source: Source, view: liveness.View) -> bool:
    """Starts the monitor of a live run that has none; returns whether it had to."""
    if view.monitor_alive or not view.can_control or os.stat(directory.path).st_uid != os.geteuid():
        return False
    if source.run.attached:
        if source.run.following_ended is not None:
            return False
    elif not view.shim_alive and not any(m.is_open for m in liveness.settle(source.run, view).members.values()):
        return False
    start_monitor(directory)
    return True


def ask(directory: RunDirectory, what: str, **fields: object) -> None:
    """Hands the shim a request; on an unsupervised run a shim in adopt mode is started first, on an ended one nothing.

    On a disk that takes no file the request goes as a signal: it must be possible to stop such a run.

    Raises:
        StartError: no shim could be started.
        OSError: neither way worked.
    """
    source = Source(directory)
    source.update(None)
    if not directory.is_locked("shim.lock"):
        source.update(None)  # its last words came before it let go of the lock
        if source.run.done:
            return
        start_shim(directory, _adoption(source), os.environ)
        source.update(None)
    try:
        directory.request(what, **fields)
    except OSError:
        number = next((n for n, meaning in kernel.STOP_SIGNALS.items() if meaning == what), None)
        if number is None or not _signal(source.run, number):
            raise
        return
    _signal(source.run, signal.SIGUSR1)


def _adoption(source: Source) -> dict[str, Any]:
    launch = source.facts.get("profile", {}).get("launch", {})
    names = {
        "grace": "grace_seconds",
        "teardown_grace": "teardown_grace_seconds",
        "leftover_grace": "leftover_grace_seconds",
        "leftovers": "leftovers",
        "interrupt": "interrupt_seconds",
        "terminate": "terminate_seconds",
    }
    return {
        "run": source.directory.run_id,
        "node": source.facts.get("node", "node-0"),
        "adopt": True,
        "limits": {short: launch[name] for short, name in names.items() if name in launch},
    }


def _signal(run: RunState, number: int) -> bool:
    """To the process that runs the loop: the worker, or the guard after a takeover."""
    if run.shim is None:
        return False
    for pid, start in ((run.shim.worker, run.shim.worker_start), (run.shim.guard, run.shim.guard_start)):
        if pid is None or start is None:
            continue
        fd = pidfd.open_verified(pid, start)
        if fd is not None:
            try:
                return pidfd.send(fd, number)
            finally:
                os.close(fd)
    return False


def await_monitor(directory: RunDirectory, *, seconds: float) -> None:
    """Waits until the monitor of a run has begun: a short run ends before that."""
    _wait_for(lambda: os.path.exists(directory.file("monitor.lock")), seconds)


def finish_monitoring(directory: RunDirectory, *, seconds: float) -> None:
    """Waits until the last output of an ended run is on record; a monitor that died is replaced for that."""
    if _wait_for(lambda: not directory.is_locked("monitor.lock"), seconds) and not _is_complete(directory):
        start_monitor(directory)
        _wait_for(lambda: _is_complete(directory), seconds)
        _wait_for(lambda: not directory.is_locked("monitor.lock"), seconds)


def _is_complete(directory: RunDirectory) -> bool:
    """Whether the timeline knows every log at its full size."""
    source = Source(directory)
    source.update(None)
    known = source.logs.sizes()
    for member in os.listdir(directory.file("ranks")):
        for stream in ("stdout", "stderr"):
            path = directory.log(member, stream)
            if os.path.exists(path) and os.path.getsize(path) != known.get(f"{member}/{stream}.log", 0):
                return False
    return True
