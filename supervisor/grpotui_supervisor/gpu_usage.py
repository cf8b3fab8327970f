"""Who uses this machine's GPUs, and for which run: the devices as the driver tells them, beside the live runs."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from grpotui_supervisor import rundir
from grpotui_supervisor.errors import GpuUnavailable, GrpotuiError
from grpotui_supervisor.gpu.baseline import Looker
from grpotui_supervisor.gpu.claims import own_devices
from grpotui_supervisor.gpu.idle import judge
from grpotui_supervisor.model.gpu import slowed
from grpotui_supervisor.shim import procfs
from grpotui_supervisor.source.now import look_now
from grpotui_supervisor.source.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from grpotui_supervisor.gpu.baseline import Snapshot
    from grpotui_supervisor.gpu.idle import Seen
    from grpotui_supervisor.model.gpu import GpuProcess

_MOST_ANCESTORS = 64
_NOBODY = {"run": None, "member": None, "rank": None}


@dataclass(frozen=True, slots=True)
class _Run:
    """A run that lives, or that processes on a device name as theirs."""

    directory: rundir.RunDirectory
    status: Mapping[str, Any]
    own: Mapping[str, str]
    """Keys of its devices by UUID, as they were at its start."""
    supervisors: Sequence[int]
    """Guard and worker of its shim, to which its orphans fall."""
    ranks: Mapping[str, int | None] = field(default_factory=dict)
    """By member."""


def usage(root: str) -> tuple[dict[str, Any], GpuUnavailable | None]:
    """The document of `grpotui gpus`, without its schema, and why the devices cannot be read (None: they can).

    Raises:
        RunDirectoryError: the root is unsafe.
    """
    looker = Looker()
    runs = {run.directory.run_id: run for directory in _live(root) if (run := _run(directory)) is not None}
    try:
        snapshot = looker.look()
    except GpuUnavailable as reason:
        lines = [_run_fields(run, {}, set()) for run in runs.values()]
        return {"driver": None, "cuda": None, "gpu_unavailable": str(reason), "gpus": [], "runs": lines}, reason
    looker.close()
    return _document(snapshot, runs), None


def usage_of(snapshot: Snapshot, live: Iterable[tuple[Source, Mapping[str, Any]]]) -> dict[str, Any]:
    """The same for who has looked at the devices and at the live runs: (source, its status document)."""
    return _document(snapshot, {source.directory.run_id: _described(source, status) for source, status in live})


def _live(root: str) -> Iterable[rundir.RunDirectory]:
    """Runs with a shim or a monitor; an ended one costs the look at two locks."""
    return (d for d in rundir.runs(root) if d.is_locked("shim.lock") or d.is_locked("monitor.lock"))


def _run(directory: rundir.RunDirectory) -> _Run | None:
    try:
        source = Source(directory)
        status, _ = look_now(source)
    except GrpotuiError:
        return None
    return None if status["state"] == "ended" else _described(source, status)


def _described(source: Source, status: Mapping[str, Any]) -> _Run:
    shim = source.run.shim
    return _Run(
        directory=source.directory,
        status=status,
        own={str(device["uuid"]): str(device["gpu"]) for device in own_devices(source.facts)},
        supervisors=[pid for pid in (shim.guard, shim.worker) if pid is not None] if shim is not None else [],
        ranks={member["member"]: member["rank"] for member in status["ranks"]},
    )


def _document(snapshot: Snapshot, runs: Mapping[str, _Run]) -> dict[str, Any]:
    owners = _owners(runs.values())
    gpus = [_gpu(seen, runs, owners) for seen in snapshot.seen]
    on = {(gpu["gpu"], process["run"]) for gpu in gpus for process in gpu["processes"] or ()}
    readable = {gpu["uuid"]: gpu for gpu in gpus if gpu["uuid"] is not None}
    return {
        "driver": snapshot.driver,
        "cuda": snapshot.cuda,
        "gpu_unavailable": None,
        "gpus": gpus,
        "runs": [_run_fields(run, readable, on) for run in runs.values()],
    }


def _owners(runs: Iterable[_Run]) -> dict[int, tuple[str, str | None]]:
    """Run and member of each process that is known to be a run's."""
    found: dict[int, tuple[str, str | None]] = {}
    for run in runs:
        name = run.directory.run_id
        found.update((pid, (name, None)) for pid in run.supervisors)
        for member in run.status["ranks"]:
            if member["state"] == "running" and member["pid"] is not None:
                found[member["pid"]] = (name, member["member"])
    return found


def _gpu(seen: Seen, runs: Mapping[str, _Run], owners: Mapping[int, tuple[str, str | None]]) -> dict[str, Any]:
    fields, judgement = asdict(seen.device), judge(seen)
    lost = seen.reading.lost or (seen.device.unavailable if seen.device.uuid is None else None)
    state = {True: "idle", False: "held", None: "unknown"}[judgement.idle]
    return {
        "gpu": fields.pop("key"),
        **fields,
        "unavailable": seen.device.unavailable or seen.reading.lost,
        "state": state if lost is None else "lost",
        "evidence": judgement.evidence,
        "used_bytes": seen.reading.used_bytes,
        "utilization_percent": seen.reading.utilization_percent,
        "power_w": seen.reading.power_w,
        "temperature_c": seen.reading.temperature_c,
        "slowed": list(slowed(seen.reading.clock_reasons)),
        "absent": dict(seen.reading.absent),
        "processes": None
        if seen.listed.reason is not None
        else [_process(seen, process, runs, owners) for process in seen.listed.processes],
        "processes_reason": seen.listed.reason,
        "unattributed_bytes": seen.unattributed_bytes,
    }


def _process(
    seen: Seen, process: GpuProcess, runs: Mapping[str, _Run], owners: Mapping[int, tuple[str, str | None]]
) -> dict[str, Any]:
    who = seen.who[process.pid]
    return {
        **asdict(who),
        "type": process.type,
        "used_bytes": process.used_bytes,
        **(_NOBODY if who.start is None else _run_of(process.pid, runs, owners)),
    }


def _run_of(pid: int, runs: Mapping[str, _Run], owners: Mapping[int, tuple[str, str | None]]) -> dict[str, Any]:
    """By the run's mark in its environment, else by its session and its ancestors."""
    marks = procfs.environment(pid)
    run, member = marks.get(procfs.RUN_MARK), marks.get(procfs.MEMBER_MARK)
    if run is None:
        run, member = _by_descent(pid, owners)
    known = None if run is None else runs.get(run)
    rank = None if known is None or member is None else known.ranks.get(member)
    return {"run": run, "member": member, "rank": rank}


def _by_descent(pid: int, owners: Mapping[int, tuple[str, str | None]]) -> tuple[str | None, str | None]:
    found, steps = procfs.stat(pid), 0
    if found is not None and found.sid in owners:
        return owners[found.sid]
    while pid not in owners and found is not None and steps < _MOST_ANCESTORS:
        pid, steps = found.ppid, steps + 1
        found = procfs.stat(pid)
    return owners.get(pid, (None, None))


def _run_fields(run: _Run, gpus: Mapping[str, Mapping[str, Any]], on: set[tuple[str, str]]) -> dict[str, Any]:
    name = run.directory.run_id
    listed = {key for key, owner in on if owner == name}
    own = [gpus[uuid]["gpu"] if uuid in gpus else key for uuid, key in run.own.items()]
    readable = {gpu["gpu"] for gpu in gpus.values() if gpu["processes"] is not None}
    return {
        "run": name,
        "directory": run.directory.path,
        "state": run.status["state"],
        "step": run.status["step"],
        "steps_total": run.status["steps_total"],
        "phase": run.status["phase"],
        "gpus": [
            {"gpu": key, "listed": key in listed if key in readable else None}
            for key in [*own, *sorted(listed.difference(own))]
        ],
    }
