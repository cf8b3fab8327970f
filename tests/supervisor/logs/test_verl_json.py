"""verl's file logger, in both spellings."""

import json
import math
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.log_data import DATA
from support.log_oracle import Rows, bits, cut, read, rows_of, state

KEYS = ["actor/entropy", "critic/score/mean", "complexkey/with:colon/mean@1", "é/x", 'quoted "key"/x', "training/step"]
NUMBERS = st.one_of(st.floats(), st.integers(-(10**30), 10**30), st.booleans())
OTHERS = st.one_of(st.none(), st.text(max_size=5), st.lists(st.floats(0, 1), max_size=2), st.just({"a": 1}))
DATAS = st.dictionaries(st.sampled_from(KEYS), st.one_of(NUMBERS, NUMBERS, NUMBERS, OTHERS), max_size=6)


def rows(text: str) -> Rows:
    return rows_of(read("verl", ("stdout", text.encode())).columns)


def oracle(lines: Sequence[str]) -> Rows:
    """What the `json` module reads; without blanks it was orjson that wrote, so `null` is a number."""
    found: dict[int, dict[str, float]] = {}
    for line in lines:
        row = json.loads(line)
        numbers = {
            key: math.nan if value is None else float(value)
            for key, value in row["data"].items()
            if isinstance(value, float | int) or (value is None and ": " not in line)
        }
        if numbers:
            found.setdefault(row["step"], {}).update(numbers)
    return list(found.items())


def old(step: int, data: Mapping[str, object]) -> str:
    return json.dumps({"step": step, "data": data}) + "\n"


def new(step: int, data: Mapping[str, object]) -> str:
    """As orjson writes."""
    finite = {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in data.items()}
    return json.dumps({"step": step, "data": finite}, separators=(",", ":"), ensure_ascii=False) + "\n"


@pytest.mark.parametrize("write", [old, new])
@settings(deadline=None, max_examples=200)
@given(datas=st.lists(DATAS, min_size=1, max_size=12), places=st.lists(st.integers(0, 4000), max_size=6))
def test_every_number_and_nothing_else(write: object, datas: list[dict[str, object]], places: list[int]) -> None:
    assert callable(write)
    lines = [write(step, data | {"loss": 0.5}) for step, data in enumerate(datas * 3)]
    text = "".join(lines).encode()
    whole = read("verl", ("stdout", text))
    assert bits(rows_of(whole.columns)) == bits(oracle(lines))
    assert state(read("verl", *(("stdout", block) for block in cut(text, places)))) == state(whole)


def test_not_a_number_in_both_spellings() -> None:
    data = {"a/nan": math.nan, "a/inf": math.inf, "a/none": None, "a/b": 1.0}
    for repeat in (1, 6):
        for row in [row for _, row in rows("".join(old(step, data) for step in range(repeat)))]:
            assert row.keys() == {"a/nan", "a/inf", "a/b"}
            assert math.isnan(row["a/nan"])
            assert row["a/inf"] == math.inf
        for row in [row for _, row in rows("".join(new(step, data) for step in range(repeat)))]:
            assert all(math.isnan(row[key]) for key in ("a/nan", "a/inf", "a/none"))


def test_a_row_counts_when_its_line_has_ended() -> None:
    reader = read("verl", ("stdout", b'{"step":1,"data":{"a/b":1.0}}\n{"step":2,"data":{"a/b":2.0}'))
    assert rows_of(reader.columns) == [(1, {"a/b": 1.0})]
    reader.feed(b"}\n")
    assert reader.step == 2
    assert not reader.training_complete


def test_a_file_that_was_appended_to() -> None:
    lines = [new(step, {"a/b": 0.1}) for step in range(6)] + [new(step, {"a/b": 0.2}) for step in range(3, 7)]
    reader = read("verl", ("stdout", "".join(lines).encode()))
    assert reader.columns.restarts == [(6, 3)]
    assert [reader.columns.row(row)["a/b"] for row in reader.columns.curve()] == [0.1] * 3 + [0.2] * 4


@pytest.mark.parametrize(
    "line",
    [
        "",
        "garbage",
        "[1, 2]",
        '{"step":2}',
        '{"step":2,"data":[1]}',
        '{"step":2,"data":null}',
        '{"step":"2","data":{"a/b":1}}',
        '{"step":true,"data":{"a/b":1}}',
        '{"step":2.5,"data":{"a/b":1}}',
        '{"step":-2,"data":{"a/b":1}}',
        '{"step":1' + "0" * 400 + ',"data":{"a/b":1}}',
        '{"step":2,"data":{"a/b":' + "[" * 100_000 + "}}",
        '{"step":2,"data":{"a/b":1}',
        '{"step":2,"data":{"\\ud800":1}}',
        '{"step":2,"data":{"\\u001b[31m":1}}',
        '{"step":2,"data":{"a/b":"x"}}',
        '{"step":2,"data":{}}',
    ],
)
def test_what_is_no_row_is_passed_over(line: str) -> None:
    known = [new(step, {"a/b": 1.0}) for step in (0, 1, 3, 4)]
    text = "".join([*known[:2], line + "\n", *known[2:], line + "\n"])
    assert rows(text) == [(step, {"a/b": 1.0}) for step in (0, 1, 3, 4)]


@pytest.mark.parametrize("number", ["9" * 400, "-1e999", "12345678901234567890123", "0." + "0" * 400 + "1"])
def test_a_number_of_any_length(number: str) -> None:
    text = "".join(f'{{"step":{step},"data":{{"a/b":{number}}}}}\n' for step in range(5))
    assert rows(text) == [(step, {"a/b": float(number)}) for step in range(5)]


def test_a_console_is_no_file_of_rows() -> None:
    reader = read("verl", ("stdout", b'{"step": 3, "data": 1}\nstep:1 - a/b:1\n{"step":2,"data":{"a/b":2}}\n'))
    assert rows_of(reader.columns) == [(1, {"a/b": 1.0})]


@pytest.mark.parametrize("path", sorted(DATA.glob("verl/gen/*/*/*.jsonl")), ids=lambda path: path.stem)
def test_every_number_of_a_real_file(path: object) -> None:
    text = path.read_text()  # type: ignore[attr-defined]
    assert bits(rows(text)) == bits(oracle(text.splitlines()))
