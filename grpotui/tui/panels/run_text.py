"""What a run is made of, as labelled lines: run.json, and who supervises it as of the cursor. It may hold anything."""

from __future__ import annotations

import json
import os
import shlex
from typing import TYPE_CHECKING, Any, Final

from grpotui.text import duration, size

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from grpotui.tui.feed.feed import Feed
    from grpotui.tui.feed.frame import Frame
    from grpotui.tui.panels.facts import Fact

_MEMBERS: Final = 8
_LOGS: Final = 16
_UNTOLD: Final = ("exits and signals", "pids", "memory and GPUs", "command line and environment", "times of the lines")
_CODES: Final = (
    "that of the first failure: its code, or 128 + its signal; 127 or 126 where it could not be started; "
    "0 passed, 4 passed with fewer steps than expected, 130 stopped, 125 not known"
)


def text_of(feed: Feed, frame: Frame) -> list[Fact]:
    """All of it."""
    facts = feed.facts()
    return [*(_of_run(feed, facts, frame) if facts else _of_log(feed, frame))]


def command_of(facts: Mapping[str, Any], at: int = 0) -> str | None:
    """The command line of a member as a shell takes it, with its folder and its own variables."""
    members = _list(facts.get("members"))
    if at >= len(members) or not _words(members[at]):
        return None
    member = members[at]
    folder = member.get("cwd") or facts.get("cwd")
    own = [f"{name}={shlex.quote(str(value))}" for name, value in _table(member.get("env")).items()]
    words = " ".join([*own, shlex.join(_words(member))])
    return f"cd {shlex.quote(str(folder))} && {words}" if folder else words


def _of_log(feed: Feed, frame: Frame) -> Iterator[Fact]:
    document = frame.document
    yield "log", str(document.get("source") or feed.title), "value"
    yield "framework", document["framework"] or "not recognised", "title"
    yield "records", f"{frame.rows} with metrics", "title"
    if document.get("looks_like"):
        yield "begins with", str(document["looks_like"]), "title"
    yield from _heading("what it tells")
    yield "", "metrics by step, where the time of a step went, checkpoints, samples that were printed", "title"
    yield from _heading("what it cannot tell")
    yield from (("", what, "title") for what in _UNTOLD)
    yield "next", "grpotui launch records all of it; grpotui attach --log FILE --pid PID sees a job that runs", "info"


def _of_run(feed: Feed, facts: Mapping[str, Any], frame: Frame) -> Iterator[Fact]:
    document = frame.document
    yield "run", str(document["run"]), "value"
    yield "profile", str(facts.get("profile_path") or "none: an attached job"), "title"
    yield "started with", shlex.join(map(str, _list(facts.get("command")))) or "not on record", "title"
    yield "in", str(facts.get("cwd") or "not known"), "title"
    yield from _git(facts)
    yield from (("note", str(note), "warning") for note in _list(facts.get("notes")))
    if document.get("attached") is None:
        yield "exit code", _CODES, "label"
    yield from _supervision(document)
    yield from _members(facts)
    yield from _profile(facts)
    yield from _machine(facts)
    yield from _files(feed, document)
    yield from _environment(facts)


def _git(facts: Mapping[str, Any]) -> Iterator[Fact]:
    git = _table(facts.get("git"))
    if git:
        changed = f", {git['changed_files']} changed files" if git.get("changed_files") else ""
        yield "git", f"{git.get('commit') or 'no commit'} on {git.get('branch') or 'no branch'}{changed}", "title"


def _heading(text: str) -> Iterator[Fact]:
    yield "", "", "label"
    yield "", text, "title+"


def _supervision(document: Mapping[str, Any]) -> Iterator[Fact]:
    """Who watches it, and when nobody did."""
    yield from _heading("supervision")
    told, shim = document.get("supervision"), document.get("shim")
    if document.get("attached") is None:
        words = (
            "not on record" if shim is None else " · ".join(f"{k} pid {v}" for k, v in shim.items() if v is not None)
        )
        lives = "" if told is None else (", holds the run" if told["shim_alive"] else ", gone")
        yield "shim", words + lives, "title"
    if told is not None:
        lost = [f"{told['takeovers']} takeovers"] if told["takeovers"] else []
        lost += ["the guard was lost"] if told["guard_lost"] else []
        yield from (("", word, "warning") for word in lost)
        control = "can be controlled from here" if told["can_control"] else "cannot be controlled from here"
        yield "place", f"{told['place']}; {control}", "title"
    monitor = document["monitor"]
    alive = {True: "alive", False: "not alive", None: "whether it was alive then is not on record"}
    yield "monitor", alive[monitor["alive"]], "title"
    for gap in monitor["gaps"]:
        yield "gap", f"no monitor for {duration(gap['seconds'])}, from +{duration(gap['offset_s'])} on", "warning"


def _members(facts: Mapping[str, Any]) -> Iterator[Fact]:
    """Command lines that are equal are told once; what each has in its own environment, of the first ones."""
    yield from _heading("command lines")
    members, seen = _list(facts.get("members")), dict[str, list[str]]()
    for member in members:
        seen.setdefault(shlex.join(_words(member)), []).append(str(member.get("member")))
    for words, names in seen.items():
        yield ", ".join(names) if len(names) < 3 else f"{names[0]} … {names[-1]}", words or "not on record", "title"
    for member in members[:_MEMBERS]:
        own = " ".join(f"{name}={shlex.quote(str(value))}" for name, value in _table(member.get("env")).items())
        if own:
            yield f"{member.get('member')} env", own, "label"
    if len(members) > _MEMBERS:
        yield "", f"and {len(members) - _MEMBERS} more with variables of their own", "label"
    if not members:
        yield "", "not on record", "label"


def _profile(facts: Mapping[str, Any]) -> Iterator[Fact]:
    """As resolved, in TOML's own form; what is not set is left out."""
    profile = _table(facts.get("profile"))
    if not profile:
        return
    yield from _heading("profile as resolved")
    yield from ((str(key), _toml(value), "title") for key, value in profile.items() if not isinstance(value, dict))
    for name, values in profile.items():
        told = [(k, v) for k, v in _table(values).items() if v not in (None, [], {})]
        yield from ((f"[{name}]" if not at else "", f"{k} = {_toml(v)}", "title") for at, (k, v) in enumerate(told))
    if facts.get("profile_sha256"):
        yield "sha256", str(facts["profile_sha256"]), "label"


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(one)}" for key, one in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False, default=str)


def _machine(facts: Mapping[str, Any]) -> Iterator[Fact]:
    yield from _heading("machine and versions")
    host = _table(facts.get("host"))
    memory = host.get("memory_bytes")
    yield "host", f"{host.get('hostname') or 'not known'} as {facts.get('node') or 'a node without a name'}", "title"
    yield "kernel", f"{host.get('kernel') or 'not known'} {host.get('machine') or ''}".strip(), "title"
    yield "size", f"{host.get('cpus') or '?'} cores, {size(memory) if isinstance(memory, int) else '-'}", "title"
    yield "boot", f"{host.get('boot') or 'not known'}, {host.get('pidns') or 'pid namespace not known'}", "label"
    yield from ((str(name), str(value), "title") for name, value in _table(facts.get("versions")).items())
    gpus = _table(facts.get("gpus"))
    if not gpus:
        yield "GPUs", str(facts.get("gpu_unavailable") or "not on record"), "label"
        return
    yield "driver", f"{gpus.get('driver')}, CUDA up to {gpus.get('cuda') or 'a version that was not told'}", "title"
    yield from (_device(device) for device in _list(gpus.get("devices")))


def _device(device: Mapping[str, Any]) -> Fact:
    """As it was before the start: the baseline that its memory is held against."""
    used, total = device.get("used_bytes"), device.get("total_bytes")
    idle = {True: ", idle", False: ", not idle"}.get(device.get("idle"), "")  # type: ignore[arg-type]
    mine = "" if device.get("in_run") else ", not of this run"
    level = "" if not isinstance(used, int) else f", baseline {size(used)} of {size(total)}"
    return f"GPU {device.get('gpu')}", f"{device.get('name')} {device.get('uuid')}{level}{idle}{mine}", "title"


def _files(feed: Feed, document: Mapping[str, Any]) -> Iterator[Fact]:
    yield from _heading("files")
    yield "directory", str(document.get("directory")), "title"
    logs = sorted(feed.log_sizes().items())
    for at, (name, count) in enumerate(logs[:_LOGS]):
        yield "logs" if not at else "", f"{os.path.join('ranks', name)}  {size(count)}", "title"
    if len(logs) > _LOGS:
        yield "", f"and {len(logs) - _LOGS} more", "label"
    if not logs:
        yield "logs", "nothing was printed yet", "label"


def _environment(facts: Mapping[str, Any]) -> Iterator[Fact]:
    """As recorded: what looks like a secret is not in it, and of most variables only the names are."""
    values, names = _table(facts.get("environment")), _list(facts.get("environment_names"))
    yield from _heading("environment of the start, as far as it is recorded")
    yield from ((str(name), str(value), "title") for name, value in sorted(values.items()))
    if names:
        yield "names only", " ".join(map(str, names)), "label"
    if not values and not names:
        yield "", "not on record", "label"


def _words(member: Mapping[str, Any]) -> list[str]:
    return [str(word) for word in _list(member.get("argv"))]


def _table(found: object) -> Mapping[str, Any]:
    return found if isinstance(found, dict) else {}


def _list(found: object) -> Sequence[Any]:
    return found if isinstance(found, list) else ()
