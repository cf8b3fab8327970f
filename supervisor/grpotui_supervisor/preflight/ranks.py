"""One program for every rank at once, in the job's environment, with a rendezvous of their own."""

from __future__ import annotations

import random
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from grpotui_supervisor.plan.settings import options, overrides
from grpotui_supervisor.preflight.child import Child, gather

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpotui_supervisor.preflight.check import Job
    from grpotui_supervisor.preflight.child import Answer

UNKNOWN: Final = "the command does not say how many ranks it starts on this machine"
SPARE_S: Final = 2.0
"""After one has failed the others get so long to say what they saw of it."""
_STAGES: Final = ("importing torch", "choosing its device", "the rendezvous", "the sum", "the measurement", "leaving")
_SUDDEN_S: Final = 0.3
"""A rank that a signal killed says nothing itself: its peers may speak within this time, and are its messengers."""
_OPTIONS: Final = ("nproc_per_node", "num_processes", "num_gpus")
_PORTS: Final = range(20000, 32768)


@dataclass(frozen=True, slots=True)
class Rank:
    """One rank and what became of it."""

    rank: int
    answer: Answer

    @property
    def facts(self) -> dict[str, Any]:
        """What it told."""
        return self.answer.facts

    @property
    def is_well(self) -> bool:
        """Whether it came to its end."""
        return self.answer.outcome == "answered"

    @property
    def stage(self) -> str:
        """What it was doing last."""
        return str(self.facts.get("stage", "its start"))

    @property
    def error(self) -> str:
        """Its own words, or the system's of it."""
        last = self.answer.stderr_tail.splitlines()[-1:] if self.answer.outcome == "silent" else []
        return str(self.facts.get("error") or (last[0] if last else self.answer.words))

    @property
    def trouble(self) -> str:
        """The same, with where it was."""
        hangs = self.answer.outcome in ("timed_out", "ended", "stopped")  # whose words tell the stage
        return self.error if hangs else f"at {self.stage}: {self.error}"


def count(job: Job) -> int | None:
    """How many ranks the job has on this machine; None: its command does not say."""
    launch = job.loaded.profile.launch
    if launch.nproc is not None:
        return launch.nproc
    settings = options(launch.argv)
    for key in _OPTIONS:
        if (found := settings.whole(key)) is not None and found > 0:
            return found
    return overrides(launch.argv).whole("trainer.n_gpus_per_node")


def run(job: Job, size: int, *args: str, limit_s: float) -> list[Rank]:
    """All ranks; once more with another port when somebody took theirs in between."""
    found = _run(job, size, args, limit_s)
    if any("EADDRINUSE" in str(rank.facts.get("error")) for rank in found):
        return _run(job, size, args, limit_s)
    return found


def _run(job: Job, size: int, args: Sequence[str], limit_s: float) -> list[Rank]:
    shared = {"WORLD_SIZE": str(size), "LOCAL_WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1"}
    shared["MASTER_PORT"] = str(free_port())
    children: list[Child] = []
    try:
        for rank in range(size):
            own = {**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)}
            children.append(Child("collective", job, args=args, extra_env=own))
    except BaseException:
        for child in children:
            child.end("stopped")
        raise
    answers = gather(children, limit_s=limit_s, stopping=job.stopping, spare_s=SPARE_S)
    return [Rank(rank, answer) for rank, answer in enumerate(answers)]


def free_port() -> int:
    """Of the range below that of outgoing connections."""
    for port in random.SystemRandom().sample(_PORTS, 50):
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
            except OSError:
                continue
            return port
    return 0


def culprit(ranks: Sequence[Rank]) -> Rank:
    """The one that kept the others from going on: the first that ended badly, else the one that was furthest behind."""
    broken = [rank for rank in ranks if rank.answer.outcome in ("crashed", "silent", "not_started")]
    if broken:
        return min(broken, key=_when)
    return min((rank for rank in ranks if not rank.is_well), key=lambda rank: (_place(rank), rank.rank))


def _when(rank: Rank) -> float:
    return rank.answer.seconds - (_SUDDEN_S if rank.answer.outcome == "crashed" else 0)


def _place(rank: Rank) -> int:
    return _STAGES.index(rank.stage) if rank.stage in _STAGES else -1


def line(rank: Rank) -> str:
    """`rank 2: saw 28 on cuda:2 by nccl 2.27.3 (…/libnccl.so.2), 7 devices, 3.1 s`."""
    facts = rank.facts
    if not rank.is_well:
        return f"rank {rank.rank}: {rank.trouble}"
    words = [f"saw {facts['seen']:g} on {facts['device']} by {facts['backend']}"]
    if facts.get("nccl"):
        path = next((path for path in facts["libraries"] if "libnccl" in path), "linked into torch")
        words.append(f"NCCL {facts['nccl']} ({path})")
    words += [f"{facts['device_count']} devices"] if facts["device_count"] else []
    words.append(f"{rank.answer.seconds:.1f} s")
    return f"rank {rank.rank}: {', '.join(words)}"


def document(ranks: Sequence[Rank]) -> list[dict[str, Any]]:
    """For programs."""
    return [
        {"rank": rank.rank, "outcome": rank.answer.outcome, "seconds": rank.answer.seconds, **rank.facts}
        for rank in ranks
    ]
