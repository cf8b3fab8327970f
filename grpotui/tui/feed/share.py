"""A share of the whole, as a person writes it."""

from __future__ import annotations

from grpotui_supervisor.errors import UsageError


def share_of(text: str) -> float | None:
    """`50%` or `50 %` as 0.5; None for anything else.

    Raises:
        UsageError: it is less than nothing, or more than all.
    """
    word = text.strip()
    try:
        share = float(word.removesuffix("%")) / 100 if word.endswith("%") else None
    except ValueError:
        return None
    if share is not None and not 0 <= share <= 1:
        raise UsageError(f"{word} is no share of it", hint="0% is the beginning, 100% the end")
    return share
