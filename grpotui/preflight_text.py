"""A preflight as text: a table, plain lines, and the few words that a launch has for it. Pure."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any, Final

from grpotui.text import inert

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

SIGNS: Final = {
    "passed": "✔ passed",
    "warning": "▲ warning",
    "failed": "✖ failed",
    "not_applicable": "○ not applicable",
    "unchecked": "? not checked",
}
WORDS: Final = {
    "passed": "passed",
    "warning": "warning",
    "failed": "failed",
    "not_applicable": "not applicable",
    "unchecked": "could not be checked",
}
_LEAST: Final = 30
"""Columns of evidence; where a terminal has no room for them beside the names, they are below."""
_INDENT: Final = 4


def table_lines(document: Mapping[str, Any], width: int) -> list[str]:
    """One row a check, as wide as the terminal; further lines of a check below its row."""
    checks: Sequence[Mapping[str, Any]] = document["checks"]
    sign = max((len(SIGNS[check["outcome"]]) for check in checks), default=0)
    name = max((len(check["name"]) for check in checks), default=0)
    lines = []
    for check in checks:
        head = f"{SIGNS[check['outcome']]:<{sign}}  {inert(check['name']):<{name}}"
        lines += _row(head, [check["evidence"], *_next(check, "→ ")], width)
        lines += [line for detail in check["details"] for line in _wrapped(detail, width, _INDENT)]
    return [*lines, "", *_wrapped(summary(document), width, 0)]


def _row(head: str, texts: Sequence[str], width: int) -> list[str]:
    indent = len(head) + 2
    if width - indent < _LEAST:
        return [head, *(line for text in texts for line in _wrapped(text, width, _INDENT))]
    below = [line for text in texts for line in _wrapped(text, width, indent)]
    return [f"{head}  {below[0].lstrip()}", *below[1:]]


def _next(check: Mapping[str, Any], sign: str) -> list[str]:
    return [] if check["next"] is None else [f"{sign}{check['next']}"]


def _wrapped(text: str, width: int, indent: int) -> list[str]:
    """At words; a longer word, such as a path, is broken, so that no line is wider than the terminal."""
    room = max(20, width - indent)
    return [" " * indent + line for line in textwrap.wrap(inert(text), room, break_on_hyphens=False) or [""]]


def plain_lines(document: Mapping[str, Any]) -> list[str]:
    """A line a check, whatever its length, and what belongs to it indented below."""
    lines = []
    for check in document["checks"]:
        lines.append(f"{check['name']}: {WORDS[check['outcome']]}: {inert(check['evidence'])}")
        lines += [f"  {inert(line)}" for line in (*check["details"], *_next(check, "next: "))]
    return [*lines, summary(document)]


def summary(document: Mapping[str, Any]) -> str:
    """`preflight of demo: 2 passed, 1 warning, 3 not applicable, in 0.2 s`."""
    outcomes = [check["outcome"] for check in document["checks"]]
    counts = [f"{outcomes.count(outcome)} {word}" for outcome, word in WORDS.items() if outcome in outcomes]
    told = ", ".join(counts) or "no check was run"
    return f"preflight of {inert(document['profile'])}: {told}, in {document['seconds']:.1f} s"


def launch_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """The summary, and what is not well."""
    yield f"grpotui: {summary(document)}"
    for check in document["checks"]:
        if check["outcome"] in ("warning", "unchecked"):
            yield from trouble(check)


def trouble(check: Mapping[str, Any]) -> Iterator[str]:
    """One check that is not well: what was seen, and what to do."""
    yield f"{SIGNS[check['outcome']]}: {inert(check['name'])}: {inert(check['evidence'])}"
    yield from (f"    {inert(line)}" for line in _next(check, "→ "))
