"""Whose a listed process is, with real processes: of the run by tree, mark or session; no pid passes for another."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pytest
from support.runs import kill
from support.waiting import wait_until

from grpotui_supervisor.gpu import naming
from grpotui_supervisor.gpu.ownership import Owners
from grpotui_supervisor.model.gpu import GpuProcess
from grpotui_supervisor.model.members import Leftover, Member, Running
from grpotui_supervisor.model.run_state import RunState, Shim
from grpotui_supervisor.shim import procfs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from grpotui_supervisor.model.holders import Holder

RUN = "demo-20261129-171500-3f2a"
CHILD = "import os, sys, time; exec(sys.argv[1]); time.sleep(60)"
PLAIN = "print(os.getpid(), flush=True)"
FORK = "pid = os.fork()\nif pid: print(os.getpid(), pid, flush=True)\n"


@dataclass
class Machine:
    """Processes that a test starts, and a file that stands for /dev/nvidia0."""

    device: Path
    started: list[subprocess.Popen[str]] = field(default_factory=list)
    pids: set[int] = field(default_factory=set)

    def start(self, code: str = PLAIN, *, holds: bool = True, env: dict[str, str] | None = None, **more: Any) -> int:
        """Starts a process that does what the code says; returns its pid."""
        return self.start_all(code, holds=holds, env=env, **more)[0]

    def start_all(
        self, code: str, *, holds: bool = True, env: dict[str, str] | None = None, **more: Any
    ) -> tuple[int, ...]:
        """Starts a process; returns the pids that it prints."""
        opening = f"held = open({str(self.device)!r})\n" if holds else ""
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", CHILD, opening + code],
            stdout=subprocess.PIPE, text=True, env={**os.environ, **(env or {})}, **more,
        )  # fmt: skip
        self.started.append(process)
        assert process.stdout is not None
        with process.stdout:
            pids = tuple(int(word) for word in process.stdout.readline().split())
        self.pids.update(pids)
        return pids

    def end(self, pid: int) -> None:
        """Ends one of them, and reaps it."""
        kill(pid)
        (process,) = (one for one in self.started if one.pid == pid)
        process.wait()
        self.pids.discard(pid)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    device = tmp_path / "nvidia0"
    device.touch()
    monkeypatch.setenv("GRPOTUI_GPU_FILES", str(tmp_path / "nvidia"))
    found = Machine(device)
    yield found
    for pid in found.pids:
        kill(pid)
    for process in found.started:
        process.wait()


def start_of(pid: int) -> int:
    found = procfs.stat(pid)
    assert found is not None
    return found.start


def member(pid: int, key: str = "0", **changes: Any) -> Member:
    known = Member(key=key, node="node-0", role="rank", rank=0, pid=pid, start=start_of(pid), state=Running())
    return replace(known, **changes)


def run(*members: Member, **changes: Any) -> RunState:
    return replace(RunState(members=MappingProxyType({m.key: m for m in members}), first_m=1), **changes)  # type: ignore[arg-type]


def look(pid: int, state: RunState, *, owners: Owners | None = None, now: int = 0) -> Holder:
    listed = {"0": (GpuProcess(pid=pid, type="compute", used_bytes=5),)}
    return (owners or Owners(RUN)).look(listed, state, now)["0"][0]


def test_a_member_and_what_descends_from_it(machine: Machine) -> None:
    pid, child = machine.start_all(FORK)
    state = run(member(pid, "3"))
    for one in (pid, child):
        found = look(one, state)
        assert (found.owner, found.member, found.used_bytes, found.start) == ("run", "3", 5, start_of(one))
        assert found.user
        assert found.name
        assert "python" in found.name


def test_leftovers_and_what_only_the_shim_has_adopted(machine: Machine) -> None:
    pid = machine.start()
    leftover = Leftover(pid=pid, start=start_of(pid), name="python", member="1")
    found = look(pid, run(leftovers=MappingProxyType({pid: leftover})))
    assert (found.owner, found.member) == ("run", "1")
    me = os.getpid()
    shim = Shim(worker=me, worker_start=start_of(me), guard=None, guard_start=None)
    found = look(pid, run(shim=shim))
    assert (found.owner, found.member) == ("run", None)


def test_the_mark_survives_everything_but_another_run_s_is_not_ours(machine: Machine) -> None:
    marked = machine.start(env={procfs.RUN_MARK: RUN, procfs.MEMBER_MARK: "2"}, start_new_session=True)
    other = machine.start(env={procfs.RUN_MARK: "another-run"}, start_new_session=True)
    assert (look(marked, run()).owner, look(marked, run()).member) == ("run", "2")
    assert look(other, run()).owner == "other"


def test_the_session_that_a_member_led(machine: Machine) -> None:
    pid, child = machine.start_all(FORK, start_new_session=True)
    leader = member(pid, "0")
    machine.end(pid)
    found = procfs.stat(child)
    assert found is not None
    assert found.sid == pid
    assert (look(child, run(leader)).owner, look(child, run(leader)).member) == ("run", "0")
    assert look(child, run(replace(leader, pid=None))).owner == "other"


def test_a_member_in_its_terminal_s_session_does_not_make_the_terminal_the_run(machine: Machine) -> None:
    attached, beside = machine.start(), machine.start()
    state = run(member(attached, attached=True, owned=False))
    assert look(attached, state).owner == "run"
    assert look(beside, state).owner == "probably"
    assert look(beside, run()).owner == "other"


def test_what_was_there_before_and_a_pid_that_is_reused(machine: Machine) -> None:
    pid = machine.start()
    assert look(pid, run(), owners=Owners(RUN, before=[(pid, start_of(pid))])).owner == "before"
    assert look(pid, run(), owners=Owners(RUN, before=[(pid, start_of(pid) - 1)])).owner == "other"
    assert look(pid, run(member(pid, start=start_of(pid) - 1))).owner == "other"


def test_probably_needs_all_of_its_conditions(machine: Machine) -> None:
    watched = machine.start()
    observed = member(watched, "pid-1", owned=False, role="ray::WorkerDict")
    began = time.monotonic_ns() - 100_000_000
    pid = machine.start()
    assert look(pid, run(observed, first_m=began)).owner == "probably"
    assert look(pid, run(observed, first_m=time.monotonic_ns() + 10**9)).owner == "other"
    assert look(pid, run(member(watched), first_m=began)).owner == "other"


def test_pids_that_are_not_of_this_namespace(machine: Machine) -> None:
    (unused,) = (pid for pid in (4_190_000,) if procfs.stat(pid) is None)
    plain = machine.start(holds=False)
    for pid in (unused, plain, 0, -1):
        found = look(pid, run())
        assert (found.owner, found.start, found.name, found.user, found.pid) == ("unseen", None, None, None, pid)


def test_whose_files_cannot_be_read_is_visible_all_the_same(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    pid = machine.start(holds=False)
    monkeypatch.setattr(naming, "holds_device", lambda _: None)
    found = look(pid, run())
    assert (found.owner, found.start) == ("other", start_of(pid))


def test_a_process_of_the_run_stays_so_when_its_parent_dies(machine: Machine) -> None:
    pid, child = machine.start_all(FORK + "else: os.setsid()")
    owners, state = Owners(RUN), run(member(pid))
    assert look(child, state, owners=owners).owner == "run"
    machine.end(pid)
    wait_until(lambda: (s := procfs.stat(child)) and s.ppid != pid, what="its adoption")
    assert look(child, state, owners=owners).owner == "run"
    assert look(child, state).owner == "other"  # who sees it only now cannot know


def watched(monkeypatch: pytest.MonkeyPatch, name: str) -> list[int]:
    """The pids that the function of procfs is asked about from now on."""
    asked: list[int] = []
    plain = getattr(procfs, name)

    def ask(pid: int) -> Any:
        asked.append(pid)
        return plain(pid)

    monkeypatch.setattr(procfs, name, ask)
    return asked


def test_what_is_known_of_a_process_is_looked_up_once(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    pid, foreign = machine.start(), machine.start(holds=False)
    asked = watched(monkeypatch, "environment")
    owners, state = Owners(RUN), run()
    for second in range(30):
        look(foreign, state, owners=owners, now=second * 10**9)
        look(pid, state, owners=owners, now=second * 10**9)
    assert asked == [foreign, pid, foreign, foreign]
    owners.forget([])
    look(pid, state, owners=owners)
    assert asked[4:] == [pid]


def test_the_cost_does_not_grow_with_the_machine(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    pids = [machine.start() for _ in range(3)]
    looked = watched(monkeypatch, "stat")
    monkeypatch.setattr(procfs, "pids", lambda: pytest.fail("a walk over all processes"))
    listed = {str(i): tuple(GpuProcess(pid=pid, type="compute") for pid in pids) for i in range(8)}
    Owners(RUN).look(listed, run(), 0)
    assert len(looked) == len(set(looked)) < 20
