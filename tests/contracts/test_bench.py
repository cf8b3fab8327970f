"""A measurement is not called held or missed where it could not be measured."""

import pytest
from bench.measures import slowed


@pytest.mark.parametrize(
    ("share", "spread", "held"), [(0.001, 0.004, True), (0.006, 0.004, False), (0.001, 0.006, None), (0.2, 0.3, None)]
)
def test_a_goal_smaller_than_the_noise_is_neither_held_nor_missed(
    share: float, spread: float, *, held: bool | None
) -> None:
    row = slowed(share, spread=spread)
    assert row.held is held
    assert ("not measurable here" in row.measured) is (held is None)
