"""Logs of other people's runs: what they are recognised as, and every number against a slow reader of the same."""

import csv
from pathlib import Path

import pytest
from support.framework_oracles import ORACLES
from support.log_data import DATA
from support.log_oracle import bits, read, rows_of

from grpotui_supervisor.logs import READERS, reader_for
from grpotui_supervisor.logs.auto import AutoReader

FOLDER = DATA / "frameworks"
pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="the captured logs are not beside this checkout")

OTHERS = [entry.framework for entry in READERS if entry.framework not in {"verl", "trl", "ms-swift"}]
NOTHING = {  # no record in it, and why
    "easyr1-1.log": "a summary that wandb prints at the end, not a step",
    "prime-rl-2-quoted.txt": "values quoted in prose",
    "ragen-1-nometrics.log": "no metric line",
    "wandb-1.wandb": "binary",
    "tensorboard-1.tfevents": "binary",
}
OTHER_NAMES = {  # what the name of a file begins with, where it is not the framework's
    "verl": ("verl", "logic-rl", "tinyzero", "rllm"),
    "trl": ("trl", "unsloth", "ms-swift"),
    "trainer-state": ("trl", "unsloth"),
    "llama-factory": ("llamafactory",),
}


def manifest() -> list[str]:
    if not FOLDER.exists():
        return []
    with (FOLDER / "manifest.tsv").open() as file:
        names = [row["file"] for row in csv.DictReader(file, delimiter="\t")]
    return sorted(str(path.relative_to(FOLDER)) for name in names for path in FOLDER.glob(name))


def recognised(path: Path) -> AutoReader:
    reader = read("auto", ("stdout", path.read_bytes()))
    assert isinstance(reader, AutoReader)
    return reader


@pytest.mark.parametrize("name", manifest())
def test_a_log_is_recognised_as_what_the_manifest_says(name: str) -> None:
    if name.endswith("trainer_state.json") and "trainer-state" not in OTHERS:
        pytest.skip("not a log")
    reader = recognised(FOLDER / name)
    if name in NOTHING:
        assert (reader.framework, len(reader.columns)) == ("auto", 0)
        assert reader.seen is not None
        assert reader.seen.isprintable()
    else:
        stem = Path(name).name
        assert stem.startswith(OTHER_NAMES.get(reader.framework, reader.framework))
        assert len(reader.columns) > 0


@pytest.mark.parametrize("name", ORACLES)
def test_every_number(name: str) -> None:
    framework, oracle = ORACLES[name]
    data = (FOLDER / name).read_bytes()
    reader = reader_for(framework)
    assert reader is not None
    reader.feed(data)
    expected = oracle(data)
    assert bits(rows_of(reader.columns)) == bits(expected)
    assert len(expected) > 0


def test_two_widths_of_a_console_hold_the_same() -> None:
    narrow, wide = (recognised(FOLDER / f"synthetic/open-instruct-w{width}.log") for width in (80, 200))
    assert rows_of(narrow.columns) == rows_of(wide.columns)


OURS = sorted(DATA.glob("verl/**/*.*")) + sorted(DATA.glob("verl-h200x2/*.log")) + sorted(DATA.glob("trl*/**/*.*"))


@pytest.mark.parametrize("path", [p for p in OURS if p.is_file()], ids=lambda path: str(path.relative_to(DATA)))
def test_runs_of_verl_and_trl_are_no_other_framework(path: Path) -> None:
    reader = recognised(path)
    ours = {"verl"} if path.relative_to(DATA).parts[0].startswith("verl") else {"trl", "ms-swift", "trainer-state"}
    assert reader.framework in ours | {"auto"}


CASES = sorted(DATA.glob("cases/*.log"))
HOLD_RECORDS = {  # cases of the other frameworks whose log has metric lines
    "005-oom-logprob-slime-megatron.log": "slime",
    "015-vllm-sleep-residual-growth-nemo.log": "nemo-rl",
    "090-grad-norm-billions-slime.log": "slime",
}


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.name)
def test_failing_runs_hold_no_false_records(path: Path) -> None:
    data = path.read_bytes()
    counts = {framework: len(read(framework, ("stdout", data)).columns) for framework in OTHERS}
    assert {framework for framework, count in counts.items() if count} == {HOLD_RECORDS.get(path.name)} - {None}
