"""The thread of the samples page: it reads all samples again when there may be more, and never in the way of a key."""

from __future__ import annotations

import time
from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING, Final, NamedTuple

from grpotui.tui.answers.store import Answers, Criteria
from grpotui.tui.answers.values import Hit, Shown, Wish
from grpotui.tui.lines.matching import Matcher
from grpotui.tui.wish_thread import WishThread
from grpotui_supervisor.errors import GrpotuiError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from grpotui_supervisor.samples.sample import Sample

_TURN_S: Final = 0.01
_PERIOD_S: Final = 0.4
"""So often what was read so far is shown."""
_SHARE: Final = 0.05
"""Reading all of it again may take so much of a core."""
_GROUP: Final = 64
_WAIT_S: Final = 0.5


class _Search(NamedTuple):
    number: int
    matcher: Matcher
    way: int
    left: Iterator[int]


class AnswerReader(WishThread[Wish]):
    """Samples by wish. `told` is called in its thread when there is something else to show.

    Attributes:
        shown: the newest.
    """

    def __init__(
        self,
        samples: Callable[[Callable[[str], object]], Iterator[Sample]],
        told: Callable[[], object],
    ) -> None:
        """`samples` begins anew with each call; what it has to say goes to its argument."""
        super().__init__("samples")
        self.shown: Shown | None = None
        self._samples, self._told = samples, told
        self._wish: Wish | None = None
        self._answers: Answers | None = None
        self._fresh: Answers | None = None
        self._source: Iterator[Sample] | None = None
        self._state: object = None
        self._notes: list[str] = []
        self._said: tuple[str, ...] = ()
        self._chosen = array("I")
        self._chosen_by: tuple[Criteria, int, int] | None = None
        self._search: _Search | None = None
        self._hit: Hit | None = None
        self._began = self._posted = 0.0
        self._not_before = 0.0

    def _release(self) -> None:
        for answers in (self._answers, self._fresh):
            if answers is not None:
                answers.close()

    def _rest_s(self) -> float | None:
        """Where there may be more samples it looks again: reading them has its time."""
        return _WAIT_S if self._wish is not None and self._wish.state != self._state else None

    def _turn(self, wish: Wish | None) -> bool:
        if wish is not None:
            self._take(wish)
        busy = self._read_on() | self._search_on()
        if wish is not None or not busy or time.monotonic() - self._posted > _PERIOD_S:
            self._post()
        return busy

    def _take(self, wish: Wish) -> None:
        before, self._wish = self._wish, wish
        if wish.find is not None and (before is None or wish.find != before.find):
            self._begin_search(wish)

    def _read_on(self) -> bool:
        """Some milliseconds of reading; whether there is more."""
        wish, now = self._wish, time.monotonic()
        if wish is None:
            return False
        if self._source is None:
            if wish.state == self._state or now < self._not_before:
                return False
            self._state, self._began, self._notes = wish.state, now, []
            self._source, self._fresh = self._samples(self._notes.append), Answers()
        try:
            while time.monotonic() - now < _TURN_S and self._fresh is not None:
                sample = next(self._source, None)
                if sample is None:
                    self._finish()
                    return False
                self._fresh.add(sample)
        except (GrpotuiError, OSError) as error:
            self._notes.append(str(error))
            self._finish()
            return False
        return True

    def _finish(self) -> None:
        """What was read takes the place of what was read before."""
        if self._answers is not None:
            self._answers.close()
        self._answers, self._fresh, self._source = self._fresh, None, None
        self._said = tuple(dict.fromkeys(self._notes))
        self._chosen_by = None
        spent = time.monotonic() - self._began
        self._not_before = time.monotonic() + spent / _SHARE

    @property
    def _best(self) -> Answers | None:
        """Those of the time before, until all are read."""
        return self._answers if self._answers is not None else self._fresh

    def _choose(self, wish: Wish) -> array[int]:
        answers = self._best
        if answers is None:
            return array("I")
        by = (wish.criteria, id(answers), len(answers))
        if by != self._chosen_by:
            self._chosen, self._chosen_by = answers.chosen(wish.criteria), by
        return self._chosen

    def _post(self) -> None:
        wish, answers = self._wish, self._best
        self._posted = time.monotonic()
        if wish is None or answers is None:
            return
        chosen = self._choose(wish)
        at = _place(chosen, answers, wish.at)
        full = ("there are more samples than 1 GiB: the last ones are left out",) if answers.is_full else ()
        told = Shown(
            wish,
            len(answers),
            chosen,
            at,
            reading=self._source is not None,
            searching=self._search is not None,
            hit=self._hit,
            knows_ends=answers.knows_ends,
            notes=(*self._said, *full),
        )
        if chosen:
            number = chosen[at]
            group = answers.group(number)
            near = max(0, min(bisect_left(group, number) - _GROUP // 2, len(group) - _GROUP))
            told = told._replace(
                sample=answers.get(number),
                group=tuple((one, answers.get(one)) for one in group[near : near + _GROUP]),
                size=len(group),
                distinct=answers.distinct(number),
            )
        if told != self.shown:
            self.shown = told
            self._told()

    def _begin_search(self, wish: Wish) -> None:
        answers = self._best
        if wish.find is None or answers is None:
            return
        words, way, number = wish.find
        chosen = self._choose(wish)
        at = _place(chosen, answers, wish.at)
        left = chosen[at + 1 :] if way > 0 else chosen[:at][::-1]
        self._hit = None
        self._search = _Search(number, Matcher(words), way, iter(left))

    def _search_on(self) -> bool:
        """Some milliseconds of searching."""
        search, answers, until = self._search, self._best, time.monotonic() + _TURN_S
        if search is None or answers is None:
            return False
        while time.monotonic() < until:
            number = next(search.left, None)
            if number is None or (number < len(answers) and _matches(answers.get(number), search.matcher)):
                self._hit, self._search = Hit(search.number, number), None
                return False
        return True


def _place(chosen: array[int], answers: Answers, number: int | None) -> int:
    """Where a sample is among the chosen; else the first of the newest group."""
    if number is not None:
        try:
            return chosen.index(number)
        except ValueError:
            return min(bisect_left(chosen, number), max(0, len(chosen) - 1))
    if not chosen:
        return 0
    first = set(answers.group(chosen[-1]))
    at = len(chosen) - 1
    while at and chosen[at - 1] in first:
        at -= 1
    return at


def _matches(sample: Sample, matcher: Matcher) -> bool:
    return matcher.holds(f"{sample.prompt}\n{sample.answer}")
