"""Rules of the readers that have few: torchforge, torchtune, Oat, LLaMA-Factory."""

import pytest
from support.log_oracle import Rows, read, rows_of


def rows(framework: str, text: str, logging_steps: int | None = None) -> Rows:
    return rows_of(read(framework, ("stdout", text.encode()), logging_steps=logging_steps).columns)


def test_torchforge_merges_two_reductions_of_a_step() -> None:
    text = "=== [A] - METRICS STEP 0 ===\na:  6.0\n\n=== [B] - METRICS STEP 0 ===\nb/c_s:   0.5\ntext\nd: 1\n"
    assert rows("torchforge", text) == [(0, {"a": 6.0, "b/c_s": 0.5})]


@pytest.mark.parametrize(
    "line", ["Step 1 | loss: 0.5", "Step 1 | loss:x", "Step 1 | answer:5", "Step 1 | ", "x Step 1 | loss:5"]
)
def test_torchtune_takes_no_other_line(line: str) -> None:
    assert rows("torchtune", line + "\n") == []


@pytest.mark.parametrize("prefix", ["", "[learner/0] ", "(Learner pid=4) "])
def test_oat_may_be_prefixed(prefix: str) -> None:
    text = f"{prefix}{{\n{prefix}│   'misc/global_step': 3.0,\n{prefix}│   'misc/lr': 1e-06\n{prefix}}}\n"
    assert rows("oat", text) == [(3, {"misc/global_step": 3.0, "misc/lr": 1e-06})]


@pytest.mark.parametrize(
    "text",
    [
        "{\n'misc/lr': 1.0\n}\n",
        "{\n'misc/global_step': 1.0,\ntext\n}\n",
        "{\n" + "'a': 1,\n" * 500 + "'misc/global_step': 1.0\n}\n",
    ],
)
def test_oat_takes_no_other_dictionary(text: str) -> None:
    assert rows("oat", text) == []


def test_llama_factory_counts_steps_where_it_is_told_how() -> None:
    text = "{'loss': 0.2, 'reward': 0.36, 'learning_rate': 1e-05, 'epoch': 0.1}\n" * 2
    assert [step for step, _ in rows("llama-factory", text, 10)] == [10, 20]


@pytest.mark.parametrize(
    "text",
    [
        "{'loss': 0.2, 'learning_rate': 1e-05, 'epoch': 0.1}",
        "{'loss': 0.2, 'reward': 0.36, 'learning_rate': 1e-05, 'epoch': 0.1, 'kl': None}",
        "{'loss': 0.2, 'reward': None, 'learning_rate': 1e-05, 'epoch': 0.1}",
        '{"current_steps": 1.5, "total_steps": 10, "loss": 0.5}',
        '{"current_steps": 1, "total_steps": 10, "loss": 0.5',
    ],
)
def test_llama_factory_takes_no_other_row(text: str) -> None:
    assert rows("llama-factory", text + "\n") == []
