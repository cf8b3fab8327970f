"""Which framework wrote an event file, told by its tags.

Several marks must agree, each a metric that the framework cannot be without; nothing is concluded from what is missing,
so a file with too few of them stays unrecognised, and so does one with the marks of two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection

MARKS: Final[tuple[tuple[str, tuple[tuple[str, ...], ...]], ...]] = (
    (
        "verl",  # writes the keys of its console. EasyR1 and ROLL share most of them, but have other clip fractions
        (
            ("actor/pg_clipfrac",),
            ("actor/ppo_kl",),
            ("critic/rewards/mean", "critic/score/mean"),
            ("response_length/mean",),
            ("timing_s/step", "timing_s/gen", "timing/gen"),
        ),
    ),
    (
        "trl",  # the Hugging Face callback writes `train/` before every key
        (
            ("train/epoch",),
            ("train/reward",),
            ("train/reward_std",),
            ("train/completions/mean_length", "train/completion_length"),
        ),
    ),
)
"""Of each framework the marks, all of which must be there; of the tags of one mark, any."""


def framework_of(tags: Collection[str]) -> str | None:
    """The only framework whose marks are all among the tags; None: none, or several."""
    found = [name for name, marks in MARKS if all(any(tag in tags for tag in mark) for mark in marks)]
    return found[0] if len(found) == 1 else None
