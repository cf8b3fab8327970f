"""Page 7: all that went wrong, a cause before what it led to; and no word of praise where nothing was seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.hostile import HOSTILE, harmless
from support.screens import on_page, press_harmlessly, replay, text_of, until
from support.still_feed import H200, StillFeed, exited, killed, member, raised, recorded

from grpotui.tui.panels.findings import Findings
from grpotui_supervisor.source.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    from textual.pilot import Pilot

    from grpotui.tui.app import Dashboard

    Use = Callable[[Findings, Dashboard, Pilot[None]], Coroutine[None, None, None]]

SECOND = 1_000_000_000


def still(**changes: Any) -> StillFeed:
    return StillFeed(recorded(**{"ranks": [], "first_failure": None, **changes}))


def test_what_stands_first_the_worst_first_a_cause_before_what_it_led_to() -> None:
    first = {"rank": 1, "member": "1", "how": "killed", "signal": "SIGKILL", "code": None, "core_dumped": False,
             "seconds_before_next": 10.3}  # fmt: skip
    ranks = [
        killed(0, 64.0, "SIGTERM", sent=["SIGTERM"]), killed(1, 53.0), exited(2, 1, 54.0), exited(3, 0, 60.0),
        member(4),
        member(5, state="lost", reason="gone"), member(6, state="failed_to_start", errno=2, reason="No such file"),
        member(7, state="not_observable", reason="told to its parent"),
    ]  # fmt: skip
    source = still(ranks=ranks, first_failure=first)
    source.told_findings = (raised("over", 1.0, "critical", 2.0), raised("late", 90.0, "critical"), raised("soon", 3.0))

    async def use(page: Findings, app: Dashboard, pilot: Pilot[None]) -> None:
        assert [one.name for one in page.items] == [
            "rank 1 ended", "rank 2 ended", "late", "rank 6 not started", "soon", "rank 0 ended", "rank 5 ended",
            "over",
        ]  # fmt: skip
        text = text_of(app)
        for words in ("✖ CRIT  rank 1 ended", "the first failure, 10.3 s before the next end", "4001",
                      "grpotui had sent it nothing", "+53s after the start", "✖ 5  ▲ 3"):  # fmt: skip
            assert words in text
        await pilot.press("G")
        await pilot.pause()
        for words in ("limit of over", "look at over", "+2s after the start: it no longer holds"):
            assert words in text_of(app)

    on_page(Findings, source, use)


def test_devices_that_are_not_back_and_what_the_driver_said() -> None:
    gpus = recorded()["gpus"]
    gpus[0] |= {"returned": False, "reason": "held_by_ours", "evidence": "pid 7 holds 2 GiB", "final": True}
    gpus[1] |= {"xids": [{"xid": 79, "name": "GPU has fallen off the bus", "severity": "gpu", "age_s": 4.0}]}
    left = [{"pid": 7, "name": "VLLM::EngineCore", "member": "0", "gpus": ["0"], "gpu_bytes": 2 << 30}]

    async def use(page: Findings, app: Dashboard, _: Pilot[None]) -> None:
        assert [one.name for one in page.items] == ["Xid 79", "GPU 0 not back", "left behind"]
        text = text_of(app)
        assert "GPU 1: Xid 79 (GPU has fallen off the bus)" in text
        assert "GPU 0 is not back, held by this run: pid 7 holds 2 GiB" in text
        assert "still alive: pid 7 VLLM::EngineCore (of rank 0)" in text

    on_page(Findings, still(gpus=gpus, leftovers=left), use)


@pytest.mark.parametrize(("kind", "words"), [
    ("live", "Nothing was raised so far"), ("replay", "Nothing was raised so far"),
    ("log", "No rule is applied to a bare log yet"),
])  # fmt: skip
def test_nothing_seen_is_no_praise(kind: str, words: str) -> None:
    source = StillFeed(recorded(ranks=[], gpus=[], first_failure=None, verdict=None), kind)  # type: ignore[arg-type]

    async def use(page: Findings, app: Dashboard, pilot: Pilot[None]) -> None:
        await pilot.press("enter", "c", "G")
        assert page.items == []
        assert words in text_of(app)
        assert ("left_early" in text_of(app)) == (kind != "log")

    on_page(Findings, source, use)


def test_enter_goes_to_its_moment() -> None:
    async def use(page: Findings, app: Dashboard, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: app.feed.span() is not None)
        death = page.items[0]
        assert death.name == "rank 1 ended"
        await pilot.press("enter")
        await until(pilot, lambda: app.run_screen is not None and app.run_screen.frame.moment == death.moment)
        screen = app.run_screen
        assert screen is not None
        await until(pilot, lambda: [one.name for one in page.items] == ["rank 1 ended"])
        assert [m["state"] for m in screen.frame.document["ranks"]] == ["running", "killed"]

    on_page(Findings, replay(H200 / "sigkill"), use)


def test_a_live_run_says_why_it_does_not() -> None:
    source = StillFeed(recorded(ranks=[killed(0, 5.0)], first_failure=None, verdict=None), "live")

    async def use(_: Findings, app: Dashboard, pilot: Pilot[None]) -> None:
        await pilot.press("enter")
        await until(pilot, lambda: any("This is live" in one.message for one in app._notifications))
        assert source.sought == []

    on_page(Findings, source, use)


def test_the_chosen_one_stays_chosen_when_others_come() -> None:
    source = still()
    source.told_findings = (raised("a", 10.0), raised("b", 20.0))

    async def use(page: Findings, app: Dashboard, pilot: Pilot[None]) -> None:
        await pilot.press("down")
        assert page.chosen is not None
        assert page.chosen.name == "b"
        source.told_findings = (*source.told_findings, raised("worse", 30.0, "critical"))
        source.set()
        await until(pilot, lambda: len(page.items) == 3)
        assert page.chosen.name == "b"
        assert "look at b" in text_of(app)

    on_page(Findings, source, use)


def test_a_source_remembers_what_was_cleared(tmp_path: Path) -> None:
    import shutil  # noqa: PLC0415

    from grpotui_supervisor.rundir import RunDirectory  # noqa: PLC0415

    shutil.copytree(H200 / "sigkill", tmp_path / "run")
    with (tmp_path / "run/findings.jsonl").open("a") as file:
        for m, ev in ((5, "raised"), (9, "cleared"), (12, "raised")):
            at = 138_010_591_017 + m
            file.write(
                f'{{"ev": "{ev}", "t": 1.0, "m": {at}, "seq": {m}, "id": "x", "severity": "warning", "step": null, '
                '"member": null, "evidence": "e", "threshold": "t", "next": "n"}\n'
            )
    source = Source(RunDirectory(str(tmp_path / "run")))
    begin = 138_010_591_017
    found = []
    for until_m in (4, 8, 11, 20):
        source.update(begin + until_m)
        found.append([(one.raised_m - begin, one.cleared_m and one.cleared_m - begin) for one in source.raised])
    assert found == [[], [(5, None)], [(5, 9)], [(5, 9), (12, None)]]


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)], ids=str)
def test_hostile_and_wide_text(size: tuple[int, int]) -> None:
    texts = [text.decode("utf-8", "surrogateescape") for text in HOSTILE.values()] + ["发现 😀", "находка"]
    source = still()
    source.told_findings = tuple(
        raised(text, n, "strange" if n % 2 else "info", None, evidence=text, threshold=text, next=text, member=text)
        for n, text in enumerate(texts)
    )

    async def use(_: Findings, app: Dashboard, pilot: Pilot[None]) -> None:
        await press_harmlessly(app, pilot, "g", "G", "k", "c")
        assert harmless(app.clipboard)

    on_page(Findings, source, use, size)
