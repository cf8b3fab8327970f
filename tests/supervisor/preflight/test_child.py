"""Programs in the training interpreter, really started: what they tell, how they end, and that nothing stays."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest
from support.preflight import job, left_behind, script
from support.runs import kill
from support.waiting import wait_until

from grpotui_supervisor.preflight import child
from grpotui_supervisor.preflight.child import Child, gather, run_program
from grpotui_supervisor.shim import procfs

if TYPE_CHECKING:
    from pathlib import Path

    from grpotui_supervisor.preflight.child import Answer

BASE = "from grpotui_supervisor.preflight.programs.base import answer, tell\nimport os, subprocess, sys, time\n"


@pytest.fixture(autouse=True)
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the test's own programs, and the real base."""
    folder = tmp_path / "programs"
    folder.mkdir()
    with open(os.path.join(child._FOLDER, "base.py"), encoding="utf-8") as file:
        (folder / "base.py").write_text(file.read())
    monkeypatch.setattr(child, "_FOLDER", str(folder))
    child._source.cache_clear()
    return folder


def run(tmp_path: Path, text: str, *args: str, limit_s: float = 20, **options: object) -> Answer:
    (tmp_path / "programs/own.py").write_text(BASE + text)
    child._source.cache_clear()
    return run_program("own", job(tmp_path, **options), args=args, limit_s=limit_s)  # type: ignore[arg-type]


def test_it_runs_in_the_job_s_environment_and_folder(tmp_path: Path) -> None:
    text = "answer(args=sys.argv[1:], cwd=os.getcwd(), word=os.environ['WORD'], path=sys.path)"
    found = run(tmp_path, text, "a", "b c", env={"WORD": "x"})
    assert found.outcome == "answered"
    assert (found.facts["args"], found.facts["cwd"], found.facts["word"]) == (["a", "b c"], str(tmp_path), "x")
    assert "" not in found.facts["path"]
    assert found.facts["python"] == sys.executable


def test_a_file_in_the_job_s_folder_does_not_stand_in_for_the_standard_library(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise RuntimeError('not this one')")
    (tmp_path / "base64.py").write_text("raise RuntimeError('not this one')")
    assert run(tmp_path, "answer(ok=True)").facts["ok"]


def test_a_chatty_sitecustomize_does_not_break_it(tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(
        "import atexit, sys\nprint('hello', end='')\nsys.stderr.write('warn')\natexit.register(print, '@grpotui {}}')\n"
    )
    found = run(tmp_path, "print('x' * 3_000_000); answer(n=1); print('more', end='')", env={"PYTHONPATH": str(site)})
    assert (found.outcome, found.facts["n"], found.stderr_tail) == ("answered", 1, "warn")


def test_what_was_told_before_a_crash_counts(tmp_path: Path) -> None:
    found = run(tmp_path, "tell(stage='x'); os.kill(os.getpid(), 11)")
    assert (found.outcome, found.facts["stage"], found.returncode) == ("crashed", "x", -11)
    assert found.words == "was killed by SIGSEGV"
    found = run(tmp_path, "answer(n=1); os.abort()")  # an answer, and then a crash in its teardown
    assert (found.outcome, found.returncode, found.words) == ("answered", -6, "was killed by SIGABRT")


def test_no_answer(tmp_path: Path) -> None:
    found = run(tmp_path, "sys.exit('no such thing')")
    assert (found.outcome, found.words) == ("silent", "exited 1 without an answer")
    assert found.stderr_tail == "no such thing"
    assert run(tmp_path, "answer()", python=("no-such-python",)).words == (
        "could not be started: no-such-python: No such file or directory"
    )


def test_its_last_words_are_bounded_and_hold_no_secret(tmp_path: Path) -> None:
    text = "sys.stderr.write('x' * 100_000 + os.environ['MY_API_KEY']); sys.exit(3)"
    found = run(tmp_path, text, env={"MY_API_KEY": "very-secret-value"})
    assert len(found.stderr_tail) < 9000
    assert found.stderr_tail.endswith("<redacted>")


def test_an_environment_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "programs/own.py").write_text(BASE + "answer(a=os.environ.get('A'), b=os.environ.get('B'))")
    one = job(tmp_path, env={"A": "1"})
    found = run_program("own", one, limit_s=20, extra_env={"A": None, "B": "2"})
    assert (found.facts["a"], found.facts["b"]) == (None, "2")


FAMILY = """
tell(stage='cuInit')
subprocess.Popen(['sleep', '1000'])
subprocess.Popen(['sleep', '1001'], start_new_session=True)
tell(children=True)
"""


@pytest.mark.parametrize("end", ["time.sleep(1000)", "answer()", "os._exit(3)", "os.kill(os.getpid(), 9)"])
def test_its_children_are_gone_with_it(tmp_path: Path, end: str) -> None:
    found = run(tmp_path, FAMILY + end, limit_s=1.5)
    assert found.facts["children"]
    assert not left_behind()
    if "sleep" in end:
        assert found.outcome == "timed_out"
        assert found.words.startswith("did not return after 2 s (at cuInit, pid ")
        assert f"pid {found.facts['pid']}, state S, wchan " in found.words


def test_a_child_without_the_mark_ends_with_the_group(tmp_path: Path) -> None:
    """As one that was started with an environment of its own."""
    found = run(tmp_path, "p = subprocess.Popen(['sleep', '1000'], env={}); answer(child=p.pid)")
    wait_until(lambda: not procfs.is_running(found.facts["child"]))


def test_a_process_that_is_not_the_leader_is_the_one_that_hangs(tmp_path: Path) -> None:
    """As under `uv run`."""
    words = script(tmp_path / "uv", f'#!/bin/sh\n"{sys.executable}" "$@"\nexit 0\n')
    found = run(tmp_path, "time.sleep(1000)", python=(words,), limit_s=1)
    assert f"pid {found.facts['pid']}, state S" in found.words


def test_given_up(tmp_path: Path) -> None:
    stopping = threading.Event()
    (tmp_path / "programs/own.py").write_text(BASE + FAMILY + "time.sleep(1000)")
    one = job(tmp_path, stopping=stopping)
    answers: list[Answer] = []
    thread = threading.Thread(target=lambda: answers.append(run_program("own", one, limit_s=100)))
    thread.start()
    wait_until(lambda: len(left_behind()) >= 3)
    stopping.set()
    thread.join(10)
    assert answers[0].outcome == "stopped"
    assert not left_behind()


def test_an_error_in_the_middle_ends_them_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "programs/own.py").write_text(BASE + "time.sleep(1000)")
    children = [Child("own", job(tmp_path)) for _ in range(2)]
    monkeypatch.setattr(Child, "step", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        gather(children, limit_s=10, stopping=None)
    assert not left_behind()


KILLED = """
import json, os, sys, threading
sys.path[:0] = json.loads(sys.argv[1])
from pathlib import Path
from support.preflight import job
from grpotui_supervisor.preflight import child
child._FOLDER = sys.argv[2]
one = job(Path(sys.argv[3]))
child.run_program("own", one, limit_s=100)
"""


def test_when_grpotui_is_killed_they_end_themselves(tmp_path: Path, programs: Path) -> None:
    (programs / "own.py").write_text(BASE + "p = subprocess.Popen(['sleep', '1000']); time.sleep(1000)")
    words = [json.dumps(sys.path), str(programs), str(tmp_path)]
    client = subprocess.Popen([sys.executable, "-c", KILLED, *words])

    def started() -> list[int]:
        mine = [p for p in procfs.pids() if procfs.environment(p).get(child.MARK, "").startswith(f"{client.pid}-")]
        return [pid for pid in mine if procfs.is_running(pid)]

    try:
        wait_until(lambda: len(started()) == 2)
        client.send_signal(signal.SIGKILL)
        client.wait(10)
        wait_until(lambda: not started())
    finally:
        client.kill()
        for pid in started():
            kill(pid)


def test_the_others_are_spared_only_a_while_after_a_failure(tmp_path: Path) -> None:
    (tmp_path / "programs/own.py").write_text(
        BASE + "sys.exit(1) if sys.argv[1] == '1' else time.sleep(1000 if sys.argv[1] == '2' else 0); answer()"
    )
    one = job(tmp_path)
    began = time.monotonic()
    found = gather([Child("own", one, args=[str(n)]) for n in range(3)], limit_s=60, stopping=None, spare_s=0.5)
    assert [answer.outcome for answer in found] == ["answered", "silent", "ended"]
    assert time.monotonic() - began < 20
