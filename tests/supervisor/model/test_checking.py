import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grpotui_supervisor.model.checking import Problem, bounds, check
from grpotui_supervisor.model.positions import spelled
from grpotui_supervisor.model.wording import shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    width: float = field(default=1.0, metadata=bounds(minimum=0, maximum=3))
    colour: Literal["red", "green"] = "red"


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    street: str
    floors: int | None = field(default=None, metadata=bounds(minimum=1))
    lit: bool = False
    words: tuple[str, ...] = field(default=(), metadata=bounds(filled=True, one_word=True))
    keys: tuple[int | str, ...] | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    door: Door = field(default_factory=Door)
    rooms: Mapping[str, Door] = field(default_factory=dict)
    notes: Mapping[str, object] = field(default_factory=dict)


def problems(text: str) -> list[str]:
    house, found = check(House, tomllib.loads(text), rules={})
    assert (house is None) == bool(found)
    return [f"{spelled(p.path)}: {p.message}" + (f" [{p.rewrite}]" if p.rewrite else "") for p in found]


def test_a_right_document_becomes_the_dataclass() -> None:
    text = """
        street = "s"
        floors = 2
        lit = true
        words = "one"
        keys = [0, "b"]
        labels = { a = "b" }
        door = { width = 2 }
        rooms.hall = { colour = "green" }
        notes = { any = [1, { thing = nan }] }
    """
    house, found = check(House, tomllib.loads(text), rules={})
    assert not found
    assert house is not None
    assert house.words == ("one",)
    assert house.keys == (0, "b")
    assert house.door == Door(width=2.0)
    assert isinstance(house.door.width, float)
    assert house.rooms == {"hall": Door(colour="green")}
    assert house.notes["any"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("floors = 0", "floors: must be at least 1, got 0"),
        ("floors = 1.0", "floors: expected an integer, got the number 1.0"),
        ("floors = true", "floors: expected an integer, got true"),
        ("lit = 1", "lit: expected true or false, got the integer 1"),
        ("labels = 'x'", "labels: expected a table, got the string 'x'"),
        ("labels.a = 1", 'labels.a: expected a string, got the integer 1 ["1"]'),
        ("labels.a = false", 'labels.a: expected a string, got false ["false"]'),
        ("labels.a = 2.5", 'labels.a: expected a string, got the number 2.5 ["2.5"]'),
        ("labels.a = nan", "labels.a: expected a string, got the number nan"),
        ("labels.a = 07:32:00", "labels.a: expected a string, got the date or time 07:32:00"),
        ("labels.a.b = '1'", "labels.a: expected a string, got a table"),
        ('labels.a = "\\u0000"', "labels.a: must not contain a NUL character"),
        ("words = []", "words: must not be empty"),
        ("words = 3", "words: expected an array of strings, got the integer 3"),
        ("words = ['a', ['b']]", "words[1]: expected a string, got an array"),
        ("keys = [1, true]", "keys[1]: expected an integer or a string, got true"),
        ("keys = {}", "keys: expected an array of integers or strings, got a table"),
        ("door = []", "door: expected a table, got an array"),
        ("door.width = 4", "door.width: must be at most 3, got 4"),
        ("door.width = inf", "door.width: must be a finite number, got inf"),
        ("door.width = '2'", "door.width: expected a number, got the string '2'"),
        (
            "door.colour = 'Gren'",
            "door.colour: expected one of 'red', 'green', got the string 'Gren'; did you mean 'green'?",
        ),
        ("door.colour = 1", "door.colour: expected one of 'red', 'green', got the integer 1"),
        ("rooms.hall.colour = 'x'", "rooms.hall.colour: expected one of 'red', 'green', got the string 'x'"),
        ("rooms.hall = 1", "rooms.hall: expected a table, got the integer 1"),
        ("notes = 1", "notes: expected a table, got the integer 1"),
        ("flors = 1", "flors: unknown key; did you mean 'floors'?"),
        ("width = 1", "width: unknown key here; it belongs in [door]"),
        ("door.street = 's'", "door.street: unknown key here; it belongs above all tables"),
        ("door.notes = {}", "door.notes: unknown key here; [notes] is a table of its own"),
        ("door.zzz = 1", "door.zzz: unknown key; known keys: width, colour"),
        ("floors = 1" + "0" * 100, ""),
        ("door.width = 0x1" + "0" * 999, f"door.width: must be a finite number, got {shown(16**999)}"),
        ("labels.a = 0x1" + "0" * 9999, "labels.a: expected a string, got the integer of more than 4300 digits"),
        ("labels.a = ['" + "x" * 99 + "']", "labels.a: expected a string, got an array"),
        ("floors = '" + "x" * 99 + "'", f"floors: expected an integer, got the string '{'x' * 57}…'"),
    ],
)
def test_one_mistake_is_one_problem(line: str, expected: str) -> None:
    assert problems(f"street = 's'\n{line}") == ([expected] if expected else [])


def test_all_mistakes_are_reported_at_once() -> None:
    text = "stret = 's'\nfloors = 0\nlit = 'yes'\nwords = ['a', 1, 2]\ndoor = { width = -1, colour = 'gren' }"
    assert problems(text) == [
        "stret: unknown key; did you mean 'street'?",
        "street: required key is missing",
        "floors: must be at least 1, got 0",
        "lit: expected true or false, got the string 'yes'",
        'words[1]: expected a string, got the integer 1 ["1"]',
        'words[2]: expected a string, got the integer 2 ["2"]',
        "door.width: must be at least 0, got -1",
        "door.colour: expected one of 'red', 'green', got the string 'gren'; did you mean 'green'?",
    ]


def test_a_document_that_is_no_table_is_a_problem() -> None:
    assert check(House, [], rules={}) == (None, (Problem((), "expected a table, got an array"),))


def test_a_rule_sees_the_valid_fields_and_reports_inside_its_table() -> None:
    seen: list[dict[str, Any]] = []

    def rule(given: Mapping[str, Any]) -> Iterator[Problem]:
        seen.append(dict(given))
        yield Problem(("width",), "too narrow")

    house, found = check(House, tomllib.loads("street = 's'\ndoor.colour = 1"), rules={Door: rule})
    assert house is None
    assert seen == [{"width": 1.0}]
    assert [spelled(p.path) for p in found] == ["door.colour", "door.width"]


def test_thousands_of_unknown_keys_cost_no_thousands_of_comparisons() -> None:
    _, found = check(House, {f"key{number}": 1 for number in range(20_000)}, rules={})
    assert len(found) == 20_001
    assert found[-2].message == "unknown key"


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.datetimes(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
_KEYS = st.sampled_from(["street", "floors", "lit", "words", "keys", "labels", "door", "rooms", "notes", "strt"])


@settings(deadline=None)
@given(st.dictionaries(_KEYS, _VALUES))
def test_no_document_raises(document: dict[str, object]) -> None:
    house, found = check(House, document, rules={})
    assert (house is None) == bool(found)
    assert all(problem.message.isprintable() for problem in found)
