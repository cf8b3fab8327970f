"""The thread of the samples page: what is kept, chosen, and found."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest
from support.waiting import wait_until

from grpotui.tui.answers import store
from grpotui.tui.answers.reading import AnswerReader
from grpotui.tui.answers.store import Answers, Criteria
from grpotui.tui.answers.values import Shown, Wish
from grpotui_supervisor.errors import UsageError
from grpotui_supervisor.samples.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def sample(step: int | None, group: int | None = 0, answer: str = "an answer", **other: Any) -> Sample:
    known: dict[str, Any] = {"prompt": f"prompt {group} of {step}", "rewards": {"acc": 1.0}, "advantage": None,
                             "length": None, "ended": None, "source": "dump"}  # fmt: skip
    return Sample(step=step, group=group, answer=answer, **(known | other))


class Source:
    """Samples that grow."""

    def __init__(self, *samples: Sample) -> None:
        self.samples = list(samples)
        self.fails: Exception | None = None
        self.reads = 0

    def __call__(self, note: Callable[[str], object]) -> Iterator[Sample]:
        self.reads += 1
        note("a note")
        yield from self.samples
        if self.fails is not None:
            raise self.fails


class Reading:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.reader = AnswerReader(source, threading.Event().set)

    def ask(self, wish: Wish, until: Callable[[Shown], object] = lambda _: True) -> Shown:
        self.reader.ask(wish)

        def there() -> Shown | None:
            shown = self.reader.shown
            done = shown is not None and shown.wish == wish and not shown.reading and not shown.searching
            return shown if shown is not None and done and until(shown) else None

        return wait_until(there)


@pytest.fixture
def reading() -> Iterator[Reading]:
    found = Reading(
        Source(*(sample(step, group, f"answer {n}") for step in (1, 2) for group in (0, 1) for n in range(3)))
    )
    yield found
    found.reader.close()


def test_samples_come_back_as_they_were() -> None:
    given = [
        sample(None, None, "a\n\u202e\ud800 🚀", prompt="", rewards={"nan": float("nan"), "x": 1e300}),
        sample(3, 1, "", advantage=-0.5, length=7, ended="truncated", source="table"),
    ]
    answers = Answers()
    for one in given:
        answers.add(one)
    assert repr([answers.get(1), answers.get(0)]) == repr(given[::-1])
    answers.close()


def test_the_first_answer_of_the_newest_prompt_is_shown_first(reading: Reading) -> None:
    shown = reading.ask(Wish("state"))
    assert (shown.total, len(shown.chosen), shown.at) == (12, 12, 9)
    assert shown.sample == sample(2, 1, "answer 0")
    assert [one.answer for _, one in shown.group] == ["answer 0", "answer 1", "answer 2"]
    assert (shown.size, shown.distinct) == (3, 3)
    assert shown.notes == ("a note",)


def test_choices(reading: Reading) -> None:
    reading.source.samples += [
        sample(3, 0, "bad", rewards={"acc": 0.0, "format": -1.0}),
        sample(3, 0, "cut", ended="truncated"),
        sample(None, None, "whenever", rewards={}),
    ]

    def answers(criteria: Criteria) -> list[str]:
        shown = reading.ask(Wish("state", criteria))
        return [reading.source.samples[number].answer for number in shown.chosen]

    assert answers(Criteria(failed=True)) == ["bad"]
    assert answers(Criteria(truncated=True)) == ["cut"]
    assert answers(Criteria(failed=True, truncated=True)) == []
    assert answers(Criteria(step=3)) == ["bad", "cut"]
    assert answers(Criteria(until=1)) == ["answer 0", "answer 1", "answer 2"] * 2
    assert answers(Criteria())[-1] == "whenever"


def test_equal_answers_are_counted(reading: Reading) -> None:
    reading.source.samples = [sample(1, 0, "same"), sample(1, 0, "same"), sample(1, 0, "other")]
    shown = reading.ask(Wish("state"))
    assert (shown.distinct, shown.size) == (2, 3)


def test_steps_that_come_out_of_order_are_shown_in_theirs(reading: Reading) -> None:
    reading.source.samples = [sample(3), sample(1), sample(2)]
    shown = reading.ask(Wish("state"))
    assert list(shown.chosen) == [1, 2, 0]
    assert shown.sample == sample(3)


def test_the_source_is_read_again_when_there_may_be_more(reading: Reading) -> None:
    assert reading.ask(Wish("one")).total == 12
    reading.source.samples.append(sample(3))
    assert reading.ask(Wish("one", at=0)).total == 12
    assert reading.ask(Wish("two"), lambda shown: shown.total == 13).sample == sample(3)
    assert reading.source.reads == 2


def test_a_search_goes_on_and_back(reading: Reading) -> None:
    reading.ask(Wish("state", at=0))
    found, at = [], 0
    for number, way in enumerate((1, 1, 1, 1, -1), 1):
        wish = Wish("state", at=at, find=("answer 1", way, number))
        hit = reading.ask(wish, lambda s, number=number: s.hit is not None and s.hit.search == number).hit  # type: ignore[misc]
        assert hit is not None
        found.append(hit.number)
        at = at if hit.number is None else hit.number
    assert found == [1, 4, 7, 10, 7]
    none = reading.ask(Wish("state", at=11, find=("answer 1", 1, 9)), lambda s: s.hit is not None and s.hit.search == 9)
    assert none.hit is not None
    assert none.hit.number is None


def test_what_goes_wrong_is_said_and_the_rest_is_shown(reading: Reading) -> None:
    reading.source.fails = UsageError("dump is a Parquet file, and pyarrow is not installed")
    shown = reading.ask(Wish("state"))
    assert shown.total == 12
    assert shown.notes == ("a note", "dump is a Parquet file, and pyarrow is not installed")


def test_more_than_the_disk_may_hold_is_said(reading: Reading, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MOST_BYTES", 1000)
    shown = reading.ask(Wish("state"))
    assert 0 < shown.total < 12
    assert shown.notes[-1].startswith("there are more samples than")
