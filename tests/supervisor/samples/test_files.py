"""Samples from files: verl's dumps, TRL's Parquet files, and whole logs of our own runs."""

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Self

import pytest
from support.log_data import DATA

from grpotui_supervisor.errors import UsageError
from grpotui_supervisor.samples.files import samples_of
from grpotui_supervisor.samples.rows import completion_samples, dump_samples, text_of
from grpotui_supervisor.samples.sample import distinct_shares

ROWS = [
    {"input": "1+1=?", "output": "2", "gts": "2", "score": 1.0, "step": 7, "acc": True, "pred": "2"},
    {"input": "1+1=?", "output": "3", "gts": "2", "score": 0, "step": 7, "acc": False, "pred": "3"},
    {"input": "2+2=?", "output": "3", "gts": "4", "score": 0.0, "step": 7, "acc": False, "pred": None},
]


def test_verls_dump(tmp_path: Path) -> None:
    """The last line may be half written."""
    file = tmp_path / "7.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS) + '[]\n{"input": 1}\n{"input": "1+1')
    first, second, third = samples_of(str(file))
    assert (first.step, first.group, first.prompt, first.answer) == (7, 0, "1+1=?", "2")
    assert (first.rewards, first.advantage, first.length, first.ended) == ({"score": 1.0, "acc": 1.0}, None, None, None)
    assert (second.group, third.group, third.rewards) == (0, 1, {"score": 0.0, "acc": 0.0})
    assert {sample.source for sample in (first, second, third)} == {"dump"}


def test_a_dump_is_named_by_its_step(tmp_path: Path) -> None:
    for step in (2, 10):
        (tmp_path / f"{step}.jsonl").write_text('{"input": "a", "output": "b", "score": NaN}\n')
    (tmp_path / "notes.txt").write_text("[prompt] no\n")
    assert [sample.step for sample in samples_of(str(tmp_path))] == [2, 10]


@pytest.mark.parametrize("line", ["", "{", "[" * 100_000, "nul", '{"input": "a"}', "1" * 5000, '"a"'])
def test_no_line_raises(line: str) -> None:
    assert list(dump_samples([line])) == []


def test_rows_of_trl() -> None:
    row = {
        "step": 3,
        "prompt": "a",
        "completion": "b",
        "accuracy": 0.5,
        "format": None,
        "source": "x",
        "advantage": -0.25,
    }
    (sample,) = completion_samples([row, {"step": 3}])
    assert (sample.step, sample.rewards, sample.advantage, sample.source) == (3, {"accuracy": 0.5}, -0.25, "parquet")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        ([{"role": "assistant", "content": "alone"}], "alone"),
        ([{"role": "system", "content": "s"}, {"role": "user", "content": "u"}], "system: s\n\nuser: u"),
        ([{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "what?"}]}], "[image]what?"),
        ([{"role": "assistant", "content": None}], ""),
        ([1, 2], "[1, 2]"),
        (None, "None"),
    ],
)
def test_prompts_may_be_conversations(value: object, text: str) -> None:
    assert text_of(value) == text


def test_a_parquet_file_needs_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delitem(sys.modules, "pyarrow.parquet", raising=False)
    with pytest.raises(UsageError, match="pyarrow is not installed") as caught:
        list(samples_of(str(tmp_path / "completions_00001.parquet")))
    assert "grpotui[parquet]" in str(caught.value.hint)


def test_parquet_is_read_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for pyarrow: groups go on from batch to batch."""

    class Batch:
        def __init__(self, *answers: str) -> None:
            self.answers = answers

        def to_pylist(self) -> list[dict[str, object]]:
            return [{"step": 1, "prompt": "p", "completion": answer, "r": 0.5} for answer in self.answers]

    class ParquetFile:
        def __init__(self, path: str) -> None:
            self.path = path

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def iter_batches(self, batch_size: int) -> list[Batch]:
            assert batch_size <= 1024  # an answer may have 100 kB
            if "broken" in self.path:
                raise ArrowError("no magic bytes")
            return [Batch("a", "b"), Batch("a")]

    class ArrowError(Exception):
        pass

    arrow, parquet = ModuleType("pyarrow"), ModuleType("pyarrow.parquet")
    arrow.ArrowException = ArrowError  # type: ignore[attr-defined]
    parquet.ParquetFile = ParquetFile  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pyarrow", arrow)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", parquet)
    found = list(samples_of(str(tmp_path / "completions_00001.parquet")))
    assert [(sample.answer, sample.group) for sample in found] == [("a", 0), ("b", 0), ("a", 0)]
    with pytest.raises(UsageError, match="not a whole Parquet file"):
        list(samples_of(str(tmp_path / "broken.parquet")))


def test_a_real_parquet_file(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    file = tmp_path / "completions_00002.parquet"
    columns = {
        "step": [2, 2],
        "prompt": ["a", "a"],
        "completion": ["b", "c"],
        "r": [0.5, None],
        "advantage": [1.0, -1.0],
    }
    parquet.write_table(arrow.table(columns), file)
    found = list(samples_of(str(file)))
    assert [(s.step, s.answer, s.rewards, s.advantage) for s in found] == [
        (2, "b", {"r": 0.5}, 1.0),
        (2, "c", {}, -1.0),
    ]
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(UsageError, match="not a whole Parquet file"):
        list(samples_of(str(file)))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        list(samples_of(str(tmp_path / "missing.log")))


needs_captures = pytest.mark.skipif(not DATA.exists(), reason="our captured runs are not beside this checkout")


@needs_captures
def test_the_tables_of_our_trl_run() -> None:
    found = list(samples_of(str(DATA / "trl/h_variants/log_completions/rank0.stdout")))
    assert [sum(sample.step == step for sample in found) for step in (1, 2, 3)] == [16, 16, 16]
    assert all(len(sample.rewards) == 2 and sample.advantage is not None for sample in found)
    assert set(distinct_shares(found).values()) == {1.0}
    assert len(distinct_shares(found)) == 12


@needs_captures
@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("verl-h200x2/normal.log", [0, 4, 8]),
        ("verl/gen/e2e-verl050-cpu-hf-success.log", [0, 2, 4]),
        ("trl/a_normal/rank0.stdout", []),
    ],
)
def test_the_samples_of_our_verl_runs(name: str, steps: list[int]) -> None:
    found = list(samples_of(str(DATA / name)))
    assert [sample.step for sample in found] == steps
    assert all(sample.prompt.startswith("user\n1+1=?") and sample.rewards == {"score": 0.0} for sample in found)
