"""What counts as a record of TRL's Trainer, and what is read from it."""

import math

import pytest
from support.log_oracle import Rows, read, rows_of
from support.trl_texts import BAR, bar, read_trl, redrawn

from grpotui_supervisor.logs.trl import TrlReader


def rows(text: str, logging_steps: int | None = 1) -> Rows:
    return rows_of(read_trl(("stdout", text), logging_steps=logging_steps).columns)


def test_transformers_4_prints_bare_numbers() -> None:
    ((step, row),) = rows("{'loss': -0.0, 'grad_norm': inf, 'kl': nan, 'learning_rate': 1e-06, 'epoch': 0.06}\n")
    assert step == 1
    assert math.isnan(row.pop("kl"))
    assert row == {"loss": 0.0, "grad_norm": math.inf, "learning_rate": 1e-06, "epoch": 0.06}
    assert math.copysign(1, row["loss"]) == -1


def test_transformers_5_prints_quoted_numbers() -> None:
    ((_, row),) = rows("{'loss': '-0', 'grad_norm': 'nan', 'kl': None, 'num_tokens': '1.474e+04'}\n")
    assert math.isnan(row.pop("grad_norm"))
    assert row == {"loss": 0.0, "num_tokens": 14740.0}
    assert math.copysign(1, row["loss"]) == -1


@pytest.mark.parametrize(
    "before",
    ["", BAR, "[default0]:", "host: [rank0]: ", "0: ", " 80% 4/5 [01:59<00:23, 23.59s/it]", "\x1b[1;37m", "INFO "],
)
@pytest.mark.parametrize("after", ["\n", "\r\n", "Traceback (most recent call last):\n", "INFO 08-02 it took\r"])
def test_what_is_glued_to_a_dict(before: str, after: str) -> None:
    ((_, row),) = rows(f"{before}{{'loss': '0.5', 'epoch': '1'}}{after}")
    assert row == {"loss": 0.5, "epoch": 1.0}


def test_any_reward_function_name_is_a_key() -> None:
    text = "{'rewards/org/model-1.5 (x)/mean': 0.5, \"rewards/it's/mean\": 0.25, 'loss': 0.0}\n"
    ((_, row),) = rows(text)
    assert row == {"rewards/org/model-1.5 (x)/mean": 0.5, "rewards/it's/mean": 0.25, "loss": 0.0}


def test_metrics_of_the_users_own_are_kept() -> None:
    text = (
        "{'loss': 0.5, 'mine': np.float64(0.25), 'note': 'a {text}, with a comma', 'parts': {'a': 1}, 'epoch': 1.0}\n"
    )
    assert rows(text) == [(1, {"loss": 0.5, "mine": 0.25, "epoch": 1.0})]


@pytest.mark.parametrize(
    "line",
    [
        "{'loss': 'grpo', 'beta': 0.04, 'epoch': 'last'}",
        "{'loss': 'grpo', 'epoch': 3, 'learning_rate': 1e-06}",
        "{'prompt': 'one', 'completion': 'two', 'reward': 0.5}",
        "{'reward': 0.5}",
        "{'reward': 0.5, 'loss': 0.25}",
        "{'step': 3, 'loss': 0.25}",
        "config: {'algorithm': {'kl': 0.1, 'gamma': 1.0}}",
        "config: {'kl': 0.1, 'epoch': 3}",
        "[{'loss': 0.5, 'epoch': 1.0, 'step': 10}, {'loss': 0.4, 'epoch': 2.0, 'step': 20}]",
        "[{'loss': 0.5, 'epoch': 1.0},",
        " {'loss': 0.5, 'epoch': 1.0},",
        " {'loss': 0.5, 'epoch': 1.0}]",
        " 'trainer': {'loss': 0.5, 'epoch': 1.0}",
        "logs={'loss': 0.5, 'epoch': 1.0}",
        "    print({'loss': 0.5, 'epoch': 1.0})",
        "    self.log({'loss': loss, 'epoch': epoch})",
        "│ {'loss': 0.5, 'epoch': 1.0} │ 0.25 │",
        "| {'loss': 0.5, 'epoch': 1.0} | 0.25 |",
        '{"loss": 0.5, "epoch": 1.0}',
        "{'final_loss': 0.1, 'policy_lr': 1e-06, 'grad_norm': 0.37}",
        "{'learning_rate': 0.1, 'epoch': 1.0}",
        "{'loss': 0.5, 'epoch': 1.0",
        "{'loss': 0.5 and the 'epoch': 1.0}",
        "{'loss': 0.5, he said, 'epoch': 1.0}",
        "the loss is {loss}",
        "{}",
        # printed settings
        "GRPOConfig: {'learning_rate': 1e-06, 'num_train_epochs': 3.0, 'loss_type': 'dapo', 'beta': 0.0}",
        "LoraConfig(task_type='CAUSAL_LM', lora_alpha=16, target_modules={'q_proj', 'v_proj'}, r=8)",
        "{'eval_strategy': 'steps', 'eval_steps': 10, 'epoch': None}",
        "{'role': 'user', 'content': 'The loss is 0.5 and the epoch 1'}",
    ],
)
def test_other_dicts_are_no_records(line: str) -> None:
    reader = read_trl(("stdout", line + "\n"), logging_steps=1)
    assert rows_of(reader.columns) == []
    assert not reader.training_complete


def test_a_record_of_missing_values_still_counts() -> None:
    text = "{'loss': None, 'kl': None}\n{'loss': '0.5', 'kl': None}\n"
    assert rows(text) == [(1, {}), (2, {"loss": 0.5})]


def test_an_evaluation_is_kept_apart_from_training() -> None:
    training = "{'loss': 0.5, 'reward': 0.25, 'epoch': 1.0}\n"
    validation = "{'eval_loss': 0.75, 'eval_reward': 1.0, 'eval_runtime': 2.0, 'epoch': 1.0}\n"
    assert rows(training + validation) == [
        (1, {"loss": 0.5, "reward": 0.25, "epoch": 1.0, "val/loss": 0.75, "val/reward": 1.0, "val/runtime": 2.0})
    ]


def test_an_evaluation_between_two_records_has_no_step() -> None:
    text = "{'loss': 0.5, 'epoch': 1.0}\n{'eval_loss': 0.75, 'epoch': 1.5}\n{'loss': 0.25, 'epoch': 2.0}\n"
    assert rows(text, 10) == [
        (10, {"loss": 0.5, "epoch": 1.0}),
        (-1, {"val/loss": 0.75, "epoch": 1.5}),
        (20, {"loss": 0.25, "epoch": 2.0}),
    ]


def test_the_final_dict_is_no_row() -> None:
    text = (
        "{'loss': '0', 'epoch': '1'}\n{'train_runtime': '3.4', 'train_loss': '-0.02', 'reward': '1', 'epoch': '1.25'}\n"
    )
    reader = read_trl(("stdout", text))
    assert reader.training_complete
    assert rows_of(reader.columns) == [(-1, {"loss": 0.0, "epoch": 1.0})]


def test_train_runtime_alone_is_not_the_end() -> None:
    reader = read_trl(("stdout", "{'loss': '0', 'train_runtime': '3.4', 'epoch': '1'}\n"))
    assert not reader.training_complete
    assert len(reader.columns) == 1


def test_a_step_that_generates_nothing_has_no_reward() -> None:
    text = "{'loss': 0.5, 'reward': 1.0, 'epoch': 1.0}\n{'loss': 0.25, 'epoch': 2.0}\n"
    reader = read_trl(("stdout", text), logging_steps=1)
    assert list(reader.columns.series["reward"].rows) == [0]


@pytest.mark.parametrize("width", [7, 40, 80])
@pytest.mark.parametrize("pad", [0, 30])
def test_a_terminals_copy_is_wrapped_inside_words(width: int, pad: int) -> None:
    """The last line of a padded copy is filled with spaces."""
    text = "{'loss': -0.0203, 'completions/mean_terminated_length': 23.1875, 'clip_ratio/low_mean': 0.0, 'epoch': 0.06}"
    copy = "\n".join(text[start : start + width] for start in range(0, len(text), width)) + " " * pad
    row = {"loss": -0.0203, "completions/mean_terminated_length": 23.1875, "clip_ratio/low_mean": 0.0, "epoch": 0.06}
    assert rows(f"before\n{copy}\nafter\n{copy}\n") == [(1, row), (2, row)]


def test_a_buffered_dict_is_cut_by_bars() -> None:
    text = f"{bar(0)}{bar(2)}\r{{'loss': 0.5, 'rewa{redrawn(5)}{bar(8)}rd': 0.25, 'epoch': 1.0}}\n"
    reader = read_trl(("stdout", text), logging_steps=5)
    assert rows_of(reader.columns) == [(5, {"loss": 0.5, "reward": 0.25, "epoch": 1.0})]
    assert reader.step == 8


@pytest.mark.parametrize("rest", ["Traceback (most recent call last):\n  File x\n", "a\n" * 300, "x" * 70_000 + "\n"])
def test_a_dict_that_was_cut_off_takes_nothing_with_it(rest: str) -> None:
    text = f"{{'loss': 0.5, 'gra{rest}{BAR}\r{{'loss': 0.25, 'epoch': 1.0}}\n"
    reader = read_trl(("stdout", text), logging_steps=1)
    assert [row for _, row in rows_of(reader.columns)] == [{"loss": 0.25, "epoch": 1.0}]
    assert reader.step == 7


def test_two_cut_dicts_do_not_make_one() -> None:
    assert rows("{'loss': 0.5, 'epo{'loss': 0.25, 'epoch': 1.0}\n") == [(1, {"loss": 0.25, "epoch": 1.0})]


def test_a_dict_printed_again_by_a_logger_counts_once() -> None:
    text = "{'loss': 0.5, 'epoch': 1.0}\n2026-01-01 INFO {'loss': 0.5, 'epoch': 1.0}\n"
    assert rows(text * 2) == [(1, {"loss": 0.5, "epoch": 1.0}), (2, {"loss": 0.5, "epoch": 1.0})]


def test_ranks_that_train_alone_are_told() -> None:
    """Without LOCAL_RANK every rank trains by itself, and each of them prints."""
    text = "[default0]:{'loss': 0.5, 'epoch': 1.0}\n[default1]:{'loss': 0.25, 'epoch': 1.0}\n"
    reader = read_trl(("stdout", text * 2), logging_steps=1)
    assert isinstance(reader, TrlReader)
    assert reader.printing_ranks == {0, 1}
    assert rows_of(reader.columns) == [(1, {"loss": 0.5, "epoch": 1.0}), (2, {"loss": 0.5, "epoch": 1.0})]


def test_a_log_read_as_text_of_another_encoding_does_no_harm() -> None:
    reader = read("trl", ("stdout", "{'loss': 0.5, 'épo': 1, 'epoch': 1.0}\n".encode("latin-1")))
    assert [row for _, row in rows_of(reader.columns)] == [{"loss": 0.5, "\ufffdpo": 1.0, "epoch": 1.0}]
