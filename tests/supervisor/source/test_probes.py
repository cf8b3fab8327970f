"""The hook's records read back: phases, rows, memory, parameters; at any moment, and whatever stands in them."""

from __future__ import annotations

import json
import math
import random
from typing import TYPE_CHECKING, Any

import pytest

from grpotui_supervisor.rundir import RunDirectory
from grpotui_supervisor.source.logs import Logs
from grpotui_supervisor.source.probes import Probes
from grpotui_supervisor.source.timed_sections import Sections

if TYPE_CHECKING:
    from pathlib import Path

RANKS = {"profile": {"launch": {"mode": "ranks"}, "hook": {"phases": True}, "framework": "trl"}}
COMMAND = {"profile": {"launch": {"mode": "command"}, "hook": {"phases": True}, "framework": "auto"}}
LOSS = {"loss": 0.5, "grad_norm": 1.0, "reward": 1 / 3, "epoch": 0.25}


class Writer:
    """Writes one process's file, a nanosecond a line."""

    def __init__(self, directory: Path, member: str = "0", pid: int = 7) -> None:
        self.path = directory / "ranks" / member / f"probe-{pid}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.lines: list[dict[str, Any]] = []
        self("header", schema=1, pid=pid)

    def __call__(self, ev: str, **fields: Any) -> int:
        seq = len(self.lines) + 1
        self.lines.append({"ev": ev, "m": 1000 * seq, "seq": seq, **fields})
        with self.path.open("a") as file:
            file.write(json.dumps(self.lines[-1]) + "\n")
        return seq

    def section(self, name: str) -> None:
        self("end", begin=self("begin", name=f"T.{name}"), s=0.1)

    def train(self, steps: int, first: int = 0) -> None:
        self("train_begin", step=first, max_steps=steps, leads=True)
        for step in range(first, steps):
            self("step_begin", step=step)
            outer = self("begin", name="GRPOTrainer._prepare_inputs")
            self.section("vLLM.generate")
            self("end", begin=outer, s=0.3)
            self.section("compute_loss")
            self("step_end", step=step + 1)
            self("log", step=step + 1, logs={**LOSS, "kl": float(step)})
        self("log", step=steps, logs={"train_runtime": 1.0, "train_loss": 0.5, "epoch": 1.0})
        self("train_end", step=steps, max_steps=steps)


def probes(path: Path, facts: dict[str, Any] = RANKS, until: int | None = None) -> Probes:
    found = Probes(RunDirectory(str(path)), facts)
    found.update(until)
    return found


def shown(found: Probes) -> Any:
    rows = [found.columns.row(row) for row in range(len(found.columns))]
    simple = found.phase, found.step, found.steps_total, found.training_complete, found.checkpoints
    return list(found.columns.steps), rows, simple, found.memory, found.parameters, found.row_moments


def test_steps_and_rows_are_the_trainer_s_own(tmp_path: Path) -> None:
    Writer(tmp_path).train(3)
    found = probes(tmp_path)
    assert (found.step, found.steps_total, found.training_complete, found.phase) == (3, 3, True, None)
    assert list(found.columns.steps) == [1, 2, 3]
    assert found.columns.row(2) == {**LOSS, "kl": 2.0}


def test_at_every_moment_it_is_the_same_live_and_replayed(tmp_path: Path) -> None:
    writers = [Writer(tmp_path, pid=7), Writer(tmp_path, pid=8), Writer(tmp_path, member="1", pid=9)]
    for writer in writers:
        writer.train(2)
        tensor = {"name": "w", "kind": "parameter", "dtype": "float32", "bytes": 4, "of_bytes": 4}
        for digest in "ab":
            writer("parameters", step=2, when="step_end", tensors=[{**tensor, "blake2b": digest * 32}])
        writer("save", step=2, path="/out/checkpoint-2")
    writers[0].train(4, first=2)
    staying = Probes(RunDirectory(str(tmp_path)), RANKS)
    for moment in range(500, 1000 * len(writers[0].lines) + 1000, 500):
        staying.update(moment)
        assert shown(staying) == shown(probes(tmp_path, until=moment))
    assert shown(staying) == shown(probes(tmp_path))
    assert staying.step == 4


@pytest.mark.parametrize(
    ("names", "word"),
    [
        (["_prepare_inputs"], "rollout"),
        (["_prepare_inputs", "vLLM.generate"], "generate"),
        (["_prepare_inputs", "_calculate_rewards", "accuracy"], "reward"),
        (["_prepare_inputs", "_get_per_token_logps_and_entropies"], "logprob"),
        (["_prepare_inputs", "sync_weights"], "sync"),
        (["compute_loss", "_get_per_token_logps"], "update"),
        (["evaluate", "_prepare_inputs", "transformers.generate"], "evaluate"),
        (["_save_checkpoint", "save_model"], "save"),
        (["their_own"], None),
    ],
)
def test_a_phase_is_that_of_the_open_section(tmp_path: Path, names: list[str], word: str | None) -> None:
    write = Writer(tmp_path)
    write("train_begin", step=0, max_steps=3, leads=True)
    write("step_begin", step=0)
    for name in names:
        write("begin", name=f"GRPOTrainer.{name}")
    phase = probes(tmp_path).phase
    assert (phase and phase.word) == word


def test_a_step_is_an_update_only_behind_a_section() -> None:
    """Before the first one nothing tells what is going on; a trainer without TRL's timers never says."""
    sections = Sections()
    said = []
    lines: list[dict[str, Any]] = [
        {"ev": "train_begin"}, {"ev": "step_begin"}, {"ev": "begin", "name": "T._prepare_inputs"},
        {"ev": "begin", "name": "T._calculate_rewards", "main": False}, {"ev": "end", "begin": 2}, {"ev": "step_end"},
    ]  # fmt: skip
    for seq, record in enumerate(lines):
        sections.take({**record, "seq": seq, "m": seq})
        said.append(sections.phase)
    assert said == [None, None, ("rollout", 2), ("rollout", 2), ("update", 4), None]


def test_a_lost_end_does_not_keep_a_phase_open(tmp_path: Path) -> None:
    write = Writer(tmp_path)
    write("train_begin", step=0, max_steps=3, leads=True)
    outer = write("begin", name="T._prepare_inputs")
    write("begin", name="T.vLLM.generate")
    write("end", begin=outer, s=1.0)
    assert probes(tmp_path).phase is None


def test_another_process_of_the_member_does_not_speak_for_the_trainer(tmp_path: Path) -> None:
    write = Writer(tmp_path, pid=8)
    write("train_begin", step=0, max_steps=3, leads=True)
    write("begin", name="T.vLLM.generate")
    child = Writer(tmp_path, pid=9)
    child("begin", name="T._calculate_rewards")
    child("log", step=99, logs=LOSS)
    found = probes(tmp_path)
    assert found.phase is not None
    assert (found.phase.word, found.step, len(found.columns)) == ("generate", None, 0)


def test_under_a_launcher_the_leading_rank_is_the_one_that_prints(tmp_path: Path) -> None:
    Writer(tmp_path, member="1")("train_begin", step=0, max_steps=3, leads=False)
    assert probes(tmp_path, COMMAND).leader is None
    Writer(tmp_path, member="0").train(2)
    found = probes(tmp_path, COMMAND)
    assert (found.leader, found.step) == ("0", 2)


def test_evaluations_and_odd_numbers(tmp_path: Path) -> None:
    write = Writer(tmp_path)
    write("train_begin", step=0, max_steps=-1, leads=True)
    write("log", step=1, logs={**LOSS, "kl": "nan", "entropy": None, "a": "-inf"})
    write("log", step=1, logs={"eval_loss": 0.25, "eval_runtime": 2.0, "epoch": 1.0})
    found = probes(tmp_path)
    row = found.columns.row(0)
    assert math.isnan(row["kl"])
    assert (row["a"], row["val/loss"], "entropy" in row) == (-math.inf, 0.25, False)
    assert (found.steps_total, list(found.columns.steps)) == (None, [1])


def test_training_that_goes_back_gets_rows_of_its_own(tmp_path: Path) -> None:
    write = Writer(tmp_path)
    write.train(3)
    write.train(3, first=1)
    found = probes(tmp_path)
    assert list(found.columns.steps) == [1, 2, 3, 2, 3]
    assert found.columns.restarts[0].step == 2


def test_torch_memory_is_the_last_one_read(tmp_path: Path) -> None:
    write = Writer(tmp_path)
    for size in (1, 2):
        counters = {"allocated_bytes": size, "reserved_bytes": 4, "max_allocated_bytes": 3, "max_reserved_bytes": 4}
        write("torch_memory", device=1, **counters)
    assert probes(tmp_path).memory == {("0", 7, 1): (3000, 2, 4, 3, 4)}


@pytest.mark.parametrize(("digests", "changed"), [("a", None), ("aa", False), ("ab", True), ("aba", True)])
def test_parameters_changed_when_any_sample_differs_from_the_first(
    tmp_path: Path, digests: str, changed: bool | None
) -> None:
    write = Writer(tmp_path)
    for step, digest in enumerate(digests):
        common = {"kind": "parameter", "dtype": "float32", "bytes": 4, "of_bytes": 8}
        tensors = [{"name": "w", "blake2b": digest, **common}, {"name": "v", "blake2b": "same", **common}]
        write("parameters", step=step, when="step_end", tensors=tensors)
    found = probes(tmp_path).parameters["0", 7]
    assert (found.changed, found.samples, found.last_step) == (changed, len(digests), len(digests) - 1)
    assert [tensor.changed for tensor in found.tensors] == [changed, None if changed is None else False]


def test_no_garbage_raises(tmp_path: Path) -> None:
    write = Writer(tmp_path)
    write.train(2)
    rng = random.Random(5)
    values: list[Any] = [None, True, -1, 1.5, "x", [], {}, "nan", 10**400, {"loss": "x"}, {"loss": []}, [{}], [1]]
    lines = [dict(line) for line in write.lines]
    for _ in range(3000):
        line = dict(rng.choice(lines))
        line["m"] = write.lines[-1]["m"]
        for key in rng.sample(sorted(line.keys() - {"ev", "m", "schema"}) or ["x"], 1):
            line[key] = rng.choice(values)
        with write.path.open("a") as file:
            file.write(json.dumps(line) + "\n")
    probes(tmp_path)


def test_without_the_hook_no_file_is_read(tmp_path: Path) -> None:
    Writer(tmp_path).train(2)
    for profile in ({}, {"hook": {"phases": False}}):
        assert probes(tmp_path, {"profile": profile}).step is None


def test_the_hook_s_rows_stand_in_for_the_log_s(tmp_path: Path) -> None:
    log = tmp_path / "ranks/0/stdout.log"
    write = Writer(tmp_path)
    log.write_text("{'loss': '0.5', 'grad_norm': '1', 'reward': '0.3333', 'epoch': '0.25'}\n")
    size = {"ev": "size", "file": "0/stdout.log", "size": log.stat().st_size, "m": 1}
    logs = Logs(RunDirectory(str(tmp_path)), RANKS)
    logs.take(size)
    assert logs.metrics(0)["reward/mean"] == 0.3333
    write.train(2)
    logs.probes.update(None)
    assert (logs.steps, logs.step_of(1), logs.framework) == (2, 2, "trl")
    assert logs.metrics(0)["reward/mean"] == logs.latest_metrics()["reward/mean"] == 1 / 3
