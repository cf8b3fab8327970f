"""The speed of a run, from simulated moments of its records."""

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpotui_supervisor.source.progress import WINDOW, Rate, observed_rate, printed_rate, seconds_left

S = 1_000_000_000


def rate(durations: list[float], *, looks: float = 0.25, first: int = 1) -> Rate | None:
    """What is told of steps that took so long, when the log is looked at as often as that."""
    ends = list(accumulate(durations))
    moments = [int((end // looks + 1) * looks * S) for end in ends]
    return observed_rate(range(first, first + len(ends)), moments)


def test_even_steps() -> None:
    assert rate([3.0] * 30) == Rate(3.0, "record times")


@pytest.mark.parametrize("count", range(4))
def test_nothing_before_three_steps_are_timed(count: int) -> None:
    """The first record has nothing before it: when its step began is not known."""
    assert rate([3.0] * count) is None
    assert rate([3.0] * (count + 4)) is not None


def test_validations_checkpoints_and_a_pause_do_not_spoil_it() -> None:
    steps = [3.0 + (40.0 if step % 5 == 0 else 0.0) for step in range(1, 40)]
    assert rate(steps) == Rate(3.0, "record times")
    assert rate([*[3.0] * 10, 3600.0, *[3.0] * 5]) == Rate(3.0, "record times")


def test_many_steps_in_one_block() -> None:
    found = rate([0.02] * 500)
    assert found is not None
    assert found.seconds == pytest.approx(0.02, rel=0.1)


def test_a_history_that_came_at_once_is_not_timed() -> None:
    history = [5 * S] * 100
    assert observed_rate(range(1, 101), history) is None
    assert observed_rate(range(1, 105), [*history, 7 * S, 10 * S, 13 * S, 16 * S]) == Rate(3.0, "record times")


def test_a_run_that_starts_again_is_timed_within_each_try() -> None:
    steps, moments = [1, 2, 3, 4, 2, 3, 4, 5], [3, 6, 9, 12, 112, 115, 118, 121]
    assert observed_rate(steps, [m * S for m in moments]) == Rate(3.0, "record times")


def test_a_change_of_speed_is_seen() -> None:
    assert rate([3.0] * 100 + [9.0] * (WINDOW // 2 + 2)) == Rate(9.0, "record times")


def test_records_every_ten_steps() -> None:
    assert observed_rate(range(10, 60, 10), [30 * S * k for k in range(5)]) == Rate(3.0, "record times")


def test_rows_without_step_or_time() -> None:
    assert observed_rate([-1] * 9, [S * k for k in range(9)]) is None
    assert observed_rate(range(9), [-1] * 9) is None
    assert observed_rate([], []) is None


@given(st.lists(st.tuples(st.integers(-1, 50), st.integers(-1, 10**12)), max_size=60))
def test_it_is_never_negative(rows: list[tuple[int, int]]) -> None:
    moments = sorted(m for _, m in rows)
    found = observed_rate([step for step, _ in rows], moments)
    assert found is None or found.seconds >= 0


def test_printed_times() -> None:
    assert printed_rate([2.0, 3.0, 90.0, 3.0]) == Rate(3.0, "printed")
    assert printed_rate([2.0, 3.0, float("nan")]) is None


def test_what_is_left() -> None:
    speed = Rate(3.0, "record times")
    assert seconds_left(12, 20, speed, since_step_s=None) == 24.0
    assert seconds_left(12, 20, speed, since_step_s=1.0) == 23.0
    assert seconds_left(12, 20, speed, since_step_s=500.0) == 21.0  # it is late, but the others are not done
    assert seconds_left(20, 20, speed, since_step_s=5.0) == 0.0
    assert seconds_left(None, 20, speed, since_step_s=1.0) is None
    assert seconds_left(12, None, speed, since_step_s=1.0) is None
    assert seconds_left(12, 20, None, since_step_s=1.0) is None
    assert seconds_left(21, 20, speed, since_step_s=1.0) is None
