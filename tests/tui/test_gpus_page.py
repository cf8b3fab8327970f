"""Page 3: devices against their baseline, who is on them, what is wrong with them, and the phases below the memory."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.gpu_documents import GIB, MIB, SECOND, GpuRun, baseline, device, hostile, in_use, process, reading
from support.screens import lines_of, log, opened, replay, text_of, until

from grpotui.tui.panels.device_chart import DeviceChart, prevailing
from grpotui.tui.panels.device_words import device_facts, machine_facts
from grpotui.tui.panels.facts import Facts
from grpotui_supervisor.source.device_curves import PhaseSpan

if TYPE_CHECKING:
    from grpotui.tui.app import Dashboard

H200 = Path(__file__).parents[1] / "data" / "runs" / "h200"
SIZES = [(80, 24), (120, 40), (200, 60)]


def seen(folder: Path, size: tuple[int, int] = (120, 40), *keys: str, moment: int | None = None) -> str:
    """Page 3, after those keys."""

    async def look() -> str:
        async with opened(replay(folder, moment), size) as (app, pilot):
            await pilot.press("3")
            await until(pilot, lambda: bool(app.screen.query(Facts)))
            await pilot.press(*keys)
            await pilot.pause()
            return "\n".join(_unfolded(app))

    return asyncio.run(look())


def _unfolded(app: Dashboard) -> list[str]:
    """The screen, and all that is known of the device as far as it was scrolled away."""
    facts = app.screen.query_one(Facts)
    return [*lines_of(app), *(" ".join(fact[:2]) for fact in facts._facts)]


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_a_real_run_in_its_middle(size: tuple[int, int]) -> None:
    text = seen(H200 / "sigkill", size, moment=187_500_000_000)
    for words in ("11.2 GiB", "140.4 GiB", "driver", "torch allocated", "torch reserved", "rank 0", "785", "phase"):
        assert words in text
    assert "36 °C" in text
    assert "driver: device 11.2 GiB of 140.4 GiB, 8%; +11.2 GiB over its idle 0 B" in text
    assert "torch: rank 0 allocated" in text
    assert "uuid GPU-f5d4c195" in text
    assert "host memory 2" in text
    assert all(len(line) <= size[0] for line in text.split("\n")[: size[1]])


@pytest.mark.parametrize("run", ["sigkill", "one-gpu-orphan"])
def test_what_became_of_the_memory(run: str) -> None:
    text = seen(H200 / run)
    assert "back after 0." in text
    assert "is back at its baseline (0 B)" in text
    assert "nobody visible here" in text


def test_arrows_choose_the_device() -> None:
    assert "processes on GPU 1" in seen(H200 / "normal", (120, 40), "down")
    assert "processes on GPU 0" in seen(H200 / "normal", (120, 40), "down", "up")


@pytest.fixture
def run(tmp_path: Path) -> GpuRun:
    return in_use(tmp_path / "run")


def test_whose_a_process_is_and_what_nobody_is_listed_for(run: GpuRun) -> None:
    found = [process(4711, 5 * GIB), process(99, 2 * GIB, owner="other", user="bob"), process(7, GIB, owner="unseen"),
             process(8, GIB, owner="before"), process(9, None, owner="probably")]  # fmt: skip
    run.gpu("processes", gpu="0", reason=None, list=found[:4])
    run.read(_0=20 * GIB)
    text = seen(run.path)
    for words in ("rank 0", "not of this run", "bob", "not visible here", "there before", "+11.0 GiB of nobody listed"):
        assert words in text
    run.gpu("processes", gpu="0", reason=None, list=found)
    assert "probably this run" in (text := seen(run.path))
    assert "of nobody listed" not in text


def test_faults_slow_clocks_and_what_is_not_told(run: GpuRun) -> None:
    run.gpu("xid", gpu="0", xid=79, name="GPU has fallen off the bus", severity="gpu")
    run.gpu("absent", gpu="0", field="power", reason="NotSupported")
    run.gpu("gpus", read={"0": reading(6 * GIB, clocks=0x40, power=None)})
    text = seen(run.path)
    assert "✖ Xid 79" in text
    assert "fault Xid 79 (GPU has fallen off the bus), 2s ago" in text
    assert "slowed by HW thermal" in text
    assert "not told power: NotSupported" in text


def test_a_device_that_is_not_back_says_why(run: GpuRun) -> None:
    run.gpu("processes", gpu="0", reason=None, list=[])
    run.gpu("processes", gpu="1", reason=None, list=[])
    run.read(_0=305 * MIB, _1=0)
    run.end(ranks=2)
    run.not_returned("0", final=True)
    text = seen(run.path)
    assert "NOT back" in text
    assert "GPU 0 is not back, held by nobody visible here: 305 MiB used, nobody listed" in text


def test_an_old_reading_and_a_silent_library_are_said(run: GpuRun) -> None:
    run.gpu("silent", seconds=31.0)
    run.write("ranks", "request", m=run.now + 40 * SECOND, kind="nothing")
    text = seen(run.path)
    assert "NVML has not answered for" in text
    assert "reading 4" in text


def test_devices_of_others_are_named_as_such(run: GpuRun) -> None:
    assert "not of this run" in seen(run.path, (120, 40), "down", "down")


def test_without_a_gpu_there_is_a_reason_and_the_host(tmp_path: Path) -> None:
    run = GpuRun.make(tmp_path / "run", None)
    run.start()
    text = seen(run.path, (80, 24))
    assert "the driver's library is not there" in text
    assert "phase" not in text


def test_a_log_tells_of_its_engine_and_of_no_device(tmp_path: Path) -> None:
    line = (
        "INFO 11-29 10:00:00 [loggers.py:1] Engine 000: Avg prompt throughput: 10.0 tokens/s, Avg generation "
        "throughput: 99.0 tokens/s, Running: 3 reqs, Waiting: 2 reqs, GPU KV cache usage: 12.5%, Prefix cache hit "
        "rate: 0.0%"
    )
    step = "step:{} - actor/entropy:1.0 - critic/rewards/mean:0.5"
    path = tmp_path / "verl.log"
    path.write_text("\n".join([step.format(1), line, step.format(2), line, step.format(3), ""]))

    async def look() -> str:
        async with opened(log(path), (120, 40)) as (app, pilot):
            await pilot.press("3")
            await until(pilot, lambda: bool(app.screen.query(Facts)))
            await pilot.pause()
            return text_of(app)

    text = asyncio.run(look())
    assert "not in this log" in text
    assert "KV cache 12.5 %" in text
    assert "waiting 2" in text


def test_words_of_growth_and_of_what_sleeps() -> None:
    grown = {"gpu": "0", "phase": "generate", "reading": "driver", "slope_bytes_per_step": 100 * MIB, "from_step": 4,
             "to_step": 40, "steps_until_full": 1300}  # fmt: skip
    slept = {"gpu": "0", "first_bytes": 5 * GIB, "last_bytes": 6 * GIB, "steps": 30}
    absent = (
        *("returned", "unavailable", "used_bytes", "processes", "sample_age_s", "name", "uuid", "reserved_bytes"),
        *("utilization_percent", "power_w", "temperature_c", "total_bytes", "baseline_bytes", "kind"),
        *("unattributed_bytes", "processes_reason"),
    )
    gpu: dict[str, Any] = {**dict.fromkeys(absent), "gpu": "0", "xids": [], "slowed": [], "absent": {}, "in_run": True}
    said = device_facts(gpu, {"state": "running", "growth": [grown], "after_sleep": [slept]})
    assert (
        "grows",
        "100.0 MiB a step in generate (driver, steps 4 to 40); full in 1,300 steps at that rate",
        "warning",
    ) in said
    assert ("after sleep", "least in use in updates: 5.0 GiB at first, 6.0 GiB now, 30 steps later", "title") in said
    assert ("uuid", "not told", "label") in said


def test_engines_are_told_apart() -> None:
    engines = [
        {"engine": str(n), "metrics": {"engine/kv_cache": 0.5, "engine/preemptions": 3.0}, "age_s": 2.0}
        for n in range(6)
    ]
    said = machine_facts({"engines": engines, "run": "r", "metrics": {}})
    assert said[0] == ("rollout", "engine 0: KV cache 50 %, preemptions 3, 2s ago", "title")
    assert said[-1] == ("rollout", "and 2 engines more", "label")


def test_the_prevailing_phase_of_each_cell() -> None:
    spans = [PhaseSpan("generate", 0.0, 2.6), PhaseSpan("update", 2.6, 4.0), PhaseSpan("sync", 6.0, 6.1)]
    assert prevailing(spans, 0.0, 1.0, 8) == ["generate"] * 3 + ["update", None, None, "sync", None]
    assert prevailing(spans, 3.0, 1.0, 2) == ["update", None]


def test_a_long_run_shows_its_last_quarter_of_an_hour_and_w_shows_more(tmp_path: Path) -> None:
    run = GpuRun.make(tmp_path / "run", [baseline("0")])
    run.start()
    run.monitor("0")
    for _ in range(400):
        run.gpu("gpus", m=run.now + 10 * SECOND, read={"0": reading(5 * GIB)})

    async def look() -> list[tuple[float, float] | None]:
        async with opened(replay(run.path), (120, 40)) as (app, pilot):
            await pilot.press("3")
            await until(pilot, lambda: bool(app.screen.query(DeviceChart)))
            await pilot.pause()
            found = [app.screen.query_one(DeviceChart).window]
            for _ in range(2):
                await pilot.press("w")
                await pilot.pause()
                found.append(app.screen.query_one(DeviceChart).window)
            return found

    quarter, two, whole = asyncio.run(look())
    assert quarter is not None
    assert two is not None
    assert quarter[1] - quarter[0] == pytest.approx(900)
    assert two[1] - two[0] == pytest.approx(120)
    assert whole is None


def test_hostile_names_are_inert_and_keep_the_frame(run: GpuRun) -> None:
    run.gpu("device", **device("1", name="显卡🙂"))
    hostile(run, "\x1b[31mred\x1b[2J\u202e[bold]x[/]\r\n")

    async def look() -> list[str]:
        async with opened(replay(run.path), (120, 40)) as (app, pilot):
            await pilot.press("3")
            await until(pilot, lambda: bool(app.screen.query(Facts)))
            await pilot.pause()
            return lines_of(app)

    lines = asyncio.run(look())
    assert all(line.isprintable() for line in lines)
    row = next(line for line in lines if "显卡" in line)
    assert row.endswith("│")
