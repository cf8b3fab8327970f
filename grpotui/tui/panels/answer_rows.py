"""A sample as rows of cells: what is known of it, prompt, answer; and the list of its group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import chop_cells

from grpotui.text import inert, number
from grpotui.tui import cells

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from grpotui.tui.answers.values import Shown
    from grpotui.tui.cells import Run
    from grpotui.tui.glyphs import Glyphs
    from grpotui.tui.lines.matching import Matcher
    from grpotui_supervisor.samples.sample import Sample

_TAB = 4
_COLUMNS = 3
_MOST_ROWS = 20_000
"""Of one text: 2 MB at 100 cells."""
_ENDS = {"eos": ("■ ended by itself", "good"), "truncated": ("▲ cut off at the limit", "warning")}
_PLACES = {
    "table": "TRL's table in the log",
    "console": "verl's console",
    "dump": "verl's dump",
    "parquet": "TRL's completions file",
}


def facts(shown: Shown, sample: Sample, wide: int) -> list[list[Run]]:
    """Rewards, then what else is known, on as many rows as that takes."""
    groups = [[(f"{cells.cut(name, 40)} ", "label"), _reward(value)] for name, value in sample.rewards.items()]
    if not groups:
        groups.append([("no reward is told", "label")])
    known: list[list[Run]] = []
    if sample.advantage is not None:
        known.append([("advantage ", "label"), (f"{sample.advantage:+.4g}", "value")])
    if sample.length is not None:
        known.append([("length ", "label"), (f"{sample.length:,} tokens", "value")])
    else:
        known.append(
            [("length ", "label"), (f"{len(sample.answer):,} characters", "value"), (", tokens not told", "label")]
        )
    known.append([_ENDS[sample.ended]] if sample.ended is not None else [("how it ended is not told", "label")])
    if shown.size > 1:
        known.append([(f"{shown.distinct} different ", "value"), (f"among {shown.size} answers", "label")])
    known.append([("from ", "label"), (_PLACES[sample.source], "label")])
    return [*flowed(groups, wide), *flowed(known, wide)]


def flowed(groups: Sequence[list[Run]], wide: int) -> list[list[Run]]:
    """Groups of runs, two cells apart, a new row where the next one has no room."""
    rows: list[list[Run]] = []
    for group in groups:
        gap: list[Run] = [("  ", "blank")]
        if rows and cells.length(rows[-1]) + 2 + cells.length(group) <= wide:
            rows[-1] = [*rows[-1], *gap, *group]
        else:
            rows.append(list(group))
    return rows


def text_rows(text: str, matcher: Matcher | None, wide: int) -> list[list[Run]]:
    """A text in lines of its own, wrapped; hits are lit."""
    rows: list[list[Run]] = []
    for line in text.replace("\r\n", "\n").split("\n"):
        shown = inert(line.expandtabs(_TAB))
        spans = matcher.spans(shown) if matcher is not None else []
        at = 0
        for part in chop_cells(shown, max(2, wide)) or [""]:
            rows.append(_lit(part, at, spans))
            at += len(part)
        if len(rows) > _MOST_ROWS:
            return [*rows[:_MOST_ROWS], [("… and more", "label")]]
    return rows


def group_rows(shown: Shown, glyphs: Glyphs, wide: int, high: int) -> list[list[Run]]:
    """A line an answer: its rewards, and how it begins; the one that is shown is marked and among them."""
    here = shown.chosen[shown.at]
    at = next(place for place, (one, _) in enumerate(shown.group) if one == here)
    begin = max(0, min(at - high // 2, len(shown.group) - high))
    rows = []
    for place, (one, sample) in enumerate(shown.group[begin : begin + high], begin):
        mark = "+" if one == here else ""
        runs: list[Run] = [("▸" if one == here else " ", f"value{mark}"), (f"{place + 1:>3} ", f"label{mark}")]
        runs += [(f"{text:>7} ", role + mark) for text, role in map(_reward, list(sample.rewards.values())[:_COLUMNS])]
        if sample.ended == "truncated":
            runs.append(("▲", f"warning{mark}"))
        begins = cells.cut(" ".join(sample.answer[:400].split()), max(0, wide - cells.length(runs)), glyphs.cut)
        row = cells.padded([*runs, (begins, f"title{mark}")], wide)
        rows.append([*row[:-1], (row[-1][0], f"title{mark}")] if row[-1][1] == "blank" else row)
    return rows


def short_names(sample: Sample) -> list[str]:
    """Heads of the columns of a group: what all names begin with tells nothing."""
    names = list(sample.rewards)[:_COLUMNS]
    shared = next((at for at, letters in enumerate(zip(*names, strict=False)) if len(set(letters)) > 1), 0)
    return [cells.cut(name[min(shared, len(name) - 1) :], 7) for name in names]


def brief_group(shown: Shown, wide: int) -> list[Run]:
    """The group on one row: the first reward of each answer."""
    here = shown.chosen[shown.at]
    runs: list[Run] = [("group ", "label")]
    for one, sample in shown.group:
        value = next(iter(sample.rewards.values()), None)
        text, role = ("-", "label") if value is None else _reward(value)
        runs.append((f"[{text}]" if one == here else f" {text} ", "value" if one == here else role))
        if cells.length(runs) > wide - 6:
            return [*runs[:-1], (f" of {shown.size}", "label")]
    return runs


def absence(document: Mapping[str, object]) -> list[str]:
    """Why there is nothing, and how that can be changed."""
    framework = document.get("framework")
    name = 'grpotui finds them by [logs] samples = ["FOLDER"] in the profile'
    trl = f"TRL: log_completions=True prints a table in rank 0's log, and writes OUTPUT_DIR/completions; {name}"
    verl = f"verl: trainer.rollout_data_dir=FOLDER (validation: trainer.validation_data_dir) writes them; {name}"
    if framework in ("trl", "verl"):
        return [trl if framework == "trl" else verl]
    return [trl, verl]


def _reward(value: float) -> Run:
    role = "good" if value > 0 else "critical" if value < 0 else "label"
    return number(value), role if value == value else "warning"  # noqa: PLR0124  (NaN)


def _lit(part: str, begin: int, spans: Sequence[tuple[int, int]]) -> list[Run]:
    """One row of a line, whose spans count from the line's beginning."""
    runs: list[Run] = []
    at = 0
    for first, last in spans:
        first, last = max(at, first - begin), min(len(part), last - begin)  # noqa: PLW2901
        if first < last:
            runs += [(part[at:first], "title"), (part[first:last], "hit")]
            at = last
    return [run for run in (*runs, (part[at:], "title")) if run[0]]
