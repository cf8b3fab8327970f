"""Reads what ms-swift prints and appends to `logging.jsonl`: the Trainer's dict, with the step in it.

`'global_step/max_steps': '5/3766'` (Megatron: `'iteration'`) makes counting and bars unnecessary. Everything else
is TRL's.
"""

from __future__ import annotations

from typing import ClassVar

from grpotui_supervisor.logs.trl import TrlReader


class SwiftReader(TrlReader):
    """One ms-swift run, from its console or from its `logging.jsonl`."""

    framework: ClassVar[str] = "ms-swift"
    told_only: ClassVar[bool] = True
