"""One answer of the model, and how varied the answers to one prompt are."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
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
        self._numbers: dict[str, int] = {}

    def of(self, step: int | None, prompt: str) -> int:
        """The number of the prompt among those of this step, from 0."""
        if step != self._step:
            self._step, self._numbers = step, {}
        return self._numbers.setdefault(prompt, len(self._numbers))


def distinct_shares(samples: Iterable[Sample]) -> dict[tuple[int | None, int], float]:
    """The share of different answers in each group, by (step, group): 1 when no two are equal."""
    answers: defaultdict[tuple[int | None, int], list[str]] = defaultdict(list)
    for sample in samples:
        if sample.group is not None:
            answers[sample.step, sample.group].append(sample.answer)
    return {group: len(set(given)) / len(given) for group, given in answers.items()}
