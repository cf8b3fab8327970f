"""One process's timed sections, as the hook recorded them: what it is doing, and since when."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

WORDS: Final = {
    "_prepare_inputs": "rollout",  # what of it is none of the others: tokenizing, gathering, until 0.19 generation
    "vLLM.generate": "generate",
    "transformers.generate": "generate",
    "transformers.generate_batch": "generate",
    "transformers.generate_paged": "generate",
    "_calculate_rewards": "reward",
    "_get_per_token_logps": "logprob",
    "_get_per_token_logps_and_entropies": "logprob",
    "_move_model_to_vllm": "sync",
    "sync_weights": "sync",
    "compute_loss": "update",
    "evaluate": "evaluate",
    "_save_checkpoint": "save",
    "save_model": "save",
}
"""Phase of a section, by its name without the class in front; TRL 0.16 to 1.16, and three methods of transformers."""

_WHOLE: Final = frozenset({"update", "evaluate", "save"})
"""What is in them belongs to them: the log probabilities in a loss are a part of the update."""

_BOUNDS: Final = frozenset({"step_end", "train_begin", "train_end"})
_MOST_OPEN: Final = 100


class Phase(NamedTuple):
    """A phase, and when it began (monotonic nanoseconds)."""

    word: str
    since_m: int


class _Open(NamedTuple):
    line: int
    word: str | None
    """What is going on while it is the innermost one."""


@dataclass(slots=True)
class Sections:
    """Of one process. Half of a run's records come through here, so each takes a microsecond or two."""

    phase: Phase | None = None
    _open: list[_Open] = field(default_factory=list)
    _in_step: bool = False
    _worked: bool = False
    """The step had a section: what is between its sections is backward pass and optimizer."""

    def take(self, record: Mapping[str, Any]) -> None:
        """One line of the hook's file.

        Raises:
            KeyError, TypeError, AttributeError: the line lacks what its kind needs.
        """
        ev = record["ev"]
        if ev == "begin":
            if record.get("main") is False or len(self._open) >= _MOST_OPEN:
                return  # beside what the process is doing
            self._open.append(_Open(int(record["seq"]), self._inside(_word(record["name"], record.get("kind")))))
        elif ev == "end":
            self._end(int(record["begin"]))
        elif ev == "step_begin":
            self._in_step, self._worked, self._open = True, False, []
        elif ev in _BOUNDS:
            self._in_step, self._open = False, []
        else:
            return
        word = self._now()
        if word is None:
            self.phase = None
        elif self.phase is None or self.phase.word != word:
            self.phase = Phase(word, int(record["m"]))

    def _inside(self, word: str | None) -> str | None:
        around = self._open[-1].word if self._open else None
        return around if word is None or around in _WHOLE else word

    def _end(self, line: int) -> None:
        """Ends the section that began in this line, and whatever was open in it; another thread's is not there."""
        if not any(section.line == line for section in self._open):
            return
        while self._open.pop().line != line:
            pass
        self._worked = True

    def _now(self) -> str | None:
        if self._open:
            return self._open[-1].word
        return "update" if self._in_step and self._worked else None


def _word(name: str, kind: object) -> str | None:
    return "reward" if kind == "reward" else WORDS.get(name.partition(".")[2])
