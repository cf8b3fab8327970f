"""What a run is doing, where a line of its log or the title of one of its processes says so.

Only whole lines that a framework or an engine is known to print count, and what one tells is that a phase began or
ended; prose, prompts and tracebacks that hold the same words do not. Phases go by the names of the `time/` metrics.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from grpotui_supervisor.logs.reader import PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterable

STARTING: Final = ("load_model", "load_checkpoint", "start_engine", "capture_graphs")
"""Phases before the first step. They are looked for only until the log has its first record."""

FIRST_STEP: Final = "first_step"
COMPLETE: Final = "complete"


class Mark(NamedTuple):
    """A line that tells of a phase."""

    phase: str | None
    """Which has begun; None: the one before has ended."""
    family: str | None = None
    """Of the framework whose line it is; None: any (engines, model loading)."""


_BAR: Final = r":? +[0-9]{1,3}%(?: Completed)? ?\|[^|]{0,400}\|? *(?P<done>[0-9]{1,9})/(?P<total>[0-9]{1,9}) \["

_BARS: Final = re.compile(
    PREFIX
    + r"(?:(?P<load_model>Loading (?:safetensors |pt )?checkpoint shards|Loading weights)"
    + r"|(?:Capturing CUDA graphs?(?: shapes| \([^()\n]{1,60}\))?"
    + r"|Capturing batches(?: \([^()\n]{1,80}\))?))"
    + _BAR
)


class _Line(NamedTuple):
    words: str
    """Without them a line is none such."""
    pattern: re.Pattern[str]
    mark: Mark


def _line(words: str, pattern: str, phase: str | None, family: str | None = None) -> _Line:
    return _Line(words, re.compile(PREFIX + pattern), Mark(phase, family))


_STARTING_LINES: Final = (
    _line("Starting to load model", r"Starting to load model \S", "load_model"),
    _line("Load weight begin", r"Load weight begin\. ", "load_model"),
    _line("Load weight end", r"Load weight end\. ", None),
    _line("Model loading took", r"Model loading took [\d.]+ (?:GiB|GB) ", None),
    _line("LLM engine", r"Initializing an? (?:V1 )?LLM engine (?:\(v[^)\n]{1,40}\) )?with config: ", "start_engine"),
    _line("init engine", r"init engine \([^)\n]{1,80}\) took [\d.]+ s", None),
    _line("Capture cuda graph begin", r"Capture cuda graph begin\. ", "capture_graphs"),
    _line("Capture cuda graph end", r"Capture cuda graph end\. ", None),
    _line("raph capturing finished", r"Graph capturing finished in [\d.]+ secs?", None),
    _line("Load from checkpoint folder", r"Load from checkpoint folder: \S", "load_checkpoint", "verl"),
    _line("fired up and ready", r"The server is fired up and ready to roll!", None),
    _line("startup complete", r"Application startup complete\.$", None),
)
_LINES: Final = (
    _line("test_gen_batch meta info", r"test_gen_batch meta info: \{", "validate", "verl"),
    _line("validation metrics", r"\(?[\"'](?:Initial|Final) validation metrics: \{", None, "verl"),
    _line("local_global_step_folder", r"local_global_step_folder: \S", "save", "verl"),
    _line("***** Running", r"\*{5} Running [Ee]valuation \*{5}$", "validate", "trl"),
    _line("Saving model checkpoint to", r"Saving model checkpoint to \S", "save", "trl"),
)

WORDS: Final = {
    "verl": (b"test_gen_batch meta info: {", b"validation metrics: {", b"local_global_step_folder: "),
    "trl": (b"***** Running ", b"Saving model checkpoint to "),
}
"""By family: a line of the log that tells of a phase has one of these."""

STARTING_WORDS: Final = (
    b"Loading ",
    b"apturing ",
    b"Load weight ",
    b"apture cuda graph",
    b"Starting to load model",
    b"oading took ",
    b"LLM engine",
    b"init engine",
    b"Load from checkpoint folder",
    b"fired up and ready",
    b"startup complete",
)
"""The same for the phases before the first step."""


def mark_of(line: str, *, starting: bool) -> Mark | None:
    """What a whole line without control sequences tells; `starting`: the log has no record yet."""
    if starting and (mark := bar_mark(line)) is not None:
        return mark
    for known in (*_LINES, *_STARTING_LINES) if starting else _LINES:
        if known.words in line and known.pattern.match(line):
            return known.mark
    return None


def bar_mark(line: str) -> Mark | None:
    """What the progress bar of a start-up phase tells, also one whose line has not ended; a full one ends its phase."""
    found = _BARS.match(line)
    if found is None:
        return None
    if int(found["done"]) >= int(found["total"]):
        return Mark(None)
    return Mark("load_model" if found["load_model"] else "capture_graphs")


_METHODS: Final = (
    ("generate_sequences", "generate"),
    ("compute_ref_log_prob", "reference"),
    ("compute_log_prob", "logprob"),
    ("compute_rm_score", "reward"),
    ("compute_score", "reward"),
    ("update_actor", "update"),
    ("update_critic", "update"),
    ("compute_values", "logprob"),
    ("update_weights", "sync"),
    ("sync_rollout_weights", "sync"),
    ("save_checkpoint", "save"),
    ("load_checkpoint", "load_checkpoint"),
    ("init_model", "load_model"),
)
"""End of a method of verl's workers → phase."""


def title_phase(titles: Iterable[str]) -> str | None:
    """The phase that titles of Ray's workers name: `ray::WorkerDict.actor_rollout_update_actor`.

    Workers that do different things at the same time are told as such (`generate + update`); None where no title names
    a method that is known: an idle worker, another program.
    """
    found = {phase for title in titles if (phase := _method_phase(title)) is not None}
    return " + ".join(sorted(found)) or None


def _method_phase(title: str) -> str | None:
    prefix, _, rest = title.partition("ray::")
    _, dot, method = rest.partition(".")
    if prefix or not dot:
        return None
    name = method.removesuffix("()")
    return next((phase for ending, phase in _METHODS if name == ending or name.endswith(f"_{ending}")), None)
