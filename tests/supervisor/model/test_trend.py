"""What counts as growth: leaks do, constant and noisy series and saw-teeth do not."""

from __future__ import annotations

import math
import random
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grpotui_supervisor.model.trend import (
    LEAST_POINTS,
    LONG_WINDOW,
    WINDOW,
    Trend,
    growth,
    latest_growth,
    mann_kendall,
    peaks,
    theil_sen,
)

MIB = 1 << 20
LEAST = 256 * MIB


def series(*values: int) -> list[tuple[int, int]]:
    return list(enumerate(values, 1))


def test_by_hand() -> None:
    assert theil_sen(series(0, 2, 4, 100)) == median([2, 2, 4 / 2, 96, 98 / 2, 100 / 3])
    assert mann_kendall(series(1, 2, 3, 4)) == (1.0, (6 - 1) / math.sqrt(4 * 3 * 13 / 18))
    assert mann_kendall(series(3, 2, 1))[0] == 0.0
    assert mann_kendall(series(5, 5, 5)) == (0.0, 0.0)


@given(st.integers(0, 1 << 40), st.integers(LEAST_POINTS, 60))
def test_a_constant_series_never_grows(value: int, count: int) -> None:
    assert latest_growth(series(*[value] * count), least=0) is None


@given(
    count=st.integers(LEAST_POINTS, WINDOW),
    slope=st.integers(40, 4096),
    base=st.integers(0, 1 << 37),
    noise=st.lists(st.floats(-0.49, 0.49), min_size=WINDOW, max_size=WINDOW),
)
@settings(deadline=None)
def test_a_leak_always_does(count: int, slope: int, base: int, noise: list[float]) -> None:
    step = slope * MIB
    found = growth([(i, int(base + step * (i + noise[i]))) for i in range(count)], least=LEAST)
    if step * (count - 2) > LEAST:
        assert found is not None
        assert found.slope == pytest.approx(step, rel=0.5)
        assert (found.first, found.last) == (0, count - 1)
    if step * count < LEAST:
        assert found is None


@given(st.integers(1, 1 << 37), st.integers(1, 1 << 37), st.integers(2, 5), st.integers(0, 4))
def test_a_saw_tooth_never_does(low: int, high: int, period: int, phase: int) -> None:
    values = [high if (i + phase) % period else low for i in range(3 * WINDOW)]
    for count in range(LEAST_POINTS, len(values)):
        assert latest_growth(series(*values[:count]), least=0) is None


def test_noise_rarely_does() -> None:
    draw, found = random.Random(5), 0
    for _ in range(1000):
        values = [draw.randrange(20 << 30, 60 << 30) for _ in range(draw.randrange(LEAST_POINTS, 3 * WINDOW))]
        found += latest_growth(series(*values), least=LEAST) is not None
    assert found <= 5


def test_what_falls_or_has_come_to_rest_does_not() -> None:
    assert latest_growth(series(*range(100 * LEAST, 0, -LEAST)), least=LEAST) is None
    rest = [min(i, 10) * 1024 * MIB for i in range(WINDOW + 10)]
    assert latest_growth(series(*rest[:10]), least=LEAST) is not None
    assert latest_growth(series(*rest), least=LEAST) is None


def test_a_slow_leak_shows_in_the_long_window() -> None:
    slow = [8 * MIB * i for i in range(LONG_WINDOW)]
    assert growth(series(*slow[-WINDOW:]), least=LEAST) is None
    found = latest_growth(series(*slow), least=LEAST)
    assert found == Trend(8.0 * MIB, 20, LONG_WINDOW, slow[-1])
    assert found.grown == 8 * MIB * (LONG_WINDOW - 20)


def test_peaks_end_with_the_last_point() -> None:
    assert peaks(series(1, 5, 2, 3, 4, 9, 0), 3) == [(1, 1), (4, 5), (7, 9)]
    assert peaks(series(1, 2), 5) == [(1, 1), (2, 2)]
