"""Whole logs of our own runs: the excerpts kept here, and the full captures where the checkout has them."""

import json
import os
from array import array
from pathlib import Path

import pytest
from support.log_data import DATA
from support.log_oracle import EXCERPTS, bits, read, rows_of, trl_rows, verl_rows

from grpotui_supervisor.logs.reader import Reader

GOLDEN = sorted(EXCERPTS.glob("*/*.json"))
LOGGING_STEPS = 1


def read_files(framework: str, stdout: Path, stderr: Path | None = None) -> Reader:
    blocks = [("stdout", stdout.read_bytes())]
    if stderr is not None and stderr.exists():
        blocks.append(("stderr", stderr.read_bytes()))
    return read(framework, *blocks, logging_steps=LOGGING_STEPS)


def dump(reader: Reader) -> dict[str, object]:
    """What a golden file holds; every number as Python prints it, which is exact."""
    return {
        "step": reader.step,
        "steps_total": reader.steps_total,
        "training_complete": reader.training_complete,
        "steps": list(reader.columns.steps),
        "series": {
            key: {"rows": list(series.rows), "values": [repr(value) for value in series.values]}
            for key, series in reader.columns.series.items()
        },
    }


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_an_excerpt_reads_as_it_always_did(golden: Path) -> None:
    stdout = golden.with_suffix(".stdout.log")
    reader = read_files(golden.parent.name, stdout, golden.with_suffix(".stderr.log"))
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(json.dumps(dump(reader), indent=None) + "\n")
    assert dump(reader) == json.loads(golden.read_text())
    oracle = verl_rows if golden.parent.name == "verl" else lambda data: trl_rows(data, LOGGING_STEPS)
    assert bits(rows_of(reader.columns)) == bits(oracle(stdout.read_bytes()))


def test_every_excerpt_has_a_golden_file() -> None:
    logs = {str(path).removesuffix(".stdout.log") for path in EXCERPTS.glob("*/*.stdout.log")}
    assert logs == {str(path).removesuffix(".json") for path in GOLDEN}
    assert logs


def captured(*patterns: str) -> list[Path]:
    return [path for pattern in patterns for path in sorted(DATA.glob(pattern))]


VERL_CAPTURES = captured("verl-h200x2/*.log", "verl/gen/*.log", "verl/gen/console-*.txt")
TRL_CAPTURES = captured("trl/[a-h]_*/**/rank0.stdout", "trl/f_torchrun/*/stdout", "trl-h200x2/*-rank0.log")
needs_captures = pytest.mark.skipif(not VERL_CAPTURES, reason="our captured runs are not beside this checkout")


@needs_captures
@pytest.mark.parametrize("path", VERL_CAPTURES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_number_of_verl(path: Path) -> None:
    reader = read_files("verl", path)
    assert bits(rows_of(reader.columns)) == bits(verl_rows(path.read_bytes()))
    assert len(read_files("trl", path).columns) == 0
    assert read_files("auto", path).framework == ("verl" if reader.columns else "auto")


@needs_captures
@pytest.mark.parametrize("path", TRL_CAPTURES, ids=lambda path: "/".join(path.parts[-3:]))
def test_every_number_of_trl(path: Path) -> None:
    reader = read_files("trl", path)
    assert bits(rows_of(reader.columns)) == bits(trl_rows(path.read_bytes(), LOGGING_STEPS))
    assert len(read_files("verl", path).columns) == 0
    assert read_files("auto", path).framework == ("trl" if reader.columns else "auto")


@needs_captures
@pytest.mark.parametrize(
    ("framework", "name", "step", "total", "rows", "complete"),
    [
        ("verl", "verl-h200x2/healthy.log", 40, 40, 41, True),
        ("verl", "verl-h200x2/normal.log", 8, 8, 9, True),
        ("verl", "verl-h200x2/driverkill.log", 2, 6, 3, False),
        ("verl", "verl/gen/e2e-inj-driver-sigint.log", 9, 400, 9, False),
        ("trl", "trl/a_normal/rank0.stdout", 20, 20, 20, True),
        ("trl", "trl/c_sigkill/rank0_unbuffered/rank0.stdout", 7, 20, 7, False),
        ("trl", "trl/e_atexit_abort/all/rank0.stdout", 20, 20, 20, True),
        ("trl", "trl/g_trl016/rank0.stdout", 8, 8, 8, True),
        ("trl", "trl-h200x2/normal-rank0.log", 10, 10, 10, True),
        ("trl", "trl-h200x2/oom-rank0.log", 3, 5, 2, False),
    ],
)
def test_how_far_a_captured_run_came(  # one row of the table each
    framework: str, name: str, step: int, total: int, rows: int, *, complete: bool
) -> None:
    path = DATA / name
    reader = read_files(framework, path, path.with_suffix(".stderr"))
    assert (reader.step, reader.steps_total, len(reader.columns)) == (step, total, rows)
    assert reader.training_complete is complete


@needs_captures
def test_a_step_without_generation_has_no_reward() -> None:
    reader = read_files("trl", DATA / "trl-h200x2" / "normal-rank0.log")
    assert reader.columns.series["reward"].rows == array("I", [0, 2, 4, 6, 8])
    assert len(reader.columns.series["loss"].rows) == 10
