import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpotui_supervisor.samples.inert import inert
from grpotui_supervisor.samples.numbers import printed_number, stored_number
from grpotui_supervisor.samples.sample import Groups, Sample, distinct_shares


def sample(step: int | None, group: int | None, answer: str) -> Sample:
    return Sample(step, group, "prompt", answer, {}, None, None, None, "table")


def test_the_share_of_different_answers_in_each_group() -> None:
    answers = [
        (1, 0, "a"),
        (1, 0, "b"),
        (1, 0, "a"),
        (1, 0, "a"),
        (1, 1, "a"),
        (2, 0, "a"),
        (2, 0, "a"),
        (None, 0, "x"),
    ]
    shares = distinct_shares(sample(*each) for each in answers)
    assert shares == {(1, 0): 0.5, (1, 1): 1.0, (2, 0): 0.5, (None, 0): 1.0}
    assert distinct_shares([sample(1, None, "a")]) == {}


def test_groups_are_numbered_in_each_step() -> None:
    groups = Groups()
    asked = [(1, "a"), (1, "b"), (1, "a"), (2, "b"), (None, "b")]
    assert [groups.of(step, prompt) for step, prompt in asked] == [0, 1, 0, 0, 0]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, é, 数\tand\nmore", "plain, é, 数\tand\nmore"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07x\x1b]8;;http://a\x1b\\y", "xy"),
        ("\x1bPdevice control\x1b\\z", "z"),
        ("bell\x07 nul\x00 back\x08 c1\x9b31m", "bell nul back c131m"),
        ("one\r\ntwo\rthree", "one\ntwothree"),
        ("\u202eesrever\u2066x\ufeff", "esreverx"),
        ("\x1b[", ""),
        ("\x1b", ""),
    ],
)
def test_nothing_that_is_shown_can_control_a_terminal(text: str, shown: str) -> None:
    assert inert(text) == shown


@given(st.text())
def test_shown_text_holds_no_control_character(text: str) -> None:
    assert not {char for char in inert(text) if ord(char) < 32 or 0x7F <= ord(char) < 0xA0} - {"\n", "\t"}


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0.5", 0.5),
        (" -1e-06 ", -1e-06),
        ("np.float64(0.25)", 0.25),
        ("True", 1.0),
        ("1_000", None),
        ("x", None),
        ("", None),
    ],
)
def test_numbers_as_they_are_printed(text: str, number: float | None) -> None:
    assert printed_number(text) == number
    assert printed_number(text + "1" * 1000) is None


@pytest.mark.parametrize(("value", "number"), [(1, 1.0), (True, 1.0), (10**400, None), ("1", None), (None, None)])
def test_numbers_as_they_are_stored(value: object, number: float | None) -> None:
    assert stored_number(value) == number
