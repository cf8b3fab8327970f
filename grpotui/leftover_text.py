"""Processes that outlived their ranks, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grpotui.gpu_words import held
from grpotui.text import ending, member_word
from grpotui_supervisor.source.status import state_fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grpotui_supervisor.source.changes import LeftoverEnded


def process_words(left: Mapping[str, Any]) -> str:
    """`pid 4720 VLLM::EngineCore (of rank 0), holds 2.6 GiB on GPU 0`."""
    whose = f" (of {member_word(left['member'])})" if left["member"] else ""
    return f"pid {left['pid']} {left['name']}{whose}{held(left)}"


def leftover_line(left: Mapping[str, Any]) -> str:
    """A process of the run that outlived its ranks."""
    return f"still alive: {process_words(left)}"


def fate_line(fate: LeftoverEnded) -> str:
    """What became of one that was asked to end."""
    name = f"pid {fate.leftover.pid} {fate.leftover.name}"
    if fate.state is None:
        return f"{name} is still alive: {fate.reason}"
    sent = f" (grpotui had sent {', '.join(fate.sent)})" if fate.sent else ""
    return f"{name} {ending(state_fields(fate.state))}{sent}"
