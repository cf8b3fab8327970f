"""What a launch starts: the ranks' environment, the words of the command, companions, ports."""

from __future__ import annotations

import json
import os
import socket
import sys
from typing import TYPE_CHECKING, Any

import pytest
from support.schemas import check_directory
from support.waiting import wait_until

from grpotui_supervisor import launch
from grpotui_supervisor.errors import UsageError
from grpotui_supervisor.profiles import load_profile
from grpotui_supervisor.shim import procfs

if TYPE_CHECKING:
    from support.runs import Home

SHOW = "import json,os,sys;print(json.dumps([sys.argv,dict(os.environ),os.getcwd()]))"


def shown(home: Home, run: str, member: str) -> Any:
    log = home.directory(run) / f"ranks/{member}/stdout.log"
    return json.loads(wait_until(lambda: log.exists() and log.read_text().endswith("\n") and log.read_text()))


def profile(home: Home, launch_lines: str, more: str = "") -> str:
    argv = json.dumps(
        ["{python}", "-c", SHOW, "rank={rank}", "port={master_port}", "{profile_dir}", "{run_dir}", "{x}"]
    )
    head = f'name = "show"\n[launch]\nargv = {argv}\npython = "{{grpotui_python}}"\n'
    return home.profile(f'{head}{launch_lines}\n[launch.env]\nMINE = "1"\n{more}')


def test_ranks_get_what_the_collectives_need(home: Home) -> None:
    words = ["launch", profile(home, 'mode = "ranks"\nnproc = 3'), "--detach"]
    run = home.run(*words, env={"CUDA_VISIBLE_DEVICES": "1,0", "RANK": "9", "GRPOTUI_RUN_ID": "outer"}).stdout.strip()
    ranks = [shown(home, run, str(rank)) for rank in range(3)]
    ports = {env["MASTER_PORT"] for _, env, _ in ranks}
    assert len(ports) == 1
    for rank, (argv, env, folder) in enumerate(ranks):
        expected = {
            "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "3", "LOCAL_WORLD_SIZE": "3",
            "MASTER_ADDR": "127.0.0.1", "CUDA_VISIBLE_DEVICES": "1,0", "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
            "PYTHONUNBUFFERED": "1", "TQDM_MININTERVAL": "5", "MINE": "1", "GRPOTUI_RUN_ID": run,
            "GRPOTUI_RANK": str(rank), "GRPOTUI_RUN_DIR": str(home.directory(run)),
        }  # fmt: skip
        assert {name: env.get(name) for name in expected} == expected
        assert argv[1:] == [
            f"rank={rank}", f"port={env['MASTER_PORT']}", str(home.path.parent), str(home.directory(run)), "{x}",
        ]  # fmt: skip
        assert folder == os.getcwd()


def test_a_driver_is_started_as_it_is(home: Home) -> None:
    run = home.launch(profile(home, 'mode = "command"'))
    _, env, _ = shown(home, run, "driver")
    assert "RANK" not in env
    assert (env["GRPOTUI_RANK"], env["GRPOTUI_RUN_ID"]) == ("driver", run)


def test_the_users_own_settings_come_before_the_defaults(home: Home) -> None:
    words = ["launch", profile(home, 'mode = "ranks"\nnproc = 1'), "--detach"]
    run = home.run(*words, env={"TQDM_MININTERVAL": "1", "CUDA_DEVICE_ORDER": "FASTEST_FIRST"}).stdout.strip()
    _, env, _ = shown(home, run, "0")
    assert (env["TQDM_MININTERVAL"], env["CUDA_DEVICE_ORDER"]) == ("1", "FASTEST_FIRST")


def test_a_dry_run_prints_what_is_started(home: Home) -> None:
    path = home.ranks_profile("sleep", "sleep")
    printed = home.run("launch", path, "--dry-run")
    assert printed.returncode == 0
    assert not home.path.exists()  # and it starts nothing
    run = home.launch(path)
    for member in home.status(run)["ranks"]:
        facts = json.loads((home.directory(run) / "run.json").read_text())
        argv = next(m["argv"] for m in facts["members"] if m["rank"] == member["rank"])
        assert " ".join(argv[:4]) in printed.stdout


def test_the_words_that_lead_to_the_interpreter(home: Home) -> None:
    path = profile(home, 'mode = "ranks"\nnproc = 1')
    run = home.launch(path, "--set", 'launch.python=["/usr/bin/env", "-u", "MINE", "{grpotui_python}"]')
    argv, env, _ = shown(home, run, "0")
    assert (argv[1], "MINE" in env) == ("rank=0", False)


def test_companions_are_started_first_and_ended_last(home: Home) -> None:
    companion = '[companions.judge]\nargv = ["/bin/sleep", "600"]\n[companions.judge.env]\nPORT = "8123"\n'
    path = home.ranks_profile("exit0", "exit0", more=companion)
    done = home.run("launch", path)
    assert done.returncode == 0, done.stderr
    document = home.status()
    judge = next(m for m in document["ranks"] if m["role"] == "companion")
    assert (judge["member"], judge["signal"], judge["sent"]) == ("judge", "SIGTERM", ["SIGTERM"])
    (run,) = (home.path / "runs").iterdir()
    order = [(r["ev"], r["member"]) for r in home.records(run.name) if r["ev"] in ("spawned", "exit")]
    assert order[0] == ("spawned", "judge")
    assert order[-1] == ("exit", "judge")


def test_a_companion_that_cannot_start_keeps_the_ranks_from_starting(home: Home) -> None:
    done = home.run("launch", home.ranks_profile("exit0", more='[companions.judge]\nargv = ["/no/such"]\n'))
    assert done.returncode == 127
    document = home.status()
    assert [m["state"] for m in document["ranks"]] == ["failed_to_start", "failed_to_start"]
    assert document["first_failure"]["member"] == "judge"


def test_a_port_in_use_is_said_before_anything_starts(home: Home) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        path = profile(home, 'mode = "ranks"\nnproc = 1', f'MASTER_PORT = "{port}"\n')
        with pytest.raises(UsageError, match=f"MASTER_PORT {port} .* in use"):
            launch.prepare(load_profile(path), dict(os.environ), cwd="/")


def test_the_specification_keeps_marks_out_of_the_profile_s_reach(home: Home) -> None:
    path = home.profile(
        'name = "x"\n[launch]\nmode = "command"\nargv = ["true"]\n[launch.env]\nGRPOTUI_RUN_ID = "other"\n'
    )
    plan = launch.prepare(load_profile(path), {}, cwd="/")
    from grpotui_supervisor.rundir import RunDirectory  # noqa: PLC0415

    spec = launch.specification(RunDirectory("/tmp/the-run"), plan)
    assert spec["starts"][0]["env"][procfs.RUN_MARK] == "the-run"


def test_without_a_hook_nothing_of_it_is_there(home: Home) -> None:
    words = ["launch", profile(home, 'mode = "ranks"\nnproc = 1'), "--detach"]
    run = home.run(*words, env={"GRPOTUI_HOOK": "phases", "PYTHONPATH": os.pathsep.join(sys.path)}).stdout.strip()
    _, env, _ = shown(home, run, "0")
    assert "GRPOTUI_HOOK" not in env
    assert env["PYTHONPATH"] == os.pathsep.join(sys.path)


@pytest.mark.parametrize("mode", ["ranks", "command"])
def test_the_hook_comes_first_and_the_user_s_path_behind_it(home: Home, mode: str) -> None:
    lines = f'mode = "{mode}"\n' + ("nproc = 2" if mode == "ranks" else "")
    path = profile(home, lines, 'PYTHONPATH = "/mine"\n[hook]\nphases = true\nparameters = true\n')
    hook = os.path.join(os.path.dirname(launch.__file__), "hook", "path")
    assert f"PYTHONPATH={hook}:/mine GRPOTUI_HOOK=phases,parameters" in home.run("launch", path, "--dry-run").stdout
    run = home.launch(path)
    for member in ("0", "1") if mode == "ranks" else ("driver",):
        _, env, _ = shown(home, run, member)
        assert (env["PYTHONPATH"], env["GRPOTUI_HOOK"]) == (f"{hook}:/mine", "phases,parameters")
    home.wait_for_state(run, "ended")
    check_directory(home.directory(run))


def test_companions_are_left_without_the_hook(home: Home) -> None:
    companion = '[companions.judge]\nargv = ["/bin/sh", "-c", "env; exec sleep 600"]\n'
    run = home.launch(home.ranks_profile("exit0", more=companion + "[hook]\nphases = true\n"))
    log = home.directory(run) / "ranks/judge/stdout.log"
    assert "GRPOTUI_HOOK" not in wait_until(lambda: log.exists() and log.read_text())
