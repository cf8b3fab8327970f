"""Whole logs of verl, of our own runs and public ones, where the checkout has them beside it."""

from pathlib import Path

import pytest
from support.log_data import DATA
from support.log_oracle import bits, cut, read, rows_of, state, verl_rows

PATTERNS = ("verl-h200x2/*.log", "verl/1*.log", "verl/gen/*.log", "verl/gen/console-*.txt", "cases/*.log")
PUBLIC = (
    "complete/verl-*.log",
    "verl-1.log",
    "logic-rl-1.log",
    "tinyzero-1.log",
    "verl-agent-1-fixture.log",
    "synthetic/*.log",
)
PATHS = [
    *(path for pattern in PATTERNS for path in sorted(DATA.glob(pattern))),
    *(path for pattern in PUBLIC for path in sorted((DATA / "frameworks").glob(pattern))),
]
ABRIDGED = "  [abridged]"
"""Stands behind the last metric of an excerpt, which is then not a whole one."""

pytestmark = pytest.mark.skipif(not PATHS, reason="the captured logs are not beside this checkout")


@pytest.mark.parametrize("path", PATHS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_number_and_no_other(path: Path) -> None:
    data = path.read_bytes()
    reader = read("verl", ("stdout", data))
    assert bits(rows_of(reader.columns)) == bits(verl_rows(data if data.endswith(b"\n") else data + b"\n"))
    assert reader.columns.restarts == []
    assert len(reader.columns.curve()) == len(reader.columns)
    blocks = cut(data, [number * 4096 for number in range(1, len(data) // 4096 + 1)])
    assert state(read("verl", *(("stdout", block) for block in blocks))) == state(reader)


@pytest.mark.parametrize("path", sorted(DATA.glob("verl/0*.log")), ids=lambda path: path.stem)
def test_excerpts_of_all_versions(path: Path) -> None:
    text = path.read_text()
    found = rows_of(read("verl", ("stdout", text.encode())).columns)
    lines = [line.rpartition(" - ")[0] if line.endswith(ABRIDGED) else line for line in text.splitlines()]
    lines = [line.partition(" balanced_*")[0].rpartition(" - ")[0] if " balanced_*" in line else line for line in lines]
    expected = verl_rows("".join(f"{line}\n" for line in lines).encode())
    if path.stem.startswith("05-"):
        expected = [(-1, {"val-core/openai/gsm8k/reward/mean@1": 0.5511751326762699})]
    assert bits(found) == bits(expected)


@pytest.mark.parametrize(
    ("name", "steps", "total", "complete"),
    [("verl-uqcxu9-v5-ok-700.log", 700, 700, True), ("verl-uqcxu9-crash-699of700.log", 699, 700, False)],
)
def test_complete_public_runs(name: str, steps: int, total: int, *, complete: bool) -> None:
    reader = read("verl", ("stdout", (DATA / "frameworks" / "complete" / name).read_bytes()))
    assert list(reader.columns.steps) == list(range(1, steps + 1))
    assert (reader.step, reader.steps_total, reader.training_complete) == (steps, total, complete)
    assert len(reader.columns.series["actor/grad_norm"].values) == steps


def test_a_record_broken_over_two_lines() -> None:
    (row,) = rows_of(read("verl", ("stdout", (DATA / "frameworks" / "rllm-1.log").read_bytes() + b"\n")).columns)
    assert row[0] == 19
    assert len(row[1]) == 6
