"""What a folder that is no run holds."""

import json
import os
from pathlib import Path

import pytest
from support.event_files import training

from grpotui_supervisor.errors import UsageError
from grpotui_supervisor.source.file_source import FileSource
from grpotui_supervisor.source.folders import content
from grpotui_supervisor.source.opening import open_source
from grpotui_supervisor.source.samples import samples

EVENTS = "events.out.tfevents.%d.host"


def put(path: Path, data: bytes | str, changed: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    if changed:
        os.utime(path, (changed, changed))
    return path


def test_the_newest_run_with_all_of_its_event_files(tmp_path: Path) -> None:
    put(tmp_path / "runs/old" / (EVENTS % 1), training(["a"], range(1, 9)), 1000)
    put(tmp_path / "runs/new" / (EVENTS % 2), training(["a"], range(1, 4))[:-5], 2000)
    put(tmp_path / "runs/new" / (EVENTS % 3), training(["a"], range(3, 6)), 3000)
    put(tmp_path / "runs/new/parameters" / (EVENTS % 4), b"", 2500)
    source = FileSource(str(tmp_path))
    seen: list[tuple[int, int | None]] = []
    source.read(lambda done, total: seen.append((done, total)))
    assert [source.logs.step_of(row) for row in range(source.logs.steps)] == [1, 2, 3, 4, 5]
    assert source.status()["source"] == str(tmp_path / "runs/new")
    assert any("3 runs" in note and "runs/new" in note for note in source.notes)
    assert seen[-1][0] == seen[-1][1]


def test_the_last_checkpoint_s_state(tmp_path: Path) -> None:
    for step in (20, 100):
        state = {"global_step": step, "log_history": [{"step": step, "loss": 0.5, "reward": 1.0}]}
        put(tmp_path / f"checkpoint-{step}/trainer_state.json", json.dumps(state))
    assert content(str(tmp_path)).files == (str(tmp_path / "checkpoint-100/trainer_state.json"),)
    put(tmp_path / "trainer_state.json", "{}")
    assert content(str(tmp_path)).files == (str(tmp_path / "trainer_state.json"),)


def test_a_folder_of_samples_has_no_metrics(tmp_path: Path) -> None:
    put(tmp_path / "completions/7.jsonl", '{"input": "1+1=?", "output": "2", "score": 1.0}\n')
    source = FileSource(str(tmp_path))
    with pytest.raises(UsageError, match="samples, and no metrics") as caught:
        source.read()
    assert "--samples" in str(caught.value.hint)
    assert [(sample.step, sample.answer) for sample in samples(source)] == [(7, "2")]


def test_a_folder_with_nothing_says_what_was_looked_for(tmp_path: Path) -> None:
    put(tmp_path / "data/notes.txt", "hello")
    with pytest.raises(UsageError, match="nothing that grpotui reads") as caught:
        open_source(str(tmp_path / "data"), str(tmp_path / "root"))
    for kind in ("run.json", "tfevents", "trainer_state.json", "jsonl", "parquet"):
        assert kind in str(caught.value.hint)


def test_a_run_is_meant_where_a_folder_of_its_name_is_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = tmp_path / "root/runs/demo-1"
    put(run / "run.json", "{}")
    for folder in (tmp_path / "root", tmp_path / "root/runs", run):
        folder.chmod(0o700)
    (tmp_path / "demo").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="demo-1"):  # found, and its facts are none
        open_source("demo", str(tmp_path / "root"))


def test_an_event_file_is_known_by_what_is_in_it(tmp_path: Path) -> None:
    source = FileSource(str(put(tmp_path / "renamed", training(["a"], range(1, 4)))))
    source.read()
    assert source.logs.steps == 3
    damaged = bytearray(training(["a"], range(1, 9)))
    damaged[len(damaged) // 2] ^= 1
    damaged[-20:-12] = bytes(8)
    source = FileSource(str(put(tmp_path / (EVENTS % 1), bytes(damaged))))
    source.read()
    assert any("damaged" in note for note in source.notes)


def test_parquet_holds_no_metrics(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="samples, and no metrics"):
        FileSource(str(put(tmp_path / "a.parquet", b"PAR1...PAR1"))).read()
