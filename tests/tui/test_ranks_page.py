"""Page 2: every member, the order of the ends, leftovers, and the last lines of the chosen one."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from support.hostile import HOSTILE, harmless
from support.screens import lines_of, on_page, press_harmlessly, replay, text_of, until
from support.still_feed import H200, StillFeed, exited, killed, member, recorded

from grpotui.tui.panels.last_lines import last_lines
from grpotui.tui.panels.ranks import Ranks

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    from textual.pilot import Pilot

    from grpotui.tui.app import Dashboard
    from grpotui.tui.feed.feed import Feed

    Use = Callable[[Ranks, Dashboard, Pilot[None]], Coroutine[None, None, None]]

GIB = 1 << 30
WIDE = (160, 40)


def shown(source: Feed, size: tuple[int, int] = WIDE) -> list[str]:
    found: list[str] = []

    async def use(_: Ranks, app: Dashboard, __: Pilot[None]) -> None:
        found.extend(lines_of(app))

    on_page(Ranks, source, use, size)
    return found


def line_of(lines: list[str], name: str) -> str:
    return next(line for line in lines if line.startswith(f"│ {name} "))


def test_the_order_of_the_ends_to_the_millisecond() -> None:
    ranks = [
        killed(0, 64.2, "SIGTERM", sent=["SIGTERM", "SIGKILL"]), killed(1, 53.9, core_dumped=True),
        killed(2, 53.912, "SIGABRT"), exited(3, 0),
    ]  # fmt: skip
    first = {"rank": 1, "member": "1", "how": "killed", "signal": "SIGKILL", "code": None, "core_dumped": False,
             "seconds_before_next": 0.012}  # fmt: skip
    lines = shown(StillFeed(recorded(ranks=ranks, first_failure=first)))
    assert "■ killed by SIGTERM" in line_of(lines, "rank 0")
    assert "3rd, 10.3s after it" in line_of(lines, "rank 0")
    assert "TERM KILL" in line_of(lines, "rank 0")
    assert "✖ killed by SIGKILL (core dumped)" in line_of(lines, "rank 1")
    assert "1st, first failure" in line_of(lines, "rank 1")
    assert "2nd, 12ms after it" in line_of(lines, "rank 2")
    assert "■ exited 0" in line_of(lines, "rank 3")
    assert "4  ✖ 2 failed  ■ 1 ended by grpotui" in lines[2]


def test_an_end_before_the_first_failure() -> None:
    ranks = [exited(0, 0, 10.0), killed(1, 11.5)]
    first = {"rank": 1, "member": "1", "how": "killed", "signal": "SIGKILL", "code": None, "core_dumped": False,
             "seconds_before_next": None}  # fmt: skip
    lines = shown(StillFeed(recorded(ranks=ranks, first_failure=first)))
    assert "1st, 1.5s before it" in line_of(lines, "rank 0")
    assert "2nd, first failure" in line_of(lines, "rank 1")


def test_what_a_running_member_uses_and_what_nobody_told() -> None:
    ranks = [
        member(0, rss_bytes=3 * GIB, cpu_percent=187.6, gpus=["0", "1"], gpu_bytes=5 * GIB, phase="rollout"),
        member(1, gpus=["2"], gpu_bytes=None, output_age_s=None, max_rss_bytes=GIB),
        member(2, role="companion", member="judge", rank=None, node="node-1"),
    ]
    lines = shown(StillFeed(recorded(ranks=ranks, first_failure=None)), (200, 60))
    for word in ("188 %", "3.0 GiB", "5.0 GiB on 0,1", "rollout", "2s ago", "node-0"):
        assert word in line_of(lines, "rank 0")
    for word in ("max 1.0 GiB", "not told on 2", "nothing yet"):
        assert word in line_of(lines, "rank 1")
    assert "node-1" in line_of(lines, "companion judge")
    assert "3  ● 3 running" in lines[2]


def test_leftovers_and_what_ends_them() -> None:
    one = {"name": "VLLM::EngineCore", "member": "0", "gpus": ["1"], "gpu_bytes": 3 * GIB}
    left = [{"pid": 70 + number, **one} for number in range(7)]
    assert "left behind" in (text := "\n".join(shown(StillFeed(recorded(leftovers=left)))))
    assert "as of the cursor" in text
    lines = shown(StillFeed(recorded(leftovers=left), "live"))
    text = "\n".join(lines)
    assert "▲ pid 70 VLLM::EngineCore (of rank 0), holds 3.0 GiB on GPU 1" in text
    assert "▲ and 3 more" in text
    assert f"grpotui stop --leftovers {recorded()['run']}" in text


def test_the_last_lines_are_those_of_the_cursor() -> None:
    source = replay(H200 / "sigkill")

    async def use(_: Ranks, app: Dashboard, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: app.feed.span() is not None and "'loss'" in text_of(app))
        assert "last lines of rank 0" in text_of(app)
        await pilot.press("down")
        await until(pilot, lambda: "last lines of rank 1" in text_of(app) and "[rank1]" in text_of(app))
        at = app.feed.find("0%")
        app.feed.seek(at)
        await until(pilot, lambda: app.run_screen is not None and app.run_screen.frame.moment == at)
        await until(pilot, lambda: "nothing printed yet" in text_of(app))
        assert "○ starting" in text_of(app)

    on_page(Ranks, source, use, WIDE)


def test_of_a_line_written_over_its_last_state_and_no_more_than_the_size(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"first\n 10%|\r 20%|\r 30%|\r\n\ttab\n\xff\xfe\nnot yet there")
    assert last_lines(str(log), log.stat().st_size - 13) == ("first", " 30%|", "        tab", "\ufffd\ufffd")
    log.write_bytes(b" 10%|#  |\n 20%|## |\nload: 5%|\nload: 9%|\nsaid 50% of it\n 30%|###|\n 40%|###|")
    assert last_lines(str(log), 1000) == (" 20%|## |", "load: 9%|", "said 50% of it", " 40%|###|")
    log.write_bytes(b"x" * 200_000 + b"\nthe end\n")
    assert last_lines(str(log), log.stat().st_size) == ("the end",)
    assert "No such file" in last_lines(str(tmp_path / "none"), 5)[0]


@pytest.mark.parametrize("count", [64, 512])
def test_hundreds_of_ranks(count: int) -> None:
    ranks = [killed(rank, 10 + rank / 1000) if rank % 7 == 0 else member(rank) for rank in range(count)]
    source = StillFeed(recorded(ranks=ranks, first_failure=None))

    async def use(page: Ranks, app: Dashboard, pilot: Pilot[None]) -> None:
        await pilot.press("G")
        assert page.table.chosen == count - 1
        assert line_of(lines_of(app), f"rank {count - 1}")
        await pilot.press("g", "pagedown")
        assert page.table.chosen in page.table.seen
        times = []
        for _ in range(5):
            source.document["ranks"][1]["output_age_s"] += 1
            source.set()
            frame = source.take()
            begin = time.thread_time()
            page.show(frame)
            times.append(time.thread_time() - begin)
        assert min(times) < 0.02

    on_page(Ranks, source, use, WIDE)


def test_a_log_says_what_it_cannot_tell() -> None:
    source = StillFeed(recorded() | {"ranks": [], "run": None, "verdict": None, "state": None}, "log")
    text = "\n".join(shown(source, (80, 24)))
    assert "A log does not tell of processes: exits, signals and pids are not in it." in text
    assert "last lines" not in text


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)], ids=str)
def test_hostile_and_wide_text(size: tuple[int, int], tmp_path: Path) -> None:
    texts = [text.decode("utf-8", "surrogateescape") for text in HOSTILE.values()] + ["进程 😀", "процесс"]
    ranks = [member(n, role=text, member=text, rank=None, phase=text, node=text, state="lost", reason=text)
             for n, text in enumerate(texts)]  # fmt: skip
    left: list[dict[str, object]] = [
        {"pid": 7, "name": text, "member": text, "gpus": [], "gpu_bytes": None} for text in texts
    ]
    source = StillFeed(recorded(ranks=ranks, leftovers=left, first_failure=None))
    (tmp_path / "log").write_bytes(b"\n".join(HOSTILE.values()) + "\n进程 😀 готово".encode())
    source.sizes = {f"{texts[0]}/stdout.log": 9}
    source.one_log = str(tmp_path / "log")

    async def use(_: Ranks, app: Dashboard, pilot: Pilot[None]) -> None:
        await press_harmlessly(app, pilot, "g", "G", "c")
        assert harmless(app.clipboard)

    on_page(Ranks, source, use, size)
