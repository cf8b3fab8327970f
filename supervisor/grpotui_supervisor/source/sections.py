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

_MOST_OPEN: Final = 100


class Phase(NamedTuple):
    """A phase, and when it began (monotonic nanoseconds)."""

    word: str
    since_m: int


class _Open(NamedTuple):
    line: int
    word: str | None


@dataclass(slots=True)
class Sections:
    """Of one process."""

    phase: Phase | None = None
    _open: list[_Open] = field(default_factory=list)
    _in_step: bool = False
    _worked: bool = False
    """The step had a section: what is between its sections is backward pass and optimizer."""

    def take(self, record: Mapping[str, Any]) -> None:
        """One line of the hook's file."""
        match record:
            case {"main": False}:  # beside what the process is doing
                return
            case {"ev": "begin", "seq": int(line), "name": str(name)}:
                if len(self._open) < _MOST_OPEN:
                    self._open.append(_Open(line, _word(name, record.get("kind"))))
            case {"ev": "end", "begin": int(line)}:
                self._open = [section for section in self._open if section.line < line]
                self._worked = True
            case {"ev": "step_begin"}:
                self._in_step, self._worked, self._open = True, False, []
            case {"ev": "step_end" | "train_begin" | "train_end"}:
                self._in_step, self._open = False, []
            case _:
                return
        word = self._now()
        if word is None:
            self.phase = None
        elif self.phase is None or self.phase.word != word:
            self.phase = Phase(word, int(record["m"]))

    def _now(self) -> str | None:
        words = [section.word for section in self._open if section.word is not None]
        whole = [word for word in words if word in _WHOLE]
        if words:
            return whole[0] if whole else words[-1]
        return "update" if self._in_step and self._worked and not self._open else None


def _word(name: str, kind: object) -> str | None:
    return "reward" if kind == "reward" else WORDS.get(name.partition(".")[2])
