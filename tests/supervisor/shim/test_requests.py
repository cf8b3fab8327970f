"""`control/` is a place where anything may lie: nothing there may block, blind or end the shim."""

from __future__ import annotations

import json
import os
import signal
import socket
from typing import TYPE_CHECKING, Any

import pytest
from support.processes import signals_of, wait_dead
from support.runs import kill, rank_argv
from support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.runs import ShimRun

SLEEP = ["/bin/sleep", "3600"]


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        os.chdir(path.parent)  # a socket's path may have 107 bytes at most
        server.bind(path.name)


PLACES: dict[str, Callable[[Path], Any]] = {
    "FIFO": os.mkfifo,
    "symbolic link": lambda path: path.symlink_to("/etc/passwd"),
    "dangling link": lambda path: path.symlink_to("/nowhere"),
    "link to itself": lambda path: path.symlink_to(path),
    "directory": lambda path: path.mkdir(),
    "full directory": lambda path: (path / "x").mkdir(parents=True),
    "socket": _socket,
    "device": lambda path: os.mknod(path, 0o666 | 0o020000, os.makedev(1, 5)),
    "empty": lambda path: path.touch(),
    "huge": lambda path: path.write_bytes(b'{"what": "stop", "why": "' + b"x" * (1 << 23) + b'"}'),
    "deep": lambda path: path.write_bytes(b"[" * 60_000),
    "binary": lambda path: path.write_bytes(bytes(range(256)) * 16),
}


@pytest.fixture
def here() -> Any:
    """Returns to the present directory afterwards."""
    before = os.getcwd()
    yield
    os.chdir(before)


def _still_obeys(shim: ShimRun) -> None:
    shim.request("stop")
    shim.wait_done(10)
    shim.check()
    assert not shim.of("takeover", "guard_lost", "first_failure")
    assert set(shim.ends().values()) == {("killed", "SIGINT")}


@pytest.mark.usefixtures("here")
def test_what_is_no_request(shim: ShimRun) -> None:
    shim.start([SLEEP], limits={"interrupt": 60})
    shim.wait_for("spawn_done")
    made = []
    for number, (name, make) in enumerate(PLACES.items()):
        try:
            make(shim.path / f"control/{number:02}-{name.replace(' ', '-')}.json")
            made.append(name)
        except PermissionError:
            continue  # a device, when we are not root
    os.kill(shim.worker, signal.SIGUSR1)
    shim.wait_for("request", count=len(made))
    assert len(shim.of("request")) == len(made)
    assert all(r["refused"].startswith("unreadable") for r in shim.of("request"))
    wait_until(lambda: len(os.listdir(shim.path / "control")) == 2, what="the removal of all but the directories")
    assert os.path.exists("/etc/passwd")
    _still_obeys(shim)
    assert len([r for r in shim.of("request") if "refused" in r]) == len(made), "a directory is refused once"


DOCUMENTS: list[dict[str, Any]] = [
    {},
    {"what": None},
    {"what": 7},
    {"what": ["stop"]},
    {"what": {"stop": 1}},
    {"what": "Stop"},
    {"what": "__class__"},
    {"what": "s" * 40_000},
    {"what": "hold", "seconds": "soon"},
    {"what": "hold", "seconds": None},
    {"what": "hold", "seconds": float("nan")},
    {"what": "hold", "seconds": float("inf")},
    {"what": "hold", "seconds": -1},
    {"what": "hold", "seconds": 10**400},
    {"what": "hold", "seconds": [1]},
    {"what": "hold", "why": {"a": 1}},
    {"what": "fail"},
    {"what": "fail", "member": [1], "rank": {}},
    {"what": "fail", "member": "1", "rank": "one"},
    {"what": "leftovers", "why": "\ud800"},
]


def test_requests_with_wrong_types(shim: ShimRun) -> None:
    shim.start([rank_argv("exit0"), SLEEP], limits={"grace": 600, "interrupt": 60})
    shim.wait_for("exit")
    for number, document in enumerate(DOCUMENTS):
        (shim.path / "control/x.tmp").write_text(json.dumps(document))
        (shim.path / "control/x.tmp").rename(shim.path / f"control/{number:02}.json")
    os.kill(shim.worker, signal.SIGUSR1)
    wait_until(lambda: not os.listdir(shim.path / "control"), what="the removal of all requests")
    refused = [r for r in shim.of("request") if "refused" in r]
    assert len(refused) == 8
    assert all(len(r["what"]) <= 64 for r in shim.of("request"))
    assert not shim.of("first_failure", "hold", "stop")
    assert b"Traceback" not in (shim.path / "shim.err").read_bytes()
    shim.request("stop")
    shim.wait_done()
    assert shim.ends() == {0: ("exited", 0), 1: ("killed", "SIGINT")}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_request_of_another_user_is_refused(shim: ShimRun) -> None:
    shim.start([SLEEP])
    shim.wait_for("spawn_done")
    temporary = shim.path / "control/x"
    temporary.write_text('{"what": "kill"}')
    os.chown(temporary, 12345, 12345)
    temporary.rename(shim.path / "control/x.json")
    os.kill(shim.worker, signal.SIGUSR1)
    (request,) = shim.wait_for("request")
    assert (request["uid"], request["refused"]) == (12345, "it belongs to another user")
    assert not shim.of("stop")


def test_the_control_folder_may_vanish(shim: ShimRun) -> None:
    """So may the whole run directory: the open record is still written, and a signal still stops the run."""
    shim.start([SLEEP])
    shim.wait_for("spawn_done")
    worker, record = shim.worker, (shim.path / "ranks.jsonl").open("rb")
    pids = shim.shim_pids()
    with record:
        moved = shim.path.rename(shim.path.with_name("moved"))
        for path in (moved / "control", *(moved / "ranks").iterdir()):
            for file in path.iterdir():
                file.unlink()
            path.rmdir()
        os.kill(worker, signal.SIGTERM)
        wait_until(lambda: b'"ev": "done"' in os.pread(record.fileno(), 1 << 20, 0), what="the end on record")
    wait_dead(*pids)


def test_a_request_that_cannot_be_removed_is_carried_out_once(shim: ShimRun) -> None:
    """A worker that dies between the record of a request and its removal: the successor does not interrupt again."""
    shim.start([rank_argv("stubborn")], limits={"interrupt": 60})
    shim.wait_for("spawn_done")
    worker = shim.worker
    wait_until(lambda: signal.SIGINT in signals_of(shim.pid(0), "SigIgn"))
    shim.request("interrupt")
    shim.wait_for("stop")
    (request,) = shim.of("request")
    (shim.path / "control" / f"{request['id']}.json").write_text('{"what": "interrupt"}')
    kill(worker)
    shim.wait_for("takeover")
    wait_until(lambda: not os.listdir(shim.path / "control"), what="the removal of the request")
    assert len(shim.of("request")) == 1
    assert len(shim.of("stop")) == 1
