"""The dashboard in a real terminal, on real runs: what it shows, how it leaves, and that the run never notices."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from typing import TYPE_CHECKING

import pytest
from support.commands import of_home
from support.runs import kill
from support.terminal import Terminal
from support.waiting import wait_until

if TYPE_CHECKING:
    from support.runs import Home


def dashboard(home: Home, *words: str, size: tuple[int, int] = (120, 40), **environment: str | None) -> Terminal:
    return Terminal(home.command(*words), {**home.environment, **environment}, size=size)


def launched(home: Home) -> str:
    """The run, once both of its ranks are up."""
    run = wait_until(lambda: [path.name for path in home.path.glob("runs/*")], what="a run")[0]
    wait_until(lambda: all(_said(home, run, rank) for rank in (0, 1)), what="both ranks")
    return run


def _said(home: Home, run: str, rank: int) -> str:
    path = home.directory(run) / f"ranks/{rank}/stdout.log"
    return path.read_text() if path.exists() else ""


def untouched(home: Home, run: str) -> None:
    """No signal, no request, everybody alive."""
    assert [m["state"] for m in home.status(run)["ranks"]] == ["running", "running"]
    assert not [r for r in home.records(run) if r["ev"] in ("request", "stop", "exit", "takeover", "guard_lost")]


def pid_of(home: Home, run: str, rank: int) -> int:
    return next(int(r["pid"]) for r in home.records(run) if r["ev"] == "spawned" and r["rank"] == rank)


def test_a_rank_dies_on_the_screen(home: Home) -> None:
    with dashboard(home, "launch", home.ranks_profile("sleep", "sleep", grace=1.5)) as terminal:
        run = launched(home)
        terminal.wait_for("● running", "pid")
        kill(pid_of(home, run, 1))
        began = time.monotonic()
        terminal.wait_for("SIGKILL")
        assert time.monotonic() - began < 2  # 0.2 s on an idle machine: tests.bench dashboard
        terminal.wait_for("✖ failed: rank 1 killed by SIGKILL")
        terminal.press("q")
        assert terminal.wait_end() == 137
        assert terminal.left() == {}
        assert terminal.emulator.foreign == []
        terminal.wait_for(f"run {run}", "rank 1 killed by SIGKILL", "ended by grpotui")
    wait_until(lambda: not of_home(home), what="an end of everything")


def test_leaving_a_launch_asks_and_detaches(home: Home) -> None:
    with dashboard(home, "launch", home.ranks_profile("sleep", "sleep")) as terminal:
        run = launched(home)
        terminal.wait_for("● running")
        terminal.press("q")
        terminal.wait_for("is still running", "Detach", "Stop the run", "Stay")
        terminal.press("\r")
        assert terminal.wait_end() == 0
        assert terminal.left() == {}
        terminal.wait_for(f"the run goes on: grpotui attach {run}")
    untouched(home, run)


def test_leaving_a_launch_can_stop_it(home: Home) -> None:
    with dashboard(home, "launch", home.ranks_profile("sleep", "sleep")) as terminal:
        run = launched(home)
        terminal.wait_for("● running")
        terminal.press("\x03")
        terminal.wait_for("Ctrl-C again within 2 s")
        untouched(home, run)
        terminal.press("\x03")
        terminal.wait_for("is still running")
        terminal.press("s")
        terminal.wait_for("stopped: a stop was asked for")
        wait_until(lambda: not of_home(home), what="an end of everything")
        terminal.press("q")
        assert terminal.wait_end() == 130
        terminal.wait_for(f"run {run}", "stopped: a stop was asked for")


@pytest.mark.parametrize("keys", ["q", "\x03\x03", "\x11"])
def test_attach_leaves_at_once(home: Home, keys: str) -> None:
    run = home.launch(home.ranks_profile("sleep", "sleep"))
    launched(home)
    with dashboard(home, "attach", run) as terminal:
        terminal.wait_for("● running")
        terminal.press(keys)
        assert terminal.wait_end() == 0
        assert terminal.left() == {}
        terminal.wait_for(f"detached; the run goes on: grpotui attach {run}")
    untouched(home, run)


def test_a_run_that_has_ended_is_left_with_its_code(home: Home) -> None:
    run = home.launch(home.ranks_profile("exit0", "exit3"))
    home.wait_for_state(run, "ended")
    with dashboard(home, "attach", run) as terminal:
        terminal.wait_for("✖ failed: rank 1 exited 3")
        terminal.press("\x03")
        assert terminal.wait_end() == 3
        terminal.wait_for(f"run {run}", "failed: rank 1 exited 3")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGQUIT])
def test_a_client_that_is_ended_harms_nothing(home: Home, number: signal.Signals) -> None:
    with dashboard(home, "launch", home.ranks_profile("sleep", "sleep")) as terminal:
        run = launched(home)
        terminal.wait_for("● running")
        terminal.process.send_signal(number)
        assert terminal.wait_end() == -number
        if number == signal.SIGTERM:
            assert terminal.left() == {}
    untouched(home, run)


def test_a_connection_that_breaks_harms_nothing(home: Home) -> None:
    with dashboard(home, "launch", home.ranks_profile("sleep", "sleep")) as terminal:
        run = launched(home)
        terminal.wait_for("● running")
        terminal.hang_up()
        assert terminal.process.wait(20) == -signal.SIGHUP
    untouched(home, run)


def test_an_interrupt_from_elsewhere_is_for_the_job(home: Home) -> None:
    """As `timeout -s INT` sends it, or a script that started the client."""
    with dashboard(home, "launch", home.ranks_profile("sleep", "sleep")) as terminal:
        run = launched(home)
        terminal.wait_for("● running")
        terminal.process.send_signal(signal.SIGINT)
        terminal.wait_for("stopped: a stop was asked for")
        terminal.process.send_signal(signal.SIGINT)  # now there is no job any more
        assert terminal.wait_end() == 130
        assert terminal.left() == {}
    assert [m["signal"] for m in home.status(run)["ranks"]] == ["SIGINT", "SIGINT"]
    assert [r["what"] for r in home.records(run) if r["ev"] == "request"] == ["interrupt"]


def test_an_interrupt_from_elsewhere_leaves_a_replay(home: Home) -> None:
    run = home.launch(home.ranks_profile("exit0", "exit0"))
    home.wait_for_state(run, "ended")
    with dashboard(home, "replay", run) as terminal:
        terminal.wait_for("replay", "✔ passed")
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.wait_end() == -signal.SIGINT
        assert terminal.left() == {}
        assert "Traceback" not in terminal.text


def test_it_is_suspended_and_continued(home: Home) -> None:
    """By a shell's job control; meanwhile the terminal is the shell's, and the run goes on."""
    run = home.launch(home.ranks_profile("sleep", "sleep", grace=1.5))
    launched(home)
    shell = Terminal(["bash", "--norc", "-i"], {**home.environment, "PS1": "shell> "})
    with shell as terminal:
        terminal.wait_for("shell>")
        terminal.press(" ".join(home.command("attach", run)) + "\n")
        terminal.wait_for("● running")
        terminal.press("\x1a")
        terminal.wait_for("Stopped", "shell>")
        assert not terminal.emulator.modes.get(1049, False)
        untouched(home, run)
        kill(pid_of(home, run, 0))
        home.wait_for_state(run, "ended")
        terminal.press("fg\n")
        terminal.wait_for("✖ failed: rank 0 killed by SIGKILL")
        terminal.press("q")
        terminal.wait_for(f"run {run}", "shell>")
        terminal.press("exit $?\n")
        assert terminal.wait_end() == 137


def test_without_a_shell_it_is_not_suspended(home: Home) -> None:
    """`ssh -t host grpotui attach`: nobody could continue it."""
    run = home.launch(home.ranks_profile("sleep", "sleep"))
    launched(home)
    with dashboard(home, "attach", run) as terminal:
        terminal.wait_for("● running")
        terminal.press("\x1a")
        terminal.wait_until(lambda _: terminal.written.count(b"\x1b[?1049h") == 2, "drawn anew")
        terminal.wait_for("● running")
        terminal.press("q")
        assert terminal.wait_end() == 0
        assert terminal.left() == {}


def test_a_stopped_client_goes_on_where_it_was(home: Home) -> None:
    with dashboard(home, "launch", home.ranks_profile("sleep", "sleep", grace=0.5)) as terminal:
        run = launched(home)
        terminal.wait_for("● running")
        terminal.process.send_signal(signal.SIGSTOP)
        kill(pid_of(home, run, 0))
        home.wait_for_state(run, "ended")
        assert "failed" not in terminal.text
        terminal.process.send_signal(signal.SIGCONT)
        terminal.wait_for("✖ failed: rank 0 killed by SIGKILL")
        terminal.press("q")
        assert terminal.wait_end() == 137


BREAK = """
import sys
from grpotui.tui.panels import header
def broken(*words, **more): raise RuntimeError("broken on purpose \\x1b[31m")
header.header = broken
from grpotui.cli import main
sys.argv = ["grpotui", *sys.argv[1:]]
main()
"""


def test_a_fault_of_ours_gives_the_terminal_back(home: Home) -> None:
    run = home.launch(home.ranks_profile("sleep", "sleep"))
    launched(home)
    command = [sys.executable, "-c", BREAK, "attach", run]
    with Terminal(command, home.environment) as terminal:
        assert terminal.wait_end() == 1
        assert terminal.left() == {}
        assert terminal.emulator.foreign == []
        assert "RuntimeError: broken on purpose" in terminal.text
    untouched(home, run)


def test_a_resize_storm(home: Home) -> None:
    """Also to sizes at which nothing can be drawn; the picture after it is the one of that size."""
    sizes = [(120, 40), (59, 14), (200, 60), (1, 1), (80, 24), (20, 5), (61, 15), (300, 90), (80, 2), (3, 50)]
    run = home.launch(home.ranks_profile("sleep", "sleep"))
    launched(home)
    with dashboard(home, "attach", run, size=(100, 30)) as terminal:
        terminal.wait_for("● running")
        for number in range(300):
            terminal.resize(*sizes[number * 7 % len(sizes)])
        terminal.resize(50, 10)
        terminal.wait_for("too small", "60 × 15")
        terminal.resize(100, 30)
        terminal.wait_for("● running", "ranks", "? help")
        with dashboard(home, "attach", run, size=(100, 30)) as fresh:
            fresh.wait_for("● running", "ranks", "? help")
            wait_until(lambda: still(terminal.text) == still(fresh.text), what="the same picture")
        terminal.press("q")
        assert terminal.wait_end() == 0
        assert terminal.left() == {}


def still(text: str) -> str:
    """Without what changes by itself: ages, and what their length makes of the room between words."""
    return re.sub(r"[ ]+", " ", re.sub(r"[0-9]+", "#", text))


def test_no_colour(home: Home) -> None:
    """Weight is no colour: bold, dim and reverse may stand."""
    run = home.launch(home.ranks_profile("exit0", "exit3"))
    home.wait_for_state(run, "ended")
    with dashboard(home, "attach", run, NO_COLOR="1") as terminal:
        terminal.wait_for("✖ failed")
        terminal.press("2")
        terminal.wait_for("rank 1")
        terminal.press("?")
        terminal.wait_for("Esc closes this")
        codes = {code for look in terminal.emulator.looks for code in look.split(";")}
        assert codes <= {"", *map(str, range(10))}, codes
    with dashboard(home, "attach", run, NO_COLOR="") as terminal:
        terminal.wait_for("✖ failed")
        assert any("38" in look.split(";") for look in terminal.emulator.looks)


@pytest.mark.parametrize("words", [("--plain",), ("--json",), ()], ids=["plain", "json", "dumb"])
def test_without_a_dashboard_nothing_is_drawn(home: Home, words: tuple[str, ...]) -> None:
    run = home.launch(home.ranks_profile("exit0", "exit3"))
    home.wait_for_state(run, "ended")
    with dashboard(home, "attach", run, *words, TERM="xterm-256color" if words else "dumb") as terminal:
        assert terminal.wait_end() == 3
        assert b"\x1b" not in terminal.written
        assert b"rank" in terminal.written


def test_without_a_keyboard_nothing_is_drawn(home: Home) -> None:
    run = home.launch(home.ranks_profile("exit0", "exit3"))
    home.wait_for_state(run, "ended")
    command = ["sh", "-c", 'exec "$@" < /dev/null', "sh", *home.command("attach", run)]
    with Terminal(command, home.environment) as terminal:
        assert terminal.wait_end() == 3
        assert b"\x1b" not in terminal.written
        assert os.fsencode("failed: rank 1 exited 3") in terminal.written
