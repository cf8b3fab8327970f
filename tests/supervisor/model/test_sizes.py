"""Sizes and cards as people write them."""

import pytest

from grpotui_supervisor.model.sizes import cards_of, count_of, size_of


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("32GB", 32 * 10**9),
        ("8 GiB", 8 << 30),
        ("1.5tb", 15 * 10**11),
        ("7b", 7),
        ("32", None),
        ("GB", None),
        ("-1GB", None),
    ],
)
def test_sizes(text: str, size: int | None) -> None:
    assert size_of(text) == size


@pytest.mark.parametrize(
    ("text", "cards"),
    [
        ("4x32GB", (4, 32 * 10**9)),
        ("8 × 80GiB", (8, 80 << 30)),
        ("80GB", (1, 80 * 10**9)),
        ("0x8GB", (0, 8 * 10**9)),
        ("4x", None),
        ("4x0GB", None),
        ("x32GB", None),
    ],
)
def test_cards(text: str, cards: tuple[int, int] | None) -> None:
    assert cards_of(text) == cards


@pytest.mark.parametrize(("text", "count"), [("1.7B", 17 * 10**8), ("600m", 6 * 10**8), ("7", None), ("7BB", None)])
def test_counts(text: str, count: int | None) -> None:
    assert count_of(text) == count
