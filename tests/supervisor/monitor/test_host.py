"""What the monitor records of host memory, and of what the OOM-kill counters did around an end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from support.memory_group import inside, memory_group
from support.runs import kill
from support.schemas import check, check_lines
from support.waiting import wait_until

from grpotui import text
from grpotui_supervisor import cgroup, host
from grpotui_supervisor.model.members import Exited, Member, Running
from grpotui_supervisor.monitor.host import Sampler
from grpotui_supervisor.rundir import RunDirectory
from grpotui_supervisor.shim import procfs
from grpotui_supervisor.shim.journal import Journal
from grpotui_supervisor.source.source import Source
from grpotui_supervisor.source.status import status

if TYPE_CHECKING:
    from pathlib import Path

    from support.runs import Home

EATER = """
import os, time
while not os.path.exists({file!r}): time.sleep(0.02)
x = bytearray(300 << 20)
for i in range(0, len(x), 4096): x[i] = 1
"""


class Run:
    """A source as far as the sampler looks."""

    def __init__(self) -> None:
        self.run, self.members = self, dict[str, Member]()

    def add(self, pid: int) -> None:
        found = procfs.stat(pid)
        assert found is not None
        self.members["0"] = Member(
            key="0", node="node-0", role="rank", rank=0, pid=pid, start=found.start, state=Running()
        )

    def end(self) -> None:
        member = self.members["0"]
        self.members["0"] = replace(member, state=Exited(1))


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    found = Journal(str(tmp_path / "host.jsonl"), "node-0", writer="monitor")
    found.begin()
    return found


def of(journal: Journal, ev: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [record for record in journal.read() if record["ev"] == ev]
    check_lines("host", [json.dumps(record) for record in found])
    return found


def sleeper() -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sleep", "60"])


def test_a_death_has_the_sample_before_it_and_one_after(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    kills, real = [3], host.machine
    monkeypatch.setattr(host, "machine", lambda: {**real(), "oom_kills": kills[0]})
    sampler, run = Sampler(journal), Run()
    with sleeper() as process:
        wait_until(lambda: (found := procfs.stat(process.pid)) and found.rss_pages, what="its memory")
        run.add(process.pid)
        sampler.look(run)  # type: ignore[arg-type]
        process.kill()
    kills[0] = 5
    run.end()
    sampler.look(run)  # type: ignore[arg-type]
    sampler.look(run)  # type: ignore[arg-type]
    (death,) = of(journal, "death")
    assert (death["member"], death["pid"], death["oom_kills_before"], death["oom_kills_after"]) == (
        "0",
        process.pid,
        3,
        5,
    )
    assert death["rss_before_bytes"] > 0
    assert 0 <= death["before_age_s"] < 20
    first = of(journal, "host")[0]
    assert (first["cgroup"] is None) == (first["cgroup_unavailable"] is not None)
    assert first["shm_total_bytes"] is None or 0 <= first["shm_used_bytes"] <= first["shm_total_bytes"]


def test_a_process_that_gives_its_memory_back_was_killed_before(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large one does so for seconds, and a sample in between has counted its kill already."""
    kills, real = [0], host.machine
    monkeypatch.setattr(host, "machine", lambda: {**real(), "oom_kills": kills[0]})
    monkeypatch.setattr("grpotui_supervisor.monitor.host._SAMPLE_NS", 0)
    sampler, run = Sampler(journal), Run()
    process = sleeper()
    run.add(process.pid)
    sampler.look(run)  # type: ignore[arg-type]
    process.send_signal(signal.SIGKILL)
    wait_until(lambda: (found := procfs.stat(process.pid)) is not None and found.has_ended, what="a zombie")
    kills[0] = 1
    sampler.look(run)  # type: ignore[arg-type]
    process.wait()
    run.end()
    sampler.look(run)  # type: ignore[arg-type]
    (death,) = of(journal, "death")
    assert (death["oom_kills_before"], death["oom_kills_after"]) == (0, 1)


def test_an_end_that_was_not_preceded_by_a_sample_has_none(journal: Journal) -> None:
    run = Run()
    with sleeper() as process:
        run.add(process.pid)
        run.end()
        Sampler(journal).look(run)  # type: ignore[arg-type]
        process.kill()
    assert of(journal, "death") == []


def test_nothing_new_is_recorded_before_the_heartbeat(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = host.machine()
    monkeypatch.setattr(host, "machine", lambda: dict(machine))
    monkeypatch.setattr("grpotui_supervisor.monitor.host._SAMPLE_NS", 0)
    sampler = Sampler(journal)
    for _ in range(3):
        sampler.look(Run())  # type: ignore[arg-type]
    assert len(of(journal, "host")) == 1
    machine["memory_available_bytes"] -= machine["memory_total_bytes"] // 20
    sampler.look(Run())  # type: ignore[arg-type]
    machine["oom_kills"] = (machine["oom_kills"] or 0) + 1
    sampler.look(Run())  # type: ignore[arg-type]
    assert len(of(journal, "host")) == 3


def test_a_rank_that_its_cgroup_killed(home: Home, tmp_path: Path) -> None:
    """The counter of its cgroup rose, and that is all that is said; a peer's own exit says nothing of it."""
    go = tmp_path / "go"
    eater = home.profile(EATER.format(file=str(go)), "eater.py")
    with memory_group(128 << 20) as enter:
        argv = json.dumps([*enter, sys.executable, "-I", "-S", eater])
        run = home.launch(
            home.profile(f'name = "oom"\n[launch]\nmode = "ranks"\nnproc = 1\ngrace_seconds = 0.5\nargv = {argv}\n')
        )
        pid = wait_until(lambda: home.status(run)["ranks"][0]["pid"], what="a pid")
        wait_until(lambda: inside(pid), what="the rank to have moved")
        wait_until(lambda: of_limit(home, run, 128 << 20), what="a sample in its cgroup")
        go.touch()
        document = home.wait_for_state(run, "ended")
        member = document["ranks"][0]
        assert (member["state"], member["signal"]) == ("killed", "SIGKILL")
        assert member["oom"]["cgroup_kills"] == 1
        assert member["oom"]["kernel_kills"] >= 1
        assert document["host"]["oom_kills"] >= 1
        check("status", document)
        (death,) = [r for r in home.records(run, "host") if r["ev"] == "death"]
        assert death["cgroup_limit_bytes"] == 128 << 20
        shown = home.run("status", run).stdout
        assert "rank 0: the OOM-kill counter of its cgroup rose by 1 around its end" in shown
        assert "killed by OOM" not in shown
        replayed = Source(RunDirectory(str(home.directory(run))))
        replayed.update(death["m"] - 1)
        assert status(replayed)["ranks"][0]["oom"] is None
        replayed.update(death["m"])
        assert status(replayed)["ranks"][0]["oom"] == member["oom"]


def of_limit(home: Home, run: str, limit: int) -> list[dict[str, Any]]:
    records = [r for r in home.records(run, "host") if r["ev"] == "host"]
    return [r for r in records if r["cgroup"] and r["cgroup"]["limit_bytes"] == limit]


def test_an_ordinary_kill_says_nothing_of_it(home: Home) -> None:
    run = home.launch(home.ranks_profile("sleep"))
    pid = wait_until(lambda: home.status(run)["ranks"][0]["pid"], what="a pid")
    wait_until(lambda: [r for r in home.records(run, "host") if r["ev"] == "member"], what="a sample")
    before = host.machine()["oom_kills"]
    kill(pid)
    document = home.wait_for_state(run, "ended")
    wait_until(lambda: [r for r in home.records(run, "host") if r["ev"] == "death"], what="its record")
    if host.machine()["oom_kills"] != before:
        pytest.skip("something else was killed for want of memory on this machine just then")
    assert document["ranks"][0]["oom"] is None
    assert "OOM" not in home.run("status", run).stdout


def test_words() -> None:
    member = {"role": "rank", "rank": 3, "oom": {"kernel_kills": 2, "cgroup_kills": 0, "age_s": 1.0}}
    assert text.oom_line(member) == "rank 3: the OOM-kill counter of the machine rose by 2 around its end"
    member["oom"] = {"kernel_kills": None, "cgroup_kills": 1, "age_s": 1.0}
    assert text.oom_line(member) == "rank 3: the OOM-kill counter of its cgroup rose by 1 around its end"


def test_our_own_cgroup_can_be_read_or_there_is_a_reason() -> None:
    place = cgroup.find(os.getpid())
    usage = None if isinstance(place, str) else cgroup.read(place)
    assert isinstance(place, str) or (usage is not None and (usage.current_bytes or 0) > 0)
