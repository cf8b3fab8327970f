import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpotui_supervisor.model.checking import Problem
from grpotui_supervisor.model.settings import Setting, apply_setting, blamed_setting, parse_setting, setting_message


@pytest.mark.parametrize(
    ("word", "path", "value"),
    [
        ("launch.nproc=4", ("launch", "nproc"), 4),
        ("launch.python=/opt/venv/bin/python", ("launch", "python"), "/opt/venv/bin/python"),
        ('launch.argv=["a","b"]', ("launch", "argv"), ["a", "b"]),
        ('launch.env={ A = "1" }', ("launch", "env"), {"A": "1"}),
        ('name="x"', ("name",), "x"),
        ("name='x'", ("name",), "x"),
        ("name=", ("name",), ""),
        ("name==", ("name",), "="),
        ("a=b=c", ("a",), "b=c"),
        (" a . b = true ", ("a", "b"), True),
        ('"a.b"."c=d"=1', ("a.b", "c=d"), 1),
        ("a=1\nb = 2", ("a",), "1\nb = 2"),
        ("a=[1", ("a",), "[1"),
        ("a=" + "[" * 9999, ("a",), "[" * 9999),
        ("a=" + "9" * 5000, ("a",), "9" * 5000),
        ("a=1e3", ("a",), 1000.0),
        ("a=日本", ("a",), "日本"),
    ],
)
def test_a_word_is_read(word: str, path: tuple[str, ...], value: object) -> None:
    assert parse_setting(word) == Setting(word, path, value)


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("", "expected KEY=VALUE, found no '='"),
        ("launch.nproc", "expected KEY=VALUE, found no '='"),
        ("=1", "expected KEY=VALUE, the key is empty"),
        (" =1", "expected KEY=VALUE, the key is empty"),
        ("a..b=1", "expected KEY=VALUE, 'a..b' is not a key of names joined by single dots"),
        ("a.=1", "expected KEY=VALUE, 'a.' is not a key of names joined by single dots"),
        (".a=1", "expected KEY=VALUE, '.a' is not a key of names joined by single dots"),
        ("a b=1", "expected KEY=VALUE, 'a b' is not a key of names joined by single dots"),
        ("argv[0]=x", "expected KEY=VALUE, 'argv[0]' is not a key of names joined by single dots"),
        ("--a=\udcff", "not UTF-8 text"),
    ],
)
def test_a_word_that_is_no_setting_says_why(word: str, reason: str) -> None:
    assert parse_setting(word) == reason


def test_tables_are_made_on_the_way_and_values_replaced() -> None:
    document: dict[str, object] = {"a": {"x": 1}}
    for path, value in ((("a", "x"), 2), (("a", "y"), 3), (("b", "c", "d"), 4)):
        assert apply_setting(document, Setting("", path, value)) is None
    assert document == {"a": {"x": 2, "y": 3}, "b": {"c": {"d": 4}}}


@pytest.mark.parametrize(
    ("path", "reason"),
    [(("n", "x"), "n is the integer 1, not a table"), (("t", "l", "0"), "t.l is an array, not a table")],
)
def test_a_setting_does_not_go_through_other_values(path: tuple[str, ...], reason: str) -> None:
    document: dict[str, object] = {"n": 1, "t": {"l": [1]}}
    assert apply_setting(document, Setting("", path, 1)) == reason


def test_the_last_setting_of_a_key_or_of_a_table_around_it_is_blamed() -> None:
    first, table, other = Setting("1", ("a", "b"), 1), Setting("2", ("a",), {}), Setting("3", ("c", "d"), 1)
    settings = (first, table, other)
    assert blamed_setting(Problem(("a", "b"), ""), settings, in_file=True) is table
    assert blamed_setting(Problem(("a", "b"), ""), (table, first), in_file=True) is first
    assert blamed_setting(Problem(("c",), ""), settings, in_file=True) is None
    assert blamed_setting(Problem(("c",), ""), settings, in_file=False) is other
    assert blamed_setting(Problem(("e",), ""), settings, in_file=False) is None


def test_the_advice_to_quote_survives_a_shell() -> None:
    setting = Setting("launch.env.A=1", ("launch", "env", "A"), 1)
    message = setting_message(Problem(setting.path, "expected a string", rewrite='"1"'), setting)
    assert message == "expected a string; quote it: --set 'launch.env.A=\"1\"'"


@given(st.text())
def test_any_word_is_a_setting_or_a_reason(word: str) -> None:
    read = parse_setting(word)
    assert isinstance(read, Setting) or read
