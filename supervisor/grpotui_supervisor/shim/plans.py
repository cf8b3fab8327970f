"""A plan: the series of signals by which processes are ended, and when each is due."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpotui_supervisor.shim.specification import Limits

SECOND = 1_000_000_000
NEVER = 1 << 62
PAUSE_NS = SECOND // 5
"""Between two KILLs, and between two looks for processes that joined a plan late."""
ASKED = ("interrupt", "stop", "kill")
"""Plans that a person asked for."""
ORDER = ("companions", "leftovers", "failure", *ASKED)
"""A plan gives way only to one that stands later here."""
_ENDLESS_S = float(NEVER)


def steps(kind: str, limits: Limits) -> list[tuple[str, float]]:
    """The signals of a plan of that kind, each with the seconds that follow it."""
    kill = ("SIGKILL", PAUSE_NS / SECOND)
    terminate = ("SIGTERM", limits.terminate)
    if kind == "kill":
        return [kill]
    if kind == "stop":
        return [("SIGINT", limits.interrupt), terminate, kill]
    if kind == "interrupt":
        return [("SIGINT", _ENDLESS_S), terminate, kill]
    return [terminate, kill]  # failure, companions, leftovers


class Plan:
    """A series of signals with the seconds that follow each. The last one is repeated until nobody is left."""

    __slots__ = ("deadline", "index", "killed_m", "kind", "next_look", "steps", "told", "unkillable", "why")

    def __init__(self, kind: str, why: str, limits: Limits) -> None:
        self.kind = kind
        self.why = why
        self.steps = steps(kind, limits)
        self.index = -1
        self.deadline = 0
        self.next_look = 0
        self.killed_m: int | None = None
        self.told: set[tuple[int, int]] = set()
        """Who has got the present signal, by (pid, start)."""
        self.unkillable = False

    @property
    def signal(self) -> str:
        """Name of the present step's signal."""
        return self.steps[max(self.index, 0)][0]

    def is_due(self, now: int) -> bool:
        """Whether the next step, or the same KILL once more, is to be sent."""
        return now >= self.deadline

    def advance(self, now: int) -> None:
        """Moves on to the next step; after the last one, to the same again."""
        fresh = self.index < len(self.steps) - 1
        self.index = min(self.index + 1, len(self.steps) - 1)
        self.restart(now)
        if self.signal == "SIGKILL" and self.killed_m is None:
            self.killed_m = now
        if fresh:
            self.told.clear()

    def restart(self, since: int) -> None:
        """Gives the present step its whole time, counted from `since`."""
        seconds = self.steps[self.index][1]
        self.deadline = since + int(seconds * SECOND) if seconds < NEVER else NEVER

    def resume(self, name: str, since: int) -> None:
        """Stands where a predecessor stood: it sent `name` at `since`, or was about to; the next step follows."""
        names = [step for step, _ in self.steps]
        if name in names:
            self.index = names.index(name)
            self.restart(since)

    def limit_interrupt(self, now: int, seconds: float) -> None:
        """INT alone is for a job whose ranks all run: once one has ended, the others must not wait for ever."""
        if self.kind == "interrupt" and self.index == 0:
            self.deadline = min(self.deadline, now + int(seconds * SECOND))
