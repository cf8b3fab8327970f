"""One answer of the model, and how varied the answers to one prompt are."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True, slots=True)
class Sample:
    """One answer; what its source does not tell is None."""

    step: int | None
    group: int | None
    """Equal for the answers to one prompt in one step."""
    prompt: str
    answer: str
    """As the source has it: raw, and in a table of completions with line breaks where the cell was folded."""
    rewards: Mapping[str, float]
    """By reward function; a name may be cut (`…`) where a table cut it."""
    advantage: float | None
    length: int | None
    """Tokens of the answer."""
    ended: Literal["eos", "truncated"] | None
    source: Literal["table", "console", "dump", "parquet"]


class Groups:
    """Numbers the prompts of a step in the order in which they come.

    Trainers tell no group; they ask every prompt once a step, several times.
    """

    def __init__(self) -> None:
        self._step: int | None = None
        self._numbers: dict[bytes, int] = {}

    def of(self, step: int | None, prompt: str) -> int:
        """The number of the prompt among those of this step, from 0."""
        if step != self._step:
            self._step, self._numbers = step, {}
        return self._numbers.setdefault(_digest(prompt), len(self._numbers))


Key = tuple[int | None, int]
"""Step and group."""


class Shares:
    """The share of different answers in each group, while samples stream by: of one step at a time a digest is kept."""

    def __init__(self) -> None:
        self._of: tuple[str, int | None] | None = None
        self._answers: dict[int, list[bytes]] = {}

    def add(self, sample: Sample) -> dict[Key, float]:
        """Takes one; the groups of the step before, when this one begins another step or comes from another place."""
        done = self.finish() if self._of != (sample.source, sample.step) else {}
        self._of = (sample.source, sample.step)
        if sample.group is not None:
            self._answers.setdefault(sample.group, []).append(_digest(sample.answer))
        return done

    def finish(self) -> dict[Key, float]:
        """The groups of the last step: 1 for a group in which no two answers are equal."""
        step = self._of[1] if self._of else None
        done = {(step, group): len(set(given)) / len(given) for group, given in self._answers.items()}
        self._answers = {}
        return done


def distinct_shares(samples: Iterable[Sample]) -> dict[Key, float]:
    """The share of different answers in each group, by (step, group): 1 when no two are equal."""
    shares, found = Shares(), {}
    for sample in samples:
        found.update(shares.add(sample))
    return found | shares.finish()


def _digest(text: str) -> bytes:
    """Stands for a text: a dump of a gigabyte must not be held in memory."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
