"""What is printed where; and that no stream, name or encoding can harm a run or a terminal."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from support.hostile import harmless
from support.schemas import check_lines

if TYPE_CHECKING:
    from pathlib import Path

    from support.runs import Home

STEPS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "steps.py")
ODD = "é\u202e\x9b世"
LEAVE = f"""
import os, sys
if os.fork() == 0:
    os.setsid()
    os.execv("/bin/sleep", [{ODD!r}, "1000"])
sys.stderr.write({ODD!r})
sys.stderr.flush()
os._exit(3)
"""


def steps_profile(home: Home, count: int, seconds: float) -> str:
    argv = json.dumps(["{grpotui_python}", "-I", "-S", os.path.realpath(STEPS), str(count), str(seconds)])
    return home.profile(
        f'name = "steps"\nframework = "verl"\n[launch]\nmode = "ranks"\nnproc = 1\nargv = {argv}\n'
        "interrupt_seconds = 0.5\nterminate_seconds = 0.5\n"
    )


def odd_profile(home: Home) -> str:
    argv = json.dumps(["{grpotui_python}", "-I", "-S", "-c", LEAVE])
    return home.profile(
        f'name = "odd"\n[launch]\nmode = "ranks"\nnproc = 1\nargv = {argv}\n'
        'leftovers = "keep"\nleftover_grace_seconds = 0.3\n'
    )


def test_steps_on_stdout_and_words_on_stderr(home: Home) -> None:
    done = home.run("launch", steps_profile(home, 3, 0.05), "--plain")
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        f"step {step}/3 score 0.5 reward {step / 3:.3g} ent nan len 7 time 0.05s" for step in (1, 2, 3)
    ]
    run = next(home.path.glob("runs/*")).name
    words = done.stderr.splitlines()
    assert (words[0].startswith("grpotui: preflight of steps: "), words[1]) == (True, f"run {run}")
    assert done.stderr.splitlines()[-2:] == ["rank 0 exited 0", "passed: every rank exited 0"]
    assert harmless(done.stdout + done.stderr)


def test_each_step_is_a_line_of_json(home: Home) -> None:
    done = home.run("launch", steps_profile(home, 3, 0.05), "--json")
    lines = check_lines("stream", done.stdout.splitlines())
    assert done.stderr == ""
    told = [line for line in lines if line["ev"] == "step"]
    assert [line["step"] for line in told] == [1, 2, 3]
    assert told[0]["metrics"]["entropy"] == told[0]["raw"]["actor/entropy"] == "nan"
    assert told[2]["metrics"]["reward/mean"] == 1.0
    kinds = [line["ev"] for line in lines]
    assert kinds[0] == "run"
    assert kinds[-1] == "end"


def test_streams_that_lack_the_characters(home: Home) -> None:
    def run(encoding: str, *words: str) -> subprocess.CompletedProcess[bytes]:
        env = {**home.environment, "PYTHONIOENCODING": encoding}
        return subprocess.run(home.command(*words), env=env, capture_output=True, check=False)

    done = run("latin-1", "launch", odd_profile(home))
    assert done.returncode == 3, done.stderr
    for encoding in ("ascii", "latin-1", "utf-16"):
        shown = run(encoding, "status")
        assert shown.returncode == 0, shown.stderr
        assert "still alive" in shown.stdout.decode("utf-8" if encoding == "ascii" else encoding)  # click mistrusts it
    assert home.run("stop", "--now").returncode == 0


@pytest.mark.parametrize("front", ["--plain", "--json"])
def test_a_reader_that_goes_away(home: Home, front: str) -> None:
    """`grpotui launch … | head -1`: the client ends, and the run goes on."""
    client = home.start("launch", steps_profile(home, 1000, 0.05), front)
    assert client.stdout is not None
    client.stdout.readline()
    client.stdout.close()
    client.wait(timeout=20)
    assert client.stderr is not None
    words = client.stderr.read()
    run = next(home.path.glob("runs/*")).name
    assert (client.returncode, "Traceback" in words) == (141, False), words
    assert f"nobody reads the output any more; the run goes on: grpotui attach {run}" in words
    assert home.status(run)["ranks"][0]["state"] == "running"
    assert not [r for r in home.records(run) if r["ev"] in ("request", "stop")]


def test_both_streams_closed_by_the_reader(home: Home) -> None:
    reader, writer = os.pipe()
    client = home.start("launch", steps_profile(home, 1000, 0.05), stdout=writer, stderr=writer)
    os.close(writer)
    os.read(reader, 1)
    os.close(reader)
    assert client.wait(timeout=20) == 141
    run = next(home.path.glob("runs/*")).name
    assert home.status(run)["ranks"][0]["state"] == "running"


@pytest.mark.parametrize("front", ["--plain", "--json"])
def test_a_full_disk_behind_stdout_costs_the_lines_and_not_the_code(home: Home, front: str) -> None:
    with open("/dev/full", "w") as full:
        client = home.start("launch", steps_profile(home, 3, 0.05), front, stdout=full)
        _, words = client.communicate(timeout=30)
    assert (client.returncode, "Traceback" in words) == (0 if front == "--plain" else client.returncode, False), words
    assert words.count("stdout cannot be written (No space left on device)") == 1
    (run,) = [path.name for path in home.path.glob("runs/*")]
    assert home.status(run)["verdict"] == "passed"


@pytest.mark.parametrize("words", [("runs",), ("info", "--json"), ("--help",)])
def test_a_full_disk_behind_a_single_answer(home: Home, words: tuple[str, ...]) -> None:
    with open("/dev/full", "w") as full:
        client = home.start(*words, stdout=full)
        _, said = client.communicate(timeout=30)
    expected = words != ("runs",)  # which has nothing to print on stdout here
    assert (client.returncode, "No space left on device" in said) == ((1, True) if expected else (0, False)), said
    assert "Traceback" not in said


@pytest.mark.parametrize("closed", [(1,), (0, 1, 2)])
def test_closed_descriptors(home: Home, closed: tuple[int, ...]) -> None:
    """A file that is opened in their place must not become anybody's standard stream."""

    def close() -> None:
        for fd in closed:
            os.close(fd)

    process = home.start("launch", steps_profile(home, 2, 0.05), "--json", preexec_fn=close)
    out, err = process.communicate(timeout=30)
    (directory,) = home.path.glob("runs/*")
    assert process.returncode == 0, err
    assert home.status(directory.name)["verdict"] == "passed"
    if 1 not in closed:
        check_lines("stream", out.splitlines())
    for name in ("ranks", "host", "timeline", "findings"):
        check_lines(name, (directory / f"{name}.jsonl").read_bytes().splitlines())
    assert (directory / "ranks/0/stdout.log").read_text().count("step:1 ") == 1
    assert not (directory / "shim.err").read_text()
    assert not (directory / "monitor.err").read_text()


def test_a_path_that_is_no_text(home: Home, tmp_path: Path) -> None:
    """Any byte but NUL may stand in a path, and in an environment."""
    folder = os.fsencode(tmp_path) + b"/\xff\xfe"
    os.mkdir(folder)
    path = home.profile('name = "x"\n[launch]\nmode = "ranks"\nnproc = 1\nargv = ["./no-such"]\n')
    done = home.run("launch", path, cwd=folder, env={"ODD": os.fsdecode(b"\xff")})
    assert done.returncode == 127, done.stderr
    run = next(home.path.glob("runs/*")).name
    assert home.status(run)["first_failure"]["reason"] == "no such file: ./no-such"
    done = home.run(
        "launch",
        path,
        "--set",
        f"launch.argv=[{json.dumps('{run_dir}/no-such')}]",
        env={"GRPOTUI_HOME": os.fsdecode(folder) + "/home"},
    )
    assert done.returncode == 127, done.stderr
    assert harmless(done.stderr)
