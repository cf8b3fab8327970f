import pytest

from grpotui_supervisor.model.excerpts import problem_block, visible
from grpotui_supervisor.model.positions import Place


def test_a_block_shows_the_line_and_underlines_the_key() -> None:
    assert problem_block(
        "path/to/p.toml", ["", "nproc = 0"], Place(2, 1, 5), "launch.nproc: must be at least 1, got 0"
    ) == ("path/to/p.toml:2:1: launch.nproc: must be at least 1, got 0\n  2 | nproc = 0\n    | ^^^^^")


@pytest.mark.parametrize(
    ("line", "before", "shown", "mark"),
    [
        ("\ta = 1", 1, "\ta = 1", "\t^"),
        ("'日本' = 1, b = 2", 10, "'日本' = 1, b = 2", "            ^"),
        ("'e\u0301' = 1, b = 2", 10, "'e\u0301' = 1, b = 2", "         ^"),
        ("a = '\x1b[2J'  ", 0, "a = '\ufffd[2J'", "^"),
        ("x" * 200, 0, "x" * 120 + "…", "^"),
        ("x" * 200 + "b", 200, "…" + "x" * 60 + "b", " " * 61 + "^"),
    ],
)
def test_the_mark_stands_under_the_key(line: str, before: int, shown: str, mark: str) -> None:
    block = problem_block("f", [line], Place(1, before + 1, 1), "t")
    assert block == f"f:1:{before + 1}: t\n  1 | {shown}\n    | {mark}"


def test_visible_replaces_what_could_control_a_terminal() -> None:
    assert visible("a\tb\x1b[1m\u202ec\n日本\u3000") == "a\tb\ufffd[1m\ufffdc\ufffd日本\u3000"
