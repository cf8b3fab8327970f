import struct as packing
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from grpotui_supervisor.logs import layouts as module
from grpotui_supervisor.logs.columns import Columns, Shape
from grpotui_supervisor.logs.layouts import Layout, Layouts, as_tuple, struct


def compiled(shape: Shape) -> module.Compiled:
    fields = [("step", int), *((key, float | None) for key in shape.keys)]
    return msgspec.json.Decoder(struct(fields)).decode, as_tuple


def known(*kinds: Sequence[str]) -> Layouts:
    layouts = Layouts(Columns(), compiled)
    for keys in kinds:
        for _ in range(module.COMPILE_AFTER):
            layouts.learn(keys)
    return layouts


def text(step: int, *keys: str) -> bytes:
    return msgspec.json.encode({"step": step} | dict.fromkeys(keys, 0.5))


def current(layouts: Layouts) -> Layout:
    assert layouts.current is not None
    return layouts.current


def test_a_layout_is_compiled_when_its_keys_came_before() -> None:
    layouts = Layouts(Columns(), compiled)
    layouts.learn(["a", "b"])
    assert layouts.current is None
    layouts.learn(["b", "a"])
    assert current(layouts).shape.keys == ("b", "a")


def test_only_the_same_keys_are_read() -> None:
    layout = current(known(["a", "b"]))
    assert layout.cells(layout.decode(text(3, "b", "a"))) == (3, 0.5, 0.5)
    for keys in (("a",), ("a", "b", "c"), ("a", "B")):
        with pytest.raises(msgspec.DecodeError):
            layout.decode(text(3, *keys))


def test_a_null_is_not_a_number_where_it_is_allowed() -> None:
    layouts = known(["a"])
    assert layouts.read(b'{"step":1,"a":null}', nulls=False) is None
    found = layouts.read(b'{"step":1,"a":null}', nulls=True)
    assert found is not None
    assert str(packing.unpack("2d", found[2])) == "(1.0, nan)"


def test_what_followed_is_tried_first() -> None:
    layouts = known(["a"], ["a", "val"])
    validated = current(layouts)
    found = layouts.read(text(1, "a"), nulls=False)
    assert found is None  # nothing was read in that order yet
    layouts.learn(["a"])
    plain = current(layouts)
    assert validated.after is plain
    found = layouts.read(text(2, "a", "val"), nulls=False)
    assert found is not None
    assert (found[0], plain.after) == (validated, validated)


def guesses(kinds: str) -> str:
    """Read records of two kinds, the way a reader does; `x` where the layout that was tried first was wrong."""
    layouts = known(["a"], ["a", "val"])
    layouts.learn(["a"])
    out = ""
    for step, kind in enumerate(kinds):
        line = text(step, "a", "val") if kind == "v" else text(step, "a")
        layout = current(layouts)
        try:
            cells: Sequence[Any] = as_tuple(layout.decode(line))
            row = layout.shape.pack(*cells)
            out += "."
        except msgspec.DecodeError:
            found = layouts.read(line, nulls=False)
            assert found is not None
            layout, cells, row = found
            out += "x"
        layouts.rows.append(row)
        layouts.steps.append(step)
        layouts.run += 1
        if layouts.run == layout.length:
            layouts.guess()
    layouts.flush()
    assert list(layouts._columns.steps) == list(range(len(kinds)))
    assert len(layouts._columns.series["val"].values) == kinds.count("v")
    return out


def test_validation_at_regular_intervals_is_foreseen() -> None:
    assert guesses("aaav" * 6) == "...xx" + "." * 19


def test_a_wrong_guess_is_no_harm() -> None:
    assert guesses("aaavaaav" + "a" * 9 + "vaaaav").count("x") <= 8


def test_garbage_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_SEEN", 5)
    monkeypatch.setattr(module, "MAX_LAYOUTS", 3)
    layouts = known(*([f"key{number}"] for number in range(40)))
    assert len(layouts._seen) <= 5
    assert len(layouts._known) == 3
