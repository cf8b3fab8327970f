"""Starting a run: from a profile to processes, and the shim and monitor that stay with them.

`prepare` decides everything and starts nothing (`--dry-run` prints it); `start` carries it out.
"""

from __future__ import annotations

import dataclasses
import errno
import os
import random
import socket
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grpotui_supervisor import __version__, facts, rundir, supervisors, verl_logger
from grpotui_supervisor.errors import StartError, UsageError
from grpotui_supervisor.gpu import admission
from grpotui_supervisor.gpu.admission import Wanted
from grpotui_supervisor.gpu.baseline import Looker, hand_over
from grpotui_supervisor.model import redact
from grpotui_supervisor.model.placeholders import expand
from grpotui_supervisor.shim import procfs
from grpotui_supervisor.source.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from grpotui_supervisor.gpu.admission import Found
    from grpotui_supervisor.model.profile import Hook, Launch, Profile
    from grpotui_supervisor.profiles import LoadedProfile
    from grpotui_supervisor.rundir import RunDirectory

_PACKAGE = os.path.dirname(os.path.abspath(__file__))
_WRAPPER = os.path.join(_PACKAGE, "probes", "exit_wrapper.py")
_HOOK = os.path.join(_PACKAGE, "hook", "path")
_NODE = "node-0"
_OURS = (procfs.RUN_MARK, procfs.MEMBER_MARK, "GRPOTUI_RUN_DIR", "GRPOTUI_HOOK")
"""What a launch from within a run must not take over from it."""
_DEFAULTS = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "PYTHONUNBUFFERED": "1", "TQDM_MININTERVAL": "5"}
"""Under the user's own settings: devices numbered as nvidia-smi does, no line lost in a buffer, short bars."""
_PORTS = range(20000, 32768)
"""Below the range that the kernel takes ports of outgoing connections from, so that none sits on ours."""
_SPAWN_SECONDS = 120.0
_RECORD_SECONDS = 5.0
"""Without a line in the record so long after the shim was up, a full disk is the reason, and nothing was started."""
UNKNOWN_DIRECTORY = "<run directory>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """One process to be started."""

    member: str
    rank: int | None
    role: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    """Only what is set for this process, on top of the job's environment."""
    cwd: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Exactly what will be started."""

    profile: Profile
    starts: tuple[Start, ...]
    environment: Mapping[str, str]
    """Of every process: the caller's, with the profile's on top."""
    wrapped: bool
    """Whether a worker is to run under the exit wrapper."""
    words: Mapping[str, tuple[str, ...]]
    """What the placeholders of all processes stand for."""
    notes: tuple[str, ...] = ()
    """What the profile asks for and is left out, each with the reason."""


def _nothing(*_words: object) -> None:
    """Of whom nothing is asked."""


def prepare(
    loaded: LoadedProfile, environment: Mapping[str, str], *, cwd: str, run_dir: str = UNKNOWN_DIRECTORY
) -> Plan:
    """Fills in placeholders, environment and port.

    Raises:
        UsageError: a placeholder cannot be filled in, a cwd is missing, or the port that is asked for is in use.
    """
    profile, launch = loaded.profile, loaded.profile.launch
    env = {**_DEFAULTS, **{k: v for k, v in environment.items() if k not in _OURS}, **launch.env}
    hook = _hook(profile.hook, env.get("PYTHONPATH"))
    words = _placeholders(loaded, run_dir)
    starts = [
        Start(
            member=name,
            rank=None,
            role="companion",
            argv=expand(companion.argv, words),
            env=dict(companion.env),
            cwd=_folder(companion.cwd, loaded, cwd),
        )
        for name, companion in profile.companions.items()
    ]
    folder, added = _folder(launch.cwd, loaded, cwd), verl_logger.Addition()
    if launch.mode == "ranks":
        starts += _ranks(launch, words, folder, hook)
    else:
        argv = expand(launch.argv, words)
        if profile.logs.verl_file_logger:
            path = f"{run_dir}/ranks/driver/{rundir.VERL_METRICS}"
            added = verl_logger.addition(argv, env, python=words["python"], cwd=folder, path=path)
        argv, own = (*argv, *added.words), {**hook, **added.env}
        starts.append(Start(member="driver", rank=None, role="driver", argv=argv, env=own, cwd=folder))
    return Plan(
        profile=profile,
        starts=tuple(starts),
        environment=env,
        wrapped=any("{wrapper}" in word for word in launch.argv),
        words=words,
        notes=(f"verl's file logger is left off: {added.refused}",) if added.refused else (),
    )


def _placeholders(loaded: LoadedProfile, run_dir: str) -> dict[str, tuple[str, ...]]:
    words = {
        "grpotui_python": (sys.executable,),
        "profile_dir": (os.path.dirname(loaded.path),),
        "run_dir": (run_dir,),
        "wrapper": (sys.executable, "-I", "-S", _WRAPPER),
    }
    return {**words, "python": expand(loaded.profile.launch.python, words)}


def _folder(wanted: str | None, loaded: LoadedProfile, cwd: str) -> str:
    if wanted is None:
        return cwd
    folder = os.path.normpath(os.path.join(os.path.dirname(loaded.path), wanted))
    if not os.path.isdir(folder):
        raise UsageError(
            f"the cwd of the profile is no directory: {folder}",
            hint="make it, or correct cwd in the profile (a relative one starts at the profile's folder)",
        )
    return folder


def _hook(wanted: Hook, python_path: str | None) -> dict[str, str]:
    """The environment that brings the hook into the job's interpreters, in front of the user's PYTHONPATH."""
    kinds = [kind.name for kind in dataclasses.fields(wanted) if getattr(wanted, kind.name)]
    if not kinds:
        return {}
    return {
        "PYTHONPATH": _HOOK + (os.pathsep + python_path if python_path else ""),
        "GRPOTUI_HOOK": ",".join(kinds),
        "GRPOTUI_HOOK_VERSION": __version__,
        "GRPOTUI_HOOK_NODE": _NODE,
    }


def _ranks(launch: Launch, words: dict[str, tuple[str, ...]], folder: str, more: Mapping[str, str]) -> list[Start]:
    count = launch.nproc or 1
    port = _wanted_port(launch) or _free_port()
    shared = {
        "WORLD_SIZE": str(count),
        "LOCAL_WORLD_SIZE": str(count),
        "MASTER_ADDR": launch.env.get("MASTER_ADDR", "127.0.0.1"),
        "MASTER_PORT": str(port),
    }
    return [
        Start(
            member=str(rank),
            rank=rank,
            role="rank",
            argv=expand(launch.argv, {**words, "rank": (str(rank),), "master_port": (str(port),)}),
            env={"RANK": str(rank), "LOCAL_RANK": str(rank), **shared, **more},
            cwd=folder,
        )
        for rank in range(count)
    ]


def _wanted_port(launch: Launch) -> int | None:
    if "MASTER_PORT" not in launch.env:
        return None
    port = int(launch.env["MASTER_PORT"])
    if not _is_free(port):
        raise UsageError(
            f"MASTER_PORT {port} of the profile is in use on this machine",
            hint="leave MASTER_PORT out and a free one is chosen, or end what holds it (ss -ltnp)",
        )
    return port


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # TIME_WAIT of the last run is no user
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True


def _free_port() -> int:
    """A random one: two launches in the same second must not find the same."""
    for port in random.SystemRandom().sample(_PORTS, 50):
        if _is_free(port):
            return port
    raise UsageError("no free port found for MASTER_PORT", hint="set MASTER_PORT in [launch.env]")


def start(  # noqa: PLR0913  (what it is given, and whom it tells)
    loaded: LoadedProfile,
    environment: Mapping[str, str],
    *,
    cwd: str,
    preflight: Sequence[Mapping[str, Any]] | None = None,
    say: Callable[[str], None] = _nothing,
    ready: Callable[[], object] = _nothing,
) -> RunDirectory:
    """Makes the run directory and starts shim and monitor; returns without waiting for the ranks.

    Args:
        loaded: the profile.
        environment: the caller's.
        cwd: the job's working directory, where the profile names none.
        preflight: what the checks before found, for the record; None: there were none.
        say: told of a wait for GPUs as it goes.
        ready: called once nothing is waited for any more, before anything is made.

    Raises:
        UsageError: see `prepare`; or the profile names a GPU that is not there.
        PreflightError: the GPUs are not free, and the profile does not go on then.
        RunDirectoryError: the state directory is unsafe, read-only or full.
        StartError: the shim did not come up.
    """
    plan, looker = prepare(loaded, environment, cwd=cwd), Looker()  # a mistake must not leave a run behind
    root = rundir.root(environment)
    with admission.granted(looker, wanted(plan), root, say) as found:
        ready()
        directory = rundir.create(root, loaded.profile.name)
        plan = prepare(loaded, environment, cwd=cwd, run_dir=directory.path)
        document = _document(directory, loaded, plan, found, cwd)
        rundir.write_facts(directory, {**document, "preflight": None if preflight is None else list(preflight)})
        supervisors.start_shim(directory, specification(directory, plan), plan.environment)
    supervisors.start_monitor(directory)
    hand_over(looker, found.snapshot, directory.file("gpu.jsonl"))
    return directory


def look_at_gpus(plan: Plan, environment: Mapping[str, str]) -> Found:
    """The devices as the plan would find them now.

    Raises:
        UsageError: the profile names a GPU that is not there.
    """
    looker = Looker()
    found = admission.look(looker, wanted(plan), rundir.root(environment))
    looker.close()
    return found


def wanted(plan: Plan) -> Wanted:
    """The devices that the plan asks for."""
    return Wanted(gpus=plan.profile.gpus, environments=[{**plan.environment, **item.env} for item in plan.starts])


def _document(directory: RunDirectory, loaded: LoadedProfile, plan: Plan, found: Found, cwd: str) -> dict[str, Any]:
    own = {name: value for item in plan.starts for name, value in item.env.items()}
    spoken = {secret for item in plan.starts for secret in redact.secret_arguments(item.argv)}
    secrets = redact.secret_values({**plan.environment, **own}, spoken)
    document = facts.collect(directory, loaded, plan.environment, cwd=cwd, secrets=secrets)
    document["wrapped"] = plan.wrapped
    document.update(found.document(secrets))
    document["notes"] = [redact.text(note, list(secrets)) for note in (*plan.notes, *found.notes)]
    document["members"] = [
        {
            "member": item.member,
            "rank": item.rank,
            "role": item.role,
            "argv": redact.arguments(item.argv, secrets),
            "env": redact.environment(item.env, secrets)[0],
            "cwd": item.cwd,
        }
        for item in plan.starts
    ]
    return document


def specification(directory: RunDirectory, plan: Plan) -> dict[str, Any]:
    """What the shim gets over stdin; the only form in which the whole environment leaves this process."""
    launch = plan.profile.launch
    marks = {procfs.RUN_MARK: directory.run_id, "GRPOTUI_RUN_DIR": directory.path}
    return {
        "run": directory.run_id,
        "node": _NODE,
        "env": dict(plan.environment),
        "observe": launch.mode == "command",
        "pidfd_info": plan.environment.get("GRPOTUI_PIDFD_INFO") != "off",
        "limits": limits(launch),
        "starts": [
            {
                "member": item.member,
                "rank": item.rank,
                "role": item.role,
                "argv": list(item.argv),
                "cwd": item.cwd,
                "env": {**item.env, **marks, procfs.MEMBER_MARK: item.member},
            }
            for item in plan.starts
        ],
    }


def limits(launch: Launch) -> dict[str, Any]:
    """The profile's times in the shim's words, in seconds."""
    return {
        "grace": launch.grace_seconds,
        "teardown_grace": launch.teardown_grace_seconds,
        "leftover_grace": launch.leftover_grace_seconds,
        "leftovers": launch.leftovers,
        "interrupt": launch.interrupt_seconds,
        "terminate": launch.terminate_seconds,
    }


def wait_for_spawn(directory: RunDirectory, *, seconds: float = _SPAWN_SECONDS) -> Source:
    """Until every process is started or one has failed to.

    Raises:
        StartError: the shim is gone before that.
    """
    source, began = Source(directory), time.monotonic()
    while time.monotonic() < began + seconds:
        alive = directory.is_locked("shim.lock")
        source.update(None)
        if source.run.spawn_done or source.run.done:
            return source
        if source.run.shim is not None and not alive:
            raise StartError(
                f"the shim of {directory.run_id} ended while it started the ranks", hint=_look_at(directory)
            )
        if source.start_m is None and time.monotonic() > began + _RECORD_SECONDS and rundir.is_full(directory.path):
            raise StartError(
                f"nothing of {directory.run_id} was started: {directory.file('ranks.jsonl')} takes no record of it "
                f"({os.strerror(errno.ENOSPC)})",
                hint="free some space; its shim ends as soon as it can write that down",
            )
        time.sleep(0.005)
    raise StartError(f"{directory.run_id} did not start within {seconds:g} s", hint=_look_at(directory))


def _look_at(directory: RunDirectory) -> str:
    return f"see {directory.file('shim.err')}; grpotui status {directory.run_id} shows what is left"
