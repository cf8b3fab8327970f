"""`grpotui preflight`, and the checks that come before every launch."""

from __future__ import annotations

import base64
import json
import os
import pty
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from support.commands import of_home, refused
from support.fake_cuda import library, torch
from support.hostile import HOSTILE, harmless
from support.preflight import script
from support.schemas import check
from support.waiting import wait_until

from grpotui.preflight_text import launch_lines, plain_lines, table_lines
from grpotui_supervisor.preflight.child import MARK
from grpotui_supervisor.preflight.registry import CHECKS
from grpotui_supervisor.shim import procfs

if TYPE_CHECKING:
    from pathlib import Path

    from support.runs import Home

NAMES = [item.name for item in CHECKS]
RANKS = '[launch]\nmode = "ranks"\nnproc = 1\npython = "{python}"\nargv = ["{{python}}", "-c", "print(1)"]\n'


def profile(home: Home, python: str = sys.executable) -> str:
    return home.profile('name = "own"\n' + RANKS.format(python=python))


def broken_cuda(folder: Path, **env: str) -> dict[str, str]:
    """An environment in which torch seems to be there, and CUDA does not start."""
    place = library(folder / "cuda", "550.54.15", "-DRC=803")
    return {"PYTHONPATH": os.pathsep.join([torch(folder / "site"), *sys.path]), "LD_LIBRARY_PATH": place, **env}


def test_every_check_has_its_name() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert all(name.isidentifier() for name in NAMES)
    assert all(item.title and item.limit_s > 0 for item in CHECKS)


def test_the_demo(home: Home) -> None:
    done = home.run("preflight", "demo", "--json")
    document = json.loads(done.stdout)
    check("preflight", document)
    assert (done.returncode, done.stderr) == (0, "")
    assert document["profile"] == "demo"
    found = {one["name"]: one["outcome"] for one in document["checks"]}
    assert found["versions"] == "passed"
    assert {found[name] for name in ("cuda_init", "matmul", "collective")} == {"not_applicable"}
    assert not {"generation", "bandwidth"} & found.keys()
    assert not (home.path / "runs").exists()


def test_plain(home: Home) -> None:
    done = home.run("preflight", "demo", "--only", "versions")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("versions: passed: Python 3.")
    assert lines[-1].startswith("preflight of demo: 1 passed, in ")
    assert home.run("preflight", "demo", "--only", "versions", "--plain").stdout.splitlines()[0] == lines[0]
    assert "\x1b" not in done.stdout + done.stderr


def test_usage(home: Home) -> None:
    refused(home.run("preflight", "demo", "--only", "cuda"), 2, "there is no check 'cuda'", "cuda_init", "matmul")
    refused(home.run("preflight", "no-such"), 2, "no profile 'no-such'")
    refused(home.run("preflight", "demo", "--plain", "--json"), 2, "exclude each other")


def test_what_is_asked_for(home: Home) -> None:
    done = home.run("preflight", "demo", "--generate", "--bandwidth", "--json")
    found = {one["name"]: one["outcome"] for one in json.loads(done.stdout)["checks"]}
    assert (found["generation"], found["bandwidth"]) == ("not_applicable", "not_applicable")
    done = home.run("preflight", "demo", "--only", "generation", "--json")
    assert [one["name"] for one in json.loads(done.stdout)["checks"]] == ["generation"]


def test_a_failure_is_exit_code_3(home: Home, tmp_path: Path) -> None:
    done = home.run("preflight", profile(home), "--json", "--only", "cuda_init", env=broken_cuda(tmp_path))
    document = json.loads(done.stdout)
    check("preflight", document)
    assert (done.returncode, document["outcome"]) == (3, "failed")
    assert document["checks"][0]["data"]["code"] == 803


def test_a_failure_keeps_a_run_from_starting(home: Home, tmp_path: Path) -> None:
    path, env = profile(home), broken_cuda(tmp_path)
    for words in ((), ("--json",), ("--detach",), ("--plain",)):
        done = home.run("launch", path, *words, env=env)
        refused(done, 3, "nothing was started: 1 of ", "✖ failed: cuda_init: cuInit returned 803", "--skip-preflight")
    assert not (home.path / "runs").exists()
    done = home.run("launch", path, "--skip-preflight", env=env)
    assert done.returncode == 0
    (directory,) = (home.path / "runs").iterdir()
    assert json.loads((directory / "run.json").read_text())["preflight"] is None


def test_what_was_checked_is_on_record(home: Home) -> None:
    done = home.run("launch", profile(home), "--plain", env={"WANDB_API_KEY": "very-secret-value"})
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("grpotui: preflight of own: ")
    (directory,) = (home.path / "runs").iterdir()
    facts = json.loads((directory / "run.json").read_text())
    check("run", facts)
    found = {one["name"]: one for one in facts["preflight"]}
    assert found["versions"]["data"]["python"]
    assert not {"matmul", "collective"} & found.keys()  # which cost seconds, and this machine has no GPU
    assert "very-secret-value" not in json.dumps(facts)


def test_live_and_replayed_are_the_same(home: Home) -> None:
    """What was checked is a fact of the run, and no part of its state."""
    run = home.launch(profile(home))
    home.wait_for_state(run, "ended")
    live, replayed = home.status(run), json.loads(home.run("replay", run, "--json").stdout)
    assert "preflight" not in live
    assert live.keys() == replayed.keys()


def test_detach_and_json_say_nothing_of_what_is_well(home: Home) -> None:
    done = home.run("launch", profile(home), "--detach")
    assert (done.returncode, done.stderr) == (0, "")
    done = home.run("launch", profile(home), "--json")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("words", [("preflight",), ("preflight", "--json"), ("launch", "--plain")])
def test_what_an_interpreter_says_is_harmless(words: tuple[str, ...], home: Home, tmp_path: Path) -> None:
    (tmp_path / "words").write_bytes(
        b"\n".join(HOSTILE.values()) + b"\n" + HOSTILE["title"] + HOSTILE["colour and erase"]
    )
    rude = script(tmp_path / "rude", f"#!/bin/sh\ncat {tmp_path}/words; cat {tmp_path}/words >&2; exit 1\n")
    done = home.run(words[0], profile(home, rude), *words[1:])
    assert "Traceback" not in done.stderr
    assert harmless(done.stdout + done.stderr)
    assert "the training interpreter exited 1 without an answer" in done.stdout + done.stderr


def started_by(pid: int) -> list[int]:
    found = [p for p in procfs.pids() if procfs.environment(p).get(MARK, "").startswith(f"{pid}-")]
    return [p for p in found if procfs.is_running(p)]


@pytest.mark.parametrize("command", ["preflight", "launch"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_signal_in_the_middle(command: str, number: signal.Signals, home: Home, tmp_path: Path) -> None:
    """An interpreter that never answers; whatever ends the command, nothing of the checks stays."""
    # as it is called: -c, how to load, our base, our program; in whose place it sleeps
    sleeps = base64.b64encode(b"import time; time.sleep(1000)").decode()
    slow = script(tmp_path / "slow", f'#!/bin/sh\nsleep 1000 &\nexec "{sys.executable}" "$1" "$2" "$3" {sleeps}\n')
    client = home.start(command, profile(home, slow))
    wait_until(lambda: len(started_by(client.pid)) >= 2, what="the check's processes")
    client.send_signal(number)
    _, errors = client.communicate(timeout=20)
    if number == signal.SIGTERM:
        assert client.returncode == -signal.SIGTERM
    if number == signal.SIGINT:
        assert (client.returncode, "grpotui: interrupted" in errors) == (130, True)
    wait_until(lambda: not started_by(client.pid), what="an end of everything")
    assert not of_home(home)
    assert not (home.path / "runs").exists()


def test_on_a_terminal(home: Home) -> None:
    """A table with glyphs, as wide as the terminal and no wider."""
    outer, inner = pty.openpty()
    words = home.command("preflight", "demo")
    env = {**home.environment, "COLUMNS": "80", "TERM": "xterm"}
    process = subprocess.Popen(words, stdout=inner, stderr=inner, stdin=subprocess.DEVNULL, env=env)
    os.close(inner)
    text = b""
    while True:
        try:
            data = os.read(outer, 65536)
        except OSError:
            break
        if not data:
            break
        text += data
    os.close(outer)
    assert process.wait(30) == 0
    lines = text.decode().replace("\r", "").split("\n")
    assert any(line.startswith("✔ passed          versions") for line in lines)
    assert all(len(line) <= 80 for line in lines if "\x1b" not in line)


def document(*checks: dict[str, Any]) -> dict[str, Any]:
    full: dict[str, Any] = {"title": "", "next": None, "seconds": 0.1, "details": [], "data": {}}
    return {
        "schema": 1,
        "profile": "p",
        "outcome": "failed",
        "seconds": 1.25,
        "checks": [{**full, **c} for c in checks],
    }


BAD = {
    "name": "cuda_init", "outcome": "failed", "next": "put /usr/local/nvidia/lib64 first in LD_LIBRARY_PATH",
    "evidence": "cuInit returned 803 SYSTEM_DRIVER_MISMATCH from /usr/local/cuda-12.8/compat/libcuda.so.570.124.06",
    "details": ["the job's environment → /usr/local/cuda-12.8/compat/libcuda.so.570.124.06 → 803"],
}  # fmt: skip
GOOD = {"name": "versions", "outcome": "passed", "evidence": "Python 3.11"}
ODD = {"name": "ports", "outcome": "unchecked", "evidence": "no \x1b[31mpermission\x1b[0m", "next": "see it"}


@pytest.mark.parametrize("width", [20, 40, 60, 80, 100, 200])
def test_the_table_fits_every_width(width: int) -> None:
    lines = table_lines(document(GOOD, BAD, ODD), width)
    assert all(len(line) <= max(width, 28) for line in lines), lines
    text = " ".join(" ".join(lines).split())
    assert "✖ failed" in text
    assert "→ put" in text
    assert "\x1b" not in text
    assert text.endswith("in 1.2 s")
    if width >= 60:
        assert lines[0] == "✔ passed       versions   Python 3.11"


def test_plain_lines_are_whole() -> None:
    lines = plain_lines(document(GOOD, BAD, ODD))
    assert lines[1] == f"cuda_init: failed: {BAD['evidence']}"
    assert lines[3] == f"  next: {BAD['next']}"
    assert lines[4].startswith("ports: could not be checked: no \ufffd[31mpermission")
    assert lines[-1] == "preflight of p: 1 passed, 1 failed, 1 could not be checked, in 1.2 s"


def test_a_launch_says_what_is_not_well() -> None:
    lines = list(launch_lines(document(GOOD, ODD)))
    assert lines[0].startswith("grpotui: preflight of p: 1 passed, 1 could not")
    assert lines[1].startswith("? not checked: ports: no ")
    assert lines[2:] == ["    → see it"]
    assert len(list(launch_lines(document(GOOD)))) == 1
