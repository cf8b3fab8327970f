"""The faults: how the processes really end, seen as their parent sees it."""

import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support.demo import Job, Start
from support.waiting import wait_until

SMALL = ("--steps", "4", "--prompts", "10", "--fault-step", "3")
FINAL = "Final validation metrics"


def ignores_interrupt(pid: int) -> bool:
    """Read the signal mask of a process; a process that has ended ignores nothing."""
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"SigIgn:\s*([0-9a-f]+)", status)
    return found is not None and bool(int(found[1], 16) >> (signal.SIGINT - 1) & 1)


def idle(pid: int, seconds: float = 0.3) -> Callable[[], bool]:
    """Make a condition: the process is alive and has used no processor time for a while."""
    seen: list[tuple[float, list[str]]] = []

    def quiet() -> bool:
        used = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        if not seen or seen[-1][1] != used:
            seen.append((time.monotonic(), used))
        return time.monotonic() - seen[-1][0] >= seconds

    return quiet


def stopped_at_the_fault(job: Job) -> None:
    """Two steps were finished, the third was not."""
    assert len(job.steps()) == 2
    assert FINAL not in job.stdout()


@pytest.mark.parametrize(
    ("fault", "code"), [("kill", -signal.SIGKILL), ("segv", -signal.SIGSEGV), ("exit3", 3), ("raise", 1)]
)
def test_a_rank_ends_and_its_peers_fail(start: Start, fault: str, code: int) -> None:
    job = start(*SMALL, "--fault", fault, world=3)
    assert job.processes[1].wait(30) == code
    ended = time.monotonic()
    assert job.codes() == [1, code, 1]
    assert time.monotonic() - ended < 1
    stopped_at_the_fault(job)
    for peer in (0, 2):
        assert "PeerLostError: Connection closed by peer [127.0.0.1]:" in job.stderr(peer)
    assert ("ValueError: the reward function failed at step 3" in job.stderr(1)) == (fault == "raise")


def test_rank_zero_can_be_the_one(start: Start) -> None:
    job = start(*SMALL, "--fault", "kill", "--fault-rank", "0")
    assert job.codes() == [-signal.SIGKILL, 1]
    assert "Connection closed by peer" in job.stderr(1)


def test_abort_in_teardown_comes_after_the_last_line(start: Start) -> None:
    job = start("--steps", "2", "--prompts", "10", "--fault", "abort-teardown")
    assert job.codes() == [0, -signal.SIGABRT]
    assert len(job.steps()) == 2
    assert FINAL in job.stdout()


def test_hang_leaves_everyone_deaf_to_interrupts(start: Start) -> None:
    job = start(*SMALL, "--fault", "hang")
    pids = [process.pid for process in job.processes]
    wait_until(lambda: all(ignores_interrupt(pid) for pid in pids), what="both ranks have come to the fault")
    for pid in pids:
        wait_until(idle(pid), what="the rank hangs")
    for process in job.processes:
        process.send_signal(signal.SIGINT)
    assert [process.poll() for process in job.processes] == [None, None]
    stopped_at_the_fault(job)
    for process in job.processes:
        process.terminate()
    assert job.codes() == [-signal.SIGTERM, -signal.SIGTERM]


@pytest.mark.parametrize(("fault", "code", "deaf"), [("kill-hang", -9, True), ("leave-early", 0, False)])
def test_peers_may_not_notice(start: Start, fault: str, code: int, *, deaf: bool) -> None:
    job = start(*SMALL, "--fault", fault)
    assert job.processes[1].wait(30) == code
    wait_until(idle(job.processes[0].pid), what="the peer waits")
    assert ignores_interrupt(job.processes[0].pid) == deaf
    stopped_at_the_fault(job)
    job.processes[0].send_signal(signal.SIGINT)
    if deaf:
        job.processes[0].terminate()
    assert job.codes() == [-signal.SIGTERM if deaf else -signal.SIGINT, code]


def test_orphan_survives_a_run_that_ends_well(start: Start) -> None:
    job = start(*SMALL, "--fault", "orphan")
    assert job.codes() == [0, 0], job.stderr(1)
    assert FINAL in job.stdout()
    found = re.search(r"process (\d+) stays behind", job.stderr(1))
    assert found
    orphan = int(found[1])
    try:
        wait_until(lambda: b"demo-orphan" in Path(f"/proc/{orphan}/cmdline").read_bytes(), what="it started")
        assert os.getsid(orphan) not in {os.getsid(0), *(process.pid for process in job.processes)}
        assert not any("socket:" in os.readlink(fd) for fd in Path(f"/proc/{orphan}/fd").iterdir())
    finally:
        os.kill(orphan, signal.SIGKILL)


def test_zero_reward_teaches_nothing(start: Start) -> None:
    job = start("--steps", "2", "--prompts", "10", "--fault", "zero-reward")
    assert job.codes() == [0, 0], job.stderr()
    for step in job.steps():
        for name in ("score", "rewards", "advantages"):
            assert [step[f"critic/{name}/{end}"] for end in ("mean", "max", "min")] == [0, 0, 0]
        assert step["actor/grad_norm"] == step["actor/kl_loss"] == step["actor/pg_loss"] == 0


def test_truncate_cuts_every_answer(start: Start) -> None:
    job = start("--steps", "2", "--prompts", "10", "--max-length", "6", "--fault", "truncate")
    assert job.codes() == [0, 0], job.stderr()
    for step in job.steps():
        assert step["response_length/clip_ratio"] == 1.0
        assert step["response_length/min"] == step["response_length/max"] == 6
        assert step["critic/score/max"] < 1


def test_lasting_faults_may_begin_later(start: Start) -> None:
    job = start(*SMALL, "--fault", "zero-reward")
    assert job.codes() == [0, 0], job.stderr()
    assert [step["critic/score/max"] > 0 for step in job.steps()] == [True, True, False, False]


def test_fault_comes_from_the_environment_and_the_flag_wins(start: Start) -> None:
    env = {"GRPOTUI_DEMO_FAULT": "kill", "GRPOTUI_DEMO_FAULT_STEP": "2", "GRPOTUI_DEMO_FAULT_RANK": "0"}
    killed = start("--steps", "4", "--prompts", "10", env=env)
    exited = start("--steps", "4", "--prompts", "10", "--fault", "exit3", "--fault-rank", "1", env=env)
    assert killed.codes() == [-signal.SIGKILL, 1]
    assert exited.codes() == [1, 3]
    assert len(killed.steps()) == len(exited.steps()) == 1


@pytest.mark.parametrize(
    ("arguments", "env", "message"),
    [
        ((), {"GRPOTUI_DEMO_FAULT": "kil"}, "there is no fault 'kil'"),
        (("--fault", "kill", "--fault-rank", "2"), {}, "rank 2, the last one is 1"),
        (("--fault", "kill", "--fault-step", "9", "--steps", "8"), {}, "step 9, the last one is 8"),
        (("--group-size", "1"), {}, "1 is less than 2"),
    ],
)
def test_wrong_wishes_are_refused(start: Start, arguments: tuple[str, ...], env: dict[str, str], message: str) -> None:
    job = start(*arguments, env=env)
    assert job.codes() == [2, 2]
    assert message in job.stderr()
