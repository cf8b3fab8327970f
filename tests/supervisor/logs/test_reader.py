import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.log_oracle import cut

from grpotui_supervisor.logs import reader as module
from grpotui_supervisor.logs.reader import CUT_MARK, LINE_LIMIT, Lines, Spans, line_start, number, plain


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.098", 0.098),
        ("-8.381903171539307e-08", -8.381903171539307e-08),
        ("1e-06", 1e-06),
        ("10", 10.0),
        ("5.", 5.0),
        (".5", 0.5),
        ("+2", 2.0),
        ("1E+22", 1e22),
        ("inf", math.inf),
        ("-inf", -math.inf),
        ("-Infinity", -math.inf),
        ("1e999", math.inf),
        ("True", 1.0),
        ("False", 0.0),
        ("np.float64(0.5)", 0.5),
        ("np.float32(-inf)", -math.inf),
        ("np.int32(2)", 2.0),
        ("9" * 400, math.inf),
    ],
)
def test_numbers_as_python_and_numpy_print_them(text: str, value: float) -> None:
    assert number(text) == value


@pytest.mark.parametrize("text", ["nan", "NaN", "-nan", "np.float64(nan)"])
def test_nan_is_a_number(text: str) -> None:
    value = number(text)
    assert value is not None
    assert math.isnan(value)


@pytest.mark.parametrize("text", ["", "-", ".", "e5", "1_000", "٣", "0x10", "1 2", "None", "np.float64(", "0.5)", "1e"])
@pytest.mark.parametrize("after", ["", "…"])
def test_anything_else_is_not(text: str, after: str) -> None:
    assert number(text + after) is None


def test_a_number_of_absurd_length_is_refused() -> None:
    assert number("1" * 100_000) is None


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("\x1b[36m(TaskRunner pid=1)\x1b[0m step:1", "(TaskRunner pid=1) step:1"),
        ("\x1b[1;37m╭─\x1b[K", "╭─"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link", "link"),
        ("a\x00b\x9bc\x7f", "abc"),
        ("tab\tstays", "tab\tstays"),
        ("cut off \x1b[3", "cut off 3"),
    ],
)
def test_control_sequences_are_removed(text: str, rest: str) -> None:
    assert plain(text) == rest


def test_lines_end_at_newline_and_carriage_return() -> None:
    lines = Lines()
    assert lines.feed(b"one\r\ntwo\rthr") == ["one", "two"]
    assert lines.head() == "thr"
    assert lines.feed(b"ee\n\n\n") == ["three"]
    assert lines.head() == ""


def test_an_overlong_line_keeps_its_beginning_only() -> None:
    lines = Lines()
    for _ in range(100):
        lines.feed(b"7" * (LINE_LIMIT // 10))
    (line,) = lines.feed(b"\n")
    assert line == "7" * LINE_LIMIT + CUT_MARK
    assert lines.feed(b"next\n") == ["next"]


def test_a_line_of_just_the_limit_is_whole() -> None:
    assert Lines().feed(b"7" * LINE_LIMIT + b"\n") == ["7" * LINE_LIMIT]


def test_no_look_ahead_into_an_unfinished_escape() -> None:
    lines = Lines()
    lines.feed(b" 10%| | 1/10 [\x1b]0; 20%| | 2/10 [")
    assert lines.head() == " 10%| | 1/10 ["


@settings(deadline=None)
@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=8))
def test_cutting_does_not_matter(data: bytes, places: list[int]) -> None:
    whole, pieces = Lines(), Lines()
    expected = whole.feed(data)
    assert [line for block in cut(data, places) for line in pieces.feed(block)] == expected
    assert pieces.head() == whole.head()


def lines_of(spans: Spans, blocks: list[bytes]) -> list[bytes]:
    """The lines in the spans; empty ones are left out, since two line ends may be cut apart."""
    whole = b""
    for block in blocks:
        for data, begin, end in spans.feed(block):
            assert data[end - 1 : end] in {b"\n", b"\r"}
            whole += data[begin:end]
    return [line for line in whole.replace(b"\r", b"\n").split(b"\n") if line]


@settings(deadline=None)
@given(
    st.lists(st.sampled_from([b"\n", b"\r", b"\r\n", b"a", b"bc", b"d" * 9, b"e" * 40]), max_size=60).map(b"".join),
    st.lists(st.integers(0, 400), max_size=8),
    st.integers(4, 20),
)
def test_spans_hold_the_lines_that_lines_would(data: bytes, places: list[int], limit: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LINE_LIMIT", limit)
        expected = [line.encode() for line in Lines().feed(data)]
        assert lines_of(Spans(), [data]) == expected
        assert lines_of(Spans(), cut(data, places)) == expected


def test_spans_are_not_copied_and_not_longer_than_a_line_may_be() -> None:
    block = b"x" * 100_000 + b"\n"
    data = block * 30
    spans = list(Spans().feed(data))
    assert all(held is data for held, _, _ in spans)
    assert [begin for _, begin, _ in spans][1:] == [end for _, _, end in spans][:-1]
    assert max(end - begin for _, begin, end in spans) <= LINE_LIMIT + 1


def test_an_overlong_line_in_one_block_keeps_its_beginning_only() -> None:
    data = b"a\n" + b"7" * (3 * LINE_LIMIT) + b"\nb\n"
    assert lines_of(Spans(), [data]) == [b"a", b"7" * LINE_LIMIT + CUT_MARK.encode(), b"b"]


def test_where_a_line_begins() -> None:
    data = b"one\ntwo\rthree"
    assert [line_start(data, 0, at) for at in (0, 2, 5, 9)] == [0, 0, 4, 8]
    assert line_start(data, 5, 6) == 5
