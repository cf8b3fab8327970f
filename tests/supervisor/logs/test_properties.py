"""No text makes a reader raise, and how bytes are cut into blocks never matters."""

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.fragments import GENERAL
from support.log_oracle import EXCERPTS, cut, read, rows_of, state

FRAMEWORKS = ("verl", "trl", "auto")
LOGS = st.one_of(
    st.binary(max_size=300),
    st.lists(st.sampled_from(GENERAL), max_size=60).map(lambda parts: "".join(parts).encode()),
    st.lists(st.one_of(st.sampled_from([part.encode() for part in GENERAL]), st.binary(max_size=4)), max_size=60).map(
        b"".join
    ),
)
PLACES = st.lists(st.integers(0, 2000), max_size=12)
RECORDS = ("{'loss': 1}", "{'train_runtime': 1, 'train_loss': 2}")
"""Whole ones, which are read and kept."""

SHORT_LOGS = sorted(EXCERPTS.glob("*/*.stdout.log"))


@pytest.mark.parametrize("framework", FRAMEWORKS)
@settings(max_examples=200, deadline=None)
@given(out=LOGS, err=LOGS, places=PLACES)
@example(out=b"", err=b" 35%| | 7/20 [\x1b", places=[14])  # a look ahead must not depend on what follows
def test_cutting_does_not_matter(framework: str, out: bytes, err: bytes, places: list[int]) -> None:
    whole = read(framework, ("stdout", out), ("stderr", err), logging_steps=5)
    blocks = [("stdout", block) for block in cut(out, places)] + [("stderr", block) for block in cut(err, places)]
    assert state(read(framework, *blocks, logging_steps=5)) == state(whole)
    single = [("stdout", bytes([byte])) for byte in out] + [("stderr", bytes([byte])) for byte in err]
    assert state(read(framework, *single, logging_steps=5)) == state(whole)


@pytest.mark.parametrize("path", SHORT_LOGS, ids=lambda path: path.stem)
@settings(deadline=None)
@given(place=st.integers(0, 20_000), places=PLACES)
def test_a_truncated_log_gives_the_same_numbers_as_far_as_it_goes(path: Path, place: int, places: list[int]) -> None:
    data = path.read_bytes()
    data = data[: place % (len(data) + 1)]
    framework = path.parent.name
    some = read(framework, *(("stdout", block) for block in cut(data, places)), logging_steps=1)
    whole = read(framework, ("stdout", path.read_bytes()), logging_steps=1)
    for (step, row), (full_step, full_row) in zip(rows_of(some.columns), rows_of(whole.columns), strict=False):
        assert step == full_step
        assert {key: repr(value) for key, value in row.items()}.items() <= {
            key: repr(value) for key, value in full_row.items()
        }.items()


@pytest.mark.timeout(20)
@pytest.mark.parametrize("start", ["", "step:1 - x:", "{'loss': '", "{'loss': "])
@pytest.mark.parametrize("fragment", [*GENERAL, "''", "1.", "e1", "0% ", "(pid=1", "(a ", " ", "' :", RECORDS[0]])
def test_a_hostile_line_costs_linear_time(start: str, fragment: str) -> None:
    """In quadratic time, even of 2 ns, these 100 kB or 5000 records would take longer than the test may."""
    count = 5_000 if fragment in RECORDS else 100_000 // len(fragment)
    data = (start + fragment * count).encode() + b"}\n"
    for framework in FRAMEWORKS:
        read(framework, ("stdout", data))
