"""Processes on a device and whose they are, as values."""

from dataclasses import dataclass
from typing import Literal

from grpotui_supervisor.model.gpu import ProcessType

Owner = Literal["run", "probably", "before", "other", "unseen"]
"""`run`: of this run. `probably`: of the same user and begun after the run, not known to be its. `before`: there at the
baseline. `other`: none of these. `unseen`: not visible from this pid namespace, so nothing is known of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A process that the driver lists on a device, with what can be seen of it here."""

    pid: int
    """As the driver tells it."""
    start: int | None
    """Start time in clock ticks since boot; None: no such process can be seen here."""
    name: str | None
    user: str | None
    type: ProcessType
    used_bytes: int | None
    """None: the driver does not tell."""
    owner: Owner
    member: str | None = None
    """The member of the run that it belongs to."""

    @property
    def computes(self) -> bool:
        """Whether it is more than a desktop's window system."""
        return self.type != "graphics"


def memory_text(count: int) -> str:
    """Bytes for people: `1.2 GiB`, `300.0 MiB`."""
    return f"{count / (1 << 30):.1f} GiB" if abs(count) >= 1 << 30 else f"{count / (1 << 20):.1f} MiB"
