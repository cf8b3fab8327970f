"""Event files that we write, read back by our reader and byte by byte against the obvious way to write them."""

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.event_files import event, field, fixed, record, simple

from grpotui_supervisor.logs.event_writing import beginning, fits, scalars
from grpotui_supervisor.logs.tensorboard import TensorBoardReader, is_event_file

WALL = 1764000000.125


def read(data: bytes) -> TensorBoardReader:
    reader = TensorBoardReader()
    reader.feed(data)
    assert (reader.damaged, reader.bad_records) == (None, 0)
    return reader


def test_the_bytes_are_those_of_any_writer() -> None:
    writer = field(10, field(1, b"grpotui"))
    assert beginning(WALL) == record(fixed(1, "<d", WALL) + field(3, b"brain.Event:2") + writer)
    values = (simple("reward/mean", 0.5), simple("a" * 200, -1.0))
    pairs = [("reward/mean", 0.5), ("a" * 200, -1.0)]
    assert scalars(WALL, 300, pairs) == record(event(WALL, 300, *values))
    assert is_event_file(beginning(None))
    assert not is_event_file(b"step:1 - actor/entropy:0.5\n")


def test_an_unknown_time_is_left_out() -> None:
    assert scalars(None, 1, [("a", 0.5)]) == record(field(2, 1) + field(5, simple("a", 0.5)))
    reader = read(beginning(None) + scalars(None, 1, [("a", 0.5)]))
    assert reader.walls() == {1: 0.0}


@given(
    st.integers(0, 2**63 - 1),
    st.floats(0, 4e9),
    st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.floats(width=32), max_size=5),
)
def test_what_is_written_is_read(step: int, wall: float, pairs: dict[str, float]) -> None:
    reader = read(beginning(wall) + scalars(wall, step, pairs.items()))
    found = {tag: (list(p.steps), list(p.walls), struct.pack("<f", p.values[0])) for tag, p in reader.points.items()}
    assert found == {tag: ([step], [wall], struct.pack("<f", value)) for tag, value in pairs.items()}


@pytest.mark.parametrize(
    ("number", "does"), [(1e39, False), (-1e39, False), (3e38, True), (math.inf, True), (0.1, True)]
)
def test_what_single_precision_can_hold(number: float, does: bool) -> None:
    assert fits(number) is does
    assert fits(math.nan)
