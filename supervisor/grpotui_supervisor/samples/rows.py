"""Samples from the rows of a file: verl's rollout and validation dumps, TRL's completions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

from grpotui_supervisor.samples.numbers import stored_number
from grpotui_supervisor.samples.sample import Groups, Sample

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_OF_VERL = frozenset({"input", "output", "gts", "step"})
_OF_TRL = frozenset({"prompt", "completion", "step", "advantage"})


def dump_samples(lines: Iterable[str], *, step: int | None = None) -> Iterator[Sample]:
    """The JSON lines of verl: `{"input": …, "output": …, "gts": …, "score": 0.5, "step": 7}` and the user's own keys.

    `step` stands in where a row tells none. A line that is no such row, or was cut off, is passed over.
    """
    groups = Groups()
    for line in lines:
        row = _row(line)
        if row is not None and "input" in row and "output" in row:
            prompt, answer = text_of(row["input"]), text_of(row["output"])
            yield _sample(row, (prompt, answer), groups, step=step, known=_OF_VERL, source="dump")


def completion_samples(rows: Iterable[Mapping[str, object]]) -> Iterator[Sample]:
    """The rows of TRL's `completions_00010.parquet`: step, prompt, completion, a column a reward function, advantage.

    A number that a reward function logged for itself (`log_extra`) cannot be told from a reward.
    """
    groups = Groups()
    for row in rows:
        if "prompt" in row and "completion" in row:
            prompt, answer = text_of(row["prompt"]), text_of(row["completion"])
            yield _sample(row, (prompt, answer), groups, step=None, known=_OF_TRL, source="parquet")


def text_of(value: object) -> str:
    """A text, or the messages of a conversation: one alone without its role."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list) or not all(isinstance(message, dict) for message in value):
        return str(value)
    if len(value) == 1:
        return _content(value[0])
    return "\n\n".join(f"{message.get('role', '')}: {_content(message)}" for message in value)


def _content(message: Mapping[str, object]) -> str:
    """Of a message; an image and the like is named by its type."""
    content = message.get("content")
    if isinstance(content, list):
        parts = (part for part in content if isinstance(part, dict))
        return "".join(str(part.get("text") or f"[{part.get('type', '')}]") for part in parts)
    return "" if content is None else str(content)


def _row(line: str) -> dict[str, object] | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def _sample(  # noqa: PLR0913 - one place where a row becomes a sample
    row: Mapping[str, object],
    texts: tuple[str, str],
    groups: Groups,
    *,
    step: int | None,
    known: frozenset[str],
    source: Literal["dump", "parquet"],
) -> Sample:
    told = row.get("step")
    at = told if isinstance(told, int) and not isinstance(told, bool) else step
    numbers = {key: number for key, value in row.items() if (number := stored_number(value)) is not None}
    return Sample(
        step=at,
        group=groups.of(at, texts[0]),
        prompt=texts[0],
        answer=texts[1],
        rewards={key: number for key, number in numbers.items() if key not in known},
        advantage=numbers.get("advantage"),
        length=None,
        ended=None,
        source=source,
    )
