"""What is shown of a log's bytes: nothing that a terminal obeys, and of a progress bar its last state."""

from __future__ import annotations

import time

import pytest

from grpotui.tui.lines.shown import line_of, text_of


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"plain\n", "plain"),
        (b"\x1b[1;31mred\x1b[0m and \x1b]0;title\x07rest\n", "red and rest"),
        (b" 10%| 1/10\r 20%| 2/10\r 30%| 3/10\n", " 30%| 3/10"),
        (b" 10%| 1/10\r 20%| 2/10\r", " 20%| 2/10"),
        (b" 99%|\r100%| done\r          \r\n", "100%| done"),
        (b"windows line\r\n", "windows line"),
        (b"a\x00b\x07c\x7f\n", "a\ufffdb\ufffdc\ufffd"),
        ("right\u202eleft\n".encode(), "right\ufffdleft"),
        (b"\xff\xfe bad utf-8 \xe4\xb8\n", "\ufffd\ufffd bad utf-8 \ufffd"),
        ("训练 🚀 шаг\n".encode(), "训练 🚀 шаг"),
        (b"a\tb\n", "a   b"),
        (b"\x1b[\n", ""),
    ],
)
def test_a_line_is_inert(raw: bytes, shown: str) -> None:
    assert line_of(raw) == shown


def test_line_ends_stay_where_they_were() -> None:
    raw = b"\x1b[1mone\r\ntwo\rthree\n\n\x1b]0;never closed\nfour\x1b"
    assert text_of(raw) == "one\nthree\n\n\nfour"
    assert text_of(raw).count("\n") == raw.count(b"\n")


def test_a_long_line_takes_linear_time() -> None:
    def seconds(size: int) -> float:
        raw = b"x" * size + b"\n" + b"\ry" * size
        began = time.process_time()
        text_of(raw)
        return time.process_time() - began

    seconds(1000)
    assert seconds(400_000) < 20 * max(0.002, min(seconds(50_000) for _ in range(3)))
