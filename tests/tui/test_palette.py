"""Colours are told apart from the ground and from each other, and none of them means anything alone."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import pytest
from textual.theme import BUILTIN_THEMES

from grpotui.tui import palette
from grpotui.tui.app import DARK, LIGHT
from grpotui.tui.glyphs import BRAILLE, PARTS, SETS

if TYPE_CHECKING:
    from grpotui.tui.palette import Palette

CHOSEN = ((palette.DARK, DARK), (palette.LIGHT, LIGHT))
TEXT, LINE, SHADE = 4.5, 3.0, 1.9


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.2)."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, two: str) -> float:
    light, dark = sorted((luminance(one), luminance(two)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def grounds(theme: str) -> list[str]:
    """What widgets lie on: the screen, dialogs, and the first and last line."""
    found = BUILTIN_THEMES[theme].to_color_system().generate()
    return [found[name] for name in ("background", "surface", "panel")]


@pytest.mark.parametrize(("chosen", "theme"), CHOSEN)
def test_text_can_be_read_on_every_ground(chosen: Palette, theme: str) -> None:
    for ground in grounds(theme):
        for name in ("text", "muted", "critical", "warning", "info", "good"):
            assert contrast(getattr(chosen, name), ground) >= TEXT, (name, ground)


@pytest.mark.parametrize(("chosen", "theme"), CHOSEN)
def test_lines_and_parts_can_be_seen_on_every_ground(chosen: Palette, theme: str) -> None:
    screen, dialog, _ = grounds(theme)
    for ground in (screen, dialog):
        for ink in (*chosen.series, *chosen.parts, *chosen.memory[:4], chosen.memory[5]):
            assert contrast(ink, ground) >= LINE, (ink, ground)
    for ink in chosen.series:  # a spike is seen in the envelope alone
        assert contrast(palette.mixed(ink, screen, chosen.faint), screen) >= SHADE, ink


@pytest.mark.parametrize(("chosen", "theme"), CHOSEN)
def test_a_line_is_seen_on_its_own_band(chosen: Palette, theme: str) -> None:
    ground = grounds(theme)[0].lower()
    for first in range(palette.LINES):
        found = palette.styles(chosen, first, ground)
        line, band = found["line0~"], found["band"]
        assert line.color is not None
        assert band.bgcolor is not None
        assert contrast(line.color.name, band.bgcolor.name) >= LINE
        assert line.bgcolor == band.bgcolor
        assert contrast(band.bgcolor.name, ground) > 1.05


def seen(colour: str, kind: str) -> tuple[float, ...]:
    """A colour as people without one kind of cones see it (Viénot, Brettel and Mollon 1999), in linear light."""
    rgb = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in rgb)
    if kind == "protan":
        return (0.11238 * red + 0.88762 * green, 0.11238 * red + 0.88762 * green, 0.00401 * (red - green) + blue)
    return (0.29275 * red + 0.70725 * green, 0.29275 * red + 0.70725 * green, -0.02234 * (red - green) + blue)


@pytest.mark.parametrize("chosen", [palette.DARK, palette.LIGHT], ids=["dark", "light"])
def test_the_lines_of_three_runs_differ_for_colour_blind_people_too(chosen: Palette) -> None:
    for kind in ("protan", "deutan"):
        for one, two in combinations(chosen.series[:2], 2):
            apart = sum((a - b) ** 2 for a, b in zip(seen(one, kind), seen(two, kind), strict=True)) ** 0.5
            assert apart > 0.15, (one, two, kind)


def test_every_severity_has_a_glyph_and_a_word_of_its_own() -> None:
    found = list(palette.SEVERITIES.values())
    assert len({glyph for glyph, _ in found}) == len({word for _, word in found}) == len(found) == 3
    assert palette.severity("odd") == ("?", "ODD", "label")


def test_every_picture_has_a_style_in_every_palette() -> None:
    coloured, mono = palette.styles(palette.DARK), palette.styles(palette.palette(dark=True, mono=True))
    assert set(coloured) == set(palette.styles(palette.LIGHT)) == set(mono)
    for chosen in (palette.DARK, palette.LIGHT):
        assert len(chosen.memory) == len(BRAILLE.memory)
        assert len(chosen.parts) >= len(PARTS)
        assert all(len(glyphs.bars) == len(chosen.parts) for glyphs in SETS.values())
        assert all(len(glyphs.names) >= palette.LINES for glyphs in SETS.values())


def test_without_colour_there_is_none() -> None:
    for style in palette.styles(palette.palette(dark=True, mono=True)).values():
        assert style.color is None
        assert style.bgcolor is None
