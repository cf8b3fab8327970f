"""Room for checkpoints, and for what Ray keeps in its temporary folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from grpotui_supervisor import planning
from grpotui_supervisor.errors import PlanError
from grpotui_supervisor.model.wording import size
from grpotui_supervisor.plan import parts
from grpotui_supervisor.plan.machine import Machine
from grpotui_supervisor.preflight import framework, said
from grpotui_supervisor.preflight.check import Result
from grpotui_supervisor.preflight.finding import Finding, together

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpotui_supervisor.planning import Command
    from grpotui_supervisor.preflight.check import Job

_RAY_FULL: Final = 0.95
"""From here on Ray's file_system_monitor warns every 10 s and spills no more objects."""
_SOCKET_BYTES: Final = 107
_SOCKET: Final = "/session_2026-11-30_08-27-11_123456_4194304/sockets/plasma_store"
"""The longest path of a socket that Ray makes below its folder; Linux takes 107 bytes."""


class _Disk:
    name = "disk"
    title = "Disk"
    limit_s = 10.0

    def run(self, job: Job) -> Result:
        """Where checkpoints go, how many fit, and Ray's folder. A dead network mount holds this up to the limit."""
        found = [*_checkpoints(job), *(_ray(job) if framework.uses_ray(job) else ())]
        if not found:
            return Result(outcome="not_applicable", evidence="the job does not say that it saves anything")
        return together(found)


def _checkpoints(job: Job) -> Iterator[Finding]:
    command, folder = said.command(job), framework.output_folder(job)
    every = framework.save_every(command)
    if command.kind is None or every is None or folder is None:
        return
    there = _existing(folder)
    if not os.access(there, os.W_OK | os.X_OK):
        yield Finding(
            "failed", f"{there} cannot be written to, and checkpoints go to {folder}", "another output folder"
        )
        return
    room, bytes_each = _free(there), checkpoint_bytes(job)
    if bytes_each is None:
        words = f"{size(room)} free for checkpoints in {there}; the size of one is not known without the model"
        yield Finding("unchecked", words, '[model] path = "the folder of its config.json"')
        return
    fit, wanted = room // bytes_each, _wanted(job, command, every)
    words = f"{size(room)} free in {there}: {fit} checkpoints of about {size(bytes_each)} (weights and optimizer) fit"
    if fit < 1:
        yield Finding("failed", words, "free some space, or another folder")
    elif wanted is not None and fit < wanted:
        limit = "trainer.max_actor_ckpt_to_keep" if command.kind == "verl" else "save_total_limit"
        yield Finding("warning", f"{words}, and {wanted} are to be kept", f"{limit}={fit} or less, or save less often")
    else:
        yield Finding("passed", words + ("" if wanted is None else f", {wanted} are to be kept"))


def _wanted(job: Job, command: Command, every: int) -> int | None:
    """How many are kept in the end, one more while the newest is written; None: not known."""
    steps, kept = framework.steps(job), framework.kept(command)
    made = None if steps is None else -(-steps // every)
    if kept is None or kept < 1:
        return made
    return kept + 1 if made is None else min(made, kept + 1)


def checkpoint_bytes(job: Job) -> int | None:
    """Of one: weights, master copy and moments of what is trained; verl also saves the base below an adapter."""
    machine = Machine(cards=1, card_bytes=1)
    try:
        planned = planning.of_profile(job.loaded.profile, machine, folder=said.folder(job), environment=job.environment)
    except PlanError:
        return None
    request = planned.request
    trained, each = parts.trained(request), parts.per_parameter(request)
    if not trained:
        return None
    base = request.training.lora is not None and said.command(job).kind == "verl"
    frozen = request.model.parameters * request.training.base_bytes if base else 0
    return round(trained * (each.weights + each.optimizer) + frozen)


def _ray(job: Job) -> Iterator[Finding]:
    folder = framework.ray_folder(job.environment)
    there = _existing(folder)
    path = len(os.fsencode(folder)) + len(_SOCKET)
    if path > _SOCKET_BYTES:
        words = f"Ray's sockets below {folder} have paths of {path} bytes, and Linux takes {_SOCKET_BYTES}"
        yield Finding("failed", words, "a shorter RAY_TMPDIR")
    if not os.access(there, os.W_OK | os.X_OK):
        words = f"{there} is not writable for this user, and Ray keeps its session there"
        yield Finding("failed", words, "RAY_TMPDIR=a folder of your own")
        return
    used = _used(there)
    words = f"{size(_free(there))} free for Ray in {there} ({used:.0%} used)"
    if used > _RAY_FULL:
        yield Finding("warning", f"{words}: over 95 % Ray spills nothing more", "RAY_TMPDIR=a folder with room")
    else:
        yield Finding("passed", words)


def _existing(folder: str) -> str:
    """The nearest folder above that is there."""
    folder = os.path.abspath(folder)
    while not os.path.isdir(folder) and folder != "/":
        folder = os.path.dirname(folder)
    return folder


def _used(folder: str) -> float:
    """The share of the disk that is not free for this user."""
    stat = os.statvfs(folder)
    return 1 - stat.f_bavail / stat.f_blocks if stat.f_blocks else 0.0


def _free(folder: str) -> int:
    stat = os.statvfs(folder)
    return stat.f_bavail * stat.f_frsize


CHECK = _Disk()
