"""Builds dataclasses from parsed TOML and collects every problem instead of stopping at the first.

It knows no profile: the dataclass gives keys, types, defaults and bounds (`bounds()`), and `rules` gives the
checks that need more than one field. Field types are those a TOML file can hold: str, int, float, bool,
Literal, dataclass, `tuple[X, ...]`, `Mapping[str, X]`, unions of them with None, and object (anything).
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from typing import Any, Literal, TypeVar, get_args

from grpotui_supervisor.model.positions import KeyPath, spelled
from grpotui_supervisor.model.wording import Kind, expected, form, found, near_match, shown

_T = TypeVar("_T")
_SUGGESTED = 100  # problems; a near match costs 0.1 ms, and a file of 100,000 unknown keys is no typing error
_QUOTABLE = 10**12  # numbers beyond it, and nan, are not shown as they stand in the file


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake in a document."""

    path: KeyPath
    """The key it is about; for a missing key, the path that the key would have."""
    message: str
    rewrite: str = ""
    """What to write as the value instead, in TOML; empty: not known."""


Rule = Callable[[Mapping[str, Any]], Iterable[Problem]]
"""Takes the fields of one table, defaults included, without those of a wrong type; yields problems with paths
that start at that table. Inside containers, an element that had a problem is a bare `object()`."""

_INVALID = object()


def bounds(
    *, minimum: int | None = None, maximum: int | None = None, filled: bool = False, one_word: bool = False
) -> Mapping[str, Any]:
    """Return field metadata: inclusive limits of a number; not empty; a lone string is a tuple of one."""
    return {"minimum": minimum, "maximum": maximum, "filled": filled, "one_word": one_word}


def check(kind: type[_T], document: object, *, rules: Mapping[type, Rule]) -> tuple[_T | None, tuple[Problem, ...]]:
    """Build `kind` from `document`; on any problem there is no instance, and all problems are returned."""
    checker = _Checker(kind, rules)
    built = checker.value(kind, document, (), {})
    return (built if isinstance(built, kind) else None), tuple(checker.problems)


def _homes(kind: Kind, path: KeyPath = ()) -> Iterator[tuple[str, KeyPath, str]]:
    """Yield each key that some fixed table knows, with that table and the advice to give elsewhere."""
    for field in fields(kind):
        if is_dataclass(field.type) or form(field.type) is Mapping:
            yield field.name, path, f"[{spelled((*path, field.name))}] is a table of its own"
        else:
            yield (
                field.name,
                path,
                f"it belongs in [{spelled(path)}]" if path else "it belongs above all tables",
            )
        if is_dataclass(field.type):
            yield from _homes(field.type, (*path, field.name))


class _Checker:
    def __init__(self, root: type, rules: Mapping[type, Rule]) -> None:
        self.problems: list[Problem] = []
        self._root = root
        self._rules = rules

    def value(self, kind: Kind, value: object, path: KeyPath, limits: Mapping[str, Any]) -> object:  # noqa: PLR0911 - one a kind
        """Return the value as a field of type `kind` holds it, or `_INVALID` after noting why not."""
        origin = form(kind)
        if kind is object:
            return value
        if is_dataclass(kind):
            return self._table(kind, value, path)
        if origin is Literal:
            return self._choice(kind, value, path)
        if origin is tuple:
            return self._array(kind, value, path, limits)
        if origin is Mapping:
            return self._mapping(kind, value, path)
        if get_args(kind):
            return self._union(kind, value, path, limits)
        return self._scalar(kind, value, path, limits)

    def _refuse(self, path: KeyPath, message: str, *, rewrite: str = "") -> object:
        self.problems.append(Problem(path, message, rewrite))
        return _INVALID

    def _mismatch(self, kind: Kind, value: object, path: KeyPath) -> object:
        quotable = kind is str and isinstance(value, (int, float)) and abs(value) < _QUOTABLE
        rewrite = f'"{shown(value)}"' if quotable else ""
        return self._refuse(path, f"expected {expected(kind)}, got {found(value)}", rewrite=rewrite)

    def _table(self, kind: Kind, value: object, path: KeyPath) -> object:
        if not isinstance(value, dict):
            return self._mismatch(kind, value, path)
        before = len(self.problems)
        known = {field.name: field for field in fields(kind)}
        for key in value:
            if key not in known:
                self._refuse((*path, key), self._unknown(key, known, path))
        given = {name: self._field(field, value, path) for name, field in known.items()}
        given = {name: field_value for name, field_value in given.items() if field_value is not _INVALID}
        if rule := self._rules.get(kind):
            self.problems += [Problem((*path, *p.path), p.message, p.rewrite) for p in rule(given)]
        return kind(**given) if len(self.problems) == before else _INVALID

    def _field(self, field: Field[Any], table: Mapping[str, object], path: KeyPath) -> object:
        where = (*path, field.name)
        if field.name in table:
            return self.value(field.type, table[field.name], where, field.metadata)
        if field.default is not MISSING:
            return field.default
        if field.default_factory is not MISSING:
            return field.default_factory()
        return self._refuse(where, "required key is missing")

    def _unknown(self, key: str, known: Iterable[str], path: KeyPath) -> str:
        if len(self.problems) >= _SUGGESTED:
            return "unknown key"
        # TOML's favourite trap: a top-level key written below a [table] belongs to that table.
        for name, home, advice in _homes(self._root):
            if name == key and home != path:
                return f"unknown key here; {advice}"
        if near := near_match(key, known):
            return f"unknown key; did you mean {near!r}?"
        return f"unknown key; known keys: {', '.join(known)}"

    def _choice(self, kind: Kind, value: object, path: KeyPath) -> object:
        choices: tuple[str, ...] = get_args(kind)
        if isinstance(value, str) and value in choices:
            return value
        near = near_match(value.lower(), choices) if isinstance(value, str) else None
        suggestion = f"; did you mean {near!r}?" if near else ""
        return self._refuse(path, f"expected {expected(kind)}, got {found(value)}{suggestion}")

    def _array(self, kind: Kind, value: object, path: KeyPath, limits: Mapping[str, Any]) -> object:
        if isinstance(value, str) and limits.get("one_word"):
            value = [value]
        if not isinstance(value, list):
            return self._mismatch(kind, value, path)
        if not value and limits.get("filled"):
            return self._refuse(path, "must not be empty")
        inner = get_args(kind)[0]
        return tuple(self.value(inner, element, (*path, i), {}) for i, element in enumerate(value))

    def _mapping(self, kind: Kind, value: object, path: KeyPath) -> object:
        if not isinstance(value, dict):
            return self._mismatch(kind, value, path)
        inner = get_args(kind)[1]
        if inner is object:
            return value
        return {key: self.value(inner, element, (*path, key), {}) for key, element in value.items()}

    def _union(self, kind: Kind, value: object, path: KeyPath, limits: Mapping[str, Any]) -> object:
        choices = [choice for choice in get_args(kind) if choice is not type(None)]
        for choice in choices:
            if len(choices) == 1 or (type(value) is choice):
                return self.value(choice, value, path, limits)
        return self._mismatch(kind, value, path)

    def _scalar(self, kind: Kind, value: object, path: KeyPath, limits: Mapping[str, Any]) -> object:
        accepted = (int, float) if kind is float else kind
        if not isinstance(value, accepted) or (isinstance(value, bool) and kind is not bool):
            return self._mismatch(kind, value, path)
        reason = _number_reason(kind, value, limits) or _text_reason(value, limits)
        if reason:
            return self._refuse(path, reason)
        return float(value) if kind is float else value


def _number_reason(kind: Kind, value: object, limits: Mapping[str, Any]) -> str:
    if not isinstance(value, (int, float)):
        return ""
    if kind is float and not _is_finite(value):
        return f"must be a finite number, got {shown(value)}"
    minimum, maximum = limits.get("minimum"), limits.get("maximum")
    if minimum is not None and value < minimum:
        return f"must be at least {minimum}, got {shown(value)}"
    if maximum is not None and value > maximum:
        return f"must be at most {maximum}, got {shown(value)}"
    return ""


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond the range of a float
        return False


def _text_reason(value: object, limits: Mapping[str, Any]) -> str:
    if not isinstance(value, str):
        return ""
    if "\0" in value:
        return "must not contain a NUL character"
    return "must not be empty" if not value and limits.get("filled") else ""
