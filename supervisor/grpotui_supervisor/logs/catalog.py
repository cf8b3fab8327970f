"""Canonical metric names: what each framework calls them, what they mean, and when not to believe them.

The canonical name is what the screen and JSON show; the framework's own key stays available beside it. A metric
that a framework does not print is absent. The tables are data, in `catalog_names`, `catalog_keys*` and
`catalog_doubts`; docs/metrics.md is made from them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from grpotui_supervisor.logs import catalog_keys as family
from grpotui_supervisor.logs import catalog_keys_more as more
from grpotui_supervisor.logs.catalog_doubts import DOUBTS, VERL_V1_KEY, Doubt
from grpotui_supervisor.logs.catalog_names import METRICS, OPEN_METRICS, Metric

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

KEYS: Final[dict[str, family.Keys]] = {
    "verl": family.VERL,
    "trl": family.TRL,
    "slime": more.SLIME,
    "openrlhf": more.OPENRLHF,
    "easyr1": more.EASYR1,
    "prime-rl": more.PRIME_RL,
    "nemo-rl": more.NEMO_RL,
    "areal": more.AREAL,
    "roll": more.ROLL,
    "skyrl": more.SKYRL,
    "open-instruct": more.OPEN_INSTRUCT,
    "torchforge": more.TORCHFORGE,
    "torchtune": more.TORCHTUNE,
    "oat": more.OAT,
    "minimind": more.MINIMIND,
    "llama-factory": more.LLAMA_FACTORY,
}
"""By framework, then by canonical name."""

SAME_AS: Final = {
    "rllm": "verl",
    "verl-agent": "verl",
    "ragen": "verl",
    "tinyzero": "verl",
    "logic-rl": "verl",
    "unsloth": "trl",
    "axolotl": "trl",
    "ms-swift": "trl",
    "trainer-state": "trl",
    "miles": "slime",
}
"""Forks, front ends and files that hold what their origin prints."""

OPEN_KEYS: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "verl": (("val-core/", "val/"), ("val/", "val/")),
    "trl": (("val/", "val/"),),
    "slime": (("eval/", "val/"),),
    "easyr1": (("val/", "val/"), ("reward/", "reward/part/")),
    "prime-rl": (("eval/", "val/"),),
    "nemo-rl": (("validation/", "val/"),),
    "skyrl": (("eval/", "val/"),),
    "open-instruct": (("eval/", "val/"),),
    "roll": (("val/", "val/"),),
    "oat": (("eval/", "val/"),),
}
"""What a raw key begins with, and what the canonical name begins with instead; the first that fits. The readers of the
Hugging Face family write `val/` for its `eval_`."""

_SOLVED: Final = {"batch/solve_none", "batch/solve_all", "batch/solve_partial"}
"""rLLM counts groups by how many of their answers are right."""

EPOCH_TAG: Final = "train/epoch"
"""The Hugging Face callback for TensorBoard writes `train/` before every key of a row, and each row has its epoch."""

_METRICS: Final = {metric.name: metric for metric in METRICS}
_OPEN: Final = {metric.name.partition("<")[0]: metric for metric in OPEN_METRICS}


def canonical(framework: str, row: Mapping[str, float]) -> dict[str, float]:
    """The canonical metrics of one row of raw ones; what has no canonical name is left out.

    Empty for a framework that has no table.
    """
    origin = SAME_AS.get(framework, framework)
    if origin == "trl" and EPOCH_TAG in row:
        row = {_printed(key): value for key, value in row.items()}
    found: dict[str, float] = {}
    used: set[str] = set()
    for name, keys in KEYS.get(origin, {}).items():
        key = next((key for key in keys if key.raw in row), None)
        if key is not None:
            found[name] = row[key.raw] / key.divisor
            used.update(key.raw for key in keys)
    found.update(_open(origin, row, used))
    _derive(origin, row, found)
    return found


def describe(name: str) -> Metric | None:
    """What the catalogue says of a canonical name; None for one that is not canonical."""
    known = _METRICS.get(name)
    return known or next((metric for prefix, metric in _OPEN.items() if name.startswith(prefix)), None)


def unit(name: str, framework: str | None = None, row_keys: Collection[str] = ()) -> str:
    """The unit of a canonical metric; empty for a bare number and for a name that is not canonical.

    A few frameworks print a metric in a unit of their own: it is told when framework and printed keys are given.
    """
    known = describe(name)
    origin = SAME_AS.get(framework or "", framework or "")
    if origin == "trl" and EPOCH_TAG in row_keys:
        row_keys = {_printed(key) for key in row_keys}
    keys = KEYS.get(origin, {}).get(name, ())
    own = next((key.unit for key in keys if key.raw in row_keys), "")
    return own or (known.unit if known else "")


def unreliable(framework: str, row_keys: Collection[str], version: str | None) -> dict[str, str]:
    """Canonical metrics of such a row that are known to be wrong, with the reason.

    `version` is the framework's, where known; without it only what the printed keys tell is said.
    """
    origin = SAME_AS.get(framework, framework)
    if origin == "trl" and EPOCH_TAG in row_keys:
        row_keys = {_printed(key) for key in row_keys}
    present = canonical(origin, dict.fromkeys(row_keys, 0.0))
    return {
        doubt.metric: doubt.reason
        for doubt in DOUBTS
        if doubt.framework == origin and doubt.metric in present and _applies(doubt, row_keys, version)
    }


def _printed(tag: str) -> str:
    """The key that TRL prints for a tag of its event file."""
    return tag.removeprefix("train/")


def _applies(doubt: Doubt, row_keys: Collection[str], version: str | None) -> bool:
    if doubt.when and not any(key in row_keys for key in doubt.when):
        return False
    return not any(key in row_keys for key in doubt.unless) and _in_versions(doubt, row_keys, version)


def _in_versions(doubt: Doubt, row_keys: Collection[str], version: str | None) -> bool:
    if not (doubt.since or doubt.before):
        return True
    if version is None:
        return doubt.unknown_too or any(key in row_keys for key in doubt.told_by)
    number = _release(version)
    return number >= _release(doubt.since) and (not doubt.before or number < _release(doubt.before))


def _release(version: str) -> tuple[int, ...]:
    """`0.9.1.post2` → (0, 9, 1); trailing zeros do not count."""
    leading = re.match(r"[0-9]+(?:\.[0-9]+)*", version)
    numbers = [int(part) for part in leading[0].split(".")] if leading else []
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


def _open(origin: str, row: Mapping[str, float], used: set[str]) -> Iterator[tuple[str, float]]:
    """Metrics under a name of the run's own: reward functions, validation sets."""
    if origin == "trl":
        yield from _reward_parts(row)
    prefixes = OPEN_KEYS.get(origin, ())
    for key in row if prefixes else ():
        fits = next((pair for pair in prefixes if key.startswith(pair[0])), None)
        if fits is not None and key not in used:
            yield fits[1] + key.removeprefix(fits[0]), row[key]


def _reward_parts(row: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    """`rewards/<function>/mean` since TRL 0.17, `rewards/<function>` before; a name may hold slashes."""
    for key, value in row.items():
        if key.startswith("rewards/") and not key.endswith("/std"):
            yield "reward/part/" + key.removeprefix("rewards/").removesuffix("/mean"), value


def _derive(origin: str, row: Mapping[str, float], found: dict[str, float]) -> None:
    """Metrics that a log prints in other words."""
    if origin == "verl" and VERL_V1_KEY in row and "time/generate" in found:
        found["time/wait"] = found.pop("time/generate")
    if origin == "verl" and row.keys() >= _SOLVED:
        none, every, some = (row[key] for key in ("batch/solve_none", "batch/solve_all", "batch/solve_partial"))
        if none + every + some:
            found["reward/zero_std_groups"] = (none + every) / (none + every + some)
    if origin == "areal" and "length/mean" in found and "prompt/mean" in found:
        found["length/mean"] -= found["prompt/mean"]
    if origin == "open-instruct" and "val/stop_rate" in row:
        found["length/truncated"] = 1.0 - row["val/stop_rate"]
