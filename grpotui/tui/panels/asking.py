"""What a page asks of whoever may end processes: the question is theirs to put, and the end theirs to bring about.

A run is ended as a whole: the supervisor has no way to end one rank, whose peers would only wait for it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final, Literal

from textual.message import Message

from grpotui.gpu_words import held
from grpotui.text import member_name, member_word

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

What = Literal["stop", "kill", "leftovers"]
_NAMED: Final = 8
_WORDS: Final = 3


class EndAsked(Message):
    """A person wants processes to end."""

    def __init__(self, what: What, words: str, processes: Sequence[str]) -> None:
        super().__init__()
        self.what, self.words = what, words
        self.processes = [*processes[:_NAMED], *([f"and {len(processes) - _NAMED} more"] if processes[_NAMED:] else [])]


def end_of_run(document: Mapping[str, Any], facts: Mapping[str, Any], *, now: bool) -> EndAsked | None:
    """The end of all members that live; None where none does."""
    alive = [m for m in document["ranks"] if m["state"] in ("starting", "running")]
    if not alive:
        return None
    run = document["run"]
    words = f"Kill {run}? KILL to every process of it, at once; nothing is saved." if now else _plan(run, facts)
    return EndAsked("kill" if now else "stop", words, [_member(m, facts) for m in alive])


def end_of_leftovers(document: Mapping[str, Any], facts: Mapping[str, Any]) -> EndAsked | None:
    """The end of what outlived its ranks; None where nothing did."""
    left = document.get("leftovers") or ()
    if not left:
        return None
    words = f"End what {document['run']} left behind? TERM, after {_seconds(facts, 'terminate_seconds')} KILL."
    named = [f"pid {one['pid']}  {one['name']}{_whose(one)}{held(one)}" for one in left]
    return EndAsked("leftovers", words, named)


def _plan(run: str, facts: Mapping[str, Any]) -> str:
    first, then = _seconds(facts, "interrupt_seconds"), _seconds(facts, "terminate_seconds")
    return f"Stop {run}? INT to its ranks, after {first} TERM, after {then} KILL."


def _seconds(facts: Mapping[str, Any], name: str) -> str:
    seconds = facts.get("profile", {}).get("launch", {}).get(name)
    return f"{seconds:g} s" if isinstance(seconds, int | float) else "10 s"


def _member(member: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    pid = "not started yet" if member["pid"] is None else f"pid {member['pid']}"
    return f"{pid}  {member_name(member)}  {program(member, facts)}".rstrip()


def _whose(left: Mapping[str, Any]) -> str:
    return f" (of {member_word(left['member'])})" if left["member"] else ""


def program(member: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """The first words of a member's command line, without folders; empty where it is not on record."""
    known = [m.get("argv") for m in facts.get("members", ()) if m.get("member") == member["member"]]
    words = [str(word) for argv in known[:1] if isinstance(argv, list) for word in argv]
    return " ".join(os.path.basename(word) or word for word in words[:_WORDS])
