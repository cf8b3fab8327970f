"""The part of an axis that is shown."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from grpotui.tui import zoom

WHOLE = (0.0, 1000.0)


def test_zooming_keeps_the_place_under_the_pointer() -> None:
    window = None
    for _ in range(5):
        window = zoom.zoomed(window, WHOLE, 1001, 300.0, 1 / zoom.STEP)
        assert window is not None
        assert abs((300 - window[0]) / (window[1] - window[0]) - 0.3) < 1e-9


def test_zooming_out_ends_with_all_there_is() -> None:
    window = (400.0, 500.0)
    found: zoom.Window | None = window
    for _ in range(20):
        found = zoom.zoomed(found, WHOLE, 1001, 450.0, zoom.STEP)
    assert found is None


def test_some_points_stay_in_sight() -> None:
    window = None
    for _ in range(60):
        window = zoom.zoomed(window, WHOLE, 1001, 300.0, 1 / zoom.STEP)
    assert window is not None
    assert 5 <= window[1] - window[0] <= 10
    assert zoom.zoomed(None, (0.0, 2.0), 3, 1.0, 1 / zoom.STEP) is None
    assert zoom.zoomed(None, (7.0, 7.0), 1, 7.0, 1 / zoom.STEP) is None


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=30), st.integers(1, 10_000))
def test_a_window_is_always_within_what_there_is(moves: list[tuple[float, bool]], points: int) -> None:
    window: zoom.Window | None = None
    for share, nearer in moves:
        low, high = window or WHOLE
        at = low + share * (high - low)
        window = zoom.zoomed(window, WHOLE, points, at, 1 / zoom.STEP if nearer else zoom.STEP)
        window = zoom.panned(window, WHOLE, share - 0.5)
        assert window is None or WHOLE[0] <= window[0] < window[1] <= WHOLE[1] + 1e-9


def test_a_window_at_the_end_goes_on_with_it_and_another_stays() -> None:
    assert zoom.followed((900.0, 1000.0), WHOLE, (0.0, 1010.0)) == (910.0, 1010.0)
    assert zoom.followed((400.0, 500.0), WHOLE, (0.0, 1010.0)) == (400.0, 500.0)
    assert zoom.followed(None, WHOLE, (0.0, 1010.0)) is None
