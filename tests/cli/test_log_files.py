"""`replay` and `export` of log files: what a log can tell, what it cannot, and how it may be packed."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
from typing import TYPE_CHECKING, Any

import pytest
from support.commands import refused
from support.event_files import training
from support.schemas import check

if TYPE_CHECKING:
    from pathlib import Path

    from support.runs import Home

RAY = "\x1b[36m(TaskRunner pid=7)\x1b[0m"
LINES = "".join(
    f"{RAY} step:{step} - critic/rewards/mean:{value} - actor/entropy:0.5 - mine:np.int32(3)\n"
    for step, value in ((1, "0.25"), (2, "np.float64(nan)"), (5, "0.75"))
)
LOG = f"starting\nTotal training steps: 5\n{LINES}"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "train.log"
    path.write_text(LOG)
    return path


def replayed(home: Home, *words: str, **options: Any) -> dict[str, Any]:
    done = home.run("replay", *words, "--json", **options)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    check("log", document)
    assert isinstance(document, dict)
    return document


def test_a_log_tells_steps_and_metrics_and_nothing_else(home: Home, log: Path) -> None:
    document = replayed(home, str(log))
    assert (document["framework"], document["records"], document["step"], document["steps_total"]) == ("verl", 3, 5, 5)
    assert (document["training_complete"], document["verdict"], document["ranks"]) == (True, None, [])
    assert document["metrics"]["reward/mean"] == 0.75
    text = home.run("replay", str(log)).stdout
    assert "not in this log: exits and signals" in text
    assert not home.path.exists()


@pytest.mark.parametrize(("at", "records", "step"), [("1", 1, 1), ("4", 2, 2), ("5", 3, 5)])
def test_as_of_a_step(home: Home, log: Path, at: str, records: int, step: int | None) -> None:
    document = replayed(home, str(log), "--at", at)
    assert (document["records"], document["step"]) == (records, step)
    if records == 2:
        assert document["metrics"]["reward/mean"] == "nan"
        assert not document["training_complete"]


@pytest.mark.parametrize(("at", "words"), [("0", "step 1 to step 5"), ("99", "step 1 to step 5")])
def test_a_step_that_is_not_there(home: Home, log: Path, at: str, words: str) -> None:
    refused(home.run("replay", str(log), "--at", at), 2, f"step {at} is not in", words)


def test_a_log_without_steps_has_no_step_to_go_to(home: Home, log: Path) -> None:
    log.write_text("{'loss': 0.5, 'reward': 0.1, 'reward_std': 0.2, 'epoch': 0.1}\n")
    assert replayed(home, str(log))["records"] == 1
    refused(home.run("replay", str(log), "--at", "1"), 2, "it tells no steps")
    log.write_text("hello\n")
    refused(home.run("replay", str(log), "--at", "1"), 2, "there are no metrics in it")


def test_plain_prints_every_step(home: Home, log: Path) -> None:
    lines = home.run("replay", str(log), "--plain").stdout.splitlines()
    assert [line.split()[1] for line in lines[:3]] == ["1/5", "2/5", "5/5"]


SAVING = "local_global_step_folder: /c/global_step_{}\n"
ENGINE = (
    "INFO 11-29 16:05:57 [loggers.py:118] Engine 000: Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: "
    "900.0 tokens/s, Running: 5 reqs, Waiting: 0 reqs, GPU KV cache usage: 50.0%\n"
)


def test_checkpoints_engines_and_the_end_of_a_log(home: Home, tmp_path: Path) -> None:
    first, second, last = LINES.splitlines(keepends=True)
    path = tmp_path / "saving.log"
    path.write_text(first + ENGINE + SAVING.format(2) + second + last + SAVING.format(9))
    whole = replayed(home, str(path))
    assert [(c["step"], c["complete"]) for c in whole["checkpoints"]] == [(9, None), (2, True)]
    assert (whole["phase"], whole["phase_from"]) == ("save", "log")
    early, later = replayed(home, str(path), "--at", "1"), replayed(home, str(path), "--at", "2")
    assert (early["checkpoints"], early["phase"], early["metrics"].get("engine/kv_cache")) == ([], None, None)
    assert [(c["step"], c["complete"]) for c in later["checkpoints"]] == [(2, True)]
    assert later["metrics"]["engine/kv_cache"] == 0.5
    text = home.run("replay", str(path)).stdout
    assert "it ends in: saving a checkpoint" in text
    assert "checkpoint of step 9: not known to be complete, /c/global_step_9" in text
    rows = [json.loads(line) for line in home.run("export", str(path), "--to", "jsonl").stdout.splitlines()]
    assert [row["metrics"].get("engine/tokens_per_s") for row in rows] == [None, 900.0, 900.0]


def test_packed_and_from_standard_input(home: Home, log: Path) -> None:
    packed = log.with_suffix(".log.gz")
    packed.write_bytes(gzip.compress(LOG.encode()))
    assert replayed(home, str(packed))["records"] == 3
    cut = log.with_name("cut.gz")
    cut.write_bytes(gzip.compress(LOG.encode(), mtime=0)[:-12])
    assert replayed(home, str(cut))["records"] <= 3
    assert replayed(home, "-", input=LOG)["source"] == "-"


def test_a_log_of_no_known_framework_says_what_it_looks_like(home: Home, log: Path) -> None:
    log.write_text("\n\x1b[31mhello\x1b[0m world\nstep: one - two\n")
    document = replayed(home, str(log))
    assert (document["framework"], document["records"], document["looks_like"]) == (None, 0, "hello world")
    assert "it begins with: hello world" in home.run("replay", str(log)).stdout


def test_what_cannot_be_read_or_meant(home: Home, log: Path, tmp_path: Path) -> None:
    refused(home.run("replay", str(log), "--at", "+5"), 2, "no times")
    refused(home.run("replay", str(tmp_path / "none.log")), 2, "none.log")
    refused(home.run("export", str(log), "--to", "csv", "-o", str(log)), 2, "cannot be written", "exists")
    empty = tmp_path / "empty.log"
    empty.write_text("")
    refused(home.run("export", str(empty), "--to", "csv"), 2, "no metrics")
    assert log.read_text() == LOG


def test_export_as_json_lines_and_csv(home: Home, log: Path) -> None:
    rows = [json.loads(line) for line in home.run("export", str(log), "--to", "jsonl").stdout.splitlines()]
    assert [row["step"] for row in rows] == [1, 2, 5]
    assert rows[1]["metrics"]["reward/mean"] == "nan"
    assert rows[2]["raw"] == {"critic/rewards/mean": 0.75, "actor/entropy": 0.5, "mine": 3.0}
    out = log.with_suffix(".csv")
    assert home.run("export", str(log), "--to", "csv", "-o", str(out)).returncode == 0
    table = list(csv.DictReader(io.StringIO(out.read_text())))
    assert [row["step"] for row in table] == ["1", "2", "5"]
    assert float(table[0]["reward/mean"]) == 0.25
    assert math.isnan(float(table[1]["raw:critic/rewards/mean"]))


def test_an_event_file_and_a_trainer_state(home: Home, tmp_path: Path) -> None:
    events = tmp_path / "events.out.tfevents.1764000000.host"
    events.write_bytes(training(["train/loss", "train/reward"], range(1, 6)))
    document = replayed(home, str(events))
    assert (document["framework"], document["records"], document["step"]) == ("tensorboard", 5, 5)
    last = json.loads(home.run("export", str(events), "--to", "jsonl").stdout.splitlines()[-1])
    assert last["raw"].keys() == {"train/loss", "train/reward"}
    state = tmp_path / "trainer_state.json"
    history = [{"step": step, "loss": 0.5, "reward": step / 4, "epoch": 0.1} for step in (2, 4)]
    state.write_text(json.dumps({"global_step": 4, "max_steps": 8, "log_history": history}))
    document = replayed(home, str(state))
    assert (document["framework"], document["step"], document["steps_total"]) == ("trl", 4, 8)
    assert document["metrics"]["reward/mean"] == 1.0


def test_export_as_parquet(home: Home, log: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is an extra")
    out = log.with_suffix(".parquet")
    assert home.run("export", str(log), "--to", "parquet", "-o", str(out)).returncode == 0
    assert parquet.read_table(out).column("step").to_pylist() == [1, 2, 5]


def test_a_run_is_exported_and_replayed_at_a_step(home: Home) -> None:
    argv = "launch.argv=['{python}','{profile_dir}/demo_grpo.py','--steps','3','--prompts','16']"
    run = home.launch("demo", "--set", argv, "--set", "expect.steps=3")
    home.wait_for_state(run, "ended")
    rows = home.run("export", run, "--to", "jsonl").stdout.splitlines()
    assert [json.loads(row)["step"] for row in rows] == [1, 2, 3]
    done = home.run("replay", run, "--at", "2", "--json")
    document = json.loads(done.stdout)
    check("status", document)
    assert document["step"] >= 2
    refused(home.run("replay", run, "--at", "9"), 2, "step 9 is not in the log", "it goes to step 3")


def test_a_resumed_run_says_where_it_began_again(home: Home, log: Path) -> None:
    assert replayed(home, str(log))["progress"]["restarted_at"] == []
    log.write_text(LOG + LINES.replace("step:1 ", "step:3 ").replace("step:2 ", "step:4 "))
    assert replayed(home, str(log))["progress"]["restarted_at"] == [3]
    assert "\nbegan again at step 3\n" in home.run("replay", str(log)).stdout
    assert replayed(home, str(log), "--at", "2")["progress"]["restarted_at"] == []
