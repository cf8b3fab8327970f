"""The task: columns, answers and the reward."""

import pytest
from demo_task import BLANK, EOS, ask, backwards, dataset, reward
from hypothesis import given
from hypothesis import strategies as st

operands = st.integers(min_value=0, max_value=999)


@given(operands, operands)
def test_answer_is_the_sum_backwards(left: int, right: int) -> None:
    prompt = ask(left, right)
    assert prompt.text == f"{left}+{right}="
    assert prompt.answer == (*map(int, reversed(str(left + right))), EOS)


@given(operands, operands)
def test_each_column_decides_its_digit(left: int, right: int) -> None:
    prompt = ask(left, right)
    for column, token in zip(prompt.columns, prompt.answer, strict=True):
        digits, carry = divmod(column, 2)
        upper, lower = divmod(digits, 11)
        if token == EOS:
            assert (upper, lower, carry) == (BLANK, BLANK, 0)
        else:
            assert (upper % 10 + lower % 10 + carry) % 10 == token


def test_carry_runs_past_the_last_digit() -> None:
    assert ask(999, 1).answer == (0, 0, 0, 1, EOS)
    assert backwards(0) == [0]


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        ([2, 2, EOS], 1.0),
        ([2, 2], 1 / 3),  # right as far as it goes, but it did not stop
        ([2, 2, EOS, 4], 0.375),
        ([2, 2, 0, 0, 0, 0, 0, 0], 0.125),
        ([EOS], 0.0),
        ([3, 1, 4], 0.0),
    ],
)
def test_reward(tokens: list[int], expected: float) -> None:
    assert reward(tokens, ask(7, 15).answer) == pytest.approx(expected)


def test_validation_prompts_are_never_trained_on() -> None:
    train, held_out = dataset(7)
    texts = [prompt.text for prompt in train + held_out]
    assert len(set(texts)) == len(texts)
    assert dataset(7) == (train, held_out)
    assert dataset(8) != (train, held_out)
