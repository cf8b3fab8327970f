"""Readers of training logs: one file a framework, bytes in, columns out.

A new framework is one file with a `Reader`, one line in `READERS` and its keys in `catalog`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from grpotui_supervisor.logs.areal import ArealReader
from grpotui_supervisor.logs.auto import AutoReader, Candidate
from grpotui_supervisor.logs.catalog import SAME_AS
from grpotui_supervisor.logs.easyr1 import EasyR1Reader
from grpotui_supervisor.logs.llama_factory import LlamaFactoryReader
from grpotui_supervisor.logs.minimind import MinimindReader
from grpotui_supervisor.logs.nemo_rl import NemoRlReader
from grpotui_supervisor.logs.oat import OatReader
from grpotui_supervisor.logs.open_instruct import OpenInstructReader
from grpotui_supervisor.logs.openrlhf import OpenRlhfReader
from grpotui_supervisor.logs.prime_rl import PrimeRlReader
from grpotui_supervisor.logs.roll import RollReader
from grpotui_supervisor.logs.skyrl import SkyRlReader
from grpotui_supervisor.logs.slime import SlimeReader
from grpotui_supervisor.logs.swift import SwiftReader
from grpotui_supervisor.logs.torchforge import TorchforgeReader
from grpotui_supervisor.logs.torchtune import TorchtuneReader
from grpotui_supervisor.logs.trainer_state import TrainerStateReader
from grpotui_supervisor.logs.trl import TrlReader
from grpotui_supervisor.logs.verl import VerlReader

if TYPE_CHECKING:
    from collections.abc import Callable

    from grpotui_supervisor.logs.reader import Reader


class Entry(NamedTuple):
    """One framework that can be read."""

    framework: str
    """As a profile spells it."""
    make: Callable[[int | None], Reader]
    """Makes its reader from the profile's `logging_steps`."""
    marks: tuple[bytes, ...]
    """A line with a record, or the first line of one, has one of these."""


READERS: Final = (  # of two that could read one line the more particular one comes first
    Entry("slime", lambda _steps: SlimeReader(), (b": {",)),
    Entry("openrlhf", lambda _steps: OpenRlhfReader(), (b"Global step ", b"Train epoch [")),
    Entry("skyrl", lambda _steps: SkyRlReader(), (b" - Step ", b"policy_l")),
    Entry("easyr1", lambda _steps: EasyR1Reader(), (b"Step ", b'{"step": ')),
    Entry("prime-rl", lambda _steps: PrimeRlReader(), (b"Step ", b'{"step": ')),
    Entry("nemo-rl", lambda _steps: NemoRlReader(), (b" Results:",)),
    Entry("areal", lambda _steps: ArealReader(), (b"(AReaL)",)),
    Entry("roll", lambda _steps: RollReader(), (b"[PID ",)),
    Entry("open-instruct", lambda _steps: OpenInstructReader(), (b" Metrics ",)),
    Entry("torchforge", lambda _steps: TorchforgeReader(), (b"METRICS STEP ",)),
    Entry("torchtune", lambda _steps: TorchtuneReader(), (b"Step ",)),
    Entry("oat", lambda _steps: OatReader(), (b"{",)),
    Entry("minimind", lambda _steps: MinimindReader(), (b"Epoch:[",)),
    Entry("llama-factory", lambda steps: LlamaFactoryReader(logging_steps=steps), (b"{'loss'", b'{"current_steps"')),
    Entry("verl", lambda _steps: VerlReader(), (b"step", b"Final validation")),
    Entry("ms-swift", lambda steps: SwiftReader(logging_steps=steps), (b"max_steps", b"iteration")),
    Entry("trainer-state", lambda _steps: TrainerStateReader(), (b'"log_history"',)),
    Entry("trl", lambda steps: TrlReader(logging_steps=steps), (b"{",)),
)


def reader_for(framework: str, *, logging_steps: int | None = None) -> Reader | None:
    """A new reader for a framework, "auto" included; None for one that has no reader.

    `logging_steps` is the trainer's setting of that name, where known: TRL prints no step. A fork without a reader of
    its own is read as its origin, and the reader goes by that name.
    """
    if framework == "auto":
        return AutoReader(Candidate(partial(entry.make, logging_steps), entry.marks) for entry in READERS)
    entries = {entry.framework: entry for entry in READERS}
    entry = entries.get(framework) or entries.get(SAME_AS.get(framework, ""))
    return entry.make(logging_steps) if entry else None
