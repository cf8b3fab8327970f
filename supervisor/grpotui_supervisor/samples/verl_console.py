"""The samples that verl's reward managers print: `[prompt]`, `[response]`, `[ground_truth]`, `[score]`.

```
(TaskRunner pid=42) [prompt] user
(TaskRunner pid=42) 1+1=?
(TaskRunner pid=42) [response] 2
(TaskRunner pid=42) [ground_truth] 2
(TaskRunner pid=42) [score] 1.0
```

A reward function that returns a dict gets one such line a key instead of `[score]`. They are printed before the step's
own line, `step:7 - …`, which tells to which step they belong.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from grpotui_supervisor.samples.numbers import printed_number
from grpotui_supervisor.samples.sample import Groups, Sample

if TYPE_CHECKING:
    from collections.abc import Iterator

LINE_LIMIT = 1 << 20
TEXT_LIMIT = 1 << 20
"""Characters of one sample."""
WAITING_LIMIT = 10_000
"""Samples that wait for the line of their step."""
ACTORS_LIMIT = 1_000

_PREFIX = re.compile(r"^(?:\x1b\[[0-9;]*m)?\(((?:\w+ )?pid=[0-9]+(?:, ip=[0-9a-fA-F.:]+)?)\)(?:\x1b\[0m)? ?")
_REPEATED = re.compile(r"(?:\x1b\[[0-9;]*m)? \[repeated [0-9]+x across cluster\].*$")
_STEP = re.compile(r"(?<![\w./-])step:([0-9]{1,15}) - ")
_PART = re.compile(r"\[([\w/@.-]{1,60})\] ?")


@dataclass(slots=True)
class _Unfinished:
    """What one process has printed of a sample so far."""

    texts: dict[str, list[str]] = field(default_factory=lambda: {"prompt": []})
    part: str = "prompt"
    rewards: dict[str, float] = field(default_factory=dict)
    size: int = 0


class ConsoleReader:
    """All samples of one log."""

    def __init__(self) -> None:
        self._open = b""
        self._unfinished: dict[str, _Unfinished] = {}
        self._waiting: list[Sample] = []

    def feed(self, block: bytes) -> Iterator[Sample]:
        """The samples whose step is told in this block."""
        *lines, rest = (self._open + block).split(b"\n")
        self._open = rest[: LINE_LIMIT + 1]
        for line in lines:
            if self._unfinished or b"[prompt]" in line or b"step:" in line:
                yield from self._read(line[:LINE_LIMIT].decode("utf-8", "replace"))

    def finish(self) -> Iterator[Sample]:
        """The log has ended: samples whose step was never printed."""
        for actor in list(self._unfinished):
            self._end(actor)
        yield from self._told(None)

    def _read(self, line: str) -> Iterator[Sample]:
        prefix = _PREFIX.match(line)
        actor = prefix[1] if prefix else ""
        text = _REPEATED.sub("", line[prefix.end() :] if prefix else line).rstrip("\r")
        part = _PART.match(text)
        name = part[1] if part else ""
        if name == "prompt" and len(self._unfinished) < ACTORS_LIMIT:
            self._end(actor)
            self._unfinished[actor] = _Unfinished()
        if actor in self._unfinished:
            self._go_on(actor, name, text[part.end() :] if part else text, text)
        if step := _STEP.search(text):
            yield from self._told(int(step[1]))
        elif len(self._waiting) > WAITING_LIMIT:
            yield from self._told(None)

    def _go_on(self, actor: str, name: str, rest: str, text: str) -> None:
        """One line of a sample: the next part, more of this part, a number, or what comes after it."""
        so_far = self._unfinished[actor]
        so_far.size += len(text)
        follows = {"prompt": ("prompt", "response"), "response": ("ground_truth",)}.get(so_far.part, ())
        number = printed_number(rest) if name and so_far.part != "prompt" else None
        if name in follows and not (name == "prompt" and so_far.texts["prompt"]):
            so_far.part = name
            so_far.texts[name] = [rest]
        elif number is not None and (name == "score" or so_far.part == "ground_truth"):
            so_far.part = "ground_truth"
            so_far.rewards[name] = number
        elif so_far.rewards or so_far.size > TEXT_LIMIT:
            self._end(actor)
        else:
            so_far.texts[so_far.part].append(text)

    def _end(self, actor: str) -> None:
        so_far = self._unfinished.pop(actor, None)
        if so_far is None or not so_far.rewards or "response" not in so_far.texts:
            return
        prompt, answer = ("\n".join(so_far.texts[part]) for part in ("prompt", "response"))
        self._waiting.append(Sample(None, None, prompt, answer, so_far.rewards, None, None, None, "console"))

    def _told(self, step: int | None) -> Iterator[Sample]:
        waiting, self._waiting = self._waiting, []
        groups = Groups()
        for sample in waiting:
            yield replace(sample, step=step, group=groups.of(step, sample.prompt))
