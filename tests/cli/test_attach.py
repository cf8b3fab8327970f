"""`attach --log`: a job that grpotui did not start, followed with real processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from support.commands import refused
from support.runs import kill
from support.schemas import check, check_directory, check_lines
from support.waiting import wait_until

from grpotui_supervisor import attach
from grpotui_supervisor.errors import UsageError
from grpotui_supervisor.probes.kernel import can_see_foreign_exits
from grpotui_supervisor.rundir import RunDirectory
from grpotui_supervisor.shim import procfs
from grpotui_supervisor.source.now import look_now
from grpotui_supervisor.source.source import Source
from grpotui_supervisor.source.status import status

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.runs import Home

LIVE_ONLY = ("supervision", "monitor")
JOB = """
import os, sys, time
end, password = sys.argv[2], "--password=hunter2hunter2"
file = open(sys.argv[1], "a")
for step in range(1, 1000000):
    print(f"step:{step} - actor/loss:0.5 - critic/rewards/mean:0.25", file=file, flush=True)
    time.sleep(0.02)
    if os.path.exists(end):
        sys.exit(int(open(end).read()))
"""


class Job:
    """A process that writes steps until it is told its exit code."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.log, self._end = folder / "train.log", folder / "end"
        words = [sys.executable, "-I", "-S", "-c", JOB, str(self.log), str(self._end), "--api-key", "hunter2hunter2"]
        self.process = subprocess.Popen(
            words, env={**os.environ, "HF_TOKEN": "hf_hunter2hunter2hunter2", **environment}
        )
        wait_until(self.log.exists, what="the job's log")

    @property
    def pid(self) -> int:
        return self.process.pid

    def finish(self, code: int) -> None:
        part = self._end.with_suffix(".part")
        part.write_text(str(code))
        part.rename(self._end)
        assert self.process.wait(20) == code


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    found = Job(tmp_path)
    yield found
    found.process.kill()
    found.process.wait()


@contextmanager
def following(home: Home, *words: str, **options: Any) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`attach --log …` in the background, once its monitor runs, and the run's id."""
    known = {path.name for path in (home.path / "runs").glob("*")}
    client = home.start("attach", "--log", *words, **options)
    found = wait_until(
        lambda: [p.parent.name for p in (home.path / "runs").glob("*/host.jsonl") if p.parent.name not in known],
        what="a run",
    )
    try:
        yield client, found[0]
    finally:
        client.kill()
        client.wait()


def steps(home: Home, run: str, least: int) -> dict[str, Any]:
    return wait_until(lambda: s if ((s := home.status(run))["step"] or 0) >= least else None, what=f"step {least}")


def copy_of(home: Home, run: str, member: str) -> bytes:
    return (home.directory(run) / f"ranks/{member}/stdout.log").read_bytes()


def test_a_process_that_exits_3(home: Home, job: Job) -> None:
    with following(home, str(job.log), "--pid", str(job.pid), "--json") as (client, run):
        live = steps(home, run, 10)
        check("status", live)
        assert (live["state"], live["verdict"], live["ranks"][0]["owned"]) == ("unsupervised", None, False)
        assert (live["ranks"][0]["pid"], live["ranks"][0]["role"]) == (job.pid, "driver")
        job.finish(3)
        out, err = client.communicate(timeout=30)
    lines = check_lines("stream", out.splitlines())
    assert [line["step"] for line in lines if line["ev"] == "step"] == list(
        range(1, job.log.read_text().count("\n") + 1)
    )
    if can_see_foreign_exits():
        assert (client.returncode, lines[-1]["code_from"], lines[-1]["status"]["verdict"]) == (3, "job", "failed")
    else:
        assert (client.returncode, lines[-1]["code_from"], lines[-1]["status"]["verdict"]) == (
            125,
            "grpotui",
            "unknown",
        )
    assert copy_of(home, run, "driver") == job.log.read_bytes()
    check_directory(home.directory(run))
    assert "hunter2" not in (home.directory(run) / "run.json").read_text()
    assert err == ""
    after = home.status(run)
    assert (after["state"], after["attached"]["following_ended"]) == (
        "ended", "the process has ended, and its logs are read",
    )  # fmt: skip
    assert home.run("attach", run).returncode == client.returncode
    check("runs", json.loads(home.run("runs", "--json").stdout))
    check("status", json.loads(home.run("replay", run, "--at", "+0.2", "--json").stdout))
    assert home.run("export", run, "--to", "jsonl").stdout.count("\n") == after["step"]
    refused(home.run("stop", run), 2, "followed no more")


@pytest.mark.parametrize("sees", [True, False], ids=["kernel tells", "kernel does not tell"])
def test_a_process_that_is_killed(home: Home, job: Job, *, sees: bool) -> None:
    if sees and not can_see_foreign_exits():
        pytest.skip("this kernel tells an exit status to the parent only")
    env = {} if sees else {"GRPOTUI_PIDFD_INFO": "off"}
    with following(home, str(job.log), "--pid", str(job.pid), env=env) as (client, run):
        steps(home, run, 3)
        os.kill(job.pid, signal.SIGKILL)
        job.process.wait()
        client.communicate(timeout=30)
    document = home.status(run)
    if document["ranks"][0]["state"] == "killed":  # also without the kernel's word, while it was a zombie
        assert (client.returncode, document["verdict"], document["ranks"][0]["signal"]) == (137, "failed", "SIGKILL")
    else:
        assert not sees
        assert (client.returncode, document["verdict"]) == (125, "unknown")
        assert document["ranks"][0]["state"] == "not_observable"


def test_a_killed_monitor_is_replaced_and_no_byte_is_lost_or_doubled(home: Home, job: Job) -> None:
    with following(home, str(job.log), "--pid", str(job.pid)) as (client, run):
        for _ in range(3):
            count = steps(home, run, 1)["step"]
            kill(int([r for r in home.records(run, "timeline") if r["ev"] == "monitor"][-1]["pid"]))
            os.rename(job.log, f"{job.log}.{count}")  # it goes on writing there
            wait_until(lambda: home.status(run)["monitor"]["alive"], what="another monitor")
            os.rename(f"{job.log}.{count}", job.log)
            steps(home, run, count + 20)
        job.finish(0)
        client.communicate(timeout=30)
    assert copy_of(home, run, "driver") == job.log.read_bytes()
    assert [r["why"] for r in home.records(run, "timeline") if r["ev"] == "origin"] == ["attached"]
    assert len(home.status(run)["monitor"]["gaps"]) >= 3


def test_live_at_t_is_replay_at_t(home: Home, job: Job) -> None:
    with following(home, str(job.log), "--pid", str(job.pid)) as (client, run):
        directory = RunDirectory(str(home.directory(run)))
        staying, seen = Source(directory), []

        renamed, finished = False, False

        def look() -> bool:
            """Look with both, and let the log and the job go on by what has been seen, not by how often."""
            nonlocal renamed, finished
            seen.append(look_now(staying)[0])
            seen.append(look_now(Source(directory))[0])
            known = {document["step"] for document in seen}
            if not renamed and len(known) > 5:
                os.rename(job.log, f"{job.log}.1")
                job.log.write_text("step:5000 - actor/loss:0.5\n")
                renamed = True
            if not finished and 5000 in known:
                job.finish(0)
                finished = True
            return staying.run.following_ended is not None

        wait_until(look, seconds=60, what="the end of following")
        client.communicate(timeout=30)
    assert {document["state"] for document in seen} == {"unsupervised", "ended"}
    assert len({document["step"] for document in seen}) > 5
    assert seen[-1]["attached"]["logs"][0]["rotated"] == 1
    for live in seen:
        check("status", live)
        replayed = Source(directory)
        replayed.update(live["as_of"]["m"])
        again = {key: value for key, value in status(replayed).items() if key not in LIVE_ONLY}
        assert again == {key: value for key, value in live.items() if key not in LIVE_ONLY}


def test_without_a_pid_nothing_is_claimed(home: Home, tmp_path: Path) -> None:
    logs = [tmp_path / f"rank{rank}.log" for rank in range(2)]
    logs[1].write_text("step:7 - actor/loss:0.5\nTraining finished 100%\n")
    with following(home, *map(str, logs), "--framework", "verl") as (first, run):
        document = steps(home, run, 7)
        check("status", document)
        assert (document["state"], document["verdict"]) == (None, None)
        assert [(m["rank"], m["role"], m["state"]) for m in document["ranks"]] == [
            (0, "log", "not_observable"), (1, "log", "not_observable"),
        ]  # fmt: skip
        states = {log["path"]: (log["state"], log["history_bytes"]) for log in document["attached"]["logs"]}
        assert states == {str(logs[0]): ("missing", None), str(logs[1]): ("followed", logs[1].stat().st_size)}
        assert "whether it runs is not known" in home.run("status", run).stdout
        second = home.start("attach", run, "--json")
        logs[0].write_text("")
        wait_until(lambda: home.status(run)["attached"]["logs"][0]["state"] == "followed", what="the late log")
        done = home.run("stop", run)
        assert (done.returncode, done.stdout) == (0, "")
        assert "the job itself was not touched" in done.stderr
        out, _ = second.communicate(timeout=20)
        assert (second.returncode, first.wait(20)) == (125, 125)
    lines = check_lines("stream", out.splitlines())
    assert {line["ev"] for line in lines} >= {"run", "log", "step", "end"}
    assert home.status(run)["state"] is None
    check_directory(home.directory(run))
    assert home.status(run)["attached"]["following_ended"] == "asked for: grpotui stop"


def test_stop_never_touches_the_job(home: Home, job: Job) -> None:
    with following(home, str(job.log), "--pid", str(job.pid)) as (client, run):
        for words in ((run,), (run, "--now")):
            refused(home.run("stop", *words), 2, "does not own it", f"kill -INT {job.pid}")
        refused(home.run("stop"), 2, "no run is live")
        client.send_signal(signal.SIGINT)
        _, err = client.communicate(timeout=20)
        assert client.returncode == 0
        assert f"detached; the run goes on: grpotui attach {run}" in err
        assert job.process.poll() is None
        assert home.status(run)["monitor"]["alive"]


def test_the_rank_of_the_process(home: Home, tmp_path: Path) -> None:
    job = Job(tmp_path, RANK="3", HF_HOME="/models")
    try:
        with following(home, str(job.log), "--pid", str(job.pid)) as (_, run):
            (member,) = home.status(run)["ranks"]
            assert (member["rank"], member["role"], member["pid"]) == (3, "rank", job.pid)
            assert wait_until(lambda: home.status(run)["ranks"][0]["rss_bytes"], what="a sample") > 0
            facts = json.loads((home.directory(run) / "run.json").read_text())
            assert facts["environment"]["HF_HOME"] == "/models"
    finally:
        job.process.kill()
        job.process.wait()


def test_following_ends_after_a_long_silence(home: Home, tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("step:1 - actor/loss:0.5\n")
    directory = attach.start([str(log)], pid=None, framework="auto", environment=home.environment, quiet_seconds=1.0)
    done = home.run("attach", directory.run_id)
    assert done.returncode == 125
    assert home.status(directory.run_id)["attached"]["following_ended"] == "no log grew for 1 s"


def test_what_cannot_be_followed(home: Home, tmp_path: Path) -> None:
    log, pipe = tmp_path / "train.log", tmp_path / "pipe"
    log.write_text("")
    os.mkfifo(pipe)
    child = subprocess.Popen(["sleep", "600"])
    cases = [
        (("-",), "one reader only", "tee"),
        ((str(tmp_path),), "is a directory", "--log A --log B"),
        ((str(pipe),), "no regular file", "tee"),
        ((str(tmp_path / "no/train.log"),), "there is no folder", "path right"),
        ((str(log), str(log)), "given twice", ""),
        ((str(log), "--pid", "2"), "thread of the kernel" if procfs.is_kernel_thread(2) else "process 2", ""),
        ((str(log), "--pid", "4194304"), "does not exist", "without --pid"),
        ((str(log), "--framework", "no"), "no reader", "leave it out"),
    ]
    for words, message, hint in cases:
        refused(home.run("attach", "--log", *words), 2, message, hint)
    child.kill()
    pid = child.pid  # a zombie
    wait_until(lambda: (found := procfs.stat(pid)) is not None and found.has_ended)
    refused(home.run("attach", "--log", str(log), "--pid", str(pid)), 2, "has ended already")
    child.wait()
    refused(home.run("attach", "--pid", str(os.getpid())), 2, "go with --log", "--log FILE")
    refused(home.run("attach", str(log)), 2, "is a file, no run", f"--log {log}")
    assert not list((home.path / "runs").glob("*"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a process of another user")
def test_a_process_of_another_user(home: Home, tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("")
    child = subprocess.Popen(["sleep", "600"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: 12345)
        with pytest.raises(UsageError, match="belongs to uid 0, you are uid 12345"):
            attach.start([str(log)], pid=child.pid, framework="auto", environment=home.environment)
    child.kill()
    child.wait()
