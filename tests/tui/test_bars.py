"""Where the time of a step went, as bars and in words."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tui.pictures import HARD_NAMES, fits, glyph_sets, names, numbers, roles

from grpotui.tui import bars, cells, palette
from grpotui.tui.bars import UNSPLIT, Step
from grpotui.tui.cells import Sheet
from grpotui.tui.glyphs import ASCII, BRAILLE, CONSOLE, uncoloured

PARTS = {"generate": 24.0, "logprob": 3.0, "update": 10.0, "sync": 1.0}
steps = st.builds(
    Step,
    number=st.integers(-5, 10**9),
    seconds=st.dictionaries(st.one_of(names, st.sampled_from(("generate", "update", "other"))), numbers, max_size=12),
    total=st.one_of(st.none(), numbers),
)


sheets = st.builds(Sheet, glyph_sets, st.integers(0, 90), st.integers(0, 14))


@settings(max_examples=80, deadline=None)
@given(st.lists(steps, max_size=12), sheets, st.booleans(), names)
def test_a_picture_has_the_size_that_was_asked_for_and_roles_that_have_a_style(
    shown: list[Step], sheet: Sheet, mono: bool, title: str
) -> None:
    glyphs, wide, high = sheet
    rows = bars.draw(shown, Sheet(uncoloured(glyphs) if mono else glyphs, wide, high), title)
    assert fits(rows, wide, high)
    assert roles(rows) <= set(palette.styles(palette.palette(dark=True, mono=mono)))


@given(
    st.dictionaries(st.sampled_from(HARD_NAMES), st.floats(0, 1e6), max_size=6),
    st.one_of(st.none(), st.floats(0, 1e7)),
    st.integers(1, 80),
)
def test_every_place_of_a_bar_is_at_most_one_place_from_where_its_part_is(
    seconds: dict[str, float], total: float | None, length: int
) -> None:
    step = Step(1, seconds, total)
    full = step.length()
    found = bars.stack(step, full, length)
    assert len(found) == length
    ends, reached = {}, 0.0
    for name, value in step.known():
        ends[name] = (reached, reached + value)
        reached += value
    for at, place in enumerate(found):
        if place is not None:
            low, high = (end / full * length for end in ends[place])
            assert low - 1 <= at <= high + 1


def test_a_step_of_which_only_the_whole_is_known_is_a_neutral_bar() -> None:
    for glyphs in (BRAILLE, ASCII):
        rows = bars.draw([Step(7, {}, 40.0)], Sheet(glyphs, 60, 8), "time per step")
        text = "\n".join(map(cells.plain, rows))
        assert sum(role == "unsplit" for row in rows for _, role in row) >= 5
        assert f"{glyphs.unsplit} {UNSPLIT} 40s" in text
        assert "40s" in text.split("\n")[0]
    flat = bars.draw([Step(7, {}, 40.0)], Sheet(BRAILLE, 80, 1), "time")
    assert "unsplit" in roles(flat)


def test_what_no_part_accounts_for_is_neutral_and_what_was_rounded_is_not() -> None:
    assert Step(1, {"generate": 30.0}, 40.0).known() == [("generate", 30.0), (UNSPLIT, 10.0)]
    assert Step(1, {"generate": 30.0, "update": 9.99}, 40.0).known() == [("generate", 30.0), ("update", 9.99)]
    assert Step(1, {"generate": 30.0, "update": 20.0}, 40.0).known() == [("generate", 30.0), ("update", 20.0)]
    assert Step(1, {"generate": 30.0}).known() == [("generate", 30.0)]
    assert Step(1, {}, float("nan")).known() == []


def test_small_parts_are_seen_where_colours_tell_them_apart() -> None:
    rows = bars.draw([Step(n, PARTS) for n in range(40)], Sheet(BRAILLE, 80, 7), "time")
    found = roles(rows[1:-2])
    for place in (0, 1, 3, 4):
        assert any(f"part{place}" in role for role in found), place


def test_without_colours_no_cell_stands_for_two_parts() -> None:
    for glyphs in (uncoloured(BRAILLE), CONSOLE, ASCII):
        rows = bars.draw([Step(n, PARTS) for n in range(40)], Sheet(glyphs, 80, 7), "time")
        assert not any("/" in role for role in roles(rows))
        assert {text for row in rows[1:-2] for text, role in row if role.startswith("part")} <= {
            glyphs.bars[place] * n for place in range(9) for n in range(80)
        }


def test_the_legend_keeps_the_largest_parts_where_there_is_no_room_for_all() -> None:
    many = Step(1, {"generate": 24.0, "logprob": 0.1, "update": 10.0, "sync": 0.1, "reward": 0.1, "other": 0.1})
    wide = cells.plain(bars.draw([many], Sheet(BRAILLE, 120, 2), "time per step")[1])
    assert "generate 24s 70%" in wide
    assert "update 10s 29%" in wide
    assert "reward 0.1s" in wide
    for room in (80, 60, 40, 24):
        row = cells.plain(bars.draw([many], Sheet(BRAILLE, room, 2), "time per step")[1])
        assert "gen" in row
        assert "24" in row
        assert room < 40 or "upd" in row
        assert room > 60 or "+4" in row


def test_the_scale_has_labels_even_in_two_rows() -> None:
    for high in (4, 5, 6):
        rows = [cells.plain(row) for row in bars.draw([Step(1, PARTS)], Sheet(BRAILLE, 60, high), "time")]
        labels = [row[1:7].strip() for row in rows[1:-1] if row[1:7].strip(" █▓▒") and row[7] == " "]
        assert len([label for label in labels if label.isdigit()]) >= 2, rows


def test_nothing_yet_is_said() -> None:
    for high in (1, 6):
        assert bars.NO_TIMES in "\n".join(map(cells.plain, bars.draw([], Sheet(BRAILLE, 60, high), "time")))
        why = bars.draw([], Sheet(BRAILLE, 60, high), "time", "not printed by this run")
        assert "not printed by this run" in "\n".join(map(cells.plain, why))


def test_the_shortest_step_is_seen_beside_the_longest() -> None:
    assert bars.stack(Step(1, {"generate": 0.001, "update": 0.002}), 1000.0, 20) == ["update", *[None] * 19]


def test_the_two_largest_parts_are_told_however_small_the_second_is() -> None:
    step = Step(1, {"generate": 97.3, "reward": 0.001, "logprob": 0.2, "update": 1.2, "rollout": 0.1, "other": 0.01})
    row = cells.plain(bars.draw([step], Sheet(BRAILLE, 60, 2), "time")[1])
    assert "generate 97.3s 98%" in row
    assert "update 1.2s" in row
    assert "+4 smaller" in row
