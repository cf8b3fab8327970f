"""Profile files: finding them by path or shipped name, reading them, and every mistake of one at once.

The only place that reads a profile; what is in it is checked by the pure modules in `model`.
"""

import codecs
import os
import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from grpotui_supervisor.errors import ProfileError, UsageError
from grpotui_supervisor.model.checking import Problem, check
from grpotui_supervisor.model.excerpts import problem_block, visible
from grpotui_supervisor.model.positions import Place, nearest_place, positions, spelled
from grpotui_supervisor.model.profile import Profile
from grpotui_supervisor.model.profile_rules import RULES
from grpotui_supervisor.model.settings import (
    Setting,
    apply_setting,
    blamed_setting,
    parse_setting,
    setting_message,
)
from grpotui_supervisor.model.wording import near_match

_HERE = os.path.dirname(os.path.abspath(__file__))
_CHECKOUT = os.path.normpath(os.path.join(_HERE, "..", "..", "profiles"))
_PACKAGED = os.path.join(_HERE, "_profiles")
_LARGEST = 1 << 20  # bytes; a profile is a page, so more is some other file
_SYNTAX_PLACE = re.compile(r" \((?:at line (\d+), column (\d+)|at end of document)\)$")


@dataclass(frozen=True, slots=True)
class LoadedProfile:
    """A profile and where it came from."""

    profile: Profile
    path: str
    """Absolute."""
    source: str
    """The file's text, without a byte order mark and with plain newlines."""
    document: dict[str, object]
    """The parsed text with all settings applied."""


def _shipped_folder() -> str:
    return _CHECKOUT if os.path.isdir(_CHECKOUT) else _PACKAGED


def shipped_profiles() -> dict[str, str]:
    """Return the path of each shipped profile by its name; the checkout's come before the packaged ones."""
    folder = _shipped_folder()
    try:
        files = sorted(os.listdir(folder))
    except OSError:
        return {}
    return {file[:-5]: os.path.join(folder, file) for file in files if file.endswith(".toml")}


def find_profile(word: str) -> str:
    """Return the path of the profile that PROFILE on a command line names.

    Raises:
        UsageError: it names nothing, or a directory.
    """
    if "\0" not in word and os.path.lexists(word) and not os.path.isdir(word):
        return word
    shipped = shipped_profiles()
    if path := shipped.get(word.removesuffix(".toml")):
        return path
    if "\0" not in word and os.path.isdir(word):
        raise UsageError(f"{visible(word)} is a directory, not a profile", hint="Name the .toml file in it.")
    tried = f"no such file, and no shipped profile of that name in {_shipped_folder()}"
    raise UsageError(f"no profile {word!r}: {tried}", hint=_names_hint(word, shipped))


def load_profile(word: str, *, settings: Sequence[str] = ()) -> LoadedProfile:
    """Read the profile that `word` names, with the KEY=VALUE words of `--set` applied.

    Raises:
        ProfileError: with all mistakes of the file and of the settings.
        UsageError: there is no such profile, or it cannot be read.
    """
    file = find_profile(word)
    source = _decoded(file, _read(file))
    read, refused = _read_settings(settings)
    document = _parsed(file, source)
    if isinstance(document, str):
        raise _error(file, [document, *refused])
    applied, unfit = _apply_settings(document, read)
    profile, problems = check(Profile, document, rules=RULES)
    blocks = [*_blocks(file, source, problems, applied), *refused, *unfit]
    if profile is None or blocks:
        raise _error(file, blocks)
    return LoadedProfile(profile, os.path.abspath(file), source, document)


def _names_hint(word: str, shipped: Iterable[str]) -> str:
    names = ", ".join(shipped)
    if not names:
        return "No profiles are shipped with this installation: give the path of a .toml file."
    near = near_match(os.path.basename(word).removesuffix(".toml"), shipped)
    return (f"Did you mean {near!r}? " if near else "") + f"Shipped profiles: {names}."


def _read(file: str) -> bytes:
    """Read a file, or a pipe such as that of a shell's `<(…)`."""
    try:
        with open(file, "rb") as opened:
            data = opened.read(_LARGEST + 1)
    except OSError as error:
        raise UsageError(f"cannot read the profile {visible(file)}: {error.strerror}") from error
    if len(data) > _LARGEST:
        raise _error(file, [f"{visible(file)}: larger than 1 MiB, so it is not a profile"])
    return data


def _decoded(file: str, data: bytes) -> str:
    if b"\0" in data:
        raise _error(file, [f"{visible(file)}: a binary file, not a TOML text"])
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        return data.decode().replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode(errors="replace").split("\n")
        reason = f"not UTF-8 text (byte 0x{data[error.start]:02x}); save it as UTF-8"
        raise _error(file, [f"{visible(file)}:{len(before)}:{len(before[-1]) + 1}: {reason}"]) from error


def _parsed(file: str, source: str) -> dict[str, object] | str:
    """Return the parsed text, or the problem block of the place where it stops being TOML."""
    try:
        return tomllib.loads(source)
    except RecursionError:
        return f"{visible(file)}: not readable: arrays or tables are nested too deeply"
    except ValueError as error:  # not always a TOMLDecodeError: Python refuses integers of over 4300 digits
        message, found = str(error), _SYNTAX_PLACE.search(str(error))
    if found is None:
        return f"{visible(file)}: not readable: {message}"
    lines = source.split("\n")
    place = Place(int(found[1]), int(found[2]), 1) if found[1] else _end(source)
    return problem_block(file, lines, place, f"not valid TOML: {message[0].lower()}{message[1 : found.start()]}")


def _end(source: str) -> Place:
    """Return the place behind the last character that is no blank."""
    lines = source.rstrip().split("\n")
    return Place(len(lines), len(lines[-1]) + 1, 1)


def _read_settings(words: Sequence[str]) -> tuple[list[Setting], list[str]]:
    """Return the settings that could be read, and a block for each that could not."""
    read = [(word, parse_setting(word)) for word in words]
    settings = [setting for _, setting in read if isinstance(setting, Setting)]
    return settings, [_setting_block(word, reason) for word, reason in read if isinstance(reason, str)]


def _apply_settings(document: dict[str, object], settings: list[Setting]) -> tuple[list[Setting], list[str]]:
    """Apply in order; return the settings that went in, and a block for each that did not."""
    tried = [(setting, apply_setting(document, setting)) for setting in settings]
    applied = [setting for setting, reason in tried if reason is None]
    return applied, [_setting_block(setting.word, reason) for setting, reason in tried if reason]


def _blocks(file: str, source: str, problems: Sequence[Problem], settings: list[Setting]) -> list[str]:
    """Return the problems of the file by place, then those of the settings in the order given."""
    if not problems:
        return []
    places, lines = positions(source), source.split("\n")
    in_file: list[tuple[Place, str]] = []
    in_settings: list[tuple[int, str]] = []
    for problem in problems:
        setting = blamed_setting(problem, settings, in_file=problem.path in places)
        if setting is None:
            in_file.append(_file_block(file, lines, nearest_place(places, problem.path), problem))
        else:
            block = _setting_block(setting.word, setting_message(problem, setting))
            in_settings.append((settings.index(setting), block))
    in_file.sort(key=lambda found: found[0])
    in_settings.sort(key=lambda found: found[0])
    return [block for _, block in in_file] + [block for _, block in in_settings]


def _file_block(file: str, lines: list[str], place: Place | None, problem: Problem) -> tuple[Place, str]:
    quoting = f"; quote it: {problem.rewrite}" if problem.rewrite else ""
    text = f"{spelled(problem.path)}: {problem.message}{quoting}".removeprefix(": ")
    if place is None:  # a key that is missing at the top: no line to show
        return Place(1, 1, 0), visible(f"{file}:1:1: {text}")
    return place, problem_block(file, lines, place, text)


def _setting_block(word: str, reason: str) -> str:
    return visible(f"--set {word}: {reason}")


def _error(file: str, problems: Sequence[str]) -> ProfileError:
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    return ProfileError(f"{visible(file)}: {count}", problems=tuple(problems))
