"""Pins are kept between sessions, and a bad file is said, not obeyed and not lost."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from grpotui.tui.pins import MOST, Pins

if TYPE_CHECKING:
    from pathlib import Path


def test_a_pin_survives_a_restart_and_belongs_to_its_framework(tmp_path: Path) -> None:
    root = str(tmp_path / "state")
    assert Pins(root).toggle("verl", "raw:actor/x") is True
    assert Pins(root).toggle("verl", "entropy") is True
    assert Pins(root).pinned("verl") == ("raw:actor/x", "entropy")
    assert Pins(root).pinned("trl") == ()
    assert Pins(root).toggle("verl", "raw:actor/x") is False
    assert Pins(root).pinned("verl") == ("entropy",)
    assert (tmp_path / "state/pins.json").stat().st_mode & 0o777 == 0o600


def test_another_dashboard_of_the_same_user_is_not_overwritten(tmp_path: Path) -> None:
    one, other = Pins(str(tmp_path)), Pins(str(tmp_path))
    one.toggle("trl", "entropy")
    other.toggle("trl", "grad_norm")
    assert one.reload()
    assert one.pinned("trl") == ("entropy", "grad_norm")
    assert not one.reload()


@pytest.mark.parametrize(
    "content",
    ["", "{", "[1]", '{"schema": 99, "pins": {}}', '{"schema": 1}', '{"schema": 1, "pins": {"trl": [1]}}',
     '{"schema": "x", "pins": {}}', '{"schema": 1, "pins": 5}', "\x00\xff"],
)  # fmt: skip
def test_a_bad_file_is_said_and_kept_aside(tmp_path: Path, content: str) -> None:
    (tmp_path / "pins.json").write_text(content)
    pins = Pins(str(tmp_path))
    assert pins.pinned("trl") == ()
    assert "pins.json is not used: " in str(pins.problem)
    assert pins.toggle("trl", "entropy")
    assert pins.problem is None
    assert (tmp_path / "pins.json.bad").read_text() == content
    assert json.loads((tmp_path / "pins.json").read_text()) == {"schema": 1, "pins": {"trl": ["entropy"]}}


def test_there_is_a_most_of_them(tmp_path: Path) -> None:
    pins = Pins(str(tmp_path))
    for number in range(MOST):
        assert pins.toggle("trl", f"m{number}")
    assert not pins.toggle("trl", "one more")
    assert "take a pin away" in str(pins.problem)


def test_a_root_that_takes_no_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    pins = Pins(str(tmp_path / "file"))
    assert pins.toggle("trl", "entropy")
    assert "this session only" in str(pins.problem)
    assert pins.pinned("trl") == ("entropy",)
