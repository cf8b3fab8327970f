"""The terminal: Ctrl-C, a hang-up, a killed client. The run belongs to none of them."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import termios
from contextlib import suppress
from typing import IO, TYPE_CHECKING

import pytest
from support.commands import of_home
from support.waiting import wait_until

if TYPE_CHECKING:
    import subprocess

    from support.runs import Home


def listening() -> None:
    """In the client: a test run in the background of a script has SIGINT ignored, and children inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def line(stream: IO[str] | None, pattern: str) -> str:
    """Reads lines until one fits."""
    assert stream is not None
    for text in stream:
        if re.search(pattern, text):
            return text
    raise AssertionError(f"no line with {pattern!r}")


def client(home: Home, *words: str) -> tuple[subprocess.Popen[str], str]:
    """A client that follows a run whose ranks have all been started, and the run's id."""
    process = home.start(*words, preexec_fn=listening)
    run = line(process.stderr, "^run ").split()[1]
    home.wait_for_state(run, "running")
    wait_until(lambda: len([r for r in home.records(run) if r["ev"] == "spawned"]) == 2, what="both ranks")
    wait_until(lambda: all(home.directory(run).joinpath(f"ranks/{rank}/stdout.log").read_text() for rank in (0, 1)))
    return process, run


def untouched(home: Home, run: str) -> None:
    """No signal, no request, everybody alive."""
    document = home.status(run)
    assert [m["state"] for m in document["ranks"]] == ["running", "running"]
    assert not [r for r in home.records(run) if r["ev"] in ("request", "stop", "exit", "takeover", "guard_lost")]


def test_control_c_goes_to_the_job(home: Home) -> None:
    process, run = client(home, "launch", home.ranks_profile("sleep", "sleep"))
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "INT sent to the job" in err
    assert [m["signal"] for m in home.status(run)["ranks"]] == ["SIGINT", "SIGINT"]
    assert [r["what"] for r in home.records(run) if r["ev"] == "request"] == ["interrupt"]


def test_control_c_twice_stops_what_does_not_listen(home: Home) -> None:
    process, run = client(home, "launch", home.ranks_profile("stubborn", "stubborn"))
    process.send_signal(signal.SIGINT)
    line(process.stderr, "Ctrl-C again within 2 s stops it")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "stopping: INT, then TERM, then KILL" in err
    assert {(m["signal"], m["sent"][0], m["sent"][-1]) for m in home.status(run)["ranks"]} == {
        ("SIGKILL", "SIGINT", "SIGKILL")
    }
    assert [r["what"] for r in home.records(run) if r["ev"] == "request"] == ["interrupt", "stop"]


def test_control_c_in_attach_detaches(home: Home) -> None:
    run = home.launch(home.ranks_profile("sleep", "sleep"))
    process, _ = client(home, "attach", run)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (0, "")
    assert f"detached; the run goes on: grpotui attach {run}" in err
    untouched(home, run)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_a_client_that_is_ended_harms_nothing(home: Home, number: signal.Signals) -> None:
    process, run = client(home, "launch", home.ranks_profile("sleep", "sleep"))
    process.send_signal(number)
    process.communicate(timeout=20)
    assert process.returncode == -number
    untouched(home, run)


@pytest.mark.parametrize("command", ["launch", "attach"])
def test_a_terminal_that_hangs_up_harms_nothing(home: Home, command: str) -> None:
    """A real pty, as an SSH connection that breaks: its client is the session leader and gets SIGHUP."""
    profile = home.ranks_profile("sleep", "sleep")
    words = (command, profile if command == "launch" else home.launch(profile), "--plain")
    master, slave = os.openpty()

    def take_terminal() -> None:
        listening()
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

    process = home.start(*words, stdin=slave, stdout=slave, stderr=slave, preexec_fn=take_terminal, pass_fds=(slave,))
    os.close(slave)
    shown = b""
    while b"rank 1 started" not in shown:
        shown += os.read(master, 4096)
    assert b"\x1b" not in shown
    run = re.findall(rb"^run (\S+)", shown, re.MULTILINE)[0].decode()
    home.wait_for_state(run, "running")
    os.close(master)
    process.wait(timeout=20)
    assert process.returncode == -signal.SIGHUP
    untouched(home, run)


def test_control_c_of_the_terminal_reaches_the_ranks_once(home: Home) -> None:
    """The kernel signals the foreground group; the ranks have sessions of their own and get ours, recorded, alone."""
    master, slave = os.openpty()

    def take_terminal() -> None:
        listening()
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

    process = home.start(
        "launch", home.ranks_profile("sleep", "sleep"), "--plain",
        stdin=slave, stdout=slave, stderr=slave, preexec_fn=take_terminal, pass_fds=(slave,),
    )  # fmt: skip
    os.close(slave)
    shown = b""
    while b"rank 1 started" not in shown:
        shown += os.read(master, 4096)
    run = re.findall(rb"^run (\S+)", shown, re.MULTILINE)[0].decode()
    wait_until(lambda: all(home.directory(run).joinpath(f"ranks/{rank}/stdout.log").read_text() for rank in (0, 1)))
    os.write(master, b"\x03")
    with suppress(OSError):  # EIO: the client has closed its side
        while block := os.read(master, 4096):
            shown += block
    assert process.wait(timeout=20) == 130
    os.close(master)
    assert b"INT sent to the job" in shown
    assert [m["sent"] for m in home.status(run)["ranks"]] == [["SIGINT"], ["SIGINT"]]


def test_control_c_in_the_middle_of_a_start_is_for_the_job(home: Home) -> None:
    """From the first moment on at which there is a run, Ctrl-C must not leave it behind unknown."""
    process = home.start("launch", home.ranks_profile("sleep", "sleep"), preexec_fn=listening)
    wait_until(lambda: list(home.path.glob("runs/*/run.json")), what="the run")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "INT sent to the job" in err
    wait_until(lambda: not of_home(home), what="an end of everything")


def test_a_background_job_of_a_script_does_not_listen_to_control_c(home: Home) -> None:
    process = home.start(
        "launch", home.ranks_profile("sleep", "sleep"), preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)
    )
    run = line(process.stderr, "^run ").split()[1]
    home.wait_for_state(run, "running")
    process.send_signal(signal.SIGINT)
    home.run("stop", run)
    _, err = process.communicate(timeout=20)
    assert "INT sent to the job" not in err
