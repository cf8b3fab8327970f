"""The TRL profile: its parts without torch, and real runs of it.

`GRPOTUI_TEST_TRAINER` names the interpreter for those; without it they are skipped.
"""

import functools
import os
import runpy
import socket
import subprocess
import time
import tomllib
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from grpotui_supervisor.logs.catalog import canonical
from grpotui_supervisor.logs.trl import TrlReader

PROFILES = Path(__file__).parents[2] / "profiles"
SCRIPT = PROFILES / "trl_tiny.py"
PYTHON = os.environ.get("GRPOTUI_TEST_TRAINER", "")
"""The interpreter that has torch and TRL."""

PATIENCE = 240.0  # importing torch and TRL takes 5 s on an idle machine, and a minute on a busy one


@functools.cache
def script() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def faulty(fault: str, *, rank: int = 0, step: int = 3) -> Any:
    return script()["with_fault"](script()["letters"], Namespace(fault=fault, fault_rank=rank, fault_step=step))


def test_the_profile_starts_this_script_and_says_how_it_logs() -> None:
    profile = tomllib.loads((PROFILES / "trl-tiny-cpu.toml").read_text())
    assert (profile["name"], profile["framework"]) == ("trl-tiny-cpu", "trl")
    assert profile["launch"]["argv"][1] == "{profile_dir}/" + SCRIPT.name
    assert profile["expect"]["steps"] == int(profile["launch"]["argv"][-1])
    assert (
        profile["logs"]["logging_steps"]
        == script()["settings"](Namespace(steps=1, beta=0.0, gpu=False))["logging_steps"]
    )


def test_rewards_are_shares() -> None:
    texts = ["abcd", "ab12", "", "é�"]
    assert script()["letters"](texts) == [1.0, 0.5, 0.0, 0.0]
    assert script()["no_digits"](texts) == [0.0, -0.5, 0.0, 0.0]


def test_a_fault_waits_for_its_step_and_rank() -> None:
    assert faulty("raise")(["ab"], trainer_state=Namespace(global_step=1)) == [1.0]
    assert faulty("raise", rank=1)(["ab"], trainer_state=Namespace(global_step=2)) == [1.0]
    with pytest.raises(RuntimeError, match="rank 0"):
        faulty("raise")(["ab"], trainer_state=Namespace(global_step=2))
    with pytest.raises(SystemExit, match="3"):
        faulty("exit3")(["ab"], trainer_state=Namespace(global_step=5))


def test_zero_reward_strikes_every_rank_and_keeps_the_name() -> None:
    reward = faulty("zero-reward", rank=1)
    assert reward(["ab", "cd"], trainer_state=Namespace(global_step=2)) == [0.0, 0.0]
    assert reward.__name__ == "letters"


@contextmanager
def ranks(folder: Path, *arguments: str) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Two ranks started as a launcher does; whatever is left of them is killed."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
    group = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    quiet = {"PYTHONUNBUFFERED": "1", "OMP_NUM_THREADS": "1", "TMPDIR": str(folder)}
    started = []
    for rank in ("0", "1"):
        with (folder / f"{rank}.out").open("wb") as out, (folder / f"{rank}.err").open("wb") as err:
            environment = os.environ | group | quiet | {"RANK": rank, "LOCAL_RANK": rank}
            command = [PYTHON, str(SCRIPT), *arguments]
            started.append(subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err))
    try:
        yield started
    finally:
        for process in started:
            process.kill()
            process.wait()


def run(folder: Path, *arguments: str) -> tuple[list[int], TrlReader]:
    """Exit codes of both ranks, and what rank 0 printed."""
    with ranks(folder, *arguments) as started:
        codes = [process.wait(PATIENCE) for process in started]
    reader = TrlReader(logging_steps=1)
    reader.feed((folder / "0.out").read_bytes(), stream="stdout")
    reader.feed((folder / "0.err").read_bytes(), stream="stderr")
    assert (folder / "1.out").read_bytes() == b""
    assert not list(folder.glob("trl-tiny-*"))
    return codes, reader


REAL = (
    pytest.mark.trainer,
    pytest.mark.timeout(2 * PATIENCE),
    pytest.mark.skipif(not PYTHON, reason="GRPOTUI_TEST_TRAINER names no interpreter with torch and TRL"),
)


def real(function: Any) -> Any:
    return functools.reduce(lambda marked, mark: mark(marked), REAL, function)


@real
def test_a_run_learns_and_ends(tmp_path: Path) -> None:
    codes, reader = run(tmp_path, "--steps", "20")
    assert codes == [0, 0]
    assert (reader.step, reader.steps_total, reader.training_complete) == (20, 20, True)
    assert list(reader.columns.steps) == list(range(1, 21))
    named = [canonical("trl", reader.columns.row(index)) for index in range(20)]
    assert all({"reward/mean", "kl/reference", "reward/part/letters", "entropy"} <= row.keys() for row in named)
    rewards = [row["reward/mean"] for row in named]
    assert sum(rewards[-5:]) > sum(rewards[:5])
    assert (tmp_path / "0.out").read_bytes().count(b"\n") == 21


@real
@pytest.mark.parametrize(("fault", "code"), [("kill", -9), ("segv", -11), ("raise", 1), ("exit3", 3)], ids=str)
def test_a_rank_that_fails_ends_the_run(tmp_path: Path, fault: str, code: int) -> None:
    codes, reader = run(tmp_path, "--steps", "12", "--fault", fault, "--fault-step", "3")
    assert codes[1] == code
    assert codes[0] != 0
    assert (len(reader.columns), reader.steps_total, reader.training_complete) == (2, 12, False)


@real
def test_a_teardown_that_aborts_comes_after_completion(tmp_path: Path) -> None:
    codes, reader = run(tmp_path, "--steps", "2", "--beta", "0", "--fault", "abort-teardown", "--fault-rank", "0")
    assert codes == [-6, 0]
    assert reader.training_complete
    assert "kl" not in reader.columns.series


@real
def test_zero_reward_is_a_dead_run(tmp_path: Path) -> None:
    codes, reader = run(tmp_path, "--steps", "4", "--fault", "zero-reward", "--fault-step", "3")
    assert codes == [0, 0]
    assert list(reader.columns.series["frac_reward_zero_std"].values) == [0.0, 0.0, 1.0, 1.0]


@real
def test_a_rank_that_hangs_stops_nobody_but_the_run(tmp_path: Path) -> None:
    with ranks(tmp_path, "--steps", "4", "--fault", "hang", "--fault-step", "2") as started:
        reader = TrlReader(logging_steps=1)
        deadline = time.monotonic() + PATIENCE
        with (tmp_path / "0.out").open("rb") as out:
            while reader.step != 1:
                assert started[0].poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.1)
                reader.feed(out.read())
        assert [process.poll() for process in started] == [None, None]
