"""Versions against what is required of them: as much of Python's version specifiers as these metadata use. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_RELEASE: Final = re.compile(r"\s*v?(?:\d+!)?(\d+(?:\.\d+)*)")
_CLAUSE: Final = re.compile(r"(~=|===?|!=|<=|>=|<|>)\s*([^\s,;)]+)")
_LINE: Final = re.compile(r"\s*([A-Za-z0-9._-]+)\s*(?:\[[^\]]*\])?\s*\(?([^;@)]*)\)?\s*(?:;\s*(.*))?$")
_OWN_EXTRA: Final = re.compile(r"extra\s*==\s*[\"']([^\"']+)[\"']")


def numbers(version: str) -> tuple[int, ...] | None:
    """`2.8.0+cu128` → 2, 8, 0; what is behind the release is left out. None: it does not begin with a number."""
    found = _RELEASE.match(version)
    return None if found is None else tuple(int(part) for part in found[1].split("."))


def fits(version: str, specifier: str) -> bool | None:
    """Whether a version is among those of a specifier such as `>=0.10.2,!=0.11.1,<0.13`; None: it cannot be read."""
    clauses = _CLAUSE.findall(specifier)
    answers = [_clause(version, sign, bound) for sign, bound in clauses]
    if not clauses or None in answers:
        return None
    return all(answers)


def _clause(version: str, sign: str, bound: str) -> bool | None:
    have, want = numbers(version), numbers(bound)
    if have is None or want is None:
        return None
    if bound.endswith(".*"):
        same = _padded(have, len(want))[: len(want)] == want
        return same if sign == "==" else not same if sign == "!=" else None
    if sign == "~=":
        return _padded(have, len(want)) >= want and have[: len(want) - 1] == want[:-1]
    size = max(len(have), len(want))
    left, right = _padded(have, size), _padded(want, size)
    return {
        "==": left == right, "===": left == right, "!=": left != right,
        "<=": left <= right, ">=": left >= right, "<": left < right, ">": left > right,
    }[sign]  # fmt: skip


def _padded(parts: tuple[int, ...], size: int) -> tuple[int, ...]:
    return parts + (0,) * (size - len(parts))


def unmet(packages: Mapping[str, str], requires: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """What installed distributions require of each other and do not get.

    Of an extra only the one that has the required distribution's name counts: trl says under `vllm` which vllm it
    supports, however it was installed. Other conditions are not judged.
    """
    for name, lines in requires.items():
        for line in lines:
            found = _LINE.match(line)
            if found is None:
                continue
            other, specifier = re.sub(r"[-_.]+", "-", found[1]).lower(), found[2].strip()
            if not _counts(found[3], other) or other not in packages:
                continue
            if fits(packages[other], specifier) is False:
                yield f"{name} {packages[name]} requires {other}{specifier}, and {other} {packages[other]} is installed"


def _counts(condition: str | None, other: str) -> bool:
    if not condition:
        return True
    extra = _OWN_EXTRA.fullmatch(condition.strip())
    return extra is not None and extra[1] == other
