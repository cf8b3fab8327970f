"""`--set KEY=VALUE`: one value of a profile given on the command line.

KEY is a dotted TOML key. VALUE is read as TOML; what is no TOML value is taken as a plain string, so that
`--set launch.python=/opt/venv/bin/python` needs no quotes inside quotes.
"""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass

from grpotui_supervisor.model.checking import Problem
from grpotui_supervisor.model.positions import KeyPath, read_key, spelled
from grpotui_supervisor.model.wording import found


@dataclass(frozen=True, slots=True)
class Setting:
    """One KEY=VALUE that could be read."""

    word: str
    """As given, for messages."""
    path: tuple[str, ...]
    value: object


def parse_setting(word: str) -> Setting | str:
    """Return the setting, or the reason why the word is none."""
    if not _is_unicode(word):
        return "not UTF-8 text"
    key, equals, _ = word.partition("=")
    parts, end = read_key(word, len(word) - len(word.lstrip(" \t")))
    rest = word[end:].lstrip(" \t")
    if not equals:
        return "expected KEY=VALUE, found no '='"
    if not key.strip():
        return "expected KEY=VALUE, the key is empty"
    if not parts or not rest.startswith("="):
        return f"expected KEY=VALUE, {key.strip()!r} is not a key of names joined by single dots"
    return Setting(word, tuple(part.name for part in parts), _value(rest[1:]))


def apply_setting(document: dict[str, object], setting: Setting) -> str | None:
    """Put the value into the document, with the tables that it needs; return the reason if that cannot be."""
    table = document
    for depth, name in enumerate(setting.path[:-1], 1):
        inner = table.setdefault(name, {})
        if not isinstance(inner, dict):
            return f"{spelled(setting.path[:depth])} is {found(inner)}, not a table"
        table = inner
    table[setting.path[-1]] = setting.value
    return None


def blamed_setting(problem: Problem, settings: Sequence[Setting], *, in_file: bool) -> Setting | None:
    """Return the setting that the problem comes from: the last one that set this key or a table around it.

    `in_file` says whether the key has a place in the file; without one, a setting inside it made it.
    """
    for setting in reversed(settings):
        if problem.path[: len(setting.path)] == setting.path:
            return setting
    if in_file:
        return None
    return next((s for s in settings if s.path[: len(problem.path)] == problem.path), None)


def setting_message(problem: Problem, setting: Setting) -> str:
    """Return the problem as a line about the word that was given."""
    inside: KeyPath = problem.path if problem.path != setting.path else ()
    message = f"{spelled(inside)}: {problem.message}" if inside else problem.message
    if problem.rewrite and not inside:
        # A shell takes away one pair of quotes, so showing only the quoted value would not help.
        return f"{message}; quote it: --set '{spelled(setting.path)}={problem.rewrite}'"
    return f"{message}; quote it: {problem.rewrite}" if problem.rewrite else message


def _value(text: str) -> object:
    try:
        document = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):  # a number of more than 4300 digits is a plain ValueError
        return text
    return document["value"] if len(document) == 1 else text


def _is_unicode(word: str) -> bool:
    """Tell whether the word has no bytes that the command line could not decode."""
    return not any("\ud800" <= char <= "\udfff" for char in word)
