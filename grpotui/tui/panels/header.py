"""The first line: what this is, how it is, where it is. As much of it as fits, the most telling last to go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grpotui.gpu_words import names
from grpotui.text import PHASES, duration, size, unmet, verdict_line
from grpotui.tui import cells
from grpotui.tui.panels.framed import fitted
from grpotui.tui.widgets.drawn import Drawn

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grpotui.tui.cells import Run, Sheet
    from grpotui.tui.feed.frame import Frame

_STATES = {
    "starting": ("○", "info"), "running": ("●", "good"), "stopping": ("▼", "warning"), "draining": ("▼", "warning"),
    "unsupervised": ("▲", "warning"), "ended": ("■", "label"),
}  # fmt: skip
_VERDICTS = {
    "passed": ("✔", "good"),
    "failed": ("✖", "critical"),
    "stopped": ("■", "warning"),
    "unknown": ("?", "warning"),
}
_GAP: Run = ("  ", "blank")


class Header(Drawn):
    """One row."""

    def __init__(self, title: str, *, id: str) -> None:  # noqa: A002  (Textual's word)
        super().__init__(id=id)
        self._title = title
        self._frame: Frame | None = None
        self._frozen = False

    def show(self, frame: Frame, *, frozen: bool = False) -> None:
        """The newest frame."""
        self._frame, self._frozen = frame, frozen
        self.redraw()

    def picture(self, sheet: Sheet) -> list[list[Run]]:
        """One row, and nothing below it."""
        return sheet.rest([header(self._title, self._frame, sheet.wide, frozen=self._frozen)])


def header(title: str, frame: Frame | None, wide: int, *, frozen: bool = False) -> list[Run]:
    """The row for a frame; pure."""
    if frame is None or frame.is_empty:
        return cells.padded([(" grpotui  ", "label"), (cells.cut(title, wide), "value"), *_reading(frame)], wide)
    document = frame.document
    right = [
        *_cursor(frame),
        *_reading(frame),
        *_awaited(frame),
        *([("  ‖ frozen, Space goes on", "warning")] if frozen else []),
    ]
    told = _sentence(document) or _running(document)
    rooms = _titles(title, document)
    for count in range(len(told), 0, -1):
        state = [run for part in told[:count] for run in (*part, _GAP)][:-1]
        needed = _wide(state) + _wide(right) + 4
        name = next((found for found in rooms if _wide(found) + needed <= wide), None)
        if name is not None or count == 1:
            return _laid_out(name or rooms[-1], state, right, wide)
    return cells.padded(right, wide)


def _laid_out(name: list[Run], state: list[Run], right: list[Run], wide: int) -> list[Run]:
    left: list[Run] = [(" ", "blank"), *name]
    room = wide - _wide(left) - _wide(right) - 3
    if _wide(state) > room:
        state = fitted(state, max(0, room))
    gap = max(2, wide - _wide(left) - _wide(state) - _wide(right) - 1)
    return cells.padded([*left, (" " * gap, "blank"), *state, *right], wide)


def _wide(runs: list[Run]) -> int:
    return sum(cells.width(text) for text, _ in runs)


def _titles(title: str, document: Mapping[str, Any]) -> list[list[Run]]:
    """From the fullest to the shortest."""
    framework = document["framework"] or "framework not recognised"
    nodes = {m["node"] for m in document["ranks"]}
    gpus = f" {len(document['gpus'])}×GPU" if document["gpus"] else ""
    node = f" · {cells.cut(', '.join(sorted(map(str, nodes))), 30)}{gpus}" if nodes else ""
    name, short = cells.cut(title, 60), _shortened(title)
    return [
        [("grpotui  ", "label"), (name, "value"), (f" · {framework}{node}", "label")],
        [(name, "value"), (f" · {framework}{node}", "label")],
        [(name, "value"), (f" · {framework}", "label")],
        [(name, "value")],
        [(short, "value")],
    ]


def _shortened(title: str) -> str:
    """Its beginning and its end, which tells runs of one name apart."""
    text = cells.cut(title, 60)
    return text if cells.width(text) <= 14 else f"{cells.cut(text, 9)}{text[-4:]}"


def _sentence(document: Mapping[str, Any]) -> list[list[Run]] | None:
    """While a failure is handled, and once there is a verdict: what happened, then what came of it."""
    state, first = document["state"], document.get("first_failure")
    verdict = document["verdict"] or ("failed" if first is not None else None)
    if verdict is None:
        return None
    glyph, role = _VERDICTS.get(verdict, ("?", "warning"))
    said = verdict_line({**document, "verdict": verdict})
    if state != "ended":
        said = said.replace("failed:", "failing:", 1) if verdict == "failed" else f"{state}; {said}"
        return _told(glyph, role, said, [*_killed_for_memory(document), *_under_way(document)])
    behind = [*_unmet(document), *_killed_for_memory(document), *_devices(document)]
    if verdict == "passed" and any(bad for _, bad in behind):
        glyph, role = "▲", "warning"
    elapsed = (document.get("as_of") or {}).get("offset_s")
    return [*_told(glyph, role, said, behind), *([[(f"+{duration(elapsed)}", "label")]] if elapsed else [])]


def _told(glyph: str, role: str, said: str, behind: list[tuple[str, bool]]) -> list[list[Run]]:
    """A sentence; what is in its brackets and behind its commas is the first to go."""
    words, _, rest = cells.cut(said, 300).partition(" (")
    first: list[Run] = [(f"{glyph} ", role), (words, role)]
    parts = [first, *([[(f"({rest}", role)]] if rest else [])]
    return [
        *parts,
        *([(f"{'▲ ' if bad else ''}{cells.cut(text, 120)}", "warning" if bad else "label")] for text, bad in behind),
    ]


def _under_way(document: Mapping[str, Any]) -> list[tuple[str, bool]]:
    """What is being done about it."""
    plan, hold = document.get("plan"), document.get("hold")
    found = [(f"{plan['signal']} sent ({plan['kind']})", False)] if plan is not None else []
    found += [(f"peers are spared: {hold}", False)] if hold else []
    left = len(document["leftovers"])
    if left:
        return [(f"{left} process{'' if left == 1 else 'es'} left behind", True), *found]
    peers = any(member["state"] in ("starting", "running") for member in document["ranks"])
    return found or ([("its peers are given time to end", False)] if peers else [])


def _killed_for_memory(document: Mapping[str, Any]) -> list[tuple[str, bool]]:
    """Whether kills for want of memory were counted around the first death; whose, nobody can say."""
    first = document["first_failure"]
    member = next((m for m in document["ranks"] if first is not None and m["member"] == first["member"]), None)
    oom = None if member is None else member["oom"]
    return [] if oom is None else [(f"OOM-kill counter +{oom['cgroup_kills'] or oom['kernel_kills']}", True)]


def _unmet(document: Mapping[str, Any]) -> list[tuple[str, bool]]:
    expect = document["expect"]
    if document["verdict"] != "passed" or expect is None or expect["met"] is not False:
        return []
    return [(unmet(expect["steps"], document["step"]), True)]


def _devices(document: Mapping[str, Any]) -> list[tuple[str, bool]]:
    """Whether the memory of the run's devices came back."""
    mine = [gpu for gpu in document["gpus"] if gpu["in_run"]]
    bad = [gpu["gpu"] for gpu in mine if gpu["returned"] is False]
    if bad:
        return [(f"{names(bad)} NOT back at baseline", True)]
    back = [gpu for gpu in mine if gpu["returned"]]
    if not back or len(back) < len(mine):
        return []
    most = max(gpu["returned_s"] for gpu in back)
    return [(f"{names([gpu['gpu'] for gpu in back])} back at baseline after {most:.2g} s", False)]


def _running(document: Mapping[str, Any]) -> list[list[Run]]:
    """Parts, the most telling first."""
    return [
        part
        for part in (
            _state(document),
            _step(document),
            _phase(document),
            _eta(document),
            _age(document),
            _elapsed(document),
        )
        if part is not None
    ]


def _state(document: Mapping[str, Any]) -> list[Run]:
    state = document["state"]
    if state is None:
        known = ", training complete" if document["training_complete"] else ""
        return [("◇ ", "info"), (f"a log{known}", "label")] if document["run"] is None else [("? followed", "label")]
    glyph, role = _STATES.get(state, ("?", "warning"))
    return [(f"{glyph} {state}", role)]


def _step(document: Mapping[str, Any]) -> list[Run] | None:
    step, total = document["step"], document["steps_total"]
    if step is None:
        return None
    if not total:
        return [(f"step {step}", "value")]
    return [(f"step {step}/{total}", "value"), (f"  {100 * step // total}%", "label")]


def _phase(document: Mapping[str, Any]) -> list[Run] | None:
    phase = document["phase"]
    if phase is None or document["state"] == "ended" or (document["state"] is None and phase == "complete"):
        return None
    words = " and ".join(PHASES.get(part, part) for part in str(phase).split(" + "))
    since, now = document.get("phase_since_offset_s"), document.get("as_of", {}).get("offset_s")
    age = "" if since is None or now is None else f" {duration(now - since)}"
    return [(f"▶ {cells.cut(words, 40)}", "info"), (age, "label")]


def _eta(document: Mapping[str, Any]) -> list[Run] | None:
    left = document["progress"]["eta_s"]
    return None if left is None else [(f"ETA {duration(left)}", "value")]


def _age(document: Mapping[str, Any]) -> list[Run] | None:
    age = document["progress"]["last_line_age_s"]
    return None if age is None else [(f"line {duration(age)} ago", "label")]


def _elapsed(document: Mapping[str, Any]) -> list[Run] | None:
    """Since the start, as of the cursor."""
    offset = (document.get("as_of") or {}).get("offset_s")
    return None if offset is None else [(f"+{duration(offset)}", "label")]


def _cursor(frame: Frame) -> list[Run]:
    if frame.play is None:
        return []
    glyph = "▶" if frame.play.playing else "‖"
    return [(f"  {glyph} {frame.kind}", "info"), (f" ×{frame.play.speed}", "label")]


def _awaited(frame: Frame) -> list[Run]:
    return [(f"  waiting for the memory of {names(frame.awaited)}", "info")] if frame.awaited else []


def _reading(frame: Frame | None) -> list[Run]:
    if frame is None or (frame.is_empty and frame.reading is None):
        return [("  reading…", "info")]
    if frame.reading is None:
        return []
    done, total = frame.reading
    share = f"{min(100, 100 * done // total)} %" if total else size(done)
    word = "seeking" if frame.play is not None and frame.moment is not None and frame.kind == "replay" else "reading"
    return [(f"  {word}… {share}", "info")]
