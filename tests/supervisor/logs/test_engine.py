import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.engine_samples import LINES, OTHERS
from support.log_data import DATA
from support.log_oracle import Rows, bits, cut, rows_of

from grpotui_supervisor.logs.catalog import describe
from grpotui_supervisor.logs.engine import FIELDS, STARTING_WORDS, WORDS, EngineReader
from grpotui_supervisor.logs.marked import MarkedLines
from grpotui_supervisor.logs.reader import LINE_LIMIT

LOG = "".join(line + "\n" for line, _, _ in LINES).encode()
PUBLIC = DATA / "trl" / "public"


def read(*blocks: bytes) -> EngineReader:
    reader, marked = EngineReader(), MarkedLines()
    for block in blocks:
        for _, line in marked.lines(block, (*WORDS, *STARTING_WORDS)):
            reader.read(line)
    return reader


def rows(text: str) -> Rows:
    return rows_of(read(text.encode()).columns)


@pytest.mark.parametrize(("line", "engine", "expected"), LINES)
def test_what_engines_say(line: str, engine: str, expected: dict[str, float]) -> None:
    reader = read(line.encode(), b"\n")
    assert rows_of(reader.columns) == [(-1, expected)]
    assert reader.engines == [engine]


@pytest.mark.parametrize("line", OTHERS)
def test_other_lines(line: str) -> None:
    assert rows(line + "\n") == []


def test_every_line_is_a_row_and_has_an_engine() -> None:
    reader = read(LOG)
    assert [row for _, row in rows_of(reader.columns)] == [expected for _, _, expected in LINES]
    assert reader.engines == [engine for _, engine, _ in LINES]
    assert reader.last("engine/max_running") == 2048.0
    assert reader.last("engine/unheard_of") is None


def test_all_metrics_are_in_the_catalogue() -> None:
    assert all(describe(metric) for metric in read(LOG).columns.series)
    assert all(describe(metric) for metric, _ in FIELDS.values())


def test_a_line_counts_when_it_has_ended() -> None:
    assert len(read(b"GPU KV cache size: 2,252").columns) == 0
    reader = read(b"GPU KV cache size: 2,252", b",970 tokens\n")
    assert reader.last("engine/kv_cache_tokens") == 2252970.0


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, len(LOG)), max_size=12))
def test_cutting_does_not_matter(places: list[int]) -> None:
    whole, parts = read(LOG), read(*cut(LOG, places))
    assert bits(rows_of(parts.columns)) == bits(rows_of(whole.columns))
    assert parts.engines == whole.engines


PIECES = sorted({word for line, _, _ in LINES for word in line.split(" ")})


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(st.sampled_from([*PIECES, "\n", "\r"]), st.text(max_size=5)), max_size=60).map(" ".join))
def test_no_text_raises(text: str) -> None:
    reader = read(text.encode(), b"\n")
    assert len(reader.engines) == len(reader.columns)


@pytest.mark.parametrize(
    "piece", ["Avg prompt throughput: ", "Running: 5 reqs, ", "Decode batch. ", "(a pid=1", "[2026-07-20 "]
)
@pytest.mark.timeout(10)
def test_a_long_hostile_line_takes_no_time(piece: str) -> None:
    read((piece * (LINE_LIMIT // 4 // len(piece))).encode(), b"\n")
    whole = " ".join(line.text for line in LINES)
    read((whole + piece * (LINE_LIMIT // 4 // len(piece)) + whole).encode(), b"\n")


@pytest.mark.skipif(not DATA.exists(), reason="the captured logs are not beside this checkout")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("frameworks/openrlhf-1.log", [{"engine/kv_cache_tokens": 2252970.0}, {"engine/sleep_unmapped": 27.29}]),
        (
            "cases/015-vllm-sleep-residual-growth-nemo.log",
            [
                {"engine/sleep_freed": freed, "engine/sleep_in_use": used}
                for freed, used in ((43.82, 4.11), (36.4, 11.57), (24.91, 25.02), (25.1, 24.66))
            ],
        ),
    ],
)
def test_lines_in_logs_of_other_people(name: str, expected: list[dict[str, float]]) -> None:
    reader = read((DATA / name).read_bytes())
    assert [row for _, row in rows_of(reader.columns)] == expected
