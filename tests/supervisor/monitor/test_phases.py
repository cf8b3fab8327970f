"""What the monitor sees of phases and checkpoints beyond the log: titles of workers, files on disk, space left."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import pytest
from support.waiting import wait_until

from grpotui_supervisor.logs.checkpoints import Checkpoint
from grpotui_supervisor.monitor.disks import marker, space_left
from grpotui_supervisor.rundir import RunDirectory
from grpotui_supervisor.source.source import Source
from grpotui_supervisor.source.status import status

if TYPE_CHECKING:
    from pathlib import Path

    from support.runs import Home

WORKER = """\
cd {folder}
echo 'Total training steps: 9'
echo 'local_global_step_folder: checkpoints/global_step_7'
until [ -e {folder}/begin ]; do sleep 0.05; done
(exec -a ray::WorkerDict.actor_rollout_update_actor sleep 60) & first=$!
until [ -e {folder}/next ]; do sleep 0.05; done
mkdir -p checkpoints; printf 7 > checkpoints/latest_checkpointed_iteration.txt
(exec -a ray::WorkerDict.actor_rollout_generate_sequences sleep 60) & second=$!
kill $first; wait $first
until [ -e {folder}/end ]; do sleep 0.05; done
kill $second; wait $second
exit 0
"""


def events(home: Home, run: str, name: str) -> list[dict[str, Any]]:
    return [record for record in home.records(run, "host") if record["ev"] == name]


def test_titles_and_the_marker_of_a_checkpoint(home: Home, tmp_path: Path) -> None:
    (tmp_path / "job.sh").write_text(WORKER.format(folder=tmp_path))
    profile = f"""
name = "ray"
framework = "verl"
[launch]
mode = "command"
argv = ["bash", "{tmp_path}/job.sh"]
"""
    run = home.launch(home.profile(profile))
    seen = [wait_until(lambda: s if (s := home.status(run))["phase"] else {}, what="a phase in the log")]
    assert (seen[0]["phase"], seen[0]["phase_from"]) == ("save", "log")
    (tmp_path / "begin").touch()
    live = wait_until(lambda: s if (s := home.status(run))["phase_from"] == "process title" else {}, what="a title")
    assert (live["phase"], live["checkpoints"][0]["complete"]) == ("update", None)
    seen.append(live)
    (tmp_path / "next").touch()
    live = wait_until(
        lambda: s if (s := home.status(run))["phase"] == "generate" and s["checkpoints"][0]["complete"] else {},
        what="the next title, and the marker",
    )
    assert live["checkpoints"][0]["evidence"] == "latest_checkpointed_iteration.txt says 7"
    assert live["disk"]["path"].startswith(str(tmp_path))
    assert 0 < live["disk"]["free_bytes"] <= live["disk"]["total_bytes"]
    text = home.run("status", run).stdout
    assert "generating (from the process title)" in text
    assert "checkpoint of step 7: complete (latest_checkpointed_iteration.txt says 7)" in text
    (tmp_path / "end").touch()
    ended = home.wait_for_state(run, "ended")
    assert (ended["phase"], ended["checkpoints"][0]["complete"]) == (None, True)
    for document in (*seen, live, ended):
        replayed = Source(RunDirectory(str(home.directory(run))))
        replayed.update(document["as_of"]["m"])
        names = ("phase", "phase_from", "phase_since_offset_s", "progress", "checkpoints", "disk", "engines")
        assert {name: status(replayed)[name] for name in names} == {name: document[name] for name in names}
    assert [r["phase"] for r in events(home, run, "phase")][:2] == ["update", "generate"]
    assert len(events(home, run, "checkpoint")) == len(events(home, run, "disk")) == 1


def verl(step: int = 20) -> Checkpoint:
    return Checkpoint("verl", f"/x/global_step_{step}", step, 0, 0)


def test_markers_of_verl(tmp_path: Path) -> None:
    folder, tracker = str(tmp_path / "global_step_20"), tmp_path / "latest_checkpointed_iteration.txt"
    assert marker(verl(), folder, age_s=5) is None
    for text, expected in (("10", False), ("20", True), ("30\n", True), ("", None), ("x", None), ("-1", None)):
        tracker.write_text(text)
        found = marker(verl(), folder, age_s=5)
        assert (found[0] if found else None) is expected, text
    tracker.write_text("20")
    old = time.time() - 100
    os.utime(tracker, (old, old))
    assert marker(verl(), folder, age_s=5) is None  # an earlier run left it
    tracker.unlink()
    os.mkfifo(tracker)
    assert marker(verl(), folder, age_s=5) is None


def test_the_marker_of_transformers(tmp_path: Path) -> None:
    one = Checkpoint("trl", str(tmp_path), 20, 0, 0)
    assert marker(one, str(tmp_path), age_s=5) is None
    (tmp_path / "trainer_state.json").write_text("{}")
    assert marker(one, str(tmp_path), age_s=5) == (True, "trainer_state.json, which is written last, is there")
    assert marker(Checkpoint("trl", str(tmp_path), None, 0, 0), str(tmp_path), age_s=5) is None


@pytest.mark.parametrize("name", ["", "not/there/yet", "nul\0byte"])
def test_space_where_the_folder_is_still_to_be_made(tmp_path: Path, name: str) -> None:
    found = space_left(str(tmp_path / name))
    assert found is not None
    assert found["path"] == str(tmp_path)
