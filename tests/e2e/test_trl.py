"""A real trainer through the shipped command line: TRL's GRPOTrainer, two ranks, gloo, CPU.

Needs torch and TRL: `GRPOTUI_TEST_TRAINER` names the interpreter that has them; without it these tests are skipped.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import subprocess

    from support.runs import Home

TRAINER = os.environ.get("GRPOTUI_TEST_TRAINER", "")
STEPS = 20
pytestmark = [
    pytest.mark.trainer,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not TRAINER, reason="GRPOTUI_TEST_TRAINER names no interpreter with torch and TRL"),
]


def launch(home: Home, *words: str, fault: str = "none", steps: int = STEPS, **options: Any) -> Ended:
    argv = ["{python}", "{profile_dir}/trl_tiny.py", "--steps", str(steps), "--fault", fault, "--fault-step", "3"]
    settings = [f"launch.python={TRAINER}", f"launch.argv={json.dumps(argv)}", f"expect.steps={steps}", *words]
    flags = [word for setting in settings for word in ("--set", setting)]
    return Ended(home.run("launch", "trl-tiny-cpu", "--json", *flags, timeout=240, **options))


class Ended:
    """The NDJSON of a finished launch."""

    def __init__(self, done: subprocess.CompletedProcess[str]) -> None:
        self.code = done.returncode
        self.lines = [json.loads(line) for line in done.stdout.splitlines()]
        assert self.lines, done.stderr
        self.end = self.lines[-1]
        assert self.end["ev"] == "end", done.stderr
        self.status = self.end["status"]

    def of(self, ev: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["ev"] == ev]

    def rank(self, rank: int) -> dict[str, Any]:
        return next(m for m in self.status["ranks"] if m["rank"] == rank)


def test_two_ranks_train_to_the_end(home: Home) -> None:
    ended = launch(home)
    assert (ended.code, ended.end["code_from"], ended.status["verdict"]) == (0, "job", "passed")
    assert [step["step"] for step in ended.of("step")] == list(range(1, STEPS + 1))
    for step in ended.of("step"):
        assert isinstance(step["metrics"]["reward/mean"], float)
        assert step["metrics"]["reward/mean"] == step["raw"]["reward"]
        assert step["metrics"]["kl/reference"] >= 0
    assert (ended.status["step"], ended.status["steps_total"], ended.status["training_complete"]) == (
        STEPS,
        STEPS,
        True,
    )
    assert [(ended.rank(r)["state"], ended.rank(r)["code"]) for r in (0, 1)] == [("exited", 0), ("exited", 0)]
    assert ended.status["framework"] == "trl"
    assert home.status()["verdict"] == "passed"


def test_a_killed_rank_is_the_first_failure(home: Home) -> None:
    ended = launch(home, fault="kill")
    first = ended.status["first_failure"]
    assert (first["rank"], first["signal"], ended.code) == (1, "SIGKILL", 137)
    assert ended.rank(1)["sent"] == []
    assert ended.rank(0)["state"] in ("exited", "killed")
    assert not ended.status["training_complete"]
    assert ended.status["verdict"] == "failed"


def test_an_abort_in_teardown_fails_a_complete_training(home: Home) -> None:
    ended = launch(home, fault="abort-teardown", steps=4)
    assert (ended.status["verdict"], ended.status["training_complete"], ended.code) == ("failed", True, 134)
    assert ended.status["first_failure"]["signal"] == "SIGABRT"


@pytest.mark.parametrize("kernel", ["on", "off"])
def test_torchrun_workers_are_members_with_their_own_ends(home: Home, kernel: str) -> None:
    ended = under_torchrun(home, [], env={"GRPOTUI_PIDFD_INFO": kernel})
    assert [ended.rank(rank)["owned"] for rank in (0, 1)] == [False, False]
    driver = next(m for m in ended.status["ranks"] if m["role"] == "driver")
    assert driver["code"] == 1
    end = ended.rank(1)
    assert (end["state"], end.get("signal")) in (("killed", "SIGSEGV"), ("not_observable", None))
    if end["state"] == "killed":
        assert (ended.status["first_failure"]["rank"], ended.code) == (1, 139)


def test_the_wrapper_sees_a_worker_s_end_whatever_the_kernel_tells(home: Home) -> None:
    ended = under_torchrun(home, ["--no-python"], env={"GRPOTUI_PIDFD_INFO": "off"})
    assert (ended.rank(1)["state"], ended.rank(1)["signal"]) == ("killed", "SIGSEGV")
    assert (ended.status["first_failure"]["rank"], ended.code) == (1, 139)


def under_torchrun(home: Home, flags: list[str], *, env: dict[str, str]) -> Ended:
    worker = ["{wrapper}", "{python}"] if flags else []
    argv = ["{python}", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", *flags, *worker]
    argv += ["{profile_dir}/trl_tiny.py", "--steps", "6", "--fault", "segv", "--fault-step", "3"]
    profile = home.profile(
        f'name = "torchrun"\nframework = "trl"\n[launch]\nmode = "command"\npython = "{TRAINER}"\n'
        f"argv = {json.dumps([w.replace('{profile_dir}', PROFILES) for w in argv])}\n"
        '[launch.env]\nOMP_NUM_THREADS = "1"\n[logs]\nlogging_steps = 1\n'
    )
    return Ended(home.run("launch", profile, "--json", timeout=240, env=env))


PROFILES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "profiles")
