"""The ranks in brief: state, pid, how they ended, and how long they have been silent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from grpotui.text import duration, ending, member_name, size
from grpotui.tui import cells
from grpotui.tui.panels.framed import Framed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from grpotui.tui.cells import Run
    from grpotui.tui.feed.frame import Frame
    from grpotui.tui.glyphs import Glyphs

_STATES: Final = {
    "starting": ("○", "info"),
    "running": ("●", "good"),
    "exited": ("✖", "critical"),
    "killed": ("✖", "critical"),
    "failed_to_start": ("✖", "critical"),
    "lost": ("?", "warning"),
    "not_observable": ("?", "label"),
}


def sign(member: Mapping[str, Any]) -> tuple[str, str]:
    """Glyph and role of a member's state. An end that grpotui has brought about is no failure of the member."""
    if member["state"] == "exited" and member["code"] == 0:
        return "■", "good"
    if member["state"] in ("exited", "killed") and member["sent"]:
        return "■", "warning"
    return _STATES.get(member["state"], ("?", "warning"))


def silence(member: Mapping[str, Any]) -> str:
    """How old its last line is; what prints nothing by design has none."""
    age = member["output_age_s"]
    if age is None:
        return "prints nothing" if member["owned"] and member["state"] != "starting" else "-"
    return f"line {duration(age)} ago"


class Members(Framed):
    """A line a member, as many as there is room for; on a single line a word each."""

    title = "ranks"

    def __init__(self) -> None:
        super().__init__()
        self._ranks: Sequence[Mapping[str, Any]] = ()
        self._absent = "reading…"

    def show(self, frame: Frame) -> None:
        """The newest frame."""
        ranks = frame.document["ranks"]
        absent = "exits: not in this log" if frame.kind == "log" else "nothing of it was started yet"
        if (ranks, absent) != (self._ranks, self._absent):
            self._ranks, self._absent = ranks, absent
            self.redraw()

    def head(self, wide: int) -> list[Run]:  # noqa: ARG002  (it is short)
        """How many there are, and how many failed."""
        bad = sum(1 for m in self._ranks if sign(m)[1] == "critical")
        return [(f"{len(self._ranks)}", "label"), *([(f"  ✖ {bad}", "critical")] if bad else [])] if self._ranks else []

    def rows(self, glyphs: Glyphs, wide: int, high: int) -> list[list[Run]]:  # noqa: ARG002  (of any set)
        """Members; what does not fit is counted."""
        if not self._ranks:
            return [[(self._absent, "label")]]
        if high == 1:
            return [_brief(self._ranks, wide)]
        room = high if len(self._ranks) <= high else high - 1
        shown = (
            sorted(self._ranks, key=lambda m: sign(m)[1] != "critical")[:room]
            if room < len(self._ranks)
            else self._ranks
        )
        found = _table(shown, wide)
        more = len(self._ranks) - len(found)
        return [*found, [(f"+{more} more: page 2", "label")]] if more else found


def _table(members: Sequence[Mapping[str, Any]], wide: int) -> list[list[Run]]:
    """The columns that fit, whole: name and state always, then what tells most."""
    rows = [_cells(member, short=wide < _WORDY) for member in members]
    widths = {at: max(cells.width(row[at][0]) for row in rows) for at in range(len(rows[0]))}
    shown, room = list(_ALWAYS), wide - sum(widths[at] for at in _ALWAYS) - 2
    for at in _IF_ROOM:
        if widths[at] and widths[at] + 2 <= room:
            shown.append(at)
            room -= widths[at] + 2
    shown.sort()
    return [
        cells.padded(
            [
                run
                for at in shown
                for text, role in [row[at]]
                for run in ((text, role), (" " * (widths[at] - cells.width(text) + 2), "blank"))
            ],
            wide,
        )
        for row in rows
    ]


_WORDY: Final = 60
_ALWAYS: Final = (0, 1)
_IF_ROOM: Final = (2, 3, 4, 5, 6, 7)
"""Pid, age of the last line, phase, what was sent, when it ended, memory: the most telling first."""


def _cells(member: Mapping[str, Any], *, short: bool) -> list[Run]:
    glyph, role = sign(member)
    ended = member["ended_offset_s"]
    memory = member["rss_bytes"] if member["rss_bytes"] is not None else member["max_rss_bytes"]
    phase = member["phase"] if ended is None else None
    return [
        (cells.cut(member_name(member), 18), "value"),
        (f"{glyph} {cells.cut(ending(member), 40)}", role),
        ("" if member["pid"] is None else f"pid {member['pid']}", "label"),
        (silence(member).removeprefix("line ") if short else silence(member), "label"),
        (cells.cut(phase or "", 14), "info"),
        (f"sent {' '.join(member['sent'])}" if member["sent"] else "", "warning"),
        ("" if ended is None else f"at +{duration(ended)}", "label"),
        ("" if memory is None else size(memory), "label"),
    ]


def _brief(ranks: Sequence[Mapping[str, Any]], wide: int) -> list[Run]:
    """`ranks 0● 1● 2✖SIGKILL 3○`: those that failed with how."""
    runs: list[Run] = [("ranks ", "label")]
    used = 6
    for number, member in enumerate(ranks):
        glyph, role = sign(member)
        name = str(member["rank"]) if member["rank"] is not None else cells.cut(str(member["member"]), 10)
        how = ""
        if role == "critical":
            how = str(member.get("signal") or member.get("code") or "not started")
        elif member["state"] == "running" and len(ranks) <= 4 and member["output_age_s"] is not None:
            how = f" {duration(member['output_age_s'])}"
        part: list[Run] = [(name, "value"), (f"{glyph}{how}", role), ("  ", "blank")]
        more = f"+{len(ranks) - number}"
        size = sum(cells.width(text) for text, _ in part)
        if used + size + len(more) > wide:
            return [*runs, (more, "label")]
        runs, used = [*runs, *part], used + size
    return runs
