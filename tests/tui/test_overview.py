"""Page 1 on real records: what the status document says stands on the screen, at every size and at every moment."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.gpu_documents import GIB, SECOND, GpuRun, baseline, process
from support.screens import lines_of, log, on_page, opened, replay, text_of, until
from support.still_feed import StillFeed, exited, killed, raised, recorded

from grpotui.tui.panels.detail import Detail
from grpotui.tui.panels.overview import Overview
from grpotui.tui.panels.specs import SPECS, further
from grpotui_supervisor.rundir import RunDirectory
from grpotui_supervisor.source.source import Source
from grpotui_supervisor.source.status import status

if TYPE_CHECKING:
    from textual.pilot import Pilot

    from grpotui.tui.app import Dashboard

H200 = Path(__file__).parents[1] / "data" / "runs" / "h200"
SIZES = [(80, 24), (120, 40), (200, 60)]
WRONG = {"sigkill": "✖ CRIT rank 1 ended: killed by SIGKILL", "orphan": "findings: none"}


def document(run: str, moment: int | None = None) -> dict[str, Any]:
    source = Source(RunDirectory(str(H200 / run)))
    source.update(moment)
    return status(source)


def page(app: Dashboard) -> Overview:
    return app.screen.query_one(Overview)


def drawn(app: Dashboard) -> list[str]:
    """The page without header, cursor and keys, and without the time of day in it."""
    return lines_of(app)[2:-1]


@pytest.mark.parametrize(("run", "size"), [*(("sigkill", size) for size in SIZES), ("orphan", SIZES[1])], ids=str)
def test_all_that_the_eye_looks_for_is_there(run: str, size: tuple[int, int]) -> None:
    async def look() -> str:
        async with opened(replay(H200 / run), size) as (app, _):
            return text_of(app)

    said, text = document(run), asyncio.run(look())
    for name in ("reward/mean", "kl/reference", "entropy", "clip_ratio", "length/mean", "grad_norm"):
        assert name in text
        assert f"{said['metrics'][name]:.4g}" in text
    assert "time per step" in text
    assert "gen" in text
    assert text.count("/140.4") == len(said["gpus"])
    assert text.count("back at baseline") >= len(said["gpus"])
    assert WRONG[run] in text
    for member in said["ranks"]:
        assert (member["signal"] or f"exited {member['code']}" if size[1] > 24 else f"{member['rank']}") in text
    assert all(len(line) <= size[0] for line in text.split("\n"))


def test_in_the_middle_of_a_step_the_phase_and_how_long_it_lasts() -> None:
    moment = document("sigkill")["as_of"]["m"] - 14 * SECOND
    said = document("sigkill", moment)

    async def look() -> str:
        async with opened(replay(H200 / "sigkill", moment), (120, 40)) as (app, _):
            return text_of(app)

    text = asyncio.run(look())
    assert said["phase"] == "generate"
    assert "time per step, by the hook · now generating, 1s" in text
    assert "generate 9.73s 96%" in text
    assert f"{said['gpus'][0]['used_bytes'] / GIB:.1f}/140.4" in text
    assert "max 11.2" in text  # the history beside the meters
    assert "● running" in text
    assert "▶ generating" in text


def test_a_live_frame_and_a_replayed_one_are_one_picture() -> None:
    async def look() -> tuple[list[str], list[str]]:
        async with opened(replay(H200 / "normal"), (120, 40)) as (app, pilot):
            before = drawn(app)
            frame = app.run_screen.frame  # type: ignore[union-attr]
            page(app).show(replace(frame, kind="live", play=None))
            await pilot.pause()
            return before, drawn(app)

    before, after = asyncio.run(look())
    assert before == after


def test_every_moment_is_what_the_fold_says_of_it() -> None:
    """The cursor goes forward, back and forward: what is shown depends on where it is alone."""

    async def look() -> tuple[list[str], list[str]]:
        async with opened(replay(H200 / "normal"), (120, 40)) as (app, pilot):
            first, last = app.feed.span() or (0, 0)
            middle = first + (last - first) * 6 // 10
            shown = []
            for at in (middle, first, middle):
                app.feed.seek(at)
                await until(pilot, lambda at=at: app.run_screen.frame.moment == at)  # type: ignore[misc, union-attr]
                await pilot.pause()
                shown.append(drawn(app))
            return shown[0], shown[2]

    before, after = asyncio.run(look())
    assert before == after


def test_zoom_has_the_parts_of_the_reward_and_the_numbers() -> None:
    async def look() -> tuple[str, list[str], bool]:
        async with opened(replay(H200 / "normal"), (120, 40)) as (app, pilot):
            await pilot.press("enter")
            await until(pilot, lambda: page(app).zoomed is not None)
            await pilot.pause()
            text, zoomed = text_of(app), page(app).zoomed
            names = [] if zoomed is None else [part.metric for part in zoomed.parts]
            await pilot.press("escape")
            await until(pilot, lambda: page(app).zoomed is None)
            await pilot.pause()
            return text, names, "entropy" in text_of(app)

    text, names, back = asyncio.run(look())
    assert names == ["reward/part/letters", "reward/part/no_digits"]
    assert "in the log: reward" in text
    row = next(line for line in text.split("\n") if line.startswith("│ reward/mean "))
    for word in ("0.2772", "0.1282 at step 1", "0.2934 at step 6", "0.2248", "10"):
        assert word in row
    assert "reward/std" in text
    assert "reward/zero_std_groups" in text
    assert "GPU memory" not in text
    assert back


def test_the_zoom_goes_to_the_neighbour_with_its_own_numbers() -> None:
    async def look() -> str:
        async with opened(replay(H200 / "normal"), (80, 24)) as (app, pilot):
            await pilot.press("z", "l")
            await until(pilot, lambda: app.screen.query_one(Detail)._about == "kl/reference")
            await pilot.pause()
            return text_of(app)

    text = asyncio.run(look())
    assert "KL of the policy against the reference model" in text
    assert "learning_rate" in text
    assert "reward/mean" not in text


def test_a_death_is_marked_where_it_was() -> None:
    async def look() -> list[tuple[str, float]]:
        async with opened(replay(H200 / "sigkill"), (120, 40)) as (app, _):
            return [(mark.kind, mark.x) for mark in page(app).charts[0]._chart.marks]

    assert ("death", 3.0) in asyncio.run(look())


def test_more_charts_where_there_is_room_the_pinned_ones_first() -> None:
    names = [*SPECS[0].metrics, "entropy", "loss", "time/step", "reward/std", "epoch"]
    assert further(3, ["epoch", "entropy"], names) == ["epoch", "reward/std", "time/step"]
    assert further(0, ["epoch"], names) == []

    async def look(size: tuple[int, int]) -> int:
        async with opened(replay(H200 / "normal"), size) as (app, _):
            return sum(1 for chart in page(app).query("CurveChart") if chart.display)

    assert [asyncio.run(look(size)) for size in (SIZES[0], SIZES[2])] == [6, 12]


def test_what_is_pinned_has_a_row_at_120_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRPOTUI_HOME", str(tmp_path))
    tmp_path.joinpath("pins.json").write_text('{"schema": 1, "pins": {"trl": ["loss", "raw:epoch"]}}')

    async def look() -> str:
        async with opened(replay(H200 / "normal"), (120, 40)) as (app, _):
            return text_of(app)

    text = asyncio.run(look())
    assert "╭ loss " in text
    assert "╭ epoch " in text


def _log(path: Path, *rows: str) -> Path:
    path.write_text("".join(f"{row}\n" for row in rows))
    return path


def test_a_log_without_kl_says_why_and_has_no_empty_axes(tmp_path: Path) -> None:
    rows = [f"{{'loss': 0.1, 'reward': {n / 10}, 'reward_std': 0.1, 'epoch': {n / 10}}}" for n in range(1, 6)]

    async def look() -> str:
        async with opened(log(_log(tmp_path / "trl.log", *rows)), (120, 40)) as (app, _):
            return text_of(app)

    text = asyncio.run(look())
    assert "╭ kl " in text
    assert "TRL prints it with beta above 0" in text
    assert "not printed by this run" in text
    assert "exits: not in this log" in text
    assert "GPU: not in this log" in text
    assert "◇ a log" in text


def test_the_band_is_there_only_where_it_is_printed(tmp_path: Path) -> None:
    step = "step:{n} - critic/rewards/mean:0.{n} - actor/entropy:1.0"
    with_ends = step + " - critic/rewards/min:0.0 - critic/rewards/max:1.0"

    async def look(row: str) -> str | None:
        rows = [row.format(n=n) for n in range(1, 9)]
        async with opened(log(_log(tmp_path / "verl.log", *rows)), (120, 40)) as (app, _):
            band = page(app).charts[0]._chart.band
            return None if band is None else f"{band.name} {band.low.series.y[0]} {band.high.series.y[0]}"

    assert asyncio.run(look(step)) is None
    assert asyncio.run(look(with_ends)) == "min to max 0.0 1.0"


def test_without_a_gpu_the_reason_and_the_host_stand_there(tmp_path: Path) -> None:
    run = GpuRun.make(tmp_path / "run", None)
    run.start()

    async def look() -> str:
        async with opened(replay(tmp_path / "run"), (120, 40)) as (app, _):
            return text_of(app)

    text = asyncio.run(look())
    assert "the driver's library is not there" in text
    assert "no step after 1s" in text


def test_wide_and_hostile_names_keep_the_frames_in_line(tmp_path: Path) -> None:
    run = GpuRun.make(tmp_path / "run", [baseline("0")])
    run.start()
    run.monitor("0")
    run.gpu("processes", gpu="0", reason=None, list=[process(4711)])
    found: dict[str, Any] = {"id": "训练停滞", "severity": "critical", "next": "-", "step": 3, "member": None}
    found |= {"evidence": "奖励 \x1b[31m0 🙂\u202e", "threshold": "[bold]1[/]"}
    run.write("findings", "raised", **found)

    async def look() -> list[str]:
        async with opened(replay(tmp_path / "run"), (120, 40)) as (app, _):
            return lines_of(app)

    lines = asyncio.run(look())
    row = next(line for line in lines if "训练停滞" in line)
    assert "\x1b" not in row
    assert "\u202e" not in row
    assert "[bold]1[/]" in row
    assert row.endswith("│")


def test_many_devices_in_a_small_terminal_have_a_line_each_and_the_others_are_counted(tmp_path: Path) -> None:
    keys = [str(n) for n in range(6)]
    run = GpuRun.make(tmp_path / "run", [baseline(key) for key in keys], ranks=6)
    run.start(ranks=6)
    run.monitor(*keys)
    run.exit(3, how="killed", signal="SIGKILL", signo=9, code=None)

    async def look(size: tuple[int, int]) -> str:
        async with opened(replay(tmp_path / "run"), size) as (app, _):
            return text_of(app)

    text = asyncio.run(look((80, 24)))
    assert text.count("/140.0") == 3
    assert "+3 more GPUs: page 3" in text
    assert "ranks 0●  1●  2●  3✖SIGKILL  4●  5●" in text
    assert "✖ failing: rank 3 killed by SIGKILL" in text
    text = asyncio.run(look((120, 40)))
    assert text.count("/140.0") == text.count(" max ") == 6


def test_a_phase_is_what_the_first_step_waits_for(tmp_path: Path) -> None:
    run = GpuRun.make(tmp_path / "run", None)
    run.start()
    run.write("host", "phase", phase="load_model", title="x")

    async def look() -> str:
        async with opened(replay(tmp_path / "run"), (80, 24)) as (app, _):
            return text_of(app)

    assert "loading the model, 0s" in asyncio.run(look())


def test_sizes_come_and_go() -> None:
    async def look() -> list[int]:
        found = []
        async with opened(replay(H200 / "normal"), (120, 40)) as (app, pilot):
            for size in ((200, 60), (60, 15), (40, 10), (80, 24), (200, 60)):
                await pilot.resize_terminal(*size)
                await pilot.pause()
                await pilot.pause()
                found.append(sum(1 for chart in page(app).query("CurveChart") if chart.display))
                assert max(map(len, lines_of(app))) <= size[0]
        return found

    assert asyncio.run(look())[-2:] == [6, 12]


def test_all_numbers_of_a_zoomed_chart_come_though_nothing_else_does(tmp_path: Path) -> None:
    names = ("critic/rewards/mean", "critic/rewards/max", "critic/rewards/min", "critic/score/mean",
             "critic/score/max", "critic/score/min", "critic/advantages/max", "critic/advantages/min")  # fmt: skip
    rows = [f"step:{n} - " + " - ".join(f"{name}:{n}.5" for name in names) for n in (1, 2, 3)]

    async def look() -> str:
        async with opened(log(_log(tmp_path / "verl.log", *rows)), (120, 40)) as (app, pilot):
            await pilot.press("z")
            await until(pilot, lambda: "advantage/min" in text_of(app))
            return text_of(app)

    assert "score/min" in asyncio.run(look())


def test_a_rank_s_line_has_its_end_its_pid_and_how_long_it_is_silent() -> None:
    async def look() -> str:
        async with opened(replay(H200 / "sigkill", document("sigkill")["as_of"]["m"] - 9 * SECOND), (120, 40)) as (
            app,
            _,
        ):
            return text_of(app)

    assert "rank 1  ✖ killed by SIGKILL  pid 786  21s ago" in asyncio.run(look())


def test_what_went_wrong_has_four_lines_at_most_and_leaves_the_checkpoint_its_own() -> None:
    ranks = [killed(0, 53.0), *(killed(n, 54.0, "SIGTERM", sent=["SIGTERM"]) for n in range(1, 8))]
    saved = {"step": 40, "path": "/x/checkpoint-40", "complete": True, "began_offset_s": 50.0}
    source = StillFeed(recorded(ranks=ranks, checkpoints=[saved]))
    source.told_findings = (raised("over", 1.0, "critical", 2.0), raised("soon", 3.0))
    found: list[str] = []

    async def use(_: Overview, app: Dashboard, __: Pilot[None]) -> None:
        found.append(text_of(app))

    on_page(Overview, source, use, (120, 40))
    on_page(Overview, source, use, (80, 24))
    high, low = found
    for words in ("✖ 1  ▲ 8", "✖ CRIT rank 0 ended: killed by SIGKILL", "+5: page 7", "step 40: complete",
                  "▲ WARN soon: soon was seen (limit: limit of soon)"):  # fmt: skip
        assert words in high
    for words in ("✖ CRIT rank 0 ended", "+8: page 7", "step 40: complete"):
        assert words in low
    assert "over" not in re.findall(r"(?:CRIT|WARN) (\w+)", high + low)


def test_an_end_that_grpotui_brought_about_is_no_failure_here_either() -> None:
    ranks = [killed(0, 53.0), killed(1, 54.0, "SIGTERM", sent=["SIGTERM"]), exited(2, 3, 54.0)]
    found: list[str] = []

    async def use(_: Overview, app: Dashboard, __: Pilot[None]) -> None:
        found.append(text_of(app))

    for size in ((120, 40), (80, 24)):
        on_page(Overview, StillFeed(recorded(ranks=ranks)), use, size)
    assert "rank 1  ■ killed by SIGTERM" in found[0]
    assert re.search(r"ranks ─* 3  ✖ 2 ", found[0])
    assert "ranks 0✖SIGKILL  1■  2✖3" in found[1]
