"""One sample in a frame, which scrolls; beside it the list of its group where there is room."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grpotui.text import inert
from grpotui.tui import cells
from grpotui.tui.panels import answer_rows
from grpotui.tui.panels.framed import Framed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grpotui.tui.answers.values import Shown
    from grpotui.tui.cells import Run
    from grpotui.tui.glyphs import Glyphs
    from grpotui.tui.lines.matching import Matcher

BESIDE = 96
"""Cells of the page from which on the group has a panel of its own."""


_NOTES = 3


class AnswerView(Framed):
    """What is known of it stays, prompt and answer scroll below."""

    title = "sample"

    def __init__(self) -> None:
        super().__init__()
        self.matcher: Matcher | None = None
        self.said = ""
        self.filters = ""
        self.has_list = False
        self._shown: Shown | None = None
        self._document: Mapping[str, Any] = {}
        self._top = 0
        self._texts: list[list[Run]] = []
        self._made_of: object = None
        self._place: object = None

    def show(self, shown: Shown | None, document: Mapping[str, Any]) -> None:
        """Another sample begins at its top; where a search led here, at the hit."""
        self._shown, self._document = shown, document
        place = None if shown is None or shown.sample is None else shown.chosen[shown.at]
        if place != self._place:
            self._place, self._top = place, 0
        self.redraw()

    def to_hit(self) -> None:
        """The first lit row is on the screen."""
        rows = self._text(self.size.width - 4)
        hit = next((at for at, row in enumerate(rows) if any(role == "hit" for _, role in row)), 0)
        self._top = max(0, hit - 2)
        self.redraw()

    def scroll(self, way: int) -> None:
        """By most of what is seen."""
        self._top = max(0, self._top + way * max(1, self.size.height - 8))
        self.redraw()

    def say(self, text: str) -> None:
        """A word in the lower edge, until the next key."""
        self.said = text
        self.redraw()

    def head(self, wide: int) -> list[Run]:
        """Which of how many."""
        shown = self._shown
        if shown is None:
            return []
        runs: list[Run] = [("reading…  ", "label")] if shown.reading else []
        runs += [("searching…  ", "label")] if shown.searching else []
        runs += [(f"only {cells.cut(self.filters, 40)}  ", "warning")] if self.filters else []
        if shown.chosen:
            runs.append((f"{shown.at + 1:,} of {len(shown.chosen):,}", "value"))
        return runs if cells.length(runs) <= wide else runs[-1:]

    def foot(self, wide: int) -> Run | None:
        """A word about the last key."""
        return (cells.cut(self.said, wide), "warning") if self.said else None

    def rows(self, glyphs: Glyphs, wide: int, high: int) -> list[list[Run]]:
        """What is known, and below it as much of the texts as fits."""
        shown = self._shown
        if shown is None or shown.sample is None:
            return self._nothing(shown, wide)
        sample = shown.sample
        step = "step not told" if sample.step is None else f"step {sample.step}"
        prompt = "" if sample.group is None else f" · prompt {sample.group + 1} of the step"
        nth = next(at for at, (one, _) in enumerate(shown.group) if one == shown.chosen[shown.at])
        of = f" · answer {nth + 1} of {shown.size}" if len(shown.group) == shown.size else ""
        top: list[list[Run]] = [[(step, "value"), (f"{prompt}{of}", "label")]]
        top += answer_rows.facts(shown, sample, wide)
        top += [] if self.has_list or shown.size < 2 else [answer_rows.brief_group(shown, wide)]
        top += self._notes(wide)
        room = max(1, high - len(top))
        text = self._text(wide)
        self._top = min(self._top, max(0, len(text) - room))
        body = text[self._top : self._top + room]
        more = len(text) - self._top - len(body)
        if more > 0 and body:
            note = f" {glyphs.below} {more + 1} more rows: PgDn"
            body[-1] = [(note, "label")]
        return [*top, *body]

    def _text(self, wide: int) -> list[list[Run]]:
        """Made once for each sample and width."""
        sample = self._shown.sample if self._shown is not None else None
        made_of = (sample, wide, self.matcher)
        if sample is not None and made_of != self._made_of:
            self._made_of = made_of
            heads = [[("─ prompt " + "─" * max(0, wide - 9), "info")], [("─ answer " + "─" * max(0, wide - 9), "info")]]
            self._texts = [
                heads[0],
                *answer_rows.text_rows(sample.prompt, self.matcher, wide),
                heads[1],
                *answer_rows.text_rows(sample.answer, self.matcher, wide),
            ]
        return self._texts

    def _notes(self, wide: int) -> list[list[Run]]:
        """What a reader should know of where they come from."""
        notes = self._shown.notes if self._shown is not None else ()
        lines = [line for note in notes[:_NOTES] for line in _folded(f"▲ {inert(note)}", wide).split("\n")[:2]]
        return [[(cells.cut(line, wide), "warning")] for line in lines]

    def _nothing(self, shown: Shown | None, wide: int) -> list[list[Run]]:
        if shown is None or (shown.reading and not shown.total):
            return [[("reading…", "label")]]
        if shown.total:
            return [
                [(f"none of {shown.total:,} samples is {self.filters or 'as of the cursor'}; Esc shows all", "label")]
            ]
        found: list[list[Run]] = [
            *self._notes(wide),
            [("no samples: neither in the log nor in a dump that is known", "value")],
            [],
        ]
        for words in answer_rows.absence(self._document):
            found += [*answer_rows.text_rows(_folded(words, wide), None, wide), []]
        return found


class GroupView(Framed):
    """The answers to the same prompt."""

    title = "same prompt"

    def __init__(self) -> None:
        super().__init__()
        self._shown: Shown | None = None

    def show(self, shown: Shown | None) -> None:
        """Those of the sample that is shown."""
        self._shown = shown
        self.redraw()

    def head(self, wide: int) -> list[Run]:  # noqa: ARG002  (it is short)
        """How many differ."""
        shown = self._shown
        if shown is None or not shown.size:
            return []
        return [("the only one" if shown.size == 1 else f"{shown.distinct} different of {shown.size}", "label")]

    def rows(self, glyphs: Glyphs, wide: int, high: int) -> list[list[Run]]:
        """A line each."""
        shown = self._shown
        if shown is None or shown.sample is None:
            return []
        head = "     " + "".join(f"{name:>7} " for name in answer_rows.short_names(shown.sample))
        return [[(head, "label")], *answer_rows.group_rows(shown, glyphs, wide, high - 1)]


def _folded(words: str, wide: int) -> str:
    """At spaces, since it is a sentence."""
    lines = [""]
    for word in words.split(" "):
        if lines[-1] and cells.width(lines[-1]) + 1 + cells.width(word) > wide:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".lstrip()
    return "\n".join(lines)
