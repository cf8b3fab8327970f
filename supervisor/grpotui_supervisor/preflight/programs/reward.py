"""A reward function on answers that a person wrote down: loaded and called as the framework would."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import json
import math
import os
import sys
import threading
import time
import traceback

from grpotui_supervisor.preflight.programs.base import answer, failure, tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_COLUMNS = ("ground_truth", "solution", "answer")
"""Names under which TRL's users keep the right answer."""


def main(wanted: dict[str, Any]) -> None:
    """`wanted`: path, name, kind, chat, arguments, samples."""
    sys.path.insert(0, os.getcwd())
    tell(stage="loading")
    try:
        function = _load(wanted["path"], wanted["name"])
    except BaseException as error:  # noqa: BLE001  (also what calls sys.exit)
        answer(error=failure(error), frame=_frame(error))
        return
    kind = _kind(function, wanted["kind"])
    tell(kind=kind, signature=_signature(function), stage="calling")
    call = _verl if kind == "verl" else _trl
    tries = call(function, wanted)
    aside: list[list[dict[str, Any]]] = []
    if kind == "verl":
        worker = threading.Thread(target=lambda: aside.append(_verl(function, wanted)), daemon=True)
        worker.start()
        worker.join()
    answer(tries=tries, in_thread=aside[0] if aside else None)


def _load(path: str, name: str) -> Callable[..., Any]:
    if path.endswith(".py") or os.sep in path:
        spec = importlib.util.spec_from_file_location("custom_module", path)
        if spec is None or spec.loader is None:
            raise ImportError(f"{path} cannot be loaded as a module")
        module = importlib.util.module_from_spec(spec)
        sys.modules["custom_module"] = module
        spec.loader.exec_module(module)
    else:
        module = importlib.import_module(path)
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part)
    if not callable(found):
        raise TypeError(f"{name} is no function")
    return found  # type: ignore[no-any-return]


def _kind(function: Callable[..., Any], expected: str | None) -> str:
    """By the names of its parameters, since a profile may call either framework's."""
    try:
        names = set(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        names = set()
    if names & {"solution_str", "solution_strs"}:
        return "verl"
    return "trl" if "completions" in names or expected != "verl" else "verl"


def _signature(function: Callable[..., Any]) -> str:
    try:
        return str(inspect.signature(function))[:200]
    except (TypeError, ValueError):
        return "(…)"


def _verl(function: Callable[..., Any], wanted: dict[str, Any]) -> list[dict[str, Any]]:
    """One answer a call; a function of lists gets lists of one."""
    parameters = inspect.signature(function).parameters
    many = "solution_strs" in parameters
    tries = []
    for sample in wanted["samples"]:
        one = {
            "data_source": sample["data_source"], "solution_str": sample["answer"],
            "ground_truth": sample["ground_truth"], "extra_info": sample["columns"],
        }  # fmt: skip
        given = {f"{key}s": [value] for key, value in one.items()} if many else one
        call = functools.partial(function, **given, **wanted["arguments"])
        tries.append(_tried(call, 1)[0])
    return tries


def _trl(function: Callable[..., Any], wanted: dict[str, Any]) -> list[dict[str, Any]]:
    """All answers at once; columns of the data set are arguments."""
    samples = wanted["samples"]
    given: dict[str, list[Any]] = {"prompts": [], "completions": [], "completion_ids": []}
    for sample in samples:
        texts = sample["prompt"], sample["answer"]
        if wanted["chat"]:
            given["prompts"].append([{"role": "user", "content": texts[0]}])
            given["completions"].append([{"role": "assistant", "content": texts[1]}])
        else:
            given["prompts"].append(texts[0])
            given["completions"].append(texts[1])
        given["completion_ids"].append([])
    keys = {key for sample in samples for key in sample["columns"]}
    columns = {key: [sample["columns"].get(key) for sample in samples] for key in sorted(keys)}
    if any(sample["ground_truth"] is not None for sample in samples):
        for name in _COLUMNS:
            columns.setdefault(name, [sample["ground_truth"] for sample in samples])
    parameters = inspect.signature(function).parameters.values()
    if not any(one.kind is one.VAR_KEYWORD for one in parameters):
        names = {one.name for one in parameters}
        given = {key: value for key, value in given.items() if key in names}
        columns = {key: value for key, value in columns.items() if key in names}
    return _tried(lambda: function(**given, **columns), len(samples))


def _awaited(value: Any) -> Any:  # noqa: ANN401
    if inspect.isawaitable(value):
        import asyncio  # noqa: PLC0415

        async def wait() -> Any:  # noqa: ANN401
            return await value

        return asyncio.run(wait())
    return value


def _tried(call: Callable[[], Any], count: int) -> list[dict[str, Any]]:
    """Scores of so many answers, or for each why there is none."""
    began = time.monotonic()
    try:
        found = _awaited(call())
    except BaseException as error:  # noqa: BLE001
        told = {"score": None, "error": failure(error), "frame": _frame(error)}
        return [dict(told, seconds=time.monotonic() - began) for _ in range(count)]
    seconds = (time.monotonic() - began) / max(1, count)
    values = list(found) if count > 1 or isinstance(found, (list, tuple)) else [found]
    if len(values) != count:
        return [{"score": None, "error": f"{len(values)} scores for {count} answers", "seconds": seconds}] * count
    return [dict(_score(value), seconds=seconds) for value in values]


def _score(value: Any) -> dict[str, Any]:  # noqa: ANN401
    """A number as JSON can hold it; verl also takes a dict with `score`, and TRL None for "not judged"."""
    if isinstance(value, dict):
        if "score" not in value:
            return {"score": None, "error": "a dict without 'score'"}
        value = value["score"]
    if value is None:
        return {"score": None, "error": None}
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        return {"score": None, "error": f"{type(value).__name__} is no number: {error}"}
    return (
        {"score": number, "error": None}
        if math.isfinite(number)
        else {"score": None, "error": "the score is " + str(number)}
    )


def _frame(error: BaseException) -> str | None:
    """Where it was raised: the innermost line outside this program and the machinery that loads modules."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith(("grpotui/", "<frozen")) and frame.filename != importlib.__file__
    ]
    return f"{frames[-1].filename}:{frames[-1].lineno} in {frames[-1].name}" if frames else None


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
