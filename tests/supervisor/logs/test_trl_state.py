"""trainer_state.json: what was printed, with the step and all digits; read as far as it was written."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.log_oracle import bits, cut, read, rows_of

from grpotui_supervisor.logs.trainer_state import PART_LIMIT, TrainerStateReader

STATE = {
    "best_metric": None,
    "epoch": 1.5,
    "global_step": 30,
    "log_history": [
        {"loss": 0.0, "grad_norm": math.nan, "kl": None, "learning_rate": 1e-06, "epoch": 0.5, "step": 10},
        {"loss": -0.02034012, "reward": 0.25, "epoch": 1.0, "step": 20},
        {"eval_loss": 0.5, "eval_reward": 0.75, "epoch": 1.0, "step": 20},
        {"loss": 0.125, "reward": 1.0, "note": "text", "epoch": 1.5, "step": 30},
        {"train_runtime": 3.5, "train_loss": 0.1, "epoch": 1.5, "step": 30},
    ],
    "logging_steps": 10,
    "max_steps": 40,
    "stateful_callbacks": {"TrainerControl": {"args": {"should_log": False}}},
}
TEXT = json.dumps(STATE, indent=2).encode()


def read_state(*blocks: bytes) -> TrainerStateReader:
    reader = read("trainer-state", *(("stdout", block) for block in blocks))
    assert isinstance(reader, TrainerStateReader)
    return reader


def test_the_history_has_steps_and_all_digits() -> None:
    reader = read_state(TEXT)
    (first, first_row), *rest = rows_of(reader.columns)
    assert math.isnan(first_row.pop("grad_norm"))
    assert (first, first_row) == (10, {"loss": 0.0, "learning_rate": 1e-06, "epoch": 0.5})
    assert rest == [
        (20, {"loss": -0.02034012, "reward": 0.25, "epoch": 1.0, "val/loss": 0.5, "val/reward": 0.75}),
        (30, {"loss": 0.125, "reward": 1.0, "epoch": 1.5}),
    ]
    assert (reader.step, reader.steps_total, reader.logging_steps) == (30, 40, 10)
    assert reader.training_complete


def test_it_is_recognised() -> None:
    reader = read("auto", ("stdout", TEXT))
    assert (reader.framework, len(reader.columns), reader.step) == ("trl", 3, 30)


@given(places=st.lists(st.integers(0, len(TEXT)), max_size=8))
def test_cutting_does_not_matter(places: list[int]) -> None:
    some, whole = read_state(*cut(TEXT, places)), read_state(TEXT)
    assert bits(rows_of(some.columns)) == bits(rows_of(whole.columns))
    assert (some.step, some.steps_total, some.logging_steps) == (30, 40, 10)


@pytest.mark.parametrize("end", range(0, len(TEXT), 7))
def test_what_is_written_of_it_is_read(end: int) -> None:
    whole = bits(rows_of(read_state(TEXT).columns))
    some = read_state(TEXT[:end])
    for (step, row), (full_step, full_row) in zip(bits(rows_of(some.columns)), whole, strict=False):
        assert step == full_step
        assert row.items() <= full_row.items()
    assert some.steps_total in (None, 40)


@settings(max_examples=200, deadline=None)
@given(
    text=st.one_of(
        st.binary(max_size=200), st.text('{}[]",:0123456789.eE-NaN "log_history"', max_size=200).map(str.encode)
    )
)
def test_no_text_raises(text: bytes) -> None:
    read_state(text)
    read_state(b'{"log_history": [', text)
    read_state(b'{"log_history": [{"loss": 1, "epoch": 1, "step": ', text)


@pytest.mark.parametrize(
    "text", [b"[" * 300_000, b'{"log_history": [' + b"[" * 300_000, b'{"log_history": [{"a": ' + b'{"a": ' * 200_000]
)
def test_hostile_text_costs_no_time_and_no_memory(text: bytes) -> None:
    reader = read_state(*(text[start : start + 1000] for start in range(0, len(text), 1000)))
    assert len(reader.columns) == 0
    assert len(reader._text) <= PART_LIMIT + 1000


def test_a_file_of_somebody_elses_is_not_held() -> None:
    reader = read_state(b"step:1 - actor/lr:0.1\n", b"x" * 100_000)
    assert len(reader._text) == 0


@pytest.mark.parametrize("step", ["1.5", "-1", "1e300", '"7"', "null", "true"])
def test_a_step_that_is_none_is_unknown(step: str) -> None:
    text = f'{{"log_history": [{{"loss": 0.5, "epoch": 1.0, "step": {step}}}]}}'
    assert list(read_state(text.encode()).columns.steps) == [-1]
