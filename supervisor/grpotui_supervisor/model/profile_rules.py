"""What a profile's types cannot say: names that become directories, and fields that depend on each other.

A rule takes the valid fields of one table (`checking.Rule`), so it reports what it can although
others are wrong.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from grpotui_supervisor.model.checking import Problem, Rule
from grpotui_supervisor.model.placeholders import misplaced
from grpotui_supervisor.model.profile import Companion, Gpus, Launch, Logs, Model, Profile, Reward, span_seconds
from grpotui_supervisor.model.sizes import cards_of, count_of, size_of
from grpotui_supervisor.model.wording import shown

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_NAME_FORM = "must be 1 to 64 characters of a-z, 0-9, '.', '_', '-', the first a letter or digit"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PORT = re.compile(r"[0-9]{1,5}")
_VERL = ("auto", "verl", "rllm", "verl-agent", "ragen", "tinyzero", "logic-rl")
_OURS = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE")


def _profile_problems(given: Mapping[str, Any]) -> Iterator[Problem]:
    name = given.get("name")
    if name is not None and not _NAME.fullmatch(name):
        yield Problem(("name",), f"{_NAME_FORM}, got {shown(name)}")
    launch = given.get("launch")
    yield from _file_logger_problems(given.get("logs"), launch, given.get("framework"))
    for companion_name, companion in given.get("companions", {}).items():
        path = ("companions", companion_name)
        if reason := _companion_name_reason(companion_name):
            yield Problem(path, reason)
        if isinstance(companion, Companion) and isinstance(launch, Launch):
            for index, reason in misplaced(companion.argv, {"python": launch.python}):
                yield Problem((*path, "argv", index), reason)


def _file_logger_problems(logs: object, launch: object, framework: object) -> Iterator[Problem]:
    if not isinstance(logs, Logs) or not logs.verl_file_logger:
        return
    if isinstance(framework, str) and framework not in _VERL:
        yield Problem(("logs", "verl_file_logger"), f"only for verl and its forks, not for {framework}")
    if isinstance(launch, Launch) and launch.mode != "command":
        yield Problem(("logs", "verl_file_logger"), "only for mode 'command': verl starts its own workers")


def _companion_name_reason(name: str) -> str:
    if not _NAME.fullmatch(name):
        return f"a companion's name {_NAME_FORM}"
    if name.isdigit():
        return "a companion's name must not be a number: its logs would be taken for those of a rank"
    return "this name is taken by the driver of the job" if name == "driver" else ""


def _launch_problems(given: Mapping[str, Any]) -> Iterator[Problem]:
    mode = given.get("mode")
    if "nproc" in given:
        yield from _nproc_problems(mode, given["nproc"])
    yield from _argv_problems(given)
    yield from _python_problems(given)
    yield from _env_problems(given)
    if mode == "ranks":
        for name in given.get("env", {}):
            if name in _OURS or (name.startswith("GRPOTUI_") and not name.startswith("GRPOTUI_DEMO_")):
                yield Problem(("env", name), "set by grpotui; remove it")


def _nproc_problems(mode: str | None, nproc: int | None) -> Iterator[Problem]:
    if mode == "ranks" and nproc is None:
        yield Problem(("nproc",), "required key is missing: mode 'ranks' needs the number of ranks")
    if mode == "command" and nproc is not None:
        yield Problem(("nproc",), "only for mode 'ranks': in mode 'command' the driver starts its own workers")


def _argv_problems(given: Mapping[str, Any]) -> Iterator[Problem]:
    words: tuple[object, ...] = given.get("argv", ())
    yield from _program_problems("argv", words)
    python = given.get("python", ())
    if python and all(isinstance(word, str) for word in (*words, *python)):
        for index, reason in misplaced([str(word) for word in words], {"python": python}):
            yield Problem(("argv", index), reason)


def _python_problems(given: Mapping[str, Any]) -> Iterator[Problem]:
    words: tuple[object, ...] = given.get("python", ())
    yield from _program_problems("python", words)
    for index, word in enumerate(words):
        if isinstance(word, str) and "{python}" in word:
            yield Problem(("python", index), "{python} cannot stand for itself")


def _program_problems(key: str, words: tuple[object, ...]) -> Iterator[Problem]:
    program = words[0] if words else None
    if not isinstance(program, str):
        return
    pieces = program.split()
    if not pieces:
        yield Problem((key, 0), "the first word names the program and must not be empty")
    elif len(pieces) > 1 and "/" not in pieces[0]:  # a directory's name may well hold a space
        split = ", ".join(f'"{piece}"' for piece in pieces)
        yield Problem((key, 0), f"{shown(program)} is one word, and no shell splits it: write {split}")


def _env_problems(given: Mapping[str, Any]) -> Iterator[Problem]:
    variables: Mapping[str, object] = given.get("env", {})
    for name in variables:
        if not _VARIABLE.fullmatch(name):
            yield Problem(("env", name), "not a name for an environment variable: use A-Z, a-z, 0-9 and _")
    port = variables.get("MASTER_PORT")
    if isinstance(port, str) and not (_PORT.fullmatch(port) and 1 <= int(port) <= 65535):
        yield Problem(("env", "MASTER_PORT"), f"must be a port from 1 to 65535, got {shown(port)}")


def _companion_problems(given: Mapping[str, Any]) -> Iterator[Problem]:
    yield from _program_problems("argv", given.get("argv", ()))
    yield from _env_problems(given)


def _gpus_problems(given: Mapping[str, Any]) -> Iterator[Problem]:
    seen: set[object] = set()
    for index, device in enumerate(given.get("devices") or ()):
        if device == "" or (isinstance(device, int) and device < 0):
            yield Problem(("devices", index), f"must be an index from 0 or a UUID, got {shown(device)}")
        elif isinstance(device, (int, str)) and device in seen:
            yield Problem(("devices", index), f"{shown(device)} is listed twice")
        seen.add(device)
    wait = given.get("wait")
    if wait is not None and span_seconds(wait) is None:
        yield Problem(("wait",), f'must be a time such as "90s", "30m" or "2h", got {shown(wait)}')
    cards, host = given.get("cards"), given.get("host")
    if cards is not None and not (cards_of(cards) or (0, 0))[0]:
        yield Problem(("cards",), f'must be cards such as "4x32GB" or "8x80GiB", got {shown(cards)}')
    if host is not None and size_of(host) is None:
        yield Problem(("host",), f'must be a size such as "128GB" or "128GiB", got {shown(host)}')


def _model_problems(given: Mapping[str, Any]) -> Iterator[Problem]:
    count = given.get("parameters")
    if count is not None and count_of(count) is None:
        yield Problem(("parameters",), f'must be a number such as "7.6B" or "600M", got {shown(count)}')


def _reward_problems(given: Mapping[str, Any]) -> Iterator[Problem]:
    name = given.get("name")
    if name is not None and not all(part.isidentifier() for part in name.split(".")):
        yield Problem(("name",), f"must be the name of a function, got {shown(name)}")


RULES: Mapping[type, Rule] = {
    Profile: _profile_problems,
    Launch: _launch_problems,
    Companion: _companion_problems,
    Gpus: _gpus_problems,
    Model: _model_problems,
    Reward: _reward_problems,
}
"""The rules of a profile, for `checking.check`."""
