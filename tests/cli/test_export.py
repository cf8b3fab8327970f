"""`export`: to TensorBoard, and of samples; what it refuses; what it leaves when it is interrupted."""

from __future__ import annotations

import csv
import fcntl
import io
import json
import os
import pty
import re
import signal
import struct
import termios
from array import array
from typing import TYPE_CHECKING, Any

import pytest
from support.commands import refused
from support.event_files import obvious, training
from support.schemas import check_directory, check_lines
from support.waiting import wait_until

from grpotui_supervisor.logs.tensorboard import TensorBoardReader

if TYPE_CHECKING:
    from pathlib import Path

    from support.runs import Home

LOG = "".join(
    f"step:{step} - critic/rewards/mean:{value} - actor/entropy:0.1 - big:1e+39\n"
    for step, value in ((1, "0.25"), (2, "np.float64(nan)"), (500, "0.75"))
)
HOSTILE = "\x1b]0;title\x07\x9b31m\u202e\x7f\ud800 né"
ROWS = [
    {"input": "1+1=?", "output": answer, "score": score, "step": step}
    for step, answer, score in ((1, "2", 1.0), (1, "3", float("nan")), (1, "2", 1.0), (2, HOSTILE, 0))
]
TRAINER = """
import json, os
os.makedirs("dumps", exist_ok=True)
for step in (1, 2):
    print("╭────── Step %d ──────╮" % step)
    print("│ ┃ Prompt ┃ Completion ┃ r ┃ Advantage ┃ │")
    print("│ │ a │ b%d │ 0.50 │ 1.00 │ │" % step)
    print("│ └───┴ │")
    print("╰──────╯")
    print({"loss": 0.5, "reward": 0.25, "reward_std": 0.1, "kl": 0.01, "epoch": 0.1}, flush=True)
    with open("dumps/%d.jsonl" % step, "w") as dump:
        dump.write(json.dumps({"input": "p", "output": "o", "score": 1.0, "step": step}) + "\\n")
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "train.log"
    path.write_text(LOG)
    return path


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    path = tmp_path / "dump.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def read(folder: Path) -> TensorBoardReader:
    (file,) = folder.iterdir()
    assert "tfevents" in file.name
    reader = TensorBoardReader()
    reader.feed(file.read_bytes())
    assert (reader.damaged, reader.bad_records) == (None, 0)
    return reader


def single(value: float) -> float:
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


def test_to_tensorboard_and_back(home: Home, log: Path, tmp_path: Path) -> None:
    done = home.run("export", str(log), "--to", "tensorboard", "-o", str(tmp_path / "tb"))
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "too large for single precision left out: 3" in done.stderr
    assert "unknown time, which TensorBoard shows as 1970: 3" in done.stderr
    points = read(tmp_path / "tb").points
    assert points.keys() == {"reward/mean", "entropy", "raw/critic/rewards/mean", "raw/actor/entropy"}
    assert list(points["reward/mean"].steps) == [1, 2, 500]
    assert list(points["entropy"].values) == [single(0.1)] * 3
    assert [str(value) for value in points["reward/mean"].values] == ["0.25", "nan", "0.75"]
    assert set(points["entropy"].walls) == {0.0}


def test_the_times_of_an_event_file_are_kept(home: Home, tmp_path: Path) -> None:
    tags = ["train/epoch", "train/reward", "train/reward_std", "train/completions/mean_length"]
    data = training(tags, range(1, 6))
    (tmp_path / "events.out.tfevents.1.host").write_bytes(data)
    done = home.run("export", str(tmp_path), "--to", "tensorboard", "-o", str(tmp_path / "tb"))
    assert done.returncode == 0, done.stderr
    assert "unknown" not in done.stderr
    points = read(tmp_path / "tb").points
    assert points.keys() == {"epoch", "reward/mean", "reward/std", "length/mean", *(f"raw/{tag}" for tag in tags)}
    first = obvious(data)["train/epoch"]
    assert list(points["reward/mean"].walls) == [wall for _, wall, _ in first]


def test_rows_of_unknown_step_are_left_out_and_counted(home: Home, tmp_path: Path) -> None:
    log = tmp_path / "trl.log"
    log.write_text("{'loss': 0.5, 'reward': 0.1, 'reward_std': 0.2, 'epoch': 0.1}\n")
    out = tmp_path / "tb"
    refused(home.run("export", str(log), "--to", "tensorboard", "-o", str(out)), 2, "no row tells its step", "jsonl")
    assert not out.exists()
    state = tmp_path / "trainer_state.json"
    history = [{"loss": 0.5, "epoch": 0.1}, {"step": 4, "loss": 0.25, "epoch": 0.2}]
    state.write_text(json.dumps({"log_history": history}))
    done = home.run("export", str(state), "--to", "tensorboard", "-o", str(out))
    assert "rows of unknown step left out: 1" in done.stderr
    assert list(read(out).points["loss"].values) == [0.25]


def test_what_cannot_be_exported_to_tensorboard(home: Home, log: Path, tmp_path: Path) -> None:
    words = ("export", str(log), "--to", "tensorboard")
    refused(home.run(*words), 2, "needs a folder", "--output DIR")
    refused(home.run(*words, "-o", str(log)), 2, "Not a directory")
    refused(home.run(*words, "-o", str(tmp_path / "a/b")), 2, "cannot be made")
    refused(home.run(*words, "--samples", "-o", str(tmp_path / "tb")), 2, "samples are no scalars")
    (tmp_path / "tb").mkdir()
    (tmp_path / "tb/events.out.tfevents.1.host").write_bytes(b"")
    refused(home.run(*words, "-o", str(tmp_path / "tb")), 2, "holds an event file already")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["events.out.tfevents.1.host", "tb", "train.log"]


def test_samples_as_json_lines(home: Home, dump: Path) -> None:
    done = home.run("export", str(dump), "--samples", "--to", "jsonl")
    assert done.returncode == 0, done.stderr
    lines = check_lines("samples", done.stdout.splitlines())
    assert [(line["step"], line["group"], line["answer"]) for line in lines] == [
        (1, 0, "2"), (1, 0, "3"), (1, 0, "2"), (2, 0, HOSTILE),
    ]  # fmt: skip
    assert lines[1]["rewards"] == {"score": "nan"}
    assert done.stdout.replace("\n", "").isprintable()
    assert done.stdout.isascii()
    assert "4 samples of steps 1 to 2, 2 groups, distinct answers 0.833" in done.stderr


def test_samples_as_csv(home: Home, dump: Path, tmp_path: Path) -> None:
    out = tmp_path / "samples.csv"
    assert home.run("export", str(dump), "--samples", "--to", "csv", "-o", str(out)).returncode == 0
    table = list(csv.DictReader(io.StringIO(out.read_text())))
    assert [row["answer"] for row in table[:3]] == ["2", "3", "2"]
    assert json.loads(table[0]["rewards"]) == {"score": 1.0}
    assert (table[0]["advantage"], table[0]["ended"]) == ("", "")
    assert "\\ud800" in table[3]["answer"]


def test_samples_as_parquet_and_back(home: Home, dump: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is an extra")
    out = tmp_path / "samples.parquet"
    assert home.run("export", str(dump), "--samples", "--to", "parquet", "-o", str(out)).returncode == 0
    rows = parquet.read_table(out).to_pylist()
    assert [row["answer"] for row in rows[:3]] == ["2", "3", "2"]
    assert rows[0]["rewards"] == [("score", 1.0)]
    refused(home.run("replay", str(out)), 2, "samples, and no metrics", "--samples")


def test_parquet_without_its_library(home: Home, dump: Path, tmp_path: Path) -> None:
    (tmp_path / "pyarrow.py").write_text("raise ImportError")
    path = {"PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    for words in (("--samples",), ()):
        source = str(dump) if words else str(dump.with_name("m.log"))
        dump.with_name("m.log").write_text(LOG)
        done = home.run("export", source, *words, "--to", "parquet", "-o", str(tmp_path / "out"), env=path)
        refused(done, 2, "pyarrow", "grpotui[parquet]")
    (tmp_path / "in.parquet").write_bytes(b"PAR1")
    done = home.run("export", str(tmp_path / "in.parquet"), "--samples", "--to", "jsonl", env=path)
    refused(done, 2, "pyarrow is not installed", "grpotui[parquet]")
    assert not (tmp_path / "out").exists()


def test_a_log_without_samples(home: Home, log: Path, tmp_path: Path) -> None:
    out = tmp_path / "none.jsonl"
    done = home.run("export", str(log), "--samples", "--to", "jsonl", "-o", str(out))
    refused(done, 2, "no samples", "log_completions", "rollout_data_dir", "[logs] samples")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["train.log"]


def test_samples_and_times_of_a_run(home: Home, tmp_path: Path) -> None:
    (tmp_path / "trainer.py").write_text(TRAINER)
    argv = json.dumps(["{grpotui_python}", "-I", "-S", str(tmp_path / "trainer.py")])
    run = home.launch(
        home.profile(
            'name = "samples"\nframework = "trl"\n[launch]\nmode = "ranks"\nnproc = 1\n'
            f"argv = {argv}\ncwd = {json.dumps(str(tmp_path))}\n"
            '[logs]\nlogging_steps = 1\nsamples = ["dumps", "{run_dir}/none"]\n'
        )
    )
    home.wait_for_state(run, "ended")
    check_directory(home.directory(run))
    done = home.run("export", run, "--samples", "--to", "jsonl")
    lines = check_lines("samples", done.stdout.splitlines())
    assert [(s["source"], s["step"], s["answer"]) for s in lines] == [
        ("table", 1, "b1"), ("table", 2, "b2"), ("dump", 1, "o"), ("dump", 2, "o"),
    ]  # fmt: skip
    assert f"{home.directory(run)}/none, which the profile names for samples, is not there" in done.stderr
    done = home.run("export", run, "--to", "tensorboard", "-o", str(tmp_path / "tb"))
    assert done.returncode == 0, done.stderr
    begun = home.records(run, "timeline")[0]["t"]
    for wall in read(tmp_path / "tb").points["reward/mean"].walls:
        assert begun <= wall < begun + 60


def listening() -> None:
    """In the client: a test run in the background of a script has SIGINT ignored, and children inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def unread(pipe: int) -> int:
    """Bytes that lie in a pipe."""
    found = array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, found)
    return found[0]


def parts(folder: Path) -> list[Path]:
    return list(folder.glob(".grpotui-*"))


def test_control_c_leaves_nothing(home: Home, tmp_path: Path) -> None:
    """One is enough, while samples stream into a file."""
    os.mkfifo(tmp_path / "slow.jsonl")
    out = tmp_path / "out.jsonl"
    words = ("export", str(tmp_path / "slow.jsonl"), "--samples", "--to", "jsonl", "-o", str(out))
    process = home.start(*words, preexec_fn=listening)
    with (tmp_path / "slow.jsonl").open("w") as pipe:
        pipe.write(json.dumps(ROWS[0]) + "\n")
        pipe.flush()
        wait_until(lambda: not unread(pipe.fileno()), what="the first sample to be read")
        assert parts(tmp_path)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
    assert (process.returncode, err.strip()) == (130, "grpotui: interrupted")
    assert parts(tmp_path) == []
    assert not out.exists()


def test_control_c_ends_a_long_reading(home: Home, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "slow.log")
    process = home.start("replay", str(tmp_path / "slow.log"), preexec_fn=listening)
    with (tmp_path / "slow.log").open("w") as pipe:
        pipe.write("step:1 - ")
        pipe.flush()
        wait_until(lambda: not unread(pipe.fileno()), what="the beginning to be read")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err.strip()) == (130, "", "grpotui: interrupted")


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_a_hostile_tag_reaches_no_terminal(home: Home, tmp_path: Path, form: str) -> None:
    path = tmp_path / "events.out.tfevents.1.host"
    path.write_bytes(training(["\x1b]0;title\x07\x9b31m\u202e"], range(1, 3)))
    done = home.run("export", str(path), "--to", form)
    assert done.returncode == 0, done.stderr
    assert not {char for char in done.stdout if not char.isprintable()} - {"\n", "\r"}


def test_progress_on_a_terminal_only(home: Home, tmp_path: Path) -> None:
    """The writer holds the pipe open until the line is drawn; when the work is done, it is gone."""
    os.mkfifo(tmp_path / "slow.log")
    ours, theirs = pty.openpty()
    process = home.start("replay", str(tmp_path / "slow.log"), "--json", stderr=theirs)
    os.close(theirs)
    shown = b""
    with (tmp_path / "slow.log").open("wb", buffering=0) as pipe:
        for _ in range(2000):
            pipe.write(b"#" * 65535 + b"\n")
            if b"reading" in (shown := shown + available(ours)):
                break
        pipe.write(LOG.encode())
    out, _ = process.communicate(timeout=60)
    shown += available(ours)
    os.close(ours)
    assert json.loads(out)["step"] == 500
    assert re.search(rb"\rreading [0-9.]+ \w+ \S*slow\.log\x1b", shown), shown
    assert shown.rstrip().endswith(b"\r\x1b[K")


def available(terminal: int) -> bytes:
    """What can be read of a pseudo terminal now; its other side may be closed."""
    os.set_blocking(terminal, False)
    try:
        return os.read(terminal, 1 << 16)
    except OSError:
        return b""


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_what_is_no_text_for_a_terminal(home: Home, dump: Path, form: str) -> None:
    ours, theirs = pty.openpty()
    options: dict[str, Any] = {"stdout": theirs}
    process = home.start("export", str(dump), "--samples", "--to", form, **options)
    os.close(theirs)
    _, err = process.communicate(timeout=20)
    os.close(ours)
    assert process.returncode == 2
    assert "no text for a terminal" in err
