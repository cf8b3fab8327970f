"""Programs in the training interpreter: started in the job's environment, listened to, and ended with all they started.

Each has a session of its own and a mark in its environment, which also those carry that leave the session. When grpotui
is killed, its end of their stdin closes, and they end themselves (`programs.base`).
"""

from __future__ import annotations

import base64
import contextlib
import functools
import os
import secrets
import signal
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from grpotui_supervisor.model.redact import secret_values
from grpotui_supervisor.model.redact import text as redacted
from grpotui_supervisor.preflight.hearing import Hearing
from grpotui_supervisor.shim import procfs

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping, Sequence

    from grpotui_supervisor.preflight.check import Job

MARK: Final = "GRPOTUI_PREFLIGHT"
_FOLDER: Final = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
_BASE: Final = "grpotui_supervisor.preflight.programs.base"
_LOADER: Final = (
    "import sys; sys.path[:] = [p for p in sys.path if p]; import base64, types; "
    "r = lambda n, g: exec(compile(base64.b64decode(sys.argv.pop(1)), n, 'exec'), g); "
    f"m = sys.modules['{_BASE}'] = types.ModuleType('{_BASE}'); "
    "r('grpotui/base.py', m.__dict__); r('grpotui/program.py', {'__name__': '__main__'})"
)
"""One line, and the sources as base64: `conda run` refuses arguments with line ends. What lies in the job's directory
must not stand in for a module of the standard library."""
_POLL_S: Final = 0.01
_GONE_S: Final = 3.0
"""What was killed is gone within milliseconds, or hangs in the kernel."""

Outcome = Literal["answered", "silent", "crashed", "not_started", "timed_out", "stopped", "ended"]
"""`silent`: it exited without an answer; `crashed`: by a signal before its answer; `stopped`: the preflight was given
up; `ended`: by us, since another rank had failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What became of a program."""

    outcome: Outcome
    document: dict[str, Any] | None
    """All facts that it told, the later over the earlier; None: it told none."""
    returncode: int | None
    """As of `subprocess`: a negative signal number for a death by signal."""
    stderr_tail: str
    """Its last words, without secrets of the environment."""
    seconds: float
    error: str | None = None
    """Why it could not be started."""
    hangs: str | None = None
    """Where it was when time was up."""
    left: tuple[int, ...] = ()
    """Pids that KILL did not end."""

    @property
    def facts(self) -> dict[str, Any]:
        """The document, empty where there is none."""
        return self.document or {}

    @property
    def words(self) -> str:
        """What became of it, for people."""
        still = f"; pid {', '.join(map(str, self.left))} could not be ended" if self.left else ""
        return self._end() + still

    def _end(self) -> str:
        if self.outcome == "not_started":
            return f"could not be started: {self.error}"
        if self.outcome in ("timed_out", "stopped", "ended"):
            word = {"timed_out": "did not return", "stopped": "was given up", "ended": "was still waiting"}[
                self.outcome
            ]
            return f"{word} after {self.seconds:.0f} s ({self.hangs})"
        if self.returncode is not None and self.returncode < 0:
            return f"was killed by {_signal_name(-self.returncode)}"
        return f"exited {self.returncode}" + ("" if self.outcome == "answered" else " without an answer")


class Child:
    """One program that was started; `gather` waits for it and ends it."""

    def __init__(
        self, name: str, job: Job, *, args: Sequence[str] = (), extra_env: Mapping[str, str | None] | None = None
    ) -> None:
        """Starts it. `extra_env`: on top of the job's environment; None takes a variable away."""
        self._mark = f"{os.getpid()}-{secrets.token_hex(6)}"
        environment = {**job.environment, **(extra_env or {}), MARK: self._mark}
        self._env = {key: value for key, value in environment.items() if value is not None}
        self._began = time.monotonic()
        self._process: subprocess.Popen[bytes] | None = None
        self._heard = Hearing()
        self.answer: Answer | None = None
        """Once it has ended."""
        try:
            self._start([*job.python, "-c", _LOADER, _source("base"), _source(name), *args], job.cwd)
        except (OSError, ValueError) as error:  # ValueError: a NUL in an argument
            reason = error.strerror if isinstance(error, OSError) else str(error)
            self.answer = self._answer("not_started", None, error=f"{job.python[0]}: {reason}")

    def _start(self, argv: list[str], cwd: str) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            argv, cwd=cwd, env=self._env, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True, bufsize=0
        )
        assert self._process.stdin is not None  # noqa: S101  (it is a pipe)
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(b"!")
        self._heard.listen(self._process)

    def step(self, seconds: float) -> None:
        """Waits a little, takes what it said, and notices its end."""
        if self._process is None or self.answer is not None:
            return
        self._heard.take(seconds)
        if os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            self._finish(None)

    def end(self, why: Literal["timed_out", "stopped", "ended"]) -> None:
        """Ends it, if it has not ended by itself."""
        if self._process is not None and self.answer is None:
            self._finish(why)

    def _finish(self, why: Outcome | None) -> None:
        """Not reaped before its group is killed, so that the group's number cannot be another's by then."""
        process = self._process
        assert process is not None  # noqa: S101  (the callers asked)
        hangs = None if why is None else self._place(process.pid)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        left = self._kill_marked()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GONE_S)
        self._heard.close(process)
        self.answer = self._answer(why or self._outcome(process.returncode), process.returncode, hangs=hangs, left=left)

    def _outcome(self, returncode: int | None) -> Outcome:
        told = self._heard.document
        if told.get("done") or (told and returncode == 0):
            return "answered"
        return "crashed" if returncode is not None and returncode < 0 else "silent"

    def _kill_marked(self) -> tuple[int, ...]:
        """Whoever carries the mark, in whichever session; those that KILL does not end within the time."""
        deadline = time.monotonic() + _GONE_S
        while True:
            alive = [pid for pid in procfs.marked(self._mark, MARK) if procfs.is_running(pid)]
            if not alive or time.monotonic() > deadline:
                return tuple(alive)
            for pid in alive:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(_POLL_S)

    def _place(self, leader: int) -> str:
        """Where in the kernel the interpreter waits; `uv run` and the like only wait for it."""
        own = self._heard.document.get("pid")
        pid = own if isinstance(own, int) and own in procfs.marked(self._mark, MARK) else leader
        found = procfs.stat(pid)
        stage = self._heard.document.get("stage")
        at = "" if stage is None else f"at {stage}, "
        return f"{at}pid {pid}, state {found.state if found else '?'}, wchan {procfs.wait_channel(pid) or 'not told'}"

    def _answer(self, outcome: Outcome, returncode: int | None, **more: Any) -> Answer:  # noqa: ANN401
        told = {key: value for key, value in self._heard.document.items() if key != "done"}
        return Answer(
            outcome=outcome,
            document=told or None,
            returncode=returncode,
            stderr_tail=redacted(self._heard.stderr, secret_values(self._env)),
            seconds=round(time.monotonic() - self._began, 3),
            **more,
        )


def gather(
    children: Sequence[Child], *, limit_s: float, stopping: threading.Event | None, spare_s: float | None = None
) -> list[Answer]:
    """Waits for all of them, and ends those that are still there when time is up.

    `spare_s`: so long the others get once one has ended without its answer; None: as long as there is time.
    """
    deadline, why = time.monotonic() + limit_s, "timed_out"
    try:
        while open_ones := [child for child in children if child.answer is None]:
            for child in open_ones:
                child.step(_POLL_S / len(open_ones))
            failed = any(c.answer is not None and c.answer.outcome != "answered" for c in children)
            if failed and spare_s is not None and time.monotonic() + spare_s < deadline:
                deadline, why = time.monotonic() + spare_s, "ended"
            if stopping is not None and stopping.is_set():
                why = "stopped"
                break
            if time.monotonic() > deadline:
                break
    finally:
        for child in children:
            child.end(why)  # type: ignore[arg-type]
    return [child.answer for child in children if child.answer is not None]


def run_program(
    name: str,
    job: Job,
    *,
    args: Sequence[str] = (),
    limit_s: float,
    extra_env: Mapping[str, str | None] | None = None,
) -> Answer:
    """Runs `programs/<name>.py` to its end in the training interpreter."""
    (found,) = gather([Child(name, job, args=args, extra_env=extra_env)], limit_s=limit_s, stopping=job.stopping)
    return found


@functools.cache
def _source(name: str) -> str:
    with open(os.path.join(_FOLDER, f"{name}.py"), "rb") as file:
        return base64.b64encode(file.read()).decode()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
