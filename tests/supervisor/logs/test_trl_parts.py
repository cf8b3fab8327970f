"""The parts of the Hugging Face family's readers: whole lines, dictionaries, counting, late columns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.log_oracle import cut

from grpotui_supervisor.logs.columns import UNKNOWN_STEP
from grpotui_supervisor.logs.hf_columns import LateColumns
from grpotui_supervisor.logs.hf_count import Count
from grpotui_supervisor.logs.hf_dicts import DICT_LIMIT, _as_json, _by_pairs, values_of
from grpotui_supervisor.logs.hf_text import WholeLines, shortened
from grpotui_supervisor.logs.reader import CUT_MARK, LINE_LIMIT

TOKENS = [
    *(
        "'a'",
        "'b c'",
        "'epoch'",
        '"it\'s"',
        ": ",
        ", ",
        "0.5",
        "'0.5'",
        "None",
        "'None'",
        "nan",
        "'nan'",
        "NaN",
        "'NAN'",
    ),
    *("-0", "'-0'", "-0.0", "1e-06", "'1m 29s'", "'5/94'", "inf", "'inf'", "True", "[1, 2]", "{'x': 1}", "{", "}"),
    *("null", "'null'", "1", "'1'", "007", "1.", "'+1'", "'", '"', "\\", " ", "\n", "é", "np.float64(0.5)", "9" * 30),
]
KEYS = ["'a'", "'b c'", "'c'", "'epoch'", '"it\'s"']
PRINTED = st.one_of(
    st.lists(st.sampled_from(TOKENS), max_size=14).map("".join),
    st.lists(st.tuples(st.sampled_from(KEYS), st.sampled_from(TOKENS)), max_size=6).map(
        lambda pairs: ", ".join(f"{key}: {value}" for key, value in pairs)
    ),
    st.dictionaries(st.sampled_from("abcdefg"), st.floats().map(repr), max_size=7).map(
        lambda found: ", ".join(f"'{key}': {value}" for key, value in found.items())
    ),
    st.dictionaries(st.sampled_from("abcdefg"), st.floats().map("'{:.4g}'".format), max_size=7).map(
        lambda found: ", ".join(f"'{key}': {value}" for key, value in found.items())
    ),
)


@given(body=PRINTED)
def test_the_quick_way_reads_what_the_slow_one_reads(body: str) -> None:
    quick = _as_json(f"{{{body}}}")
    if quick is not None:
        assert repr(quick) == repr(_by_pairs(f"{{{body}}}"))


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("{}", {}),
        ("{'a': 1, }", {"a": 1.0}),
        ("{'a': 'x', 'b': None, 'c': null}", {"a": "x", "b": None, "c": None}),
        ("{'a': 1, 'a': 2}", {"a": 2.0}),
        ("{'a': tensor(0.5, device=0)}", {"a": "tensor(0.5, device=0)"}),
        ("{'a': 1 'b': 2}", None),
        ("{'a': }", None),
        ("{'a': 1, prose}", None),
        ("{'a'}", None),
        ('{"a": 1, "b": "5/9"}', {"a": 1.0, "b": "5/9"}),
        ("{'a': '" + "x" * DICT_LIMIT + "'}", None),
    ],
)
def test_values(text: str, values: dict[str, object] | None) -> None:
    assert values_of(text) == values


@given(data=st.binary(max_size=200), places=st.lists(st.integers(0, 200), max_size=6))
def test_lines_do_not_depend_on_blocks(data: bytes, places: list[int]) -> None:
    some, whole = WholeLines(), WholeLines()
    assert "".join(some.feed(block) for block in cut(data, places)) == whole.feed(data)
    assert some.head() == whole.head()


@pytest.mark.parametrize("length", [LINE_LIMIT - 1, LINE_LIMIT, LINE_LIMIT + 1, 3 * LINE_LIMIT])
def test_only_the_beginning_of_a_long_line_is_kept(length: int) -> None:
    data = b"first\n" + b"x" * length + b"\r\nlast\n"
    kept = "x" * min(length, LINE_LIMIT) + (CUT_MARK if length > LINE_LIMIT else "")
    text = f"first\n{kept}\r\nlast\n"
    assert WholeLines().feed(data) == text
    lines = WholeLines()
    assert "".join(lines.feed(data[start : start + 100_000]) for start in range(0, len(data), 100_000)) == text
    assert shortened(b"a\n" * LINE_LIMIT) == b"a\n" * LINE_LIMIT


def test_control_sequences_are_no_text_and_line_ends_are() -> None:
    assert WholeLines().feed(b"\x1b[1;37ma\x1b[0m\r\n\x00b\x1b]0;t\x07\x7fc\xc2\x85\r\xff\n") == "a\r\nbc\r\ufffd\n"


@pytest.mark.parametrize(
    ("every", "first", "bar", "steps"),
    [
        (None, False, None, []),
        (10, False, None, [10, 20, 30]),
        (10, True, None, [1, 10, 20]),
        (1, True, None, [1, 2, 3]),
        (10, False, (501, 510), [510, 520, 530]),
        (10, True, (501, 510), [510, 520, 530]),
        (10, False, (10, 10), [10, 20, 30]),
        (10, False, (1, 1), [1, 10, 20]),
        (10, False, (511, 520), [520, 530, 540]),
    ],
)
def test_counting(every: int | None, *, first: bool, bar: tuple[int, int] | None, steps: list[int]) -> None:
    count = Count(every, first_step=first)
    if bar is not None:
        count.told(*bar)
    assert [step for step, _ in zip(count.steps(), range(3), strict=False)] == steps


def test_a_row_that_is_taken_back_was_never_there() -> None:
    columns = LateColumns()
    columns.put(1, {"a": 0.5, "b": 1.0})
    columns.lend(None, {"a": 0.25, "c": 2.0})
    assert (list(columns.steps), columns.row(1)) == ([1, UNKNOWN_STEP], {"a": 0.25, "c": 2.0})
    columns.take_back({"a": 0.25, "c": 2.0})
    columns.put(2, {"a": 0.25, "c": 2.0})
    assert (list(columns.steps), columns.row(0), columns.row(1)) == (
        [1, 2],
        {"a": 0.5, "b": 1.0},
        {"a": 0.25, "c": 2.0},
    )


def test_a_step_that_comes_again_is_a_part_of_its_row_and_an_earlier_one_a_restart() -> None:
    columns = LateColumns()
    for step, metrics in [(5, {"a": 1.0, "b": 1.0}), (10, {"a": 2.0, "b": 2.0}), (10, {"c": 3.0, "d": 4.0})]:
        columns.put(step, metrics)
    assert columns.row(1) == {"a": 2.0, "b": 2.0, "c": 3.0, "d": 4.0}
    columns.put(5, {"a": 4.0, "b": 5.0})
    assert list(columns.steps) == [5, 10, 5]


def test_counted_steps_are_renumbered() -> None:
    columns = LateColumns()
    for step in (10, 20, 30):
        columns.put(step, {"a": 1.0, "b": 2.0})
    columns.renumber([(0, 510), (1, 520), (2, 530)])
    columns.put(530, {"c": 1.0, "d": 2.0})
    assert list(columns.steps) == [510, 520, 530]
