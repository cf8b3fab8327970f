"""The picture of a chart: its size whatever comes in, what must be seen in it, and what a crosshair tells."""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as st
from tui.pictures import draw, fits, glyph_sets, line, names, numbers, roles, series

from grpotui.tui import border, canvas, cells, palette
from grpotui.tui.chart_parts import Band, Chart, Line, Look, Mark, Severity, Threshold
from grpotui.tui.glyphs import ASCII, BLOCK, BRAILLE
from grpotui.tui.plot import Plotter

SEVERITIES: tuple[Severity, ...] = ("info", "critical", "warning")
points = st.lists(st.tuples(numbers, numbers), max_size=20)


@st.composite
def lines(draw_: st.DrawFn) -> Line:
    found = draw_(points)
    return Line(draw_(names), series(found), draw_(st.integers(0, len(found))))


places = st.one_of(st.none(), st.floats(-50, 50, allow_nan=False))
marks = st.builds(
    Mark,
    kind=st.sampled_from(("validation", "checkpoint", "finding", "death", "restart")),
    x=numbers,
    y=st.one_of(st.none(), numbers),
    severity=st.sampled_from(("critical", "warning", "info")),
    name=names,
)
charts = st.builds(
    Chart,
    title=names,
    lines=st.lists(lines(), max_size=7).map(tuple),
    thresholds=st.lists(st.builds(Threshold, name=names, value=numbers), max_size=2).map(tuple),
    marks=st.lists(marks, max_size=3).map(tuple),
    note=names,
    empty=names,
    band=st.one_of(st.none(), st.builds(Band, name=names, low=lines(), high=lines())),
)
windows = st.one_of(
    st.none(), st.tuples(st.floats(-5, 5), st.floats(0.001, 20)).map(lambda pair: (pair[0], pair[0] + pair[1]))
)
looks = st.builds(
    Look,
    glyphs=glyph_sets,
    axis=st.sampled_from(("step", "time", "tokens")),
    log=st.booleans(),
    smoothing=st.sampled_from((0.0, 0.5, 0.99)),
    window=windows,
    cursor=places,
    crosshair=places,
    held=st.booleans(),
)


@settings(max_examples=70, deadline=None)
@given(charts, looks, st.integers(0, 90), st.integers(0, 25))
def test_a_picture_has_the_size_that_was_asked_for_and_roles_that_have_a_style(
    chart: Chart, look: Look, wide: int, high: int
) -> None:
    rows = Plotter().draw(chart, look, wide, high)
    assert fits(rows, wide, high)
    for chosen in (palette.DARK, palette.palette(dark=True, mono=True)):
        assert roles(rows) <= set(palette.styles(chosen))


@settings(max_examples=40, deadline=None)
@given(points.filter(lambda found: len(found) > 1), st.data(), looks)
def test_a_picture_after_more_points_is_the_one_of_all_of_them_at_once(
    found: list[tuple[float, float]], data: st.DataObject, look: Look
) -> None:
    grown = series(found)
    kept = Plotter()
    for count in sorted(data.draw(st.lists(st.integers(1, len(found)), max_size=4))):
        kept.draw(Chart("x", (Line("", grown, count),)), look, 50, 10)
    whole = Chart("x", (Line("", grown, len(found)),))
    anew = Chart("x", (Line("", series(found), len(found)),))
    assert kept.draw(whole, look, 50, 10) == Plotter().draw(anew, look, 50, 10)


def test_a_spike_of_one_point_among_ten_thousand_is_seen_however_smooth_the_line_is() -> None:
    values = [0.1] * 10_000
    values[7_000] = 5.0
    for glyphs in (BRAILLE, BLOCK, ASCII):
        for smoothing in (0.0, 0.99):
            rows = Plotter().draw(Chart("kl", (line(values),)), Look(glyphs, smoothing=smoothing), 60, 12)
            top = [(text, role) for text, role in rows[1] if role.startswith(("line", "fill", "shade"))]
            assert len(top) == 1, (glyphs.name, smoothing)
            before = cells.width(cells.plain(rows[1]).split(top[0][0])[0])
            assert abs(before - (8 + 0.7 * 51)) < 3


def test_points_that_are_not_finite_are_marked_on_the_axis_with_their_number() -> None:
    values = [0.5] * 100
    values[50:53] = [math.nan, math.inf, -math.inf]
    rows = draw(Chart("grad_norm", (line(values),)), look=Look(glyphs=ASCII))
    assert "x3" in rows[0]
    assert "x" in rows[-1]
    assert "no finite value" in "".join(draw(Chart("grad_norm", (line([math.nan] * 3),))))


def test_the_line_has_a_hole_where_there_is_no_finite_value() -> None:
    values = [0.5] * 20 + [math.nan] * 20 + [0.5] * 20
    rows = draw(Chart("x", (line(values),)), 68, 7, Look(glyphs=ASCII))
    drawn = next(row for row in rows[1:-1] if "_" in row or "-" in row or "'" in row)[8:-1]
    assert drawn[5] != " "
    assert drawn[30] == " "
    assert drawn[55] != " "


def test_consecutive_points_are_joined_by_a_line_without_holes() -> None:
    rows = Plotter().draw(Chart("drop", (line([1.0] * 20 + [0.0] * 20),)), Look(), 60, 12)
    drawn = [any(role.startswith(("line", "over")) for _, role in row) for row in rows[1:-1]]
    assert all(drawn)


def test_a_limit_is_named_where_it_is_and_told_where_it_is_beyond() -> None:
    values = line([0.0, 1.0, 0.5])
    assert any("floor 0.4" in row for row in draw(Chart("x", (values,), (Threshold("floor", 0.4),))))
    far = draw(Chart("x", (values,), (Threshold("ceiling", 900.0), Threshold("floor", -900.0))))
    assert "↑ ceiling 900" in far[1]
    assert "↓ floor -900" in far[-2]


def test_two_limits_on_one_line_are_both_named() -> None:
    limits = (Threshold("warn", 0.5), Threshold("stop", 0.5001))
    rows = draw(Chart("x", (line([0.0, 1.0, 0.0]),), limits), 90, 8)
    row = next(row for row in rows if "warn" in row)
    assert "warn 0.5 " in row
    assert "stop 0.5001 " in row
    assert cells.width(row) == 90


def test_nothing_is_placed_for_an_empty_text() -> None:
    foot = border.Foot(BRAILLE, 20)
    assert not foot.place(3, "", "label")
    assert cells.length(foot.runs()) == 20


def test_a_logarithmic_scale_says_which_points_it_cannot_show() -> None:
    values = [10.0**power for power in range(-3, 4)] * 10
    values[5] = values[40] = 0.0
    rows = draw(Chart("loss", (line(values),)), look=Look(log=True))
    assert "▾" in rows[-1]
    assert any(" 100 " in row for row in rows)
    assert "▾" not in draw(Chart("loss", (line(values),)))[-1]


def test_marks_of_deaths_restarts_checkpoints_and_findings_are_on_the_axis() -> None:
    kinds = (("death", 20.0), ("restart", 40.0), ("checkpoint", 50.0), ("finding", 80.0))
    marks = tuple(Mark(kind, x) for kind, x in kinds)  # type: ignore[arg-type]
    rows = draw(Chart("x", (line(list(range(100))),), marks=marks), 70)
    found = [rows[-1].index(glyph) for glyph in "†↺◆▲"]
    assert found == sorted(found)


def test_a_death_is_a_line_through_the_picture() -> None:
    rows = Plotter().draw(Chart("x", (line([0.0] * 100),), marks=(Mark("death", 50),)), Look(), 60, 12)
    assert sum(("│", "death") in row for row in rows[1:-1]) >= 8
    roles = {role for row in rows[1:-1] for _, role in row}
    assert not {role for role in roles if role.endswith("+")}  # only the cursor and the crosshair point at dots


def test_a_band_is_behind_the_line_and_named() -> None:
    count = 50
    band = Band("min to max", line([0.0] * count), line([1.0] * count))
    rows = Plotter().draw(Chart("reward", (line([0.5] * count),), band=band), Look(), 60, 12)
    shaded = [sum(len(text) for text, role in row if role == "band" or role.endswith("~")) for row in rows[1:-1]]
    assert sum(wide >= 48 for wide in shaded) >= 8
    assert any("min to max" in cells.plain(row) for row in rows)
    assert "line0~" in roles(rows) or "over0~" in roles(rows)


def test_the_scale_holds_a_band_that_is_not_much_wider_than_its_line() -> None:
    count = 50
    values = [0.4 + 0.2 * step / count for step in range(count)]
    band = Band("min to max", line([0.2] * count), line([0.8] * count))
    plotter = Plotter()
    plotter.draw(Chart("reward", (line(values),), band=band), Look(), 60, 12)
    assert plotter.layout is not None
    assert (plotter.layout.scale.low, plotter.layout.scale.high) == (0.2, 0.8)


def test_a_band_far_wider_than_the_line_does_not_flatten_it() -> None:
    count = 50
    values = [0.5 + 0.1 * math.sin(step) for step in range(count)]
    chart = Chart("advantage", (line(values),), band=Band("min to max", line([-500.0] * count), line([500.0] * count)))
    plotter = Plotter()
    plotter.draw(chart, Look(), 60, 12)
    assert plotter.layout is not None
    assert plotter.layout.scale.high - plotter.layout.scale.low < 1


def test_a_band_has_a_hole_where_one_of_its_ends_has_none() -> None:
    low = line([0.0] * 20 + [math.nan] * 60 + [0.0] * 20)
    chart = Chart("x", (line([0.5] * 100),), band=Band("b", low, line([1.0] * 100)))
    rows = Plotter().draw(chart, Look(), 80, 12)
    plain = cells.plain(rows[3])
    assert plain[10] == plain[75] == BRAILLE.band
    assert plain[45] == " "


def test_six_runs_have_their_own_glyphs_values_and_lengths() -> None:
    runs = tuple(line([n + 0.01 * step for step in range(100 - 12 * n)], f"run-{n}", 1 + 5 * n) for n in range(6))
    rows = draw(Chart("reward", runs), 100, 24)
    text = "\n".join(rows)
    for n, glyph in enumerate(BRAILLE.names):
        assert f"{glyph} run-{n}" in text
        assert text.count(glyph) >= 3, "in the legend, along the line and at its end"
        last = n + 0.01 * (99 - 12 * n)
        assert f"{last:.4g}" in text


def test_overlaid_lines_in_ascii_are_made_of_their_own_characters() -> None:
    runs = tuple(line([float(n)] * 40, f"run-{n}") for n in range(3))
    rows = draw(Chart("x", runs), 60, 14, Look(glyphs=ASCII))
    for glyph in ASCII.names[:3]:
        assert any(row.count(glyph) > 30 for row in rows)


def test_one_point_is_large_enough_to_be_seen() -> None:
    assert sum(row.count("●") for row in draw(Chart("x", (line([12.5]),)))) == 1


def test_the_crosshair_tells_the_exact_value_and_the_smoothed_one_too() -> None:
    values = [0.1] * 30 + [0.123456789] + [0.1] * 9
    chart = Chart("kl", (line(values),))
    assert "step 31  0.123456789 " in draw(chart, 80, 10, Look(crosshair=31))[-1]
    smooth = draw(chart, 80, 10, Look(crosshair=31, smoothing=0.9))[-1]
    assert "step 31  0.123456789  smoothed 0.1024" in smooth


def test_the_crosshair_tells_the_range_of_the_points_that_share_its_place() -> None:
    values = [1.0] * 10_000
    values[4_321] = 7.5
    plotter = Plotter()
    chart = Chart("x", (line(values),))
    plotter.draw(chart, Look(), 100, 10)
    assert plotter.layout is not None
    at = plotter.layout.x_of(plotter.layout.grid.column(4_322))
    foot = cells.plain(plotter.draw(chart, Look(crosshair=at), 100, 10)[-1])
    assert f"step {at:,.0f}  1 " in foot
    assert "points, 1 to 7.5" in foot


def test_the_crosshair_tells_the_value_of_every_line_and_of_none_that_has_ended() -> None:
    runs = (line([0.25] * 50, "a"), line([0.75] * 50, "b"), line([0.5] * 10, "c"))
    large = "\n".join(draw(Chart("x", runs), 90, 16, Look(crosshair=40)))
    assert "● a 0.25" in large
    assert "■ b 0.75" in large
    assert "◆ c - " in large
    small = draw(Chart("x", runs), 60, 6, Look(crosshair=40))[-1]
    assert "step 40  ● 0.25  ■ 0.75  ◆ -" in small


def test_the_value_of_a_line_without_a_point_there_is_the_one_before_with_its_step() -> None:
    sparse = Line("val", series([(10, 0.5), (20, 0.6), (30, 0.7)]), 3)
    rows = draw(Chart("x", (line([0.1] * 40, "all"), sparse)), 60, 6, Look(crosshair=27))
    assert "0.6 @20" in rows[-1]


def test_of_what_was_done_twice_the_later_is_told() -> None:
    again = Line("", series([(1, 0.1), (2, 0.2), (3, 0.3), (2, 0.9), (3, 0.8)]), 5)
    assert "step 2  0.9 " in draw(Chart("x", (again,)), look=Look(crosshair=2))[-1]


def test_the_crosshair_names_what_happened_there_and_the_band() -> None:
    count = 20
    band = Band("± std", line([0.25] * count), line([0.75] * count))
    marks = (Mark("death", 10, name="rank 2 killed by SIGKILL"),)
    foot = draw(Chart("x", (line([0.5] * count),), marks=marks, band=band), 100, 10, Look(crosshair=10))[-1]
    assert "± std: 0.25 to 0.75" in foot
    assert "† rank 2 killed by SIGKILL" in foot


def test_a_window_shows_its_own_points_on_their_own_scale() -> None:
    values = [float(step) for step in range(1000)]
    plotter = Plotter()
    plotter.draw(Chart("x", (line(values, start=0),)), Look(window=(400.0, 500.0)), 60, 12)
    assert plotter.layout is not None
    assert 395 <= plotter.layout.scale.low <= plotter.layout.scale.high <= 505
    assert plotter.layout.whole == (0.0, 999.0)
    assert "no point here" in "".join(draw(Chart("x", (line([1.0]),)), look=Look(window=(50.0, 60.0))))


def test_an_empty_chart_says_why() -> None:
    text = "\n".join(draw(Chart("kl", empty="beta is 0: no KL is computed")))
    assert "beta is 0: no KL is computed" in text
    assert "kl" in text.split("\n")[0]


def test_of_many_marks_in_one_place_the_most_severe_is_seen_and_named() -> None:
    marks = tuple(Mark("finding", 50, severity=word) for word in SEVERITIES)
    rows = Plotter().draw(Chart("x", (line([0.5] * 100),), marks=marks), Look(), 60, 10)
    assert [role for text, role in rows[-1] if text == BRAILLE.finding] == ["critical"]
    named = (Mark("death", 50, name="rank 2 killed"), Mark("death", 50, name="rank 3 killed"))
    foot = draw(Chart("x", (line([0.5] * 100),), marks=named), 80, 10, Look(crosshair=50))[-1]
    assert "rank 2 killed" in foot
    assert "rank 3 killed" in foot


def test_marks_and_points_are_in_the_same_columns() -> None:
    for count in (7, 100, 2_500):
        plotter = Plotter()
        chart = Chart("x", (line([0.5] * count),), marks=tuple(Mark("validation", x, 0.5) for x in range(1, count + 1)))
        plotter.draw(chart, Look(), 60, 10)
        layout = plotter.layout
        assert layout is not None
        assert {at for at, _ in layout.marks["validation"]} == {c // 2 for c in layout.filled()}
        assert len(layout.marks["validation"]) <= 60


def test_lines_without_room_for_their_names_have_their_last_values_in_the_frame() -> None:
    runs = tuple(line([n / 8] * 20, f"run-{n}") for n in range(1, 7))
    assert "● 0.125 ■ 0.25 ◆ 0.375" in draw(Chart("x", runs), 44, 6)[0]
    narrow = draw(Chart("reward", runs), 26, 6)[0]
    assert "reward" in narrow
    assert "● 0.125" in narrow


def test_names_without_room_keep_what_tells_them_apart() -> None:
    metrics = ("reward/mean", "reward/part/letters", "reward/part/no_digits")
    runs = tuple(line([0.123456789] * 20, name) for name in metrics)
    wide = "\n".join(draw(Chart("x", runs), 120, 14))
    assert all(name in wide for name in metrics)
    narrow = "\n".join(draw(Chart("x", runs), 58, 14, Look(crosshair=10)))
    assert "mean 0.123456789" in narrow
    assert "part/letters 0.123456789" in narrow
    assert "reward/part" not in narrow


def test_a_mark_beside_the_window_is_not_in_it() -> None:
    marks = (Mark("death", 39.9), Mark("finding", 60.1))
    foot = draw(Chart("x", (line([0.5] * 100),), marks=marks), 60, 10, Look(window=(40.0, 60.0)))[-1]
    assert not set("†▲") & set(foot)


def test_a_band_shades_the_cells_that_it_fills_by_half_and_one_at_least() -> None:
    band = (0b0011_1111, 0b0011_1111)
    assert canvas._within(band, 3, 4) == (1, 2)
    assert canvas._within((0b0001_1111, 0b0001_1111), 3, 4) == (2,)
    assert canvas._within((0b1000_0000, 0), 3, 4) == (1,)
