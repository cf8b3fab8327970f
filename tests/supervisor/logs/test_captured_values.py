"""Every number of the logs that were copied by hand, cut, wrapped or quoted, and of files that are JSON.

The readers of `support` know no wrapped copies and no steps, so here the values are compared, found as pairs in the
text without its line ends; the steps of these logs stand in `test_trl_captured`.
"""

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.framework_oracles import ORACLES
from support.log_data import DATA
from support.log_oracle import Rows, bits, lines, read, rows_of

FOLDER = DATA / "frameworks"
pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="the captured logs are not beside this checkout")

PATTERNS = ("trl/public/*.log", "cases/*.log", "frameworks/*.log", "frameworks/*-1.jsonl", "frameworks/synthetic/*.log")
LOGS = [path for pattern in PATTERNS for path in sorted(DATA.glob(pattern))]
DICT = re.compile(r"""\{ *['"]loss['"][^{}]*\}""")
PAIR = re.compile(
    r"""['"]([^'"]+)['"]: *['"]?([-+]?[0-9][-+.e0-9]*|-?inf|nan|True|False)['"]?(?=[,}])""", re.IGNORECASE
)


def pairs(data: bytes) -> Iterator[dict[str, float]]:
    """The dictionaries of a text that begin with a loss."""
    text = "".join(lines(data + b"\n"))
    for body in DICT.findall(text):
        yield {key: float(value) for key, value in PAIR.findall(body)}


@pytest.mark.parametrize("path", LOGS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_value_of_trl_and_no_other(path: Path) -> None:
    data = path.read_bytes()
    found = [row for _, row in bits(rows_of(read("trl", ("stdout", data + b"\n")).columns))]
    assert found == [row for _, row in bits((0, row) for row in pairs(data))]


def told(entry: dict[str, object]) -> dict[str, float]:
    """The numbers of a row, without its step."""
    numbers = ((key, value) for key, value in entry.items() if isinstance(value, int | float) and key != "step")
    return {key.replace("eval_", "val/"): float(value) for key, value in numbers}


def by_step(entries: Iterator[tuple[int, dict[str, object]]]) -> Rows:
    found: dict[int, dict[str, float]] = {}
    for step, entry in entries:
        found.setdefault(step, {}).update(told(entry))
    return list(found.items())


@pytest.mark.parametrize("name", ["trl-6.trainer_state.json", "unsloth-4.trainer_state.json"])
def test_every_number_of_a_trainer_state(name: str) -> None:
    data = (FOLDER / name).read_bytes()
    history = json.loads(data)["log_history"]
    expected = by_step((entry["step"], entry) for entry in history if "train_runtime" not in entry)
    assert len(expected) >= 25
    assert bits(rows_of(read("trainer-state", ("stdout", data)).columns)) == bits(expected)


@pytest.mark.parametrize("name", ["ms-swift-1.jsonl", "ms-swift-3.jsonl"])
def test_every_number_of_a_jsonl_file(name: str) -> None:
    data = (FOLDER / name).read_bytes()
    progress = "global_step/max_steps"
    rows = [row for line in data.decode().splitlines() if progress in (row := json.loads(line))]
    expected = by_step((int(row[progress].partition("/")[0]), row) for row in rows if "train_runtime" not in row)
    assert bits(rows_of(read("trl", ("stdout", data)).columns)) == bits(expected)


ELSEWHERE = {
    "complete/verl-uqcxu9-v5-ok-700.log": "test_verl_captures",
    "complete/verl-uqcxu9-crash-699of700.log": "test_verl_captures",
    "complete/trl-hotpotqa-ok-1875.log": "test_trl_captured",
    **dict.fromkeys(("verl-1.log", "logic-rl-1.log", "tinyzero-1.log", "rllm-1.log"), "test_verl_captures"),
    "verl-agent-1-fixture.log": "test_verl_captures",
    "easyr1-1.log": "no step in it, see test_recognised",
    "ragen-1-nometrics.log": "no metric in it, see test_recognised",
    "tensorboard-1.tfevents": "test_tensorboard",
    "wandb-1.wandb": "nothing reads it",
    "prime-rl-2-quoted.txt": "no raw lines",
    "torchforge-1-docs.txt": "an example of its documentation, recognised in test_recognised",
    "ms-swift-3.jsonl": "here",
    "trl-6.trainer_state.json": "here",
    "unsloth-4.trainer_state.json": "here",
}


def test_each_log_of_the_manifest_is_compared_with_something() -> None:
    with (FOLDER / "manifest.tsv").open() as file:
        names = {row["file"] for row in csv.DictReader(file, delimiter="\t")} - {"synthetic/*.log"}
    logs = [path for path in LOGS if path.is_relative_to(FOLDER)]
    here = {str(path.relative_to(FOLDER)) for path in logs if any(pairs(path.read_bytes()))}
    assert names <= here | ELSEWHERE.keys() | ORACLES.keys()
