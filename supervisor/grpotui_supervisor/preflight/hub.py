"""Models and data sets by their names on the hub: whether they are in the cache. The network is never asked."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Final

from grpotui_supervisor import hub_cache, planning
from grpotui_supervisor.preflight import said
from grpotui_supervisor.preflight.check import Result
from grpotui_supervisor.preflight.finding import Finding, together

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from grpotui_supervisor.hub_cache import Kind
    from grpotui_supervisor.preflight.check import Job

_OFFLINE: Final = {
    "models": ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"),
    "datasets": ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"),
}
_TRUE: Final = frozenset({"1", "on", "yes", "true"})
_INDEX: Final = "model.safetensors.index.json"
_WEIGHTS: Final = (".safetensors", ".bin", ".gguf", ".pt")
_LARGEST: Final = 1 << 24


class _Hub:
    name = "hub"
    title = "Hugging Face hub"
    limit_s = 10.0

    def run(self, job: Job) -> Result:
        """What the job names and is no file here."""
        found = [_judged(job.environment, kind, name) for kind, name in _named(job)]
        if not found:
            return Result(outcome="not_applicable", evidence="the job names nothing on the hub")
        return together(found, {"folder": hub_cache.folder(job.environment)})


def _named(job: Job) -> Iterator[tuple[Kind, str]]:
    command = said.command(job)
    model = planning.model_of(job.loaded.profile, command)
    if model is not None and _is_on_hub(model, job.cwd, said.folder(job)):
        yield "models", model
    data = command.settings.text("dataset_name")
    if data is not None and _is_on_hub(data, job.cwd):
        yield "datasets", data


def _is_on_hub(word: str, *folders: str) -> bool:
    """A name that no file or folder has, and that is no size of a model."""
    here = any(os.path.exists(os.path.join(folder, os.path.expanduser(word))) for folder in folders)
    return not here and "/" in word and hub_cache.is_name(word)


def _judged(environment: Mapping[str, str], kind: Kind, name: str) -> Finding:
    switch = next((v for v in _OFFLINE[kind] if environment.get(v, "").lower() in _TRUE), None)
    folder = hub_cache.snapshot(environment, kind, name)
    missing = ["everything"] if folder is None else list(_missing(folder) if kind == "models" else ())
    where = hub_cache.folder(environment)
    if not missing:
        return Finding("passed", f"{name} is in the cache ({where})" + (f", and {switch} is set" if switch else ""))
    what = "is not in the cache" if folder is None else f"is not whole in the cache ({', '.join(missing[:3])} missing)"
    words = f"{name} {what} {where}"
    if switch:
        return Finding("failed", f"{words}, and {switch}={environment[switch]} forbids to fetch it", _fetch(kind, name))
    return Finding("unchecked", f"{words}: it will be fetched at the start. Whether the hub gives it is not tried here",
                   f"{_fetch(kind, name)} beforehand")  # fmt: skip


def _fetch(kind: Kind, name: str) -> str:
    return f"hf download {name}" + (" --repo-type dataset" if kind == "datasets" else "")


def _missing(folder: str) -> Iterator[str]:
    """Files of a model without which it cannot be loaded; what is fetched in parts shows as a link into nothing."""
    if not os.path.isfile(os.path.join(folder, "config.json")):
        yield "config.json"
    shards = _shards(os.path.join(folder, _INDEX))
    yield from (name for name in shards if not os.path.isfile(os.path.join(folder, name)))
    if not shards and not any(
        n.endswith(_WEIGHTS) and os.path.isfile(os.path.join(folder, n)) for n in os.listdir(folder)
    ):
        yield "weights"


def _shards(path: str) -> list[str]:
    try:
        with open(path, "rb") as file:
            found = json.loads(file.read(_LARGEST))["weight_map"]
        return sorted({str(name) for name in found.values()})
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []


CHECK = _Hub()
