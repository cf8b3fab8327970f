"""`stop --leftovers`: it ends what outlived the ranks of one run, and never anything else."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from support.commands import of_home, refused
from support.gpu_documents import GIB, GpuRun, baseline, process
from support.processes import signals_of
from support.runs import Home, kill
from support.schemas import check_lines
from support.waiting import wait_until

from grpotui_supervisor import leftovers
from grpotui_supervisor.model.members import Killed, Leftover, NotObservable
from grpotui_supervisor.shim import procfs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEEP = 'leftovers = "keep"\n'
SLEEP = "import time\ntime.sleep(600)"
STUBBORN = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(600)"


class Crowd:
    """Processes that a test starts, each ended by it."""

    def __init__(self) -> None:
        self.started: list[subprocess.Popen[bytes]] = []

    def start(self, run: str | None, script: str = SLEEP, **options: Any) -> subprocess.Popen[bytes]:
        """One that carries the mark of that run; None: of none."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("GRPOTUI_RUN")}
        marks = {} if run is None else {procfs.RUN_MARK: run, procfs.MEMBER_MARK: "0"}
        found = subprocess.Popen([sys.executable, "-I", "-S", "-c", script], env=env | marks, **options)
        self.started.append(found)
        if script == STUBBORN:
            wait_until(lambda: signal.SIGTERM in signals_of(found.pid, "SigIgn"), what="it to ignore TERM")
        else:
            wait_until(lambda: procfs.environment(found.pid).get(procfs.RUN_MARK) == run, what="its environment")
        return found

    def clean(self) -> None:
        for one in self.started:
            one.kill()
            one.wait()


@pytest.fixture
def crowd() -> Iterator[Crowd]:
    found = Crowd()
    yield found
    found.clean()


def start_of(pid: int) -> int:
    found = procfs.stat(pid)
    assert found is not None
    return found.start


def left(one: subprocess.Popen[bytes], **changes: Any) -> Leftover:
    fields: dict[str, Any] = {"pid": one.pid, "start": start_of(one.pid), "name": "python", "member": "0"}
    return Leftover(**fields | changes)


def end(run: str, *found: Leftover) -> dict[int, Any]:
    ends = leftovers.end(run, found, terminate_s=0.3, is_interrupted=lambda: False)
    return {fate.leftover.pid: fate for fate in ends}


def ended_run(home: Home, name: str = "ended-20261129-000000-0001") -> GpuRun:
    """A run directory, made by hand, whose rank is gone and whose shim is too."""
    run = GpuRun.make(home.path / "runs" / name, [baseline("0")])
    home.path.chmod(0o700)
    (home.path / "runs").chmod(0o700)
    run.start(pid=2**22 - 5)
    run.exit(pid=2**22 - 5)
    run.write("ranks", "ranks_done", leftovers=[])
    return run


def test_a_kept_leftover_is_ended_by_the_shim(home: Home) -> None:
    run = home.launch(home.ranks_profile("orphan", launch=KEEP))
    (pid,) = wait_until(lambda: [x["pid"] for x in home.wait_for_state(run, "draining")["leftovers"]], what="it")
    wait_until(lambda: [r for r in home.records(run) if r["ev"] == "leftovers"], what="that it is kept")
    refused(home.run("stop", run, "--leftovers", stdin=subprocess.DEVNULL), 2, "this is no terminal", "--yes")
    assert procfs.is_running(pid)
    done = home.run("stop", "--leftovers", "--yes")
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    assert lines[0].startswith(f"still alive: pid {pid} ")
    assert any(
        line.startswith(f"pid {pid} ") and "killed by SIGTERM (grpotui had sent SIGTERM)" in line for line in lines
    )
    assert lines[-1] == f"no process of {run} is left"
    assert not procfs.is_running(pid)
    assert home.wait_for_state(run, "ended")["verdict"] == "passed"
    again = home.run("stop", run, "--leftovers")
    assert (again.returncode, again.stderr.strip()) == (0, f"no process of {run} is left")
    none = home.run("stop", "--leftovers")
    assert (none.returncode, none.stderr.strip()) == (0, "no run has leftovers")
    wait_until(lambda: not of_home(home), what="an end of everything")


def test_while_ranks_run_it_is_refused(home: Home) -> None:
    run = home.launch(home.ranks_profile("sleep", "orphan"))
    home.wait_for_state(run, "running")
    refused(home.run("stop", run, "--leftovers", "--yes"), 2, "still run", f"grpotui stop {run}")
    assert (home.run("stop", "--leftovers", "--yes")).stderr.strip() == "no run has leftovers"
    assert home.status(run)["state"] == "running"
    assert not [r for r in home.records(run) if r["ev"] == "request"]


@pytest.mark.parametrize("words", [("--yes",), ("--leftovers", "--now")])
def test_options_that_do_not_go_together(home: Home, words: tuple[str, ...]) -> None:
    refused(home.run("stop", *words), 2)


def test_without_a_shim_only_marked_processes_are_ended(home: Home, crowd: Crowd) -> None:
    """One obeys, one does not, one is recorded as the run's and carries no mark, and two are of others."""
    run = ended_run(home)
    obeys, stubborn = crowd.start(run.path.name), crowd.start(run.path.name, STUBBORN)
    unmarked, foreign, other = crowd.start(None), crowd.start(None), crowd.start("another-run")
    run.adopt(pid=unmarked.pid, start=start_of(unmarked.pid), name="unmarked")
    run.monitor("0")
    held = process(obeys.pid, 2 * GIB, start=start_of(obeys.pid))
    run.gpu("processes", gpu="0", reason=None, list=[held])
    done = home.run("stop", run.path.name, "--leftovers", "--yes", "--json")
    assert done.returncode == 1, done.stderr  # the unmarked one is still there
    lines = check_lines("stream", done.stdout.splitlines())
    listed = {line["pid"]: (line["gpus"], line["gpu_bytes"]) for line in lines if line["ev"] == "leftover"}
    assert listed == {obeys.pid: (["0"], 2 * GIB), stubborn.pid: ([], None), unmarked.pid: ([], None)}
    fates = {line["pid"]: line for line in lines if line["ev"] == "leftover_ended"}
    assert {pid: line["sent"] for pid, line in fates.items()} == {
        obeys.pid: ["SIGTERM"], stubborn.pid: ["SIGTERM", "SIGKILL"], unmarked.pid: [],
    }  # fmt: skip
    assert (fates[unmarked.pid]["ended"], "mark" in fates[unmarked.pid]["reason"]) == (False, True)
    assert (obeys.wait(5), stubborn.wait(5)) == (-signal.SIGTERM, -signal.SIGKILL)
    assert [one.poll() for one in (unmarked, foreign, other)] == [None, None, None]
    assert (lines[-1]["ev"], lines[-1]["exit_code"]) == ("end", 1)


def test_a_reused_pid_is_another_process(crowd: Crowd) -> None:
    """Same pid, another start time: it carries the mark even, and is not the one that was found."""
    one = crowd.start("some-run")
    fate = next(leftovers._end("some-run", [left(one, start=start_of(one.pid) - 1)], 0.3, lambda: False))
    assert isinstance(fate.state, NotObservable)
    assert fate.sent == ()
    assert one.poll() is None
    assert procfs.is_running(one.pid)


def test_a_process_without_the_mark_survives(crowd: Crowd) -> None:
    one, other = crowd.start(None), crowd.start("another-run")
    fates = end("some-run", left(one), left(other))
    assert {pid: (fate.state, fate.sent, fate.reason) for pid, fate in fates.items()} == dict.fromkeys(
        (one.pid, other.pid), (None, (), leftovers.UNMARKED)
    )
    assert (one.poll(), other.poll()) == (None, None)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a process of another user")
def test_another_user_s_process_survives(crowd: Crowd) -> None:
    one = crowd.start("some-run", f"import os\nos.setuid(65534)\n{SLEEP}")
    wait_until(lambda: os.stat(f"/proc/{one.pid}").st_uid == 65534, what="it to be nobody's")
    assert end("some-run", left(one))[one.pid].state is None
    assert one.poll() is None


def test_what_a_leftover_starts_meanwhile_is_ended_too(crowd: Crowd, tmp_path: Path) -> None:
    script = f"""
import os, signal, time
def more(*_):
    if os.fork():
        os._exit(0)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    open({str(tmp_path / "child")!r}, "w").write(str(os.getpid()))
    time.sleep(600)
signal.signal(signal.SIGTERM, more)
open({str(tmp_path / "ready")!r}, "w").close()
while True:
    time.sleep(600)
"""
    one = crowd.start("some-run", script)
    wait_until((tmp_path / "ready").exists, what="its handler")
    fates = end("some-run", left(one))
    child = int((tmp_path / "child").read_text() or 0)
    try:
        assert set(fates) == {one.pid, child}
        wait_until(lambda: not procfs.is_running(child), what="the child's end")
    finally:
        if child and procfs.environment(child).get(procfs.RUN_MARK) == "some-run":
            kill(child)


def test_how_it_ended_is_told_where_it_can_be_seen(crowd: Crowd) -> None:
    one = crowd.start("some-run")
    state = end("some-run", left(one))[one.pid].state
    assert state == Killed("SIGTERM", 15, core_dumped=False)  # our own zombie tells it


def test_control_c_stops_before_the_next_signal(crowd: Crowd) -> None:
    one = crowd.start("some-run", STUBBORN)
    asked: list[int] = []

    def is_interrupted() -> bool:
        asked.append(1)
        return len(asked) > 3

    (fate,) = leftovers.end("some-run", [left(one)], terminate_s=60, is_interrupted=is_interrupted)
    assert (fate.state, fate.sent) == (None, ("SIGTERM",))
    assert one.poll() is None


def test_several_runs_with_leftovers_are_listed_and_none_is_harmed(home: Home, crowd: Crowd) -> None:
    runs = [ended_run(home, f"ended-20261129-000000-000{number}") for number in range(2)]
    ones = [crowd.start(run.path.name) for run in runs]
    refused(home.run("stop", "--leftovers", "--yes"), 2, "2 runs have leftovers", *(run.path.name for run in runs))
    assert [one.poll() for one in ones] == [None, None]


@pytest.mark.parametrize(("answer", "code"), [(b"\n", 1), (b"n\n", 1), (b"y\n", 0)])
def test_on_a_terminal_it_asks_and_no_is_the_default(home: Home, crowd: Crowd, answer: bytes, code: int) -> None:
    run = ended_run(home)
    one = crowd.start(run.path.name)
    master, slave = pty.openpty()
    try:
        client = subprocess.Popen(
            home.command("stop", "--leftovers"), env=home.environment, stdin=slave, stdout=slave, stderr=slave
        )
        os.write(master, answer)
        assert client.wait(30) == code
        text = os.read(master, 65536).decode()
    finally:
        os.close(slave)
        os.close(master)
    assert f"still alive: pid {one.pid}" in text
    assert "End them?" in text
    if code:
        assert "nothing was sent" in text
        assert one.poll() is None
    else:
        assert one.wait(5) == -signal.SIGTERM


def test_a_copy_and_an_attached_job_are_refused(home: Home, tmp_path: Path) -> None:
    run = ended_run(home)
    run.path.rename(tmp_path / "copied")
    refused(home.run("stop", str(tmp_path / "copied"), "--leftovers", "--yes"), 2, "is a copy")
    attached = GpuRun.make(home.path / "runs" / "attached-1", None, attached={"logs": []})
    refused(home.run("stop", str(attached.path), "--leftovers", "--yes"), 2, "did not start the job")
