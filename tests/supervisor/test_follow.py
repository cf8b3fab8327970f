"""Records and logs that grow: whole lines, at the moment at which they were there, however they are cut."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grpotui_supervisor.errors import SchemaError
from grpotui_supervisor.follow import Records, read_range

if TYPE_CHECKING:
    from pathlib import Path


def line(m: int, **fields: Any) -> bytes:
    return json.dumps({"ev": "x", "m": m, **fields}).encode() + b"\n"


def test_a_torn_line_waits_for_its_end(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    records, whole = Records(str(path)), line(1) + line(2)
    assert list(records.until(None)) == []  # there is no file yet
    path.write_bytes(whole[:-5])
    assert [r["m"] for r in records.until(None)] == [1]
    path.write_bytes(whole)
    assert [r["m"] for r in records.until(None)] == [2]
    assert list(records.until(None)) == []


def test_only_what_was_there_at_the_moment(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(line(10) + line(20) + line(30, written_m=50) + line(40, written_m=50) + line(60))
    records = Records(str(path))
    assert [r["m"] for r in records.until(9)] == []
    assert [r["m"] for r in records.until(20)] == [10, 20]
    assert [r["m"] for r in records.until(45)] == []  # they waited for a full disk until 50
    assert [r["m"] for r in records.until(50)] == [30, 40]
    assert [r["m"] for r in records.until(None)] == [60]


@pytest.mark.parametrize(
    "garbage",
    [
        b"", b"123", b'"x"', b"[]", b"null", b"{}", b'{"ev": "x"}', b'{"ev": 1, "m": 1}', b'{"ev": "x", "m": "1"}',
        b'{"ev": "x", "m": 1.0}', b'{"ev": "x", "m": true}', b'{"ev": "x", "m": 1', b"\xff\xfe", b"\0" * 100,
        b'{"ev": "x", "m": 1e999}', b'{"ev": "\\ud800" "', b"[" * 100_000, b'{"ev": "header", "m": 1, "schema": "9"}',
    ],
)  # fmt: skip
def test_garbage_is_passed_over(tmp_path: Path, garbage: bytes) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(line(1) + garbage + b"\n" + line(2))
    kinds = [(r["ev"], r["m"]) for r in Records(str(path)).until(None) if r["ev"] != "header"]
    assert kinds == [("x", 1), ("x", 2)]


def test_unknown_events_and_keys_are_handed_on(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(line(1, ev="of a later version", new={"deep": [1]}))
    assert [r["new"] for r in Records(str(path)).until(None)] == [{"deep": [1]}]


def test_a_path_that_is_no_text_survives(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(line(1, path="/x/\udcff"))
    assert [r["path"] for r in Records(str(path)).until(None)] == ["/x/\udcff"]


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ranks.jsonl"
    path.write_bytes(line(1, ev="header", schema=2))
    with pytest.raises(SchemaError, match=r"ranks\.jsonl .*schema 2, this one reads 1"):
        list(Records(str(path)).until(None))


def test_an_unreadable_file_holds_nothing(tmp_path: Path) -> None:
    assert list(Records(str(tmp_path)).until(None)) == []  # a directory
    assert list(read_range(str(tmp_path / "no"), 0, None)) == []


def test_ranges(tmp_path: Path) -> None:
    path = tmp_path / "log"
    content = bytes(range(256)) * 9000  # more than two blocks
    path.write_bytes(content)
    for begin, end in ((0, None), (5, 10), (10, 10), (10, 5), (len(content) - 3, len(content) + 99), (1 << 20, None)):
        assert b"".join(read_range(str(path), begin, end)) == content[begin:end], (begin, end)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(data=st.data())
def test_cutting_changes_nothing(tmp_path: Path, data: st.DataObject) -> None:
    """Whatever is appended when, the same records come out as from the whole file at once."""
    piece = st.one_of(
        st.builds(line, st.integers(0, 100), text=st.text(max_size=20)), st.binary(max_size=20), st.just(b"\n")
    )
    content = b"".join(data.draw(st.lists(piece, max_size=20)))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(content)), max_size=6)))
    path = tmp_path / "r.jsonl"
    path.write_bytes(content)
    whole = list(Records(str(path)).until(None))
    path.write_bytes(b"")
    records = Records(str(path))
    found: list[dict[str, Any]] = []
    for begin, end in zip([0, *cuts], [*cuts, len(content)], strict=True):
        with path.open("ab") as file:
            file.write(content[begin:end])
        found += records.until(None)
    assert found == whole
