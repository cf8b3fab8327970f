"""What several runs were started with, where it differs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from grpotui.text import inert
from grpotui_supervisor.errors import GrpotuiError
from grpotui_supervisor.rundir import RunDirectory

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from grpotui.tui.feed.feed import Feed

_UNSET: Final = "-"
_LEFT_OUT: Final = frozenset({"name"})
_ARGV: Final = "launch.argv"


def differing_settings(feeds: Sequence[Feed]) -> list[tuple[str, list[str]]]:
    """(key of the profile or option of its command, its value in each run); nothing of a log, which has no profile."""
    found = [dict(_settings(feed)) for feed in feeds]
    if not all(found):
        return []
    keys = sorted(set().union(*found))
    rows = [(key, [inert(one.get(key, _UNSET)) for one in found]) for key in keys]
    return [(inert(key), values) for key, values in rows if len(set(values)) > 1]


def _settings(feed: Feed) -> Iterator[tuple[str, str]]:
    directory = getattr(feed, "directory", None)
    if not isinstance(directory, RunDirectory):
        return
    try:
        profile = directory.facts().get("profile", {})
    except GrpotuiError:
        return
    yield from _flat(profile, "")


def _flat(table: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, str]]:
    """`launch.nproc` and its value; words of the command as the options that they set."""
    for key, value in table.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict):
            yield from _flat(value, f"{name}.")
        elif name == _ARGV and isinstance(value, list):
            yield from _options([str(word) for word in value])
        elif name not in _LEFT_OUT and value is not None:
            yield name, str(value)


def _options(words: list[str]) -> Iterator[tuple[str, str]]:
    """`--steps 20`, `--steps=20` and verl's `trainer.epochs=2`; other words together."""
    rest, at = [], 0
    while at < len(words):
        word = words[at]
        name, equals, value = word.partition("=")
        follows = at + 1 < len(words) and not words[at + 1].startswith("--")
        if equals:
            yield name, value
        elif word.startswith("--") and follows:
            at += 1
            yield word, words[at]
        elif word.startswith("--"):
            yield word, "set"
        else:
            rest.append(word)
        at += 1
    yield _ARGV, " ".join(rest)
