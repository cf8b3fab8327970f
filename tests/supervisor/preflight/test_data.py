"""The data check on real files, read by a real interpreter of the job."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from support.preflight_jobs import VERL, job_of

from grpotui_supervisor.preflight import data
from grpotui_supervisor.preflight.child import MARK
from grpotui_supervisor.shim import procfs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from grpotui_supervisor.preflight.check import Result

PYARROW = os.environ.get("GRPOTUI_TEST_TRAINER") or (sys.executable if importlib.util.find_spec("pyarrow") else "")
NARROW = (*VERL, "data.max_prompt_length=8", "data.train_files=train.jsonl", "data.val_files=null")
TRL = ("t.py", "--use_vllm", "--max_prompt_length", "8", "--dataset_name", "train.jsonl")


def row(prompt: str = "1 + 1?", answer: Any = "2", **more: Any) -> dict[str, Any]:
    """As verl's preprocessing writes them."""
    return {
        "data_source": "gsm8k", "prompt": [{"role": "user", "content": prompt}],
        "reward_model": {"style": "rule", "ground_truth": answer}, **more,
    }  # fmt: skip


def lines(path: Path, rows: Sequence[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in rows))


def checked(folder: Path, rows: Sequence[Any] | None, *words: str, **more: Any) -> Result:
    if rows is not None:
        lines(folder / "train.jsonl", rows)
    found = data.CHECK.run(job_of(folder, *(words or NARROW), **more))
    assert not [pid for pid in procfs.pids() if procfs.environment(pid).get(MARK, "").startswith(f"{os.getpid()}-")]
    return found


def told(result: Result) -> str:
    return "\n".join([result.evidence, *result.details])


GOOD = [row("one?", "1"), row("two?", "2"), row("three?", "3")]


def test_good_rows(tmp_path: Path) -> None:
    found = checked(tmp_path, GOOD)
    assert found.outcome == "passed", found
    assert "train.jsonl 3 rows; all looked at" in found.evidence
    assert "longest prompt 2 of 8 (by characters / 4, an estimate)" in found.evidence
    assert "3 different right answers (reward_model.ground_truth)" in found.evidence
    assert found.data["read_by"] == "the training interpreter"


def test_prompts_over_the_limit(tmp_path: Path) -> None:
    """Nine times four characters and one are ten tokens by the estimate, and the limit is eight."""
    rows = [*GOOD, row("x" * 37, "4")]
    assert checked(tmp_path, [*GOOD, row("x" * 32, "4")]).outcome == "passed"
    found = checked(tmp_path, rows)
    assert found.outcome == "warning"
    assert "1 of 4 prompts (25.0%) are over 8 (by characters / 4, an estimate)" in found.evidence
    assert "data.truncation=error stops at the first" in found.evidence
    dropped = checked(tmp_path, rows, *NARROW, "data.filter_overlong_prompts=True")
    assert (dropped.outcome, "will be left out" in dropped.evidence) == ("warning", True)
    few = checked(tmp_path, GOOD * 50 + rows[-1:], *NARROW, "data.filter_overlong_prompts=True")
    assert few.outcome == "passed"
    cut = checked(tmp_path, rows, *TRL)
    assert (cut.outcome, "will be cut" in cut.evidence) == ("warning", True)


def test_empty_and_constant_answers(tmp_path: Path) -> None:
    found = checked(tmp_path, [row("a", ""), row("b", None), row("c", "1"), row("d", "1"), row("  ", "1")])
    assert found.outcome == "warning"
    words = told(found)
    assert "2 of 5 right answers (reward_model.ground_truth) are empty" in words
    assert "all 3 right answers (reward_model.ground_truth) are the same" in words
    assert "1 of 5 prompts are empty" in words


def test_full_width_digits(tmp_path: Path) -> None:
    """Answers that are never matched, as half of the set was typed with another keyboard."""
    found = checked(
        tmp_path, [row("a", "\uff14\uff12"), row("b", "42"), row("c", "3.5"), row("d", "\uff13\uff0e\uff15")]
    )
    assert found.outcome == "warning"
    assert "2 of 4 right answers have full-width signs, 2 with half-width digits" in found.evidence
    assert "'\uff14\uff12'" in found.evidence
    assert "NFKC" in str(found.next)
    assert "example" not in found.data["answers"]


def test_columns_that_are_not_there(tmp_path: Path) -> None:
    found = checked(tmp_path, [{"question": "1+1?", "answer": "2"}])
    assert found.outcome == "failed"
    words = told(found)
    assert "train.jsonl has no column data_source and reward_model, which verl reads" in words
    trl = checked(tmp_path, [{"question": "1+1?", "answer": "2"}, {"question": "2+2?", "answer": "4"}], *TRL)
    assert (trl.outcome, trl.data["columns"]) == ("passed", {"prompt": "question", "answer": "answer"})
    named = checked(tmp_path, [{"question": "1"}], *TRL, more="[data]\nprompt = 'promt'\nanswer = 'question'\n")
    assert (named.outcome, "none of the columns promt is there, but question" in named.evidence) == ("failed", True)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    found = checked(tmp_path, None)
    assert (found.outcome, found.evidence) == ("failed", f"{tmp_path}/train.jsonl is not there")
    both = checked(tmp_path, GOOD, *NARROW, "data.val_files=[train.jsonl,'test.parquet']")
    assert (both.outcome, both.evidence) == ("failed", f"{tmp_path}/test.parquet is not there")
    assert "3 rows" in told(both)


def test_files_named_by_a_variable_of_hydra(tmp_path: Path) -> None:
    lines(tmp_path / "there/train.jsonl", GOOD)
    words = (
        *NARROW,
        "data.train_files=${oc.env:PLACE}/train.jsonl",
        "data.val_files=${oc.env:NONE_SUCH,there}/train.jsonl",
    )
    found = checked(tmp_path, None, *words, env={"PLACE": str(tmp_path / "there")})
    assert (found.outcome, [one["path"] for one in found.data["files"]]) == (
        "passed",
        [f"{tmp_path}/there/train.jsonl"],
    )
    unknown = checked(tmp_path, None, *NARROW, "data.train_files=${a.b}/train.jsonl")
    assert unknown.outcome == "not_applicable"


def test_the_profiles_files_go_before_the_commands(tmp_path: Path) -> None:
    lines(tmp_path / "mine.jsonl", GOOD)
    more = "[data]\ntrain = '{profile_dir}/mine.jsonl'\nvalidation = ['mine.jsonl']\n"
    found = checked(tmp_path, None, *NARROW, more=more)
    assert (found.outcome, [one["rows"] for one in found.data["files"]]) == ("passed", [3])


def test_rows_that_the_profile_says_otherwise(tmp_path: Path) -> None:
    lines(tmp_path / "other.jsonl", GOOD)
    words = (*NARROW, "data.val_files=other.jsonl")
    found = checked(tmp_path, GOOD, *words, more="[data]\nrows = 7473\n")
    assert (found.outcome, "have 3 rows, and [data] rows says 7473" in found.evidence) == ("warning", True)
    assert checked(tmp_path, GOOD, *words, more="[data]\nrows = 3\n").outcome == "passed"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", '[{"prompt": "a", "answer": "1"}, {"prompt": "b", "answer": "2"}]'),
        ("a.json", '{"data": [{"prompt": "a", "answer": "1"}, {"prompt": "b", "answer": "2"}]}'),
        ("a.json", '{"prompt": "a", "answer": "1"}\n{"prompt": "b", "answer": "2"}\n'),
        ("a.jsonl", '{"prompt": "a", "answer": "1"}\n\n{"prompt": "b", "answer": "2"}'),
        ("a.csv", "prompt,answer\na,1\nb,2\n"),
        ("a.tsv", "prompt\tanswer\na\t1\nb\t2\n"),
    ],
)
def test_kinds_of_files(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    found = checked(tmp_path, None, "t.py", "--use_vllm", "--dataset_name", name)
    assert found.outcome == "passed", found
    assert (found.data["looked"], found.data["answers"]["distinct"]) == (2, 2)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.jsonl", '{"prompt": "a"}\n{"prompt": \n', "line 2 is no JSON"),
        ("a.jsonl", "[1, 2]\n", "a row is no object"),
        ("a.json", "", "has no rows"),
        ("a.parquet", "not one", "a.parquet: "),
        ("a.jsonl", "\udcff\udcfe", "UnicodeDecodeError"),
    ],
)
def test_files_that_are_broken(tmp_path: Path, name: str, text: str, words: str) -> None:
    (tmp_path / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    found = checked(tmp_path, None, "t.py", "--use_vllm", "--dataset_name", name, python=PYARROW or sys.executable)
    assert found.outcome in ("failed", "unchecked")
    assert words in told(found)


@pytest.mark.skipif(not PYARROW, reason="no pyarrow here: GRPOTUI_TEST_TRAINER names an interpreter with it")
def test_parquet_through_the_training_interpreter(tmp_path: Path) -> None:
    lines(tmp_path / "train.jsonl", GOOD * 100)
    code = "import json,sys,pyarrow as a,pyarrow.parquet as p; p.write_table(a.Table.from_pylist([json.loads(l) for l in open(sys.argv[1])]),sys.argv[2])"  # noqa: E501
    paths = [str(tmp_path / "train.jsonl"), str(tmp_path / "train.parquet")]
    subprocess.run([PYARROW, "-c", code, *paths], check=True)
    found = checked(tmp_path, None, *NARROW, "data.train_files=train.parquet", python=PYARROW)
    assert (found.outcome, found.data["files"][0]["rows"]) == ("passed", 300), found


def test_a_parquet_file_without_its_library(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    blocked = tmp_path / "blocked/pyarrow"
    blocked.mkdir(parents=True)
    (blocked / "__init__.py").write_text("raise ImportError('none here')")
    found = checked(
        tmp_path, None, "t.py", "--use_vllm", "--dataset_name", "a.parquet", env={"PYTHONPATH": str(blocked.parent)}
    )
    assert found.outcome == "unchecked"
    assert "pyarrow is not installed in this interpreter (none here)" in found.evidence


def test_more_rows_than_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "_ROWS", 2)
    found = checked(tmp_path, [*GOOD, row("x" * 100, "")])
    assert found.outcome == "passed"
    assert "train.jsonl 4 rows; the first 2 looked at" in found.evidence


def test_an_interpreter_that_does_not_start(tmp_path: Path) -> None:
    found = checked(tmp_path, GOOD, python=str(tmp_path / "no-python"))
    assert (found.outcome, found.data["read_by"]) == ("passed", "grpotui's interpreter")


def test_tokens_where_there_is_a_tokenizer(tmp_path: Path) -> None:
    """Of the model's folder; a stand-in for `tokenizers` that counts words."""
    library = tmp_path / "path/tokenizers"
    library.mkdir(parents=True)
    (library / "__init__.py").write_text(
        "class Tokenizer:\n"
        " @staticmethod\n def from_file(path): return Tokenizer()\n"
        " def encode(self, text, add_special_tokens=True):\n"
        "  assert not add_special_tokens\n"
        "  self.ids = text.split(); return self\n"
    )
    (tmp_path / "model").mkdir()
    (tmp_path / "model/tokenizer.json").write_text("{}")
    words = (*NARROW, "actor_rollout_ref.model.path=model")
    found = checked(tmp_path, [*GOOD, row("a b c d e f g h i", "9")], *words, env={"PYTHONPATH": str(library.parent)})
    assert found.outcome == "failed"
    assert "1 of 4 prompts (25.0%) are over 8 (in tokens, without the chat template)" in found.evidence


def test_a_folder_and_a_name_on_the_hub(tmp_path: Path) -> None:
    lines(tmp_path / "set/data/train.jsonl", GOOD)
    (tmp_path / "set/dataset_info.json").write_text("{}")
    found = checked(tmp_path, None, "t.py", "--use_vllm", "--dataset_name", "set")
    assert (found.outcome, len(found.data["files"])) == ("passed", 1)
    away = checked(
        tmp_path, None, "t.py", "--use_vllm", "--dataset_name", "openai/gsm8k", env={"HF_HOME": str(tmp_path)}
    )
    assert away.outcome == "not_applicable"
    place = tmp_path / "hub/datasets--openai--gsm8k/snapshots/abc/main"
    lines(place / "train.jsonl", GOOD)
    kept = checked(
        tmp_path, None, "t.py", "--use_vllm", "--dataset_name", "openai/gsm8k", env={"HF_HOME": str(tmp_path)}
    )
    assert (kept.outcome, "3 rows" in kept.evidence) == ("passed", True)


def test_a_job_without_data_here(tmp_path: Path) -> None:
    assert checked(tmp_path, None, "t.py").outcome == "not_applicable"
