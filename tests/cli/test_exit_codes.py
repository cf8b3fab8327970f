"""`launch` exits with the job's code, and says whose word that is: both front ends, every way to end."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from support.commands import of_home
from support.schemas import check_lines
from support.waiting import wait_until

if TYPE_CHECKING:
    from support.runs import Home

# rank 0's mode (rank 1 exits 0) → code, whose, verdict, what the last words of --plain say
ENDS = {
    "exit0": (0, "job", "passed", "passed: every rank exited 0"),
    "exit3": (3, "job", "failed", "failed: rank 0 exited 3"),
    "exit137": (137, "job", "failed", "failed: rank 0 exited 137"),
    "kill": (137, "job", "failed", "failed: rank 0 killed by SIGKILL"),
    "segv": (139, "job", "failed", "failed: rank 0 killed by SIGSEGV"),
    "abrt": (134, "job", "failed", "failed: rank 0 killed by SIGABRT"),
}


@pytest.mark.parametrize("mode", ENDS)
def test_plain(home: Home, mode: str) -> None:
    code, _, _, words = ENDS[mode]
    done = home.run("launch", home.ranks_profile(mode, "exit0"), "--plain", preexec_fn=no_core)
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert done.stderr.splitlines()[-1].startswith(words)
    assert "\x1b" not in done.stderr
    wait_until(lambda: not of_home(home), what="an end of everything")


@pytest.mark.parametrize("mode", ["exit0", "exit3", "kill", "segv"])
def test_json(home: Home, mode: str) -> None:
    code, whose, verdict, _ = ENDS[mode]
    done = home.run("launch", home.ranks_profile(mode, "exit0"), "--json", preexec_fn=no_core)
    lines = check_lines("stream", done.stdout.splitlines())
    assert (done.returncode, done.stderr) == (code, "")
    assert [line["ev"] for line in lines].count("end") == 1
    assert (lines[0]["ev"], lines[-1]["ev"]) == ("run", "end")
    assert (lines[-1]["exit_code"], lines[-1]["code_from"]) == (code, whose)
    assert lines[-1]["status"]["verdict"] == verdict
    assert [line["state"] for line in lines if line["ev"] == "state"][-1] == "ended"


def no_core() -> None:
    import resource  # noqa: PLC0415  (in the child)

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


@pytest.mark.parametrize("front", ["--plain", "--json"])
def test_an_expectation_that_is_not_met(home: Home, front: str) -> None:
    done = home.run("launch", home.ranks_profile("exit0", more="[expect]\nsteps = 5\n"), front)
    assert done.returncode == 4
    assert "expects 5 steps, and the log shows no step: exit code 4" in done.stderr
    if front == "--json":
        end = json.loads(done.stdout.splitlines()[-1])
        assert (end["exit_code"], end["code_from"], end["status"]["verdict"]) == (4, "grpotui", "passed")


def test_a_failure_counts_more_than_an_expectation(home: Home) -> None:
    assert home.run("launch", home.ranks_profile("exit3", more="[expect]\nsteps = 5\n")).returncode == 3


def test_a_stop_from_elsewhere(home: Home) -> None:
    client = home.start("launch", home.ranks_profile("sleep", "sleep"), "--json")
    assert client.stdout is not None
    run = json.loads(client.stdout.readline())["run"]
    home.wait_for_state(run, "running")
    assert home.run("stop", run).returncode == 0
    lines = check_lines("stream", client.communicate(timeout=20)[0].splitlines())
    assert (client.returncode, lines[-1]["exit_code"], lines[-1]["code_from"]) == (130, 130, "grpotui")


def test_attach_has_the_code_that_launch_would_have_had(home: Home) -> None:
    run = home.launch(home.ranks_profile("kill", "exit0"))
    done = home.run("attach", run, "--json")
    lines = check_lines("stream", done.stdout.splitlines())
    assert (done.returncode, lines[-1]["exit_code"]) == (137, 137)
    assert home.run("attach").returncode == 137  # again, after the end


def test_an_exit_that_nobody_saw_is_no_success(home: Home) -> None:
    run = home.launch(home.ranks_profile("exit0"))
    home.wait_for_state(run, "ended")
    record = home.directory(run) / "ranks.jsonl"
    kept = [line for line in record.read_text().splitlines() if '"ev": "exit"' not in line and '"done"' not in line]
    record.write_text("\n".join(line for line in kept if "ranks_done" not in line) + "\n")
    done = home.run("attach", run, "--json")
    end = json.loads(done.stdout.splitlines()[-1])
    assert (done.returncode, end["code_from"], end["status"]["verdict"]) == (125, "grpotui", "unknown")


def test_detach_prints_the_run_id_and_nothing_else(home: Home) -> None:
    done = home.run("launch", home.ranks_profile("sleep", "sleep"), "--detach")
    (run,) = [path.name for path in (home.path / "runs").iterdir()]
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{run}\n", "")
    assert [m["state"] for m in home.status(run)["ranks"]] == ["running", "running"]
