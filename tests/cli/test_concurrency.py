"""Several commands at once."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING

from support.commands import of_home
from support.schemas import check
from support.waiting import wait_until

if TYPE_CHECKING:
    from support.runs import Home

LISTEN = """
import os, socket, time
rank, port = int(os.environ["RANK"]), int(os.environ["MASTER_PORT"])
if rank == 0:
    with socket.create_server(("127.0.0.1", port)) as server:
        server.accept()[0].sendall(os.environ["GRPOTUI_RUN_ID"].encode())
else:
    for _ in range(400):
        try:
            connection = socket.create_connection(("127.0.0.1", port))
            break
        except OSError:
            time.sleep(0.05)
    assert connection.recv(100).decode() == os.environ["GRPOTUI_RUN_ID"]
"""


def test_two_launches_of_one_profile_in_the_same_second(home: Home) -> None:
    """Each rank 0 binds its port and tells its run's id to its rank 1: a shared port or directory would show."""
    argv = json.dumps(["{grpotui_python}", "-I", "-S", "-c", LISTEN])
    path = home.profile(f'name = "twin"\n[launch]\nmode = "ranks"\nnproc = 2\nargv = {argv}\n')
    clients = [home.start("launch", path, "--json") for _ in range(3)]
    ends = [json.loads(client.communicate(timeout=60)[0].splitlines()[-1]) for client in clients]
    assert [(end["exit_code"], end["status"]["verdict"]) for end in ends] == [(0, "passed")] * 3
    runs = {end["status"]["run"] for end in ends}
    assert len(runs) == 3
    facts = [json.loads((home.directory(run) / "run.json").read_text()) for run in runs]
    assert len({fact["members"][0]["env"]["MASTER_PORT"] for fact in facts}) == 3
    listed = json.loads(home.run("runs", "--json").stdout)["runs"]
    assert {row["run"] for row in listed} == runs


def test_readers_during_a_start(home: Home) -> None:
    """Each look is a whole document, nobody disturbs the start, and one monitor is left."""
    until = time.monotonic() + 2.5
    client = home.start("launch", home.ranks_profile(*[f"exit0 {until}"] * 8), "--json")
    wait_until(lambda: list(home.path.glob("runs/*/run.json")), what="the run")
    rounds = []
    while time.monotonic() < until - 1:
        readers = [home.start("status", "--json") for _ in range(6)]
        rounds += [(reader.communicate(timeout=60), reader.returncode) for reader in readers]
    assert len(rounds) >= 6
    for (out, err), code in rounds:
        assert (code, err) == (0, ""), err
        check("status", json.loads(out))
    out, _ = client.communicate(timeout=60)
    assert client.returncode == 0
    (run,) = [path.name for path in home.path.glob("runs/*")]
    assert len([r for r in home.records(run, "timeline") if r["ev"] == "monitor"]) == 1
    assert [line["ev"] for line in map(json.loads, out.splitlines())].count("end") == 1
    wait_until(lambda: not of_home(home), what="an end of everything")


def test_stops_at_once_are_one_stop(home: Home) -> None:
    run = home.launch(home.ranks_profile("sleep", "stubborn"))
    clients = [home.start("stop", run) for _ in range(3)]
    codes = {(client.communicate(timeout=30), client.returncode)[1] for client in clients}
    assert codes <= {0, 2}  # 2: it had ended before that client looked
    assert home.wait_for_state(run, "ended")["verdict"] == "stopped"
    assert {m["signal"] for m in home.status(run)["ranks"]} == {"SIGINT", "SIGKILL"}


def test_the_client_uses_the_interpreter_it_runs_on(home: Home) -> None:
    """`{grpotui_python}` is not whatever `python` the PATH has."""
    document = json.loads(home.run("info", "--json", env={"PATH": "/no/such"}).stdout)
    assert os.path.samefile(document["executable"], sys.executable)
