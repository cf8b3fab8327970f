"""The thread of the logs page: every window is what a slow look at the same bytes finds."""

from __future__ import annotations

import os
import random
import time
from typing import TYPE_CHECKING

import pytest
from support.line_logs import Asking, Logs
from support.waiting import wait_until

from grpotui.tui.lines import reading
from grpotui.tui.lines.matching import Matcher
from grpotui.tui.lines.shown import line_of
from grpotui.tui.lines.values import Wish

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WORDS = (b"alpha", b"beta", b"gamma", b"Traceback (most recent call last):", b"", b"\x1b[1mbold\x1b[0m")
NAMES = ("0/stdout", "0/stderr", "1/stdout")


@pytest.fixture
def logs(tmp_path: Path) -> Logs:
    return Logs(tmp_path)


@pytest.fixture
def asking(logs: Logs) -> Iterator[Asking]:
    asking = Asking(logs)
    yield asking
    asking.reader.close()


def fill(logs: Logs, seed: int, count: int = 60) -> None:
    rng = random.Random(seed)
    for moment in range(count):
        text = b"\n".join(rng.choice(WORDS) + b" %d" % moment for _ in range(rng.randint(1, 4)))
        logs.write(moment, rng.choice(NAMES), text + rng.choice([b"", b"\n", b"\n"]))


def texts(logs: Logs, moment: int | None, names: tuple[str, ...] | None = None) -> list[tuple[str, str]]:
    return [(name, line_of(raw)) for name, raw in logs.expected(moment, names)]


@pytest.mark.parametrize("seed", range(4))
def test_all_ranks_in_the_order_of_their_moments_as_of_any_cursor(logs: Logs, asking: Asking, seed: int) -> None:
    fill(logs, seed)
    for moment in (59, 30, 0, None, 7, 58):
        for names in (None, ("0/stdout", "0/stderr"), ("1/stdout",)):
            wanted = texts(logs, moment, names)
            known = {name for name, _ in texts(logs, None)}
            if names is not None and not set(names) <= known:
                continue
            window = asking.ask(Wish(names, "", 0, 1000, moment))
            assert [(line.file, line.text) for line in window.lines] == wanted
            assert window.total == len(wanted)


def test_a_window_is_a_part_of_it(logs: Logs, asking: Asking) -> None:
    fill(logs, 9)
    wanted = texts(logs, 40)
    window = asking.ask(Wish(None, "", 11, 5, 40))
    assert [line.text for line in window.lines] == [text for _, text in wanted[11:16]]
    last = asking.ask(Wish(None, "", None, 5, 40))
    assert [line.text for line in last.lines] == [text for _, text in wanted[-5:]]
    assert last.begin == len(wanted) - 5


def test_numbers_and_moments_of_lines(logs: Logs, asking: Asking) -> None:
    logs.write(5, "0/stdout", b"one\ntw")
    logs.write(6, "1/stdout", b"other\n")
    logs.write(7, "0/stdout", b"o\nthree")
    lines = asking.ask(Wish(None, "", 0, 9, None)).lines
    assert [(line.file, line.number, line.moment, line.is_open) for line in lines] == [
        ("0/stdout", 0, 5, False), ("1/stdout", 0, 6, False), ("0/stdout", 1, 7, False), ("0/stdout", 2, 7, True)
    ]  # fmt: skip


def test_a_bar_that_is_redrawn_stays_at_the_end(logs: Logs, asking: Asking) -> None:
    for number in range(5):
        logs.write(2 * number, "0/stderr", b"\r%d/5" % number)
        logs.write(2 * number + 1, "0/stdout", b"line %d\n" % number)
    assert [line.text for line in asking.ask(Wish(None, "", 0, 9, 5)).lines] == ["line 0", "line 1", "line 2", "2/5"]


@pytest.mark.parametrize("words", ["beta", "!beta", "re:(alpha|bold) [0-9]$", "Traceback"])
def test_a_filter_shows_what_matches_as_of_the_cursor(logs: Logs, asking: Asking, words: str) -> None:
    fill(logs, 3)
    for moment in (59, 20):
        wanted = [text for _, text in texts(logs, moment) if Matcher(words).holds(text)]
        window = asking.ask(Wish(None, words, 0, 1000, moment))
        assert [line.text for line in window.lines] == wanted
        assert window.total == len(wanted)


def test_a_filter_that_takes_long_is_shown_as_ended(
    logs: Logs, asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_TURN_S", 0.0)
    fill(logs, 3)
    assert asking.ask(Wish(None, "beta", 0, 1000, 59)).total
    find = (None, 0, 1, 1)
    assert asking.ask(Wish(None, "beta", 0, 1000, 59, find=find), lambda w: w.hit is not None).searched is None
    assert asking.ask(Wish(None, "!beta", 0, 1000, 59, find=find)).total


@pytest.mark.parametrize("filtered", ["", "!gamma"])
@pytest.mark.parametrize("moment", [59, 25])
def test_a_search_goes_from_hit_to_hit_both_ways(logs: Logs, asking: Asking, filtered: str, moment: int) -> None:
    fill(logs, 5)
    shown = [text for _, text in texts(logs, moment) if not filtered or "gamma" not in text]
    hits = [at for at, text in enumerate(shown) if "beta" in text]
    assert len(hits) > 3
    asking.ask(Wish(None, filtered, 0, 5, moment))
    number, found, at = 0, [], -1
    for way in (1, -1):
        while True:
            number += 1
            wish = Wish(None, filtered, 0, 5, moment, find=("beta", at + way, way, number))
            window = asking.ask(wish, lambda w, number=number: w.hit is not None and w.hit.number == number)  # type: ignore[misc]
            assert window.hit is not None
            if window.hit.position is None:
                break
            at = window.hit.position
            found.append(at)
    assert found == hits + hits[:-1][::-1]


def test_lines_that_have_not_ended_are_searched_too(logs: Logs, asking: Asking) -> None:
    logs.write(1, "0/stdout", b"one\ntwo beta")
    logs.write(2, "1/stdout", b"three\nfour")
    found = []
    for number, (at, way) in enumerate(((0, 1), (3, 1), (3, -1), (1, -1)), 1):
        wish = Wish(None, "", 0, 5, None, find=("beta", at, way, number))
        hit = asking.ask(wish, lambda w, number=number: w.hit is not None and w.hit.number == number).hit  # type: ignore[misc]
        assert hit is not None
        found.append(hit.position)
    assert found == [2, None, 2, None]


def test_the_next_error_is_found(logs: Logs, asking: Asking) -> None:
    logs.write(1, "0/stdout", b"fine\n" * 5000 + b"Traceback (most recent call last):\n" + b"fine\n" * 5000)
    wish = Wish(None, "", 0, 5, None, find=(None, 0, 1, 1))
    window = asking.ask(wish, lambda w: w.hit is not None)
    assert window.hit is not None
    assert window.hit.position == 5000
    assert asking.ask(Wish(None, "", 4999, 3, None)).lines[1].is_error


def test_a_line_is_kept_when_a_filter_is_taken_away(logs: Logs, asking: Asking) -> None:
    fill(logs, 5)
    window = asking.ask(Wish(None, "beta", 0, 1000, 59))
    line = window.lines[len(window.lines) // 2]
    kept = asking.ask(Wish(None, "", 0, 5, 59, keep=(line.file, line.number)), lambda w: w.kept is not None)
    assert kept.kept is not None
    assert kept.lines[kept.kept - kept.begin] == line
    again = asking.ask(Wish(None, "beta", 0, 5, 59, keep=(line.file, line.number)), lambda w: w.kept is not None)
    assert again.kept == len(window.lines) // 2


def test_what_comes_later_is_there_at_once(logs: Logs, asking: Asking) -> None:
    logs.write(1, "0/stdout", b"one\n")
    assert asking.ask(Wish(None, "", None, 5, 1)).total == 1
    logs.write(2, "0/stdout", b"two\n")
    logs.write(3, "2/stdout", b"three\n")
    window = asking.ask(Wish(None, "", None, 5, 3))
    assert [line.text for line in window.lines] == ["one", "two", "three"]
    assert window.names == ("0/stdout", "2/stdout")


def test_a_log_that_is_cut_off_is_said(logs: Logs, asking: Asking) -> None:
    logs.write(1, "0/stdout", b"before\n")
    assert asking.ask(Wish(None, "", 0, 5, 1)).total == 1
    logs.truncate(2, "0/stdout")
    logs.write(3, "0/stdout", b"new\n")
    window = asking.ask(Wish(None, "", 0, 5, 3))
    assert [line.text for line in window.lines] == ["new"]
    assert window.notes == ("0/stdout was cut off: what it held before is gone",)


def test_a_file_that_lost_bytes_or_vanished_is_said(logs: Logs, asking: Asking) -> None:
    logs.write(1, "0/stdout", b"one\ntwo\n")
    os.truncate(logs.path("0/stdout"), 4)
    logs.write(1, "1/stdout", b"gone\n")
    os.remove(logs.path("1/stdout"))
    window = asking.ask(Wish(None, "", 0, 5, None))
    assert [line.text for line in window.lines] == ["one"]
    assert len(window.notes) == 2
    assert all("shorter than what is on record" in note for note in window.notes)


def test_a_file_that_vanishes_while_it_is_looked_at_breaks_nothing(logs: Logs, asking: Asking) -> None:
    logs.write(1, "0/stdout", b"one\n" * 2000)
    asking.ask(Wish(None, "", 0, 5, None))
    os.remove(logs.path("0/stdout"))
    window = asking.ask(Wish(None, "", 1000, 5, None))
    assert [line.text for line in window.lines] == [""] * 5


def test_a_wish_is_answered_while_a_large_log_is_searched(logs: Logs, asking: Asking) -> None:
    logs.write(1, "0/stdout", (b"x" * 99 + b"\n") * 400_000)
    total = asking.ask(Wish(None, "", None, 5, None)).total
    assert total == 400_000
    asking.reader.ask(Wish(None, "", None, 5, None, find=("re:y+$", 0, 1, 1)))
    wait_until(lambda: asking.reader.window is not None and asking.reader.window.searched is not None)
    began = time.monotonic()
    wish = Wish(None, "", 200_000, 5, None, find=("re:y+$", 0, 1, 1))
    asking.reader.ask(wish)
    wait_until(lambda: asking.reader.window is not None and asking.reader.window.wish == wish)
    waited = time.monotonic() - began
    assert asking.reader.window is not None
    assert asking.reader.window.searched is not None, "the search was over: this shows nothing"
    assert waited < 0.5
