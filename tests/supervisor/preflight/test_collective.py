"""The ranks of a job, really started with torch on the CPU (gloo): all well, and each way in which one is not."""

from __future__ import annotations

import importlib.util
import os
import re
import socket
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest
from support.preflight import job, left_behind
from support.waiting import wait_until

from grpotui_supervisor.preflight import bandwidth, collective, ranks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from grpotui_supervisor.preflight.check import Job, Result

_HERE = sys.executable if importlib.util.find_spec("torch") else None
TRAINER = os.environ.get("GRPOTUI_TEST_TRAINER") or _HERE
pytestmark = [
    pytest.mark.trainer,
    pytest.mark.skipif(TRAINER is None, reason="GRPOTUI_TEST_TRAINER names no interpreter with torch"),
    pytest.mark.timeout(300),
]
FAULT = """
import importlib.abc, importlib.util, os, signal, sys, time

class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name != os.environ["FAULT_AT"] or os.environ.get("RANK") != os.environ["FAULT_RANK"]:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        run = spec.loader.exec_module
        def exec_module(module):
            run(module)
            fault(module)
        spec.loader.exec_module = exec_module
        return spec

def fault(module):
    kind = os.environ["FAULT"]
    if kind == "dead":
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "raises":
        raise RuntimeError("no such interface\\nadvice of the library")
    if kind.startswith("late"):
        time.sleep(float(kind.split()[1]))
    if kind == "wrong":
        add = module.all_reduce
        def all_reduce(tensor):
            add(tensor)
            tensor.add_(1)
        module.all_reduce = all_reduce
    if kind == "dead in the sum":
        module.all_reduce = lambda tensor: os.kill(os.getpid(), signal.SIGKILL)

sys.meta_path.insert(0, Finder())
"""


def with_fault(folder: Path, kind: str, rank: int, *, nproc: int = 4, at: str = "torch.distributed") -> Job:
    """A job in which the import of a module of torch's does that to one rank."""
    site = folder / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(FAULT)
    env = {"PYTHONPATH": str(site), "FAULT": kind, "FAULT_RANK": str(rank), "FAULT_AT": at}
    return job(folder, python=(str(TRAINER),), nproc=nproc, env={**env, "OMP_NUM_THREADS": "1"})


def well(folder: Path, nproc: int) -> Job:
    return job(folder, python=(str(TRAINER),), nproc=nproc, env={"OMP_NUM_THREADS": "1"})


@pytest.mark.parametrize(("nproc", "total"), [(2, 3), (4, 10), (7, 28)])
def test_every_rank_sees_the_sum(nproc: int, total: int, tmp_path: Path) -> None:
    found = collective.CHECK.run(well(tmp_path, nproc))
    assert found.outcome == "passed"
    assert found.evidence.startswith(f"{nproc} ranks by gloo: each saw {total} = {nproc}·{nproc + 1}/2, in ")
    assert [rank["seen"] for rank in found.data["ranks"]] == [total] * nproc
    assert len(found.details) == nproc
    assert re.fullmatch(rf"rank 0: saw {total} on cpu by gloo, [\d.]+ s", found.details[0])


def failed(job_of_it: Job) -> Result:
    began = time.monotonic()
    found = collective.CHECK.run(job_of_it)
    assert found.outcome == "failed", found
    assert found.next
    assert not left_behind()
    assert time.monotonic() - began < 100  # far below the limit: the others are not waited for
    return found


def test_a_rank_that_is_dead(tmp_path: Path) -> None:
    found = failed(with_fault(tmp_path, "dead", 2))
    assert found.evidence.startswith("rank 2 of 4 did not answer: at importing torch: was killed by SIGKILL")
    assert "waiting for it: rank " in found.evidence


def test_a_rank_that_dies_in_the_sum(tmp_path: Path) -> None:
    """Its peers may get errors of their own, which are not the cause."""
    found = failed(with_fault(tmp_path, "dead in the sum", 1, nproc=3))
    assert found.evidence.startswith("rank 1 of 3 did not answer: at the sum: was killed by SIGKILL")


def test_a_rank_with_an_error_of_its_own(tmp_path: Path) -> None:
    found = failed(with_fault(tmp_path, "raises", 0, nproc=2))
    assert found.evidence.startswith("rank 0 of 2 did not answer: at importing torch: RuntimeError: no such interface")


def test_a_rank_that_is_late_but_comes(tmp_path: Path) -> None:
    found = collective.CHECK.run(with_fault(tmp_path, "late 2", 1, nproc=2))
    assert found.outcome == "passed"
    assert max(rank["seconds"] for rank in found.data["ranks"]) > 2


def test_a_rank_that_does_not_come_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collective, "LIMIT_S", 12.0)
    found = failed(with_fault(tmp_path, "late 1000", 3))
    assert re.match(
        r"rank 3 of 4 did not answer: did not return after 12 s \(at importing torch, pid \d+, "
        r"state S, wchan .*\); waiting for it: rank 0, 1, 2",
        found.evidence,
    ), found.evidence


def test_a_rank_with_a_wrong_answer(tmp_path: Path) -> None:
    found = failed(with_fault(tmp_path, "wrong", 1, nproc=2))
    assert found.evidence == "rank 1 saw 4 instead of 3"


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as server:
        server.bind(("", 0))
        server.listen()
        yield server.getsockname()[1]


def test_a_port_in_use(tmp_path: Path, taken: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one is tried once."""
    free, ports = ranks.free_port, [taken]
    monkeypatch.setattr(ranks, "free_port", lambda: ports.pop() if ports else free())
    assert collective.CHECK.run(well(tmp_path, 2)).outcome == "passed"
    monkeypatch.setattr(ranks, "free_port", lambda: taken)
    found = failed(well(tmp_path, 2))
    assert found.evidence.startswith("rank 0 of 2 did not answer: at the rendezvous: ")
    assert "EADDRINUSE" in found.evidence
    assert str(taken) in found.evidence
    assert found.next == "somebody holds the port: ss -ltnp"


def test_given_up_in_the_middle(tmp_path: Path) -> None:
    stopping = threading.Event()
    one = job(tmp_path, python=(str(TRAINER),), nproc=3, stopping=stopping)
    answers: list[Result] = []
    thread = threading.Thread(target=lambda: answers.append(collective.CHECK.run(one)))
    thread.start()
    wait_until(lambda: len(left_behind()) == 3)
    stopping.set()
    thread.join(20)
    assert answers[0].outcome == "unchecked"
    assert not left_behind()


def test_how_fast_they_exchange_data(tmp_path: Path) -> None:
    found = bandwidth.CHECK.run(well(tmp_path, 2))
    assert found.outcome == "passed"
    assert re.fullmatch(r"[\d.]+ GB/s a rank \(all-reduce of 16 MiB over 2 ranks by gloo\)", found.evidence)
    assert found.data["bytes_per_s"] > 1e6
    assert bandwidth.CHECK.run(well(tmp_path, 1)).outcome == "not_applicable"


def test_how_many_ranks_a_command_starts(tmp_path: Path) -> None:
    def counted(*words: str) -> int | None:
        argv = ", ".join(f'"{word}"' for word in words)
        return ranks.count(job(tmp_path, launch=f'mode = "command"\nargv = [{argv}]'))

    assert counted("torchrun", "--nproc-per-node=8", "t.py") == 8
    assert counted("torchrun", "--nproc_per_node", "4", "t.py") == 4
    assert counted("torchrun", "--nproc-per-node=gpu", "t.py") is None
    assert counted("accelerate", "launch", "--num_processes", "7", "t.py") == 7
    assert counted("python", "-m", "verl.trainer.main_ppo", "trainer.n_gpus_per_node=2") == 2
    assert counted("bash", "run.sh") is None
