"""Whole logs of our own TRL runs, where they are beside the checkout: every number and every step, bit for bit."""

from pathlib import Path

import pytest
from support.log_data import DATA
from support.log_oracle import bits, read, rows_of
from support.trl_oracle import events, trl_rows

from grpotui_supervisor.logs.trl import TrlReader

PATTERNS = ("trl/[a-h]_*/**/rank*.stdout", "trl/*/*/stdout", "trl-h200x2/*rank*.log", "trl-h200x2/**/*.stdout.log")
CAPTURES = [path for pattern in PATTERNS for path in sorted(DATA.glob(pattern))]
needs_captures = pytest.mark.skipif(not CAPTURES, reason="our captured runs are not beside this checkout")


def merged(path: Path) -> bytes:
    """Both files one after the other, as a scheduler may leave them."""
    stderr = path.with_name(path.name.replace("stdout", "stderr"))
    return path.read_bytes() + (stderr.read_bytes() if stderr != path and stderr.exists() else b"")


@needs_captures
@pytest.mark.parametrize("every", [None, 1])
@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: "/".join(path.parts[-3:]))
def test_every_number_and_step(path: Path, every: int | None) -> None:
    data = path.read_bytes()
    reader = read("trl", ("stdout", data), logging_steps=every)
    assert bits(rows_of(reader.columns)) == bits(trl_rows(data, every))
    assert reader.training_complete == any(event.kind == "end" for event in events(data))


@needs_captures
@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: "/".join(path.parts[-3:]))
def test_stderr_adds_no_record(path: Path) -> None:
    """Warnings, tracebacks, torchrun's report."""
    alone = read("trl", ("stdout", path.read_bytes()), logging_steps=1)
    assert bits(rows_of(read("trl", ("stdout", merged(path)), logging_steps=1).columns)) == bits(rows_of(alone.columns))


@needs_captures
@pytest.mark.parametrize("every", [None, 1])
def test_the_title_of_the_tables_tells_the_step(every: int | None) -> None:
    data = (DATA / "trl/h_variants/log_completions/rank0.stdout").read_bytes()
    assert list(read("trl", ("stdout", data), logging_steps=every).columns.steps) == [1, 2, 3]


@needs_captures
def test_in_one_stream_the_bar_tells_the_step() -> None:
    data = (DATA / "trl-h200x2/normal-rank0.log").read_bytes()
    reader = read("trl", ("stdout", data))
    assert list(reader.columns.steps) == list(range(1, 11))
    assert reader.step == reader.steps_total == 10


@needs_captures
def test_each_rank_of_a_run_that_is_not_distributed_prints() -> None:
    """That rank 1 has records of its own is what tells it."""
    folder = DATA / "trl/h_variants/not_distributed_usecpu0_silent"
    rows = [len(read("trl", ("stdout", (folder / f"rank{rank}.stdout").read_bytes())).columns) for rank in (0, 1)]
    assert rows[0] == 20
    assert rows[1] > 0
    assert len(read("trl", ("stdout", (DATA / "trl/a_normal/rank1.stdout").read_bytes())).columns) == 0


@needs_captures
def test_a_prefix_tells_the_rank() -> None:
    reader = read("trl", ("stdout", (DATA / "trl/f_torchrun/tee/stdout").read_bytes()))
    assert isinstance(reader, TrlReader)
    assert reader.printing_ranks == {0}
    assert len(reader.columns) == 3


FOREIGN = (
    *("verl-h200x2/*.log", "verl/gen/*.log", "verl/gen/*.txt", "cases/2*-cap-verl-*.log", "cases/2*-cap-ray-*.log"),
    *("frameworks/synthetic/[!l]*.log", "frameworks/minimind-1.log", "frameworks/logic-rl-1.log"),
    *("frameworks/complete/verl-*.log", "frameworks/verl-1.log", "frameworks/skyrl-1.log", "frameworks/slime-1.log"),
)
FOREIGN_LOGS = [path for pattern in FOREIGN for path in sorted(DATA.glob(pattern))]


@needs_captures
@pytest.mark.parametrize("path", FOREIGN_LOGS, ids=lambda path: "/".join(path.parts[-2:]))
def test_nothing_of_another_framework_is_a_record(path: Path) -> None:
    """Settings, prompts, tracebacks, other trainers' metrics."""
    reader = read("trl", ("stdout", path.read_bytes()))
    assert len(reader.columns) == 0
    assert not reader.training_complete


PUBLIC = [
    ("trl/public/01-trl3452-loss0-old-keys.log", [-1] * 4),
    ("trl/public/02-openr1-239-loss0-start.log", [-1] * 4),
    ("trl/public/04-tinylora-step-time.log", [-1]),
    ("trl/public/05-trl5312-sleep-mode-hardwrapped.log", [-1]),
    ("trl/public/06-trl3219-rich-table.log", [12]),
    ("trl/public/09-swift4023-zero-then-oom.log", [1]),
    ("trl/public/10-unsloth-tf55-colab.log", [5]),
    ("trl/public/11-tf5-quoted-dead-steps.log", [-1] * 7),
    ("trl/public/24-memgen33-alternating-zero.log", [-1]),
    ("trl/public/27-unsloth-zero-std-debug-prints.log", [5]),
    ("frameworks/trl-1.log", [-1]),
    ("frameworks/trl-2.log", [-1] * 3),
    ("frameworks/trl-4.log", [-1]),
    ("frameworks/trl-5.log", [*range(20, 940, 20)]),
    ("frameworks/unsloth-1.log", [-1] * 2),
    ("frameworks/ms-swift-1.jsonl", [1, 2]),
    ("frameworks/ms-swift-2.log", [1, *range(5, 95, 5)]),
    ("frameworks/ms-swift-3.jsonl", [1, *range(10, 440, 10), 438]),
]


@needs_captures
@pytest.mark.parametrize(("name", "steps"), PUBLIC, ids=[name for name, _ in PUBLIC])
def test_public_excerpts(name: str, steps: list[int]) -> None:
    """Hand-copied and cut: each whole dict is read, and a step is told where the copy tells it."""
    if not (DATA / name).exists():
        pytest.skip("these excerpts are kept out of the public checkout")
    assert list(read("trl", ("stdout", (DATA / name).read_bytes())).columns.steps) == steps


@needs_captures
@pytest.mark.parametrize("every", [None, 20])
def test_a_complete_run_of_1875_steps(every: int | None) -> None:
    """Its stdout was buffered, so bars tell no step of a dict; 1875 is not logged."""
    path = DATA / "frameworks/complete/trl-hotpotqa-ok-1875.log"
    if not path.exists():
        pytest.skip("this log is kept out of the public checkout")
    reader = read("trl", ("stdout", path.read_bytes()), logging_steps=every)
    assert (reader.step, reader.steps_total, reader.training_complete) == (1875, 1875, True)
    assert list(reader.columns.steps) == ([-1] * 93 if every is None else list(range(20, 1880, 20))[:93])
    assert bits(rows_of(reader.columns)) == bits(trl_rows(path.read_bytes(), every))
