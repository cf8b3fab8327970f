"""The memory of GPUs: three readings that are never mixed, and what is not known of them."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tui.pictures import fits, glyph_sets, names, roles

from grpotui.tui import cells, memory, palette
from grpotui.tui.cells import Sheet
from grpotui.tui.glyphs import ASCII, BRAILLE, Glyphs
from grpotui.tui.memory import ALLOCATED, BASELINE, BEYOND, DRIVER, FREE, RESERVED, Memory

GIB = 2**30
amounts = st.one_of(st.none(), st.integers(0, 200 * GIB), st.sampled_from((0, 1, GIB, 80 * GIB)))
gpus = st.builds(
    Memory,
    name=names,
    total=amounts,
    baseline=amounts,
    used=amounts,
    allocated=amounts,
    reserved=amounts,
    note=names,
    reason=st.one_of(st.just(""), names),
)


def text(found: list[Memory], wide: int = 80, high: int = 8, glyphs: Glyphs = BRAILLE) -> list[str]:
    return [cells.plain(row) for row in memory.draw(found, Sheet(glyphs, wide, high), "GPU memory", "no GPU")]


@settings(max_examples=80, deadline=None)
@given(st.lists(gpus, max_size=6), glyph_sets, st.integers(0, 90), st.integers(0, 12), names)
def test_a_picture_has_the_size_that_was_asked_for_and_roles_that_have_a_style(
    found: list[Memory], glyphs: Glyphs, wide: int, high: int, reason: str
) -> None:
    rows = memory.draw(found, Sheet(glyphs, wide, high), "GPU memory", reason)
    assert fits(rows, wide, high)
    assert roles(rows) <= set(palette.styles(palette.DARK))


@given(gpus, st.integers(1, 60))
def test_the_parts_of_a_bar_grow_and_only_what_is_known_has_one(gpu: Memory, wide: int) -> None:
    ends = memory.edges(gpu)
    assert [end for _, end in ends] == sorted(end for _, end in ends)
    parts = {part for part, _ in ends}
    assert gpu.used is not None or not parts & {DRIVER, FREE, BEYOND}
    assert gpu.allocated is not None or ALLOCATED not in parts
    assert gpu.reserved is not None or RESERVED not in parts
    assert gpu.baseline is not None or BASELINE not in parts
    assert len(memory.bar(gpu, wide)) == wide


def test_the_three_readings_are_parts_of_their_own() -> None:
    gpu = Memory("0", 100 * GIB, 10 * GIB, 80 * GIB, 30 * GIB, 50 * GIB)
    assert memory.edges(gpu) == [
        (BASELINE, 10 * GIB),
        (ALLOCATED, 40 * GIB),
        (RESERVED, 60 * GIB),
        (DRIVER, 80 * GIB),
        (FREE, 100 * GIB),
    ]
    more = Memory("0", 100 * GIB, 0, 40 * GIB, 30 * GIB, 50 * GIB)
    assert (BEYOND, 50 * GIB) in memory.edges(more)


def test_a_lost_device_says_why_and_has_no_bar() -> None:
    rows = text([Memory("0", 100 * GIB, 0, GIB), Memory("1", 100 * GIB, 0, 9 * GIB, reason="GPU is lost (Xid 79)")])
    lost = next(row for row in rows if "lost" in row)
    assert "GPU is lost (Xid 79)" in lost
    assert "9.0" not in lost


def test_instances_of_a_device_keep_their_names_in_a_column() -> None:
    names_ = ("0:1", "0:2", "10:13")
    rows = text([Memory(name, 20 * GIB, 0, 5 * GIB) for name in names_], wide=60)
    found = [row for row in rows if "5.0/20.0" in row]
    assert [row[2:7].strip() for row in found] == list(names_)
    assert len({row.index("5.0/20.0") for row in found}) == 1


def test_of_eight_devices_in_five_rows_the_rest_is_summed_up() -> None:
    found = [Memory(str(n), 140 * GIB, 0, (60 + n) * GIB) for n in range(7)] + [Memory("7", reason="lost")]
    rows = text(found, wide=58, high=7)
    assert "+4 more: 64.0 to 66.0 used, 1 not read" in "\n".join(rows)
    assert all(f"{60 + n}.0/140.0" in rows[1 + n] for n in range(4))
    tall = text(found, wide=58, high=11)
    assert all(f"{60 + n}.0/140.0" in tall[1 + n] for n in range(7))
    assert "driver" in tall[9] or "drv" in tall[9]


def test_what_is_not_known_is_said_and_not_zero() -> None:
    assert "unknown/80.0" in "\n".join(text([Memory("0", 80 * GIB, 0, None)]))
    assert "5.0/unknown" in "\n".join(text([Memory("0", None, 0, 5 * GIB)]))
    row = next(row for row in text([Memory("0", 80 * GIB, None, 5 * GIB)]) if "5.0/80.0" in row)
    assert "0.0" not in row.replace("5.0/80.0", "")


def test_in_ascii_everything_is_ascii() -> None:
    found = [Memory(str(n), 140 * GIB, GIB, (60 + n) * GIB, 20 * GIB, 30 * GIB) for n in range(3)]
    assert all(row.isascii() for row in text(found, glyphs=ASCII))
