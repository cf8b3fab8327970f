import math
import struct
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.event_files import FIRST, Read, event, field, fixed, obvious, record, simple, tensor, training
from support.log_data import DATA
from support.log_oracle import cut, rows_of

from grpotui_supervisor.logs import columns as store
from grpotui_supervisor.logs import tensorboard as module
from grpotui_supervisor.logs.tensorboard import TensorBoardReader
from grpotui_supervisor.logs.tensorboard_runs import Periods

FILE = DATA / "frameworks" / "tensorboard-1.tfevents"
WALL = 1764000000.125


def read(*blocks: bytes) -> TensorBoardReader:
    reader = TensorBoardReader()
    for block in blocks:
        reader.feed(block)
    return reader


def points(reader: TensorBoardReader) -> Read:
    return {tag: list(zip(p.steps, p.walls, p.values, strict=True)) for tag, p in reader.points.items()}


def bits(found: Read) -> dict[str, list[tuple[int, bytes, bytes]]]:
    return {tag: [(s, struct.pack("d", w), struct.pack("d", v)) for s, w, v in rows] for tag, rows in found.items()}


def one_by_one(data: bytes, monkeypatch: pytest.MonkeyPatch) -> TensorBoardReader:
    with monkeypatch.context() as patch:
        patch.setattr(Periods, "take", lambda *_: (0, []))
        return read(data)


def test_scalars_with_steps_and_wall_times() -> None:
    reader = read(
        FIRST + record(event(WALL, 7, simple("train/loss", 0.5))) + record(event(WALL + 1, 300, simple("x", -1.0)))
    )
    assert points(reader) == {"train/loss": [(7, WALL, 0.5)], "x": [(300, WALL + 1, -1.0)]}
    assert (reader.framework, reader.step, reader.damaged, reader.bad_records) == ("tensorboard", 300, None, 0)
    assert rows_of(reader.columns) == [(7, {"train/loss": 0.5}), (300, {"x": -1.0})]
    assert (reader.steps_total, reader.training_complete) == (None, False)


@pytest.mark.parametrize(
    ("content", "value"),
    [
        (field(1, 1) + field(4, struct.pack("<f", 0.1)), struct.unpack("<f", struct.pack("<f", 0.1))[0]),
        (field(1, 2) + field(4, struct.pack("<d", 0.1)), 0.1),
        (field(1, 3) + field(4, struct.pack("<i", -7)), -7.0),
        (field(1, 9) + field(4, struct.pack("<q", -7)), -7.0),
        (field(1, 1) + fixed(5, "<f", 0.5), 0.5),
        (field(1, 1) + field(5, struct.pack("<f", 0.5)), 0.5),
        (field(1, 2) + fixed(6, "<d", 0.1), 0.1),
        (field(1, 2) + field(6, struct.pack("<d", 0.1)), 0.1),
        (field(1, 9) + field(10, 5), 5.0),
        (field(1, 9) + field(10, b"\x05"), 5.0),
        (field(1, 3) + field(7, -5), -5.0),
        (field(1, 1) + field(2, b"") + field(5, struct.pack("<f", math.nan)), math.nan),
    ],
)
def test_tensors_that_hold_one_number(content: bytes, value: float) -> None:
    ((_, _, found),) = points(read(record(event(WALL, 1, tensor("x", content)))))["x"]
    assert found == pytest.approx(value, nan_ok=True, abs=0)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        field(1, 1) + field(5, struct.pack("<ff", 1, 2)),
        field(1, 1) + field(4, struct.pack("<ff", 1, 2)),
        field(1, 7) + field(8, b"text"),
        field(1, 1) + field(5, b"abc"),
        b"\xff" * 9,
    ],
)
def test_other_tensors_are_left_out(content: bytes) -> None:
    assert points(read(record(event(WALL, 1, tensor("x", content))))) == {}


def test_events_laid_out_otherwise() -> None:
    values = (
        simple("a", 1.0),
        field(1, field(9, b"metadata") + field(1, b"b") + fixed(2, "<f", 2.0)),
        simple("c", 3.0),
    )
    assert points(read(record(event(WALL, 5, *values)))) == {
        "a": [(5, WALL, 1.0)],
        "b": [(5, WALL, 2.0)],
        "c": [(5, WALL, 3.0)],
    }
    assert points(read(record(event(WALL, None, simple("a", 1.0))))) == {"a": [(0, WALL, 1.0)]}
    assert points(read(record(event(WALL, -3, simple("a", 1.0))))) == {"a": [(-3, WALL, 1.0)]}
    assert points(read(record(event(WALL, 1 << 40, simple("a" * 300, 1.0))))) == {"a" * 300: [(1 << 40, WALL, 1.0)]}
    assert points(read(record(event(WALL, 1, field(1, field(1, b"h") + field(5, b"histogram")))))) == {}


def test_doubles_change_the_precision_of_their_tag() -> None:
    doubled = tensor("x", field(1, 2) + field(4, struct.pack("<d", 0.1)))
    reader = read(
        record(event(WALL, 1, simple("x", 0.5)))
        + record(event(WALL, 2, doubled))
        + record(event(WALL, 3, simple("x", 2.5)))
    )
    assert [value for _, _, value in points(reader)["x"]] == [0.5, 0.1, 2.5]
    assert reader.points["x"].values.typecode == "d"


def test_columns_follow_the_file() -> None:
    data = training(["a", "b"], range(1, 40))
    reader = TensorBoardReader()
    for block in cut(data, [500, 900, 1500, 2222]):
        reader.feed(block)
        assert len(reader.columns) == len({step for p in reader.points.values() for step in p.steps})
    assert rows_of(reader.columns) == [(step, {"a": float(step), "b": step + 0.125}) for step in range(1, 40)]


def test_a_torn_tail_waits_for_its_end() -> None:
    data = training(["a", "b"], range(1, 6))
    for end in range(len(data)):
        assert bits(points(read(data[:end]))) == bits(obvious(data[:end]))
        assert bits(points(read(data[:end], data[end:]))) == bits(obvious(data))


def test_a_damaged_record_is_left_out() -> None:
    good, bad = record(event(WALL, 1, simple("a", 1.0))), bytearray(record(event(WALL, 2, simple("a", 2.0))))
    bad[-6] ^= 1
    reader = read(good + bytes(bad) + record(event(WALL, 3, simple("a", 3.0))))
    assert ([step for step, _, _ in points(reader)["a"]], reader.bad_records, reader.damaged) == ([1, 3], 1, None)


def test_behind_a_damaged_length_nothing_is_read() -> None:
    good, bad = record(event(WALL, 1, simple("a", 1.0))), bytearray(record(event(WALL, 2, simple("a", 2.0))))
    bad[2] ^= 1
    reader = read(good + bytes(bad) + good, good)
    assert [step for step, _, _ in points(reader)["a"]] == [1]
    assert reader.damaged is not None


def test_a_long_record_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RECORD_LIMIT", 100)
    data = FIRST + record(b"x" * 1000) + record(event(WALL, 3, simple("a", 3.0)))
    for places in ([], [200], [200, 400, 1010], list(range(0, 1100, 7))):
        reader = read(*cut(data, places))
        assert points(reader) == {"a": [(3, WALL, 3.0)]}


def test_tags_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MAX_SERIES", 3)
    reader = read(training([f"tag {n}" for n in range(9)], range(30)))
    assert {tag: len(p.steps) for tag, p in reader.points.items()} == {"tag 0": 30, "tag 1": 30, "tag 2": 30}
    assert len(reader.columns.series) == 3


SEVERAL = [
    training(["loss"], range(1, 400)),
    training([f"train/{name}" for name in ("loss", "reward", "rewards/format/mean", "kl", "lr")], range(100, 300)),
    training(["a", "a", "b"], range(5)),
    training(["a", "b"], [*range(120, 140), *range(125, 150), 20000, 20001, 20002, 5, 6]),
    training(["a", "b"], range(20)) + training(["a", "b", "eval"], range(20, 25)) + training(["b", "a"], range(25, 60)),
    b"".join(training(["a", "b", "c"], range(10 * k, 10 * k + 10)) + training(["eval/x"], [10 * k]) for k in range(30)),
    training(["x" * n for n in range(1, 116, 7)], range(1, 300, 3)),
]


@pytest.mark.parametrize("data", SEVERAL)
def test_taking_periods_whole_gives_the_same(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    assert bits(points(read(data))) == bits(obvious(data)) == bits(points(one_by_one(data, monkeypatch)))


def test_most_records_are_taken_in_periods(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = 0
    original = TensorBoardReader._read_record

    def counted(self: TensorBoardReader, data: bytes, at: int) -> int:
        nonlocal alone
        alone += 1
        return original(self, data, at)

    monkeypatch.setattr(TensorBoardReader, "_read_record", counted)
    reader = read(training([f"tag {n}" for n in range(10)], range(1, 1000)))
    assert sum(len(p.steps) for p in reader.points.values()) == 9990
    assert alone < 60


@settings(max_examples=60, deadline=None)
@given(st.integers(0, len(SEVERAL) - 1), st.lists(st.integers(0, 20_000), max_size=8))
def test_cutting_does_not_matter(which: int, places: list[int]) -> None:
    data = SEVERAL[which][:20_000]
    assert bits(points(read(*cut(data, places)))) == bits(obvious(data))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 3), st.integers(0, 20_000), st.integers(1, 255))
def test_one_damaged_byte_costs_no_more_than_it_must(which: int, place: int, change: int) -> None:
    damaged = bytearray(SEVERAL[which][:20_000])
    damaged[place % len(damaged)] ^= change
    try:
        expected = obvious(bytes(damaged))
    except (IndexError, struct.error):  # the obvious reader cannot read such an event
        return
    assert bits(points(read(bytes(damaged)))) == bits(expected)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(st.binary(max_size=60), st.binary(max_size=60).map(record), st.just(FIRST)), max_size=8))
def test_no_bytes_raise(pieces: list[bytes]) -> None:
    data = b"".join(pieces)
    whole = read(data)
    parts = read(*(data[i : i + 1] for i in range(len(data))))
    assert bits(points(parts)) == bits(points(whole))
    assert (parts.damaged, parts.bad_records, parts.step) == (whole.damaged, whole.bad_records, whole.step)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=80))
def test_no_event_raises(body: bytes) -> None:
    _, step, scalars = module.event(body)
    assert -(1 << 63) <= step < 1 << 63
    assert all(type(value) is float for _, value in scalars)


@pytest.mark.skipif(not FILE.exists(), reason="the captured logs are not beside this checkout")
def test_a_file_of_a_real_run() -> None:
    reader = read(FILE.read_bytes())
    assert bits(points(reader)) == bits(obvious(FILE.read_bytes()))
    assert len(reader.points) == 10
    assert {len(p.steps) for p in reader.points.values()} == {39}
    for p in reader.points.values():
        assert all(before <= after for before, after in pairwise(p.walls))
