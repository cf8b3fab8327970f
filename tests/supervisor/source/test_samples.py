"""The samples of a run as of a moment, and how far they are read."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from grpotui_supervisor.rundir import RunDirectory
from grpotui_supervisor.source.file_source import FileSource
from grpotui_supervisor.source.samples import dump_paths, samples
from grpotui_supervisor.source.source import Source

RUN = Path(__file__).parents[2] / "data/runs/schema-1/passed-20261129-193049-a083"


def table(step: int) -> str:
    return (
        f"╭────── Step {step} ──────╮\n│ ┃ Prompt ┃ Completion ┃ r ┃ Advantage ┃ │\n"
        f"│ │ a │ b{step} │ 0.50 │ 1.00 │ │\n│ └───┴ │\n╰──────╯\nstep:{step} - actor/entropy:0.5\n"
    )


def row(step: int | None, answer: str = "o") -> str:
    told = {} if step is None else {"step": step}
    return json.dumps({"input": "p", "output": answer, "score": 1.0, **told}) + "\n"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Two steps, the first whole on record at 1000, the second at 2000."""
    path = tmp_path / "run"
    shutil.copytree(RUN, path)
    facts: dict[str, Any] = json.loads((path / "run.json").read_text())
    facts["profile"]["framework"] = "verl"
    facts["profile"]["logs"]["samples"] = ["dumps", "{run_dir}/nowhere"]
    facts["profile"]["launch"]["mode"] = "ranks"
    facts["cwd"], facts["members"] = "/nowhere", [{"member": "0", "rank": 0, "role": "rank", "cwd": str(tmp_path)}]
    (path / "run.json").write_text(json.dumps(facts))
    (path / "ranks/0/stdout.log").write_text(table(1) + table(2))
    first = len(table(1).encode())
    sizes = [(1000, first), (2000, 2 * first)]
    lines = [{"ev": "size", "t": m / 1e3, "m": m, "seq": m, "file": "0/stdout.log", "size": size} for m, size in sizes]
    (path / "timeline.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "dumps").mkdir()
    (tmp_path / "dumps/all.jsonl").write_text(row(1) + row(2) + row(None, "when?"))
    return path


@pytest.mark.parametrize(
    ("moment", "seen"),
    [
        (999, []),
        (1000, [("table", 1), ("dump", 1)]),
        (2000, [("table", 1), ("table", 2), ("dump", 1), ("dump", 2)]),
        (None, [("table", 1), ("table", 2), ("dump", 1), ("dump", 2), ("dump", None)]),
    ],
)
def test_nothing_is_shown_before_its_time(run: Path, moment: int | None, seen: list[tuple[str, int | None]]) -> None:
    source, notes = Source(RunDirectory(str(run))), list[str]()
    source.update(moment)
    assert [(sample.source, sample.step) for sample in samples(source, note=notes.append)] == seen
    assert notes == [f"{run}/nowhere, which the profile names for samples, is not there"]


def test_folders_of_the_profile(run: Path) -> None:
    facts = json.loads((run / "run.json").read_text())
    assert dump_paths(str(run), facts) == [str(run.parent / "dumps"), f"{run}/nowhere"]
    assert dump_paths(str(run), {}) == []


def test_how_far_a_folder_is_read(tmp_path: Path) -> None:
    for step in (1, 2, 10):
        (tmp_path / f"{step}.jsonl").write_text(row(None) * 10_000)
    seen: list[tuple[int, int | None]] = []
    source = FileSource(str(tmp_path))
    steps = [sample.step for sample in samples(source, lambda done, total: seen.append((done, total)))]
    assert steps == [1] * 10_000 + [2] * 10_000 + [10] * 10_000
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert seen[-1] == (size, size)
    assert seen == sorted(seen)


def test_a_line_without_an_end_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grpotui_supervisor.samples.files.LINE_LIMIT", 1000)
    (tmp_path / "1.jsonl").write_text(row(None, "a" * 2000) + row(None, "b") + row(None, "c" * 2000).rstrip())
    assert [sample.answer for sample in samples(FileSource(str(tmp_path / "1.jsonl")))] == ["b"]
