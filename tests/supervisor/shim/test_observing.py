"""Workers of a launcher: other processes' children, whose true status is recorded or none at all."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from support.runs import kill
from support.waiting import wait_until

from grpotui_supervisor.shim import observing, pidfd, procfs
from grpotui_supervisor.shim.members import Table

if TYPE_CHECKING:
    from pathlib import Path

    from support.runs import ShimRun

_LAUNCHER = """
import os, subprocess, sys, time
# as torchrun does: workers in sessions of their own, waits for them, ends with a status of its own
scripts, code = sys.argv[2:], int(sys.argv[1])
def start(rank, script):
    env = {**os.environ, "RANK": str(rank), "WORLD_SIZE": str(len(scripts))}
    return subprocess.Popen(["/bin/sh", "-c", script], env=env, start_new_session=True)
workers = [start(rank, script) for rank, script in enumerate(scripts)]
for rank, worker in enumerate(workers):
    if worker.wait() and os.environ.get("RESTART"):
        start(rank, os.environ["RESTART"]).wait()
os._exit(code)
"""


def launch(shim: ShimRun, code: int, *scripts: str, env: dict[str, str] | None = None, **specification: Any) -> None:
    """A driver with one worker for each script."""
    start = {
        "member": "driver",
        "rank": None,
        "role": "driver",
        "argv": [sys.executable, "-I", "-S", "-c", _LAUNCHER, str(code), *scripts],
        "cwd": "/",
        "env": {procfs.RUN_MARK: shim.run, procfs.MEMBER_MARK: "driver", **(env or {})},
    }
    shim.start([], starts=[start], observe=True, **specification)


def observed(shim: ShimRun, count: int) -> list[dict[str, Any]]:
    """The workers that were found, by rank."""
    found: list[dict[str, Any]] = wait_until(
        lambda: w if len(w := [r for r in shim.of("spawned") if not r["owned"]]) >= count else [],
        what=f"{count} workers",
    )
    return sorted(found, key=lambda r: r["rank"])


def wait_for_file(path: Path) -> str:
    """Shell words that wait until the file is there."""
    return f"while ! [ -e {path} ]; do sleep 0.02; done"


def _has_exit_info() -> bool:
    with subprocess.Popen(["/bin/true"]) as child:
        fd = os.pidfd_open(child.pid)
    try:
        return pidfd.exit_status(fd) is not None
    finally:
        os.close(fd)


@pytest.mark.parametrize("info", [True, False])
def test_workers_have_their_own_status(shim: ShimRun, tmp_path: Path, info: bool) -> None:
    """The launcher says 1; a worker that left 3 has left 3, or nobody knows: never 1, never 0."""
    go = wait_for_file(tmp_path / "go")
    launch(shim, 1, f"{go}; exit 3", f"{go}; kill -SEGV $$", f"{go}; exit 0", pidfd_info=info, limits={"grace": 600})
    workers = observed(shim, 3)
    assert [(w["rank"], w["role"], w["owned"]) for w in workers] == [(rank, "rank", False) for rank in range(3)]
    driver = next(r for r in shim.of("spawned") if r["member"] == "driver")
    assert {w["parent"] for w in workers} == {driver["pid"]}
    (tmp_path / "go").touch()
    shim.wait_done()
    shim.check()
    true = {0: 3, 1: "SIGSEGV", 2: 0}
    told = {r["rank"]: r["signal"] or r["code"] for r in shim.of("exit") if r["rank"] is not None}
    unknown = {r["rank"] for r in shim.of("not_observable")}
    assert told == {rank: true[rank] for rank in told}
    assert told.keys() | unknown == {0, 1, 2}
    if info and _has_exit_info():
        assert not unknown
    assert shim.exit_of_member("driver")["code"] == 1


def test_the_first_worker_that_failed_is_the_cause(shim: ShimRun, tmp_path: Path) -> None:
    if not _has_exit_info():
        pytest.skip("this kernel does not tell the status of another's child")
    later = f"{wait_for_file(tmp_path / 'go')}; exit 5"
    launch(shim, 1, later, f"{wait_for_file(tmp_path / 'first')}; exit 3", limits={"grace": 600})
    observed(shim, 2)
    (tmp_path / "first").touch()
    shim.wait_for("exit")
    (tmp_path / "go").touch()
    shim.wait_done()
    (failure,) = shim.of("first_failure")
    assert (failure["rank"], failure["code"]) == (1, 3)


@pytest.mark.parametrize("survivor", ["worker", "guard"])
def test_a_worker_that_was_restarted(shim: ShimRun, tmp_path: Path, survivor: str) -> None:
    """The launcher dealt with the failure: a second worker of the same rank, and the run passes."""
    go = wait_for_file(tmp_path / "go")
    launch(shim, 0, f"{go}; exit 3", env={"RESTART": f"{wait_for_file(tmp_path / 'more')}; exit 0"})
    (first,) = observed(shim, 1)
    (tmp_path / "go").touch()
    second = observed(shim, 2)[1]
    assert (second["rank"], first["rank"]) == (0, 0)
    assert second["member"] != first["member"]
    if survivor == "guard":
        kill(shim.worker)
        shim.wait_for("takeover")
    (tmp_path / "more").touch()
    shim.wait_done()
    shim.check()
    assert not shim.of("first_failure")
    assert shim.exit_of_member("driver")["code"] == 0


def test_a_launcher_that_is_killed_leaves_workers_to_be_ended(shim: ShimRun) -> None:
    stubborn = 'trap "" INT TERM; exec sleep 3600'
    launch(shim, 0, "exec sleep 3600", stubborn, limits={"grace": 600, "leftover_grace": 0.2, "terminate": 1.5})
    workers = observed(shim, 2)
    driver = next(r for r in shim.of("spawned") if r["member"] == "driver")
    kill(driver["pid"])
    shim.wait_done()
    shim.check()
    assert (shim.of("stop")[0]["plan"], shim.of("stop")[0]["signal"]) == ("leftovers", "SIGTERM")
    ends = [shim.exit_of_member(w["member"]) for w in workers]
    assert [(e["signal"], e["sent"][0]) for e in ends] == [("SIGTERM", "SIGTERM"), ("SIGKILL", "SIGTERM")]
    assert shim.of("first_failure")[0]["member"] == "driver"
    assert not shim.of("adopted"), "an observed worker is no orphan as well"


def test_a_stop_reaches_the_launcher_first(shim: ShimRun) -> None:
    """It ends its workers itself, as it would on Ctrl-C; what is left gets the signal when it is gone."""
    launch(shim, 0, "exec sleep 3600", limits={"interrupt": 30, "terminate": 30})
    (worker,) = observed(shim, 1)
    shim.request("stop")
    shim.wait_done()
    assert shim.exit_of_member(worker["member"])["sent"] == ["SIGINT"]
    members = [r["members"] for r in shim.of("stop")]
    assert members[0] == ["driver"]
    assert not shim.of("first_failure")


def test_strange_environments_are_no_workers(shim: ShimRun) -> None:
    """Only a number is a rank; a fault while looking must not keep a stop from being carried out."""
    strange = [f"RANK='{rank}' exec sleep 3600" for rank in ("²", "-1", "1" * 5000, "zero", "")]
    launch(shim, 0, " & ".join(f"({script})" for script in strange) + " & exec sleep 3600", limits={"interrupt": 20})
    observed(shim, 1)
    shim.request("kill")
    shim.wait_done()
    assert len([r for r in shim.of("spawned") if not r["owned"]]) == 1
    assert b"Error" not in (shim.path / "shim.err").read_bytes()


def test_a_tree_deeper_than_the_stack_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault there would come back in every round. Processes 1 to 5000, each the child of the one before it."""
    depth, found = 5000, list[tuple[int, int | None, str]]()

    def environment(pid: int) -> dict[str, str]:
        return {"WORLD_SIZE": "1", **({"RANK": "7"} if pid == depth else {})}

    def observe(_job: object, pid: int, rank: int | None, role: str) -> bool:
        found.append((pid, rank, role))
        return True

    monkeypatch.setattr(procfs, "children", lambda pid: [pid + 1] if pid < depth else [1])  # and back to the top
    monkeypatch.setattr(procfs, "title", lambda _pid: "python")
    monkeypatch.setattr(procfs, "environment", environment)
    monkeypatch.setattr(observing, "_observe", observe)
    assert observing._descend(SimpleNamespace(table=Table()), 1)  # type: ignore[arg-type]
    assert found == [(depth, 7, "rank")]


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("ray::WorkerDict.actor_rollout_generate_sequences", "WorkerDict"),
        ("ray::TaskRunner.run", "TaskRunner"),
        ("ray::score", "score"),
        ("ray::IDLE", None),
        ("ray::DashboardAgent", None),
        ("ray::RuntimeEnvAgent", None),
        ("ray::", None),
        ("python", None),
        ("x ray::y", None),
    ],
)
def test_rays_own_processes_are_no_workers(title: str, name: str | None) -> None:
    assert observing._ray_class(title) == name
