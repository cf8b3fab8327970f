"""Reads what rollout engines say in between: vLLM and SGLang, their KV cache, requests, speed, sleep and waking.

Every line with such a number is one row, of unknown step: these lines tell none, and whoever feeds them knows the time
or the step of the block. Keys are the canonical ones. Several engines may write to one log; `engines` tells whose row
it is. A number that an engine leaves out is absent: vLLM prints preemptions only when there were some.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from grpotui_supervisor.logs.columns import UNKNOWN_STEP, Columns
from grpotui_supervisor.logs.engine_fast import METRICS
from grpotui_supervisor.logs.reader import number, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpotui_supervisor.logs.columns import Shape
    from grpotui_supervisor.logs.engine_fast import Statistics

Pair = tuple[str, float]

FIELDS: Final = {
    "Avg prompt throughput": ("engine/prompt_tokens_per_s", 1.0),
    "Avg generation throughput": ("engine/tokens_per_s", 1.0),
    "Running": ("engine/running", 1.0),
    "Waiting": ("engine/waiting", 1.0),
    "Pending": ("engine/waiting", 1.0),  # vLLM before V1
    "Preemptions": ("engine/preemptions", 1.0),
    "GPU KV cache usage": ("engine/kv_cache", 100.0),
    "Prefix cache hit rate": ("engine/prefix_hits", 100.0),
    "#running-req": ("engine/running", 1.0),
    "#queue-req": ("engine/waiting", 1.0),
    "token usage": ("engine/kv_cache", 1.0),
    "full token usage": ("engine/kv_cache", 1.0),  # models with a sliding window print two
    "gen throughput (token/s)": ("engine/tokens_per_s", 1.0),
    "input throughput (token/s)": ("engine/prompt_tokens_per_s", 1.0),
    "#retracted_reqs": ("engine/preemptions", 1.0),
}
"""Name in a list of fields → metric, and what the printed number is divided by."""

_LISTS: Final = (
    ("Avg prompt throughput: ", re.compile(r"Avg prompt throughput: .*")),
    (" batch", re.compile(r"(?:Decode|Prefill) batch(?: \[[0-9]+\])?[.,] (.*)")),
    ("#retracted_reqs: ", re.compile(r"#retracted_reqs: .*")),
)
"""Words without which a line is no such list, and where it begins."""

_LEADING: Final = re.compile(r"[0-9][0-9.,]*(?:e[-+]?[0-9]{1,3})?|nan")
_LABELS: Final = (
    re.compile(r"\(([A-Za-z][\w.]{0,60} pid=[0-9]+(?:, ip=[0-9A-Fa-f.:]{1,45})?)"),
    re.compile(r"\b(Engine [0-9]{3}):"),
    re.compile(r"\[[\d :-]{8,30} ((?:DP|TP)[\w ]{1,20})\]"),
)
"""How a line names its engine: the process, and the engine in it. Each of several servers has an `Engine 000`."""


_LABEL_LIMIT: Final = 200
"""Characters of a line that are looked at for the name."""

_MAX_NAMES: Final = 4096
"""Names that are kept to be found again quickly."""


class _Sentence(NamedTuple):
    words: str
    """Without them a line is none such."""
    pattern: re.Pattern[str]
    metrics: tuple[str, ...]
    """One for each group."""


_SENTENCES: Final = (
    _Sentence("GPU KV cache size", re.compile(r"GPU KV cache size: ([\d,]+) tokens"), ("engine/kv_cache_tokens",)),
    _Sentence(
        "Maximum concurrency for",
        re.compile(r"Maximum concurrency for ([\d,]+) tokens per request: ([\d.]+)x"),
        ("engine/request_tokens", "engine/max_concurrency"),
    ),
    _Sentence(" blocks: ", re.compile(r"# (?:GPU|cuda) blocks: ([\d,]+)"), ("engine/kv_cache_blocks",)),
    _Sentence(
        "Available KV cache memory", re.compile(r"Available KV cache memory: ([\d.]+) GiB"), ("engine/kv_cache_memory",)
    ),
    _Sentence("model weights take ", re.compile(r"model weights take ([\d.]+)GiB"), ("engine/weights",)),
    _Sentence(
        "reserved for KV Cache is", re.compile(r"reserved for KV Cache is ([\d.]+)GiB"), ("engine/kv_cache_memory",)
    ),
    _Sentence("oading took ", re.compile(r"[Ll]oading took ([\d.]+) (?:GiB|GB) (?:memory )?and "), ("engine/weights",)),
    _Sentence(
        "Sleep mode freed",
        re.compile(r"Sleep mode freed ([\d.]+) GiB memory, ([\d.]+) GiB memory is still in use"),
        ("engine/sleep_freed", "engine/sleep_in_use"),
    ),
    _Sentence(
        "sleep freed",
        re.compile(r"sleep freed ([\d.]+) GiB memory(?: in total, of which ([\d.]+) GiB is backed up)?"),
        ("engine/sleep_unmapped", "engine/sleep_backed_up"),
    ),
    _Sentence("to fall asleep", re.compile(r"It took ([\d.]+) seconds to fall asleep"), ("engine/sleep_time",)),
    _Sentence("to wake up", re.compile(r"It took ([\d.]+) seconds to wake up"), ("engine/wake_time",)),
    _Sentence(
        "cumulative_preemption", re.compile(r"total_num_cumulative_preemption=(\d+)"), ("engine/preemptions_total",)
    ),
    _Sentence(
        "max_total_num_tokens",
        re.compile(r"max_total_num_tokens=(\d+),.{0,300}?max_running_requests=(\d+)"),
        ("engine/kv_cache_tokens", "engine/max_running"),
    ),
)
_ALLOCATED: Final = re.compile(
    r"KV Cache is allocated\..{0,80}? ?#tokens: (\d+), K size: ([\d.]+) GB, V size: ([\d.]+) GB"
)


WORDS: Final = (
    b"Avg prompt throughput: ",
    b"#running-req: ",
    b"retracted_reqs: ",
    b"Sleep mode freed",
    b"sleep freed",
    b"It took ",
    b"cumulative_preemption=",
)
"""A line with a number of a running engine has one of these. A short and frequent word takes twice the time."""

STARTING_WORDS: Final = (
    b"KV cache ",
    b"KV Cache is ",
    b" blocks: ",
    b"weights take ",
    b"oading took ",
    b"Maximum concurrency for",
    b"max_total_num_tokens",
)
"""The same for an engine that starts."""


class EngineReader:
    """The engine lines of one run, from whatever logs they come."""

    def __init__(self) -> None:
        self.columns = Columns()
        self.engines: list[str] = []
        """For each row the engine that printed it, as its line names it; empty where it does not."""
        self._shapes: dict[int, Shape | None] = {}
        self._names: dict[tuple[bytes, bytes, str], str] = {}

    def read(self, line: str, origin: str = "") -> dict[str, float]:
        """Read one whole line without control sequences; `origin` goes before the engine's name.

        Returns the row that it made, empty when it is none.
        """
        pairs = dict(_pairs(line))
        if pairs:
            self.engines.append(_name(line, origin))
            self.columns.record(UNKNOWN_STEP, pairs.items())
        return pairs

    def add(self, line: Statistics, origin: str = "") -> dict[str, float]:
        """As `read`, of a line that was read the fast way."""
        key = (*line.source, origin)
        name = self._names.get(key)
        if name is None:
            name = _name(plain(b"".join(line.source).decode()), origin)
            if len(self._names) < _MAX_NAMES:
                self._names[key] = name
        self.engines.append(name)
        pairs = dict(zip(METRICS, line.values, strict=False))
        shape = self._shape(len(pairs))
        if shape is None:
            self.columns.record(UNKNOWN_STEP, pairs.items())
        else:
            self.columns.append_rows(shape, (UNKNOWN_STEP,), (shape.pack(UNKNOWN_STEP, *line.values),))
        return pairs

    def _shape(self, count: int) -> Shape | None:
        if count not in self._shapes:
            self._shapes[count] = self.columns.shape(METRICS[:count])
        return self._shapes[count]

    def last(self, metric: str) -> float | None:
        """The newest value of a metric, of whichever engine."""
        return self.columns.last(metric)


def _name(line: str, origin: str) -> str:
    names = [found[1] for label in _LABELS if (found := label.search(line[:_LABEL_LIMIT]))]
    return " ".join([origin, *names] if origin else names)


def _pairs(line: str) -> Iterator[Pair]:
    for words, beginning in _LISTS:
        if words in line and (found := beginning.search(line)):
            yield from _fields(found[found.lastindex or 0])
    for sentence in _SENTENCES:
        if sentence.words in line and (found := sentence.pattern.search(line)):
            for metric, text in zip(sentence.metrics, found.groups(), strict=True):
                yield from _valued(metric, text)
    if "KV Cache is allocated" in line and (found := _ALLOCATED.search(line)):
        yield from _valued("engine/kv_cache_tokens", found[1])
        key, value = number(found[2]), number(found[3])
        if key is not None and value is not None:
            yield "engine/kv_cache_memory", key + value


def _fields(text: str) -> Iterator[Pair]:
    for field in text.split(", "):
        name, _, printed = field.partition(": ")
        metric = FIELDS.get(name)
        if metric is not None and (leading := _LEADING.match(printed)):
            for key, value in _valued(metric[0], leading[0].rstrip(".,")):
                yield key, value / metric[1]


def _valued(metric: str, text: str | None) -> Iterator[Pair]:
    value = None if text is None else number(text.replace(",", "").rstrip("."))
    if value is not None:
        yield metric, value
