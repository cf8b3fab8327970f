"""verl's file logger at launch: which words and which environment, when it is left off, and whose rows are shown."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

import pytest
from support.schemas import check_directory

from grpotui_supervisor.rundir import RunDirectory
from grpotui_supervisor.source.source import Source
from grpotui_supervisor.source.status import status
from grpotui_supervisor.verl_logger import Addition, addition

if TYPE_CHECKING:
    from pathlib import Path

    from support.runs import Home

PYTHON = (sys.executable,)
STOCK = (*PYTHON, "-m", "verl.trainer.main_ppo", "data.train_batch_size=8")

DRIVER = """
import json, os, sys, time
said = [word for word in sys.argv if "trainer.logger=" in word]
loggers = said[-1].partition("=")[2] if said else "[console]"
path = os.environ.get("VERL_FILE_LOGGER_PATH")
file = open(path, "wb", buffering=0) if path and "file" in loggers else None
print("Total training steps: 4", flush=True)
for step in range(1, 5):
    value = step / 3
    if file:
        row = {"step": step, "data": {"critic/score/mean": value}}
        file.write(json.dumps(row, separators=(",", ":")).encode() + b"\\n")
    if "console" in loggers:
        print(f"step:{step} - critic/score/mean:{value:.3f}", flush=True)
    time.sleep(0.1)
"""


def installed(folder: Path, version: str | None) -> dict[str, str]:
    """An environment in which Python finds the metadata of that verl."""
    if version is not None:
        info = folder / f"verl-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: verl\nVersion: {version}\n")
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(folder)}


def added(folder: Path, *argv: str, version: str | None = "0.9.1", **env: str) -> Addition:
    environment = {**installed(folder, version), **env}
    return addition(argv or STOCK, environment, python=PYTHON, cwd=str(folder), path="/run/verl.jsonl")


@pytest.mark.parametrize(
    ("words", "word"),
    [
        ((), 'trainer.logger=["console","wandb","file"]'),
        (("trainer.logger=console",), '++trainer.logger=["console","file"]'),
        (("trainer.logger=['console','swanlab']",), '++trainer.logger=["console","swanlab","file"]'),
        (
            ('trainer.logger=["console", "wandb"]', "trainer.logger=[tensorboard]"),
            '++trainer.logger=["tensorboard","file"]',
        ),
        (("+trainer.logger=[console]",), '++trainer.logger=["console","file"]'),
        (("trainer.logger=[]",), '++trainer.logger=["file"]'),
    ],
)
def test_the_loggers_of_the_job_stay(tmp_path: Path, words: tuple[str, ...], word: str) -> None:
    found = added(tmp_path, *STOCK, *words)
    assert found == Addition((word,), {"VERL_FILE_LOGGER_PATH": "/run/verl.jsonl"})


def test_one_that_is_there_already_only_gets_its_path(tmp_path: Path) -> None:
    found = added(tmp_path, *STOCK, "trainer.logger=[console,file]")
    assert found == Addition((), {"VERL_FILE_LOGGER_PATH": "/run/verl.jsonl"})


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        ("0.5.0", "has no file logger"),
        ("0.6.0", "ends the job"),
        ("0.7.0", "ends the job"),
        ("0.7.1.dev0", "before its release"),
        (None, "does not know an installed verl"),
        ("0.7.1", None),
        ("0.7.1.post1", None),
        ("0.8.0.dev", None),
        ("1.0", None),
    ],
)
def test_a_version_that_would_crash_or_is_unknown_is_left_alone(
    tmp_path: Path, version: str | None, reason: str | None
) -> None:
    found = added(tmp_path, version=version)
    assert (found.refused is None) == (reason is None) == bool(found.env)
    assert (reason or "") in (found.refused or "")


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        (("bash", "run.sh"), "does not name {python}"),
        ((*PYTHON, "train.py"), "does not set trainer.logger"),
        ((*STOCK, "--config-name=mine"), "does not set trainer.logger"),
        ((*STOCK, "trainer.logger=${oc.env:LOGGERS}"), "no list of names"),
        ((*STOCK, "~trainer.logger"), "deletes"),
    ],
)
def test_what_is_not_known_is_left_alone(tmp_path: Path, argv: tuple[str, ...], reason: str) -> None:
    found = added(tmp_path, *argv)
    assert (found.words, found.env) == ((), {})
    assert reason in (found.refused or "")


def test_a_path_of_the_user_s_own_stays(tmp_path: Path) -> None:
    assert "set already" in (added(tmp_path, VERL_FILE_LOGGER_PATH="/mine").refused or "")


def test_an_interpreter_that_cannot_be_started(tmp_path: Path) -> None:
    found = addition(("/no/python", "-m", "verl.trainer.main_ppo"), {}, python=("/no/python",), cwd="/", path="/x")
    assert "could not be started" in (found.refused or "")
    assert addition(STOCK, {}, python=PYTHON, cwd=str(tmp_path / "gone"), path="/x").refused is not None


def profile(home: Home, version: str | None, *, loggers: str = "['console']", more: str = "") -> str:
    folder = home.path.parent / "site"
    (home.path.parent / "driver.py").write_text(DRIVER)
    argv = ["{python}", "{profile_dir}/driver.py", f"trainer.logger={loggers}"]
    return home.profile(
        f'name = "verl"\nframework = "verl"\n[launch]\nmode = "command"\npython = "{sys.executable}"\n'
        f'argv = {json.dumps(argv)}\n[launch.env]\nPYTHONPATH = "{installed(folder, version)["PYTHONPATH"]}"\n'
        f"[logs]\nverl_file_logger = true\n{more}"
    )


def test_its_rows_stand_in_for_the_console_s(home: Home) -> None:
    path = profile(home, "0.9.1")
    printed = home.run("launch", path, "--dry-run").stdout
    assert "VERL_FILE_LOGGER_PATH='<run directory>/ranks/driver/verl-metrics.jsonl'" in printed
    assert """'++trainer.logger=["console","file"]'""" in printed
    done = home.run("launch", path, "--json", "--skip-preflight")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    steps = [(line["step"], line["metrics"]["score/mean"]) for line in lines if line["ev"] == "step"]
    assert steps == [(step, step / 3) for step in range(1, 5)]
    run = lines[-1]["status"]["run"]
    document = home.status(run)
    assert (document["step"], document["steps_total"], document["training_complete"]) == (4, 4, True)
    assert document["metrics"]["score/mean"] == 4 / 3
    check_directory(home.directory(run))
    exported = home.run("export", run, "--to", "csv").stdout.splitlines()
    assert exported[0].split(",")[-1].endswith("critic/score/mean")
    assert len(exported) == 5
    replayed = json.loads(home.run("replay", run, "--at", "2", "--json").stdout)
    assert replayed["step"] >= 2
    assert replayed["metrics"]["score/mean"] in [step / 3 for step in range(2, 5)]
    assert "driver/verl-metrics.jsonl" in {r.get("file") for r in home.records(run, "timeline")}


def test_without_a_console_the_file_is_all_there_is(home: Home) -> None:
    run = home.launch(profile(home, "0.9.1", loggers="[wandb]"), "--skip-preflight")
    document = home.wait_for_state(run, "ended")
    assert (document["step"], document["metrics"]["score/mean"]) == (4, 4 / 3)
    assert home.run("export", run, "--to", "csv").stdout.splitlines()[0] == "step,score/mean,raw:critic/score/mean"
    source = Source(RunDirectory(str(home.directory(run))))
    source.update(None)
    assert status(source)["framework"] == "verl"


def test_what_is_left_off_is_said_and_the_job_runs(home: Home) -> None:
    path = profile(home, "0.7.0")
    said = "verl's file logger is left off: the file logger of verl 0.7.0 ends the job at the first numpy number"
    assert f"# {said}" in home.run("launch", path, "--dry-run").stdout
    done = home.run("launch", path, "--json", "--skip-preflight")
    assert (done.returncode, said in done.stderr) == (0, True)
    document = home.status()
    assert document["metrics"]["score/mean"] == 1.333
    facts = json.loads((home.directory(document["run"]) / "run.json").read_text())
    assert facts["notes"][0].startswith(said)
    assert not any("file" in word for member in facts["members"] for word in member["argv"][2:])


@pytest.mark.parametrize(
    ("change", "reason"), [("framework=trl", "only for verl"), ("launch.mode=ranks", "only for mode 'command'")]
)
def test_a_profile_in_which_it_means_nothing(home: Home, change: str, reason: str) -> None:
    settings = [change, "launch.nproc=1"] if "ranks" in change else [change]
    flags = [word for setting in settings for word in ("--set", setting)]
    done = home.run("launch", profile(home, None), "--dry-run", *flags)
    assert (done.returncode, reason in done.stderr) == (2, True)
