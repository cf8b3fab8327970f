"""Checkpoints, as far as a log tells of them: where, of which step, and whether they were finished.

verl names the folder before it saves and prints the step's record behind it; the Trainer of transformers the same way
round, one step later. So a record that came after says that the saving call had returned. A folder without such a
record is neither complete nor broken as far as the log knows: it is unknown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from grpotui_supervisor.logs.reader import PREFIX

if TYPE_CHECKING:
    from collections.abc import Sequence

LIMIT: Final = 1000
"""Checkpoints kept; the oldest go first."""

_PATH_LIMIT: Final = 4096


class _Form(NamedTuple):
    family: str
    words: str
    pattern: re.Pattern[str]
    """Groups: `path`, and `step` where the path tells it."""


_FORMS: Final = (
    _Form("verl", "local_global_step_folder: ", re.compile(
        PREFIX + r"local_global_step_folder: (?P<path>\S[^\n]*?/global_step_(?P<step>[0-9]{1,15}))$")),
    _Form("trl", "Saving model checkpoint to ", re.compile(
        PREFIX + r"Saving model checkpoint to (?P<path>\S[^\n]*?(?:checkpoint-(?P<step>[0-9]{1,15}))?)$")),
)  # fmt: skip
_SHARD: Final = re.compile(
    r"Saved model to (?P<path>\S[^\n]*?/global_step_[0-9]{1,15})"
    r"/(?P<part>\w{1,40}/model_world_size_[0-9]{1,6}_rank_[0-9]{1,6})\.pt(?: |$)"
)
_WEIGHTS: Final = re.compile(r"Model weights saved in (?P<path>\S[^\n]*?)/(?P<part>[^/\n]{1,80})$")
_LATER: Final = "skip write latest_checkpointed_iteration.txt when async_save is True"

WORDS: Final = {
    "verl": (b"local_global_step_folder: ", b"Saved model to ", b"skip write latest_checkpointed"),
    "trl": (b"Saving model checkpoint to ", b"Model weights saved in "),
}
"""By family: a line of the log that tells of a checkpoint has one of these."""


@dataclass(slots=True)
class Checkpoint:
    """One folder."""

    family: str
    path: str
    """As printed: verl's default is relative to where its driver runs."""
    step: int | None
    began_m: int | None
    """When the log said so, where known."""
    rows: int
    """How many records the log had then."""
    parts: set[str] = field(default_factory=set)
    """Files that were said to be written; Ray leaves out lines that look alike."""
    finishes_later: bool = False
    """It is written in the background: a record that comes after says nothing."""
    evidence: str | None = None
    """Why it is complete; None while that is not known."""
    rows_then: int = 0
    """How many records the log had when that was known."""


class Checkpoints:
    """Those of one log, in the order of their beginning."""

    def __init__(self) -> None:
        self.found: list[Checkpoint] = []
        self._open: list[Checkpoint] = []

    def read(self, line: str, *, family: str | None, rows: int, moment: int | None) -> None:
        """Read one whole line; `family` is that of the log's framework, None while it is not known."""
        for form in _FORMS:
            if family in (None, form.family) and form.words in line and (found := form.pattern.fullmatch(line)):
                step = found["step"]
                self._begin(Checkpoint(form.family, found["path"], int(step) if step else None, moment, rows))
                return
        if self.found:
            self._add(line)

    def settle(self, steps: Sequence[int], *, complete: bool) -> None:
        """Looks at the records that have come: `steps` of all, in their order. `complete`: training is."""
        self._open = [each for each in self._open if not self._is_settled(each, steps, complete=complete)]

    def _begin(self, fresh: Checkpoint) -> None:
        if len(fresh.path) <= _PATH_LIMIT:
            self.found.append(fresh)
            self._open.append(fresh)
            del self.found[:-LIMIT], self._open[:-LIMIT]

    def _add(self, line: str) -> None:
        if _LATER in line:
            self.found[-1].finishes_later = True
        part = _SHARD.search(line) or _WEIGHTS.search(line)
        if part is not None:
            known = next((each for each in reversed(self.found) if each.path.endswith(part["path"])), None)
            known = known or next((each for each in reversed(self.found) if part["path"].endswith(each.path)), None)
            if known is not None and len(known.parts) < LIMIT:
                known.parts.add(part["part"])

    @staticmethod
    def _is_settled(one: Checkpoint, steps: Sequence[int], *, complete: bool) -> bool:
        if one.finishes_later:
            return True
        if one.step is None:
            return False
        least = one.step if one.family == "verl" else one.step + 1
        later = next((row for row in range(one.rows, len(steps)) if steps[row] >= least), None)
        if later is not None:
            one.evidence, one.rows_then = f"the record of step {steps[later]} was printed after it", later + 1
        elif complete:
            one.evidence, one.rows_then = "training was complete after it", len(steps)
        return one.evidence is not None
