"""What a job's framework brings along: Ray's folders and ports, where it saves, how often."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from grpotui_supervisor import launch, planning, rundir
from grpotui_supervisor.preflight import said

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grpotui_supervisor.planning import Command
    from grpotui_supervisor.preflight.check import Job


def uses_ray(job: Job) -> bool:
    """Whether it starts Ray: verl and its forks do, and whoever calls `ray` by name."""
    words = job.loaded.profile.launch.argv
    return said.command(job).kind == "verl" or any(os.path.basename(word) == "ray" for word in words)


def ray_folder(environment: Mapping[str, str]) -> str:
    """Where Ray keeps sockets, logs and what it spills (`ray._private.utils.get_ray_temp_dir`)."""
    return os.path.join(environment.get("RAY_TMPDIR") or environment.get("TMPDIR") or "/tmp", "ray")  # noqa: S108


def output_folder(job: Job) -> str | None:
    """Where checkpoints go; None: it is not said."""
    command = said.command(job)
    if command.kind == "verl":
        found = command.settings.text("trainer.default_local_dir")
        project = command.settings.text("trainer.project_name", "verl_examples")
        found = found or f"checkpoints/{project}/{command.settings.text('trainer.experiment_name', 'gsm8k')}"
    else:
        found = command.settings.text("output_dir")
    found = None if found is None else said.filled(found, job.environment)
    if found is None:
        return None
    found = found.replace(launch.UNKNOWN_DIRECTORY, rundir.root(job.environment))
    return os.path.join(job.cwd, os.path.expanduser(found))


def steps(job: Job) -> int | None:
    """Optimizer steps (verl: iterations) of the whole run; None: not said."""
    command, rows = said.command(job), job.loaded.profile.data.rows
    if command.kind == "verl":
        total = command.settings.whole("trainer.total_training_steps")
        batch = command.settings.count("data.train_batch_size", 1024)
        epochs = command.settings.count("trainer.total_epochs", 30)
        return total or (None if rows is None or not batch else rows // batch * epochs)
    found = command.settings.whole("max_steps")
    return found if found is not None and found > 0 else job.loaded.profile.expect.steps


def save_every(command: Command) -> int | None:
    """Steps from one checkpoint to the next; None: none is saved, or that is not said."""
    if command.kind == "verl":
        found = command.settings.count("trainer.save_freq", -1)
        return found if found > 0 else None
    if command.settings.text("save_strategy", "steps") != "steps":
        return None
    return command.settings.whole("save_steps", 500)


def kept(command: Command) -> int | None:
    """How many checkpoints are kept; None: all of them."""
    key = "trainer.max_actor_ckpt_to_keep" if command.kind == "verl" else "save_total_limit"
    return command.settings.whole(key)


def nodes(command: Command) -> int:
    """Machines that the job spans."""
    return command.settings.count("trainer.nnodes" if command.kind == "verl" else "nnodes", 1)


def gpus_wanted(job: Job) -> int | None:
    """GPUs of this machine that the job needs; None: it is not known to need any."""
    command, machine = said.command(job), planning.machine_of(job.loaded.profile)
    if command.kind is not None:
        return max(1, command.world // nodes(command))
    return None if machine is None else machine.cards
