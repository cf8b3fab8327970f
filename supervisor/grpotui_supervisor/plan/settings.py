"""Settings of a job, as its command line or its profile gives them: read with their types, and every mistake kept."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_TRUE: Final = frozenset({"true", "1", "yes", "on"})
_FALSE: Final = frozenset({"false", "0", "no", "off"})
_NONE: Final = frozenset({"null", "none", "~", ""})
_NEAR: Final = 0.85
"""Of a typing error; frameworks have many more settings than are read here, so a looser match would be noise."""


class Settings:
    """Key to value, where a value is what a person wrote.

    Attributes:
        mistakes: what could not be read as what it must be, in words; the default stands in for it.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)
        self._asked: set[str] = set()
        self.mistakes: list[str] = []

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def over(self, values: Mapping[str, Any]) -> Settings:
        """The same with these values in place of its own."""
        return Settings({**self._values, **values})

    def text(self, key: str, default: str | None = None) -> str | None:
        """A word; `null` is none."""
        self._asked.add(key)
        value = self._values.get(key, default)
        return None if value is None or str(value).strip().lower() in _NONE else str(value).strip()

    def whole(self, key: str, default: int | None = None) -> int | None:
        """A whole number, or the default."""
        number = self.number(key)
        if number is None:
            return default
        if number != int(number):
            self._mistaken(key, "a whole number")
            return default
        return int(number)

    def count(self, key: str, default: int) -> int:
        """A whole number that has a default."""
        found = self.whole(key, default)
        return default if found is None else found

    def number(self, key: str, default: float | None = None) -> float | None:
        """A number, or the default."""
        value = self.text(key)
        if value is None:
            return default
        try:
            number = float(value)
        except ValueError:
            number = float("nan")
        if number != number or number in (float("inf"), float("-inf")):  # noqa: PLR0124  (NaN)
            self._mistaken(key, "a number")
            return default
        return number

    def flag(self, key: str, *, default: bool) -> bool:
        """True or False, as Python, YAML and shells write them."""
        value = self.text(key)
        if value is None:
            return default
        if value.lower() in _TRUE | _FALSE:
            return value.lower() in _TRUE
        self._mistaken(key, "true or false")
        return default

    def misspelled(self, keys: Iterable[str]) -> list[str]:
        """Of keys that nobody has asked for: those that look like one that was asked for and is not there."""
        absent = [key for key in self._asked if key not in self._values]
        nears = ((key, get_close_matches(key, absent, 1, _NEAR)) for key in keys if key not in self._asked)
        return [f"{key} is not read here; did you mean {near[0]!r}?" for key, near in nears if near]

    def _mistaken(self, key: str, wanted: str) -> None:
        self.mistakes.append(f"{key}={self._values[key]} is not {wanted}; its default is taken")


def flat(table: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """A table of TOML with its inner tables as dotted keys: `actor_rollout_ref.rollout.n`."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, Mapping):
            found.update(flat(value, f"{before}{key}."))
        else:
            found[f"{before}{key}"] = value
    return found


def overrides(words: Sequence[str]) -> Settings:
    """Hydra's `key=value` among the words of a command, also `+key=value` and `++key=value`; the last one counts."""
    found: dict[str, str] = {}
    for word in words:
        key, sign, value = word.partition("=")
        key = key.lstrip("+")
        if sign and key and not key.startswith("-") and all(part.isidentifier() for part in key.split(".")):
            found.pop(key, None)
            found[key] = value.strip("'\"")
    return Settings(found)


def options(words: Sequence[str]) -> Settings:
    """`--key value` and `--key=value` among the words of a command; a flag without a value is true."""
    found: dict[str, str] = {}
    for at, word in enumerate(words):
        if not word.startswith("--"):
            continue
        key, sign, value = word[2:].partition("=")
        following = words[at + 1] if at + 1 < len(words) else "--"
        if not sign:
            value = "true" if following.startswith("--") else following
        found[key.replace("-", "_")] = value
    return Settings(found)
