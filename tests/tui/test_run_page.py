"""Page 8: what is on record of the run, in full, and copied as a shell takes it; a file that holds anything."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

import pytest
from support.hostile import HOSTILE, harmless
from support.screens import on_page, press_harmlessly, text_of
from support.still_feed import H200, StillFeed, recorded

from grpotui.tui.panels.run import RunPage
from grpotui.tui.panels.run_text import command_of
from grpotui.tui.panels.run_text import text_of as facts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from textual.pilot import Pilot

    from grpotui.tui.app import Dashboard

    Use = Callable[[RunPage, Dashboard, Pilot[None]], Coroutine[None, None, None]]

FACTS = json.loads((H200 / "sigkill" / "run.json").read_text())


def still(facts: dict[str, Any] | None = None, kind: str = "replay", **changes: Any) -> StillFeed:
    found = StillFeed(recorded(**changes), kind)  # type: ignore[arg-type]
    found.run_facts = FACTS if facts is None else facts
    return found


def told(source: StillFeed) -> str:
    """The page as one text."""
    source.set()
    return "\n".join(f"{label}: {text}" for label, text, _ in facts_of(source, source.take()))


def test_what_is_on_record_is_told() -> None:
    source = still(monitor={"alive": None, "gaps": [{"offset_s": 61.0, "seconds": 5.0}]})
    source.sizes = {"0/stdout.log": 3 << 20, "0/stderr.log": 5}
    text = told(source)
    for words in (
        "profile: /home/ada/grpotui/profiles/trl-tiny-gpu.toml", "git: e8cbcd17eec6",
        "shim: worker pid 783 · guard pid 782",
        "monitor: whether it was alive then is not on record", "gap: no monitor for 5s, from +1m01s on",
        "0, 1: /home/ada/trl/bin/python3 /home/ada/grpotui/profiles/trl_tiny.py", "1 env: LOCAL_RANK=1",
        'name: "trl-tiny-gpu"', '[launch]: mode = "ranks"', 'env = { OMP_NUM_THREADS = "4" }',
        "host: gpu-host as node-0",
        "kernel: 6.18.44-fc-v657-gpu x86_64", "size: 32 cores, 251.8 GiB", "grpotui: 0.1.0",
        "driver: 580.159.04, CUDA up to 13.0",
        "GPU 1: NVIDIA H200 GPU-c8d680c3-7c31-3432-ccdc-61d6d802b9a0, baseline 0 B of 140.4 GiB, idle",
        "logs: ranks/0/stderr.log  5 B", ": ranks/0/stdout.log  3.0 MiB", "CUDA_HOME: /usr/local/cuda",
        "names only: GRPOTUI_HOME HOME",
        "exit code: that of the first failure: its code, or 128 + its signal",
    ):  # fmt: skip
        assert words in text


def test_live_the_supervisors_are_told_as_they_are_now() -> None:
    state = {"shim_alive": False, "guard_lost": True, "takeovers": 1, "place": "here", "can_control": True}
    text = told(still(kind="live", supervision=state, monitor={"alive": False, "gaps": []}))
    for words in (
        "guard pid 782, gone",
        "1 takeovers",
        "the guard was lost",
        "place: here; can be controlled",
        "monitor: not alive",
    ):
        assert words in text


def test_command_lines_that_differ_are_told_apart() -> None:
    members = [{"member": str(n), "rank": n, "role": "rank", "argv": ["python", "a b", str(n)], "env": {"RANK": str(n)}}
               for n in range(12)]  # fmt: skip
    text = told(still({**FACTS, "members": members}))
    assert "11: python 'a b' 11" in text
    assert "7 env: RANK=7" in text
    assert "8 env" not in text
    assert "and 4 more with variables of their own" in text


def test_the_command_is_copied_as_a_shell_takes_it() -> None:
    facts = {"members": [{"argv": ["python", "it's; rm *"], "env": {"A": "b c"}, "cwd": "/the dir"}]}

    async def use(_: RunPage, app: Dashboard, pilot: Pilot[None]) -> None:
        await pilot.press("c")
        words = shlex.split(app.clipboard)
        assert words == ["cd", "/the dir", "&&", "A=b c", "python", "it's; rm *"]

    on_page(RunPage, still(facts), use)


def test_it_scrolls_to_its_end() -> None:
    async def use(_: RunPage, app: Dashboard, pilot: Pilot[None]) -> None:
        assert "trl-tiny-gpu.toml" in text_of(app)
        await pilot.press("G")
        await pilot.pause()
        assert "NV_NVTX_VERSION PWD SHLVL TERM" in text_of(app)
        await pilot.press("g", "pagedown")
        await pilot.pause()
        assert "trl-tiny-gpu.toml" not in text_of(app)

    on_page(RunPage, still(), use, (80, 24))


def test_a_log_says_what_it_tells_and_what_not() -> None:
    source = StillFeed(recorded() | {"run": None, "source": "/logs/train.log", "state": None, "verdict": None}, "log")

    async def use(_: RunPage, app: Dashboard, pilot: Pilot[None]) -> None:
        await pilot.press("c")
        for words in ("/logs/train.log", "what it cannot tell", "exits and signals", "command line and environment"):
            assert words in text_of(app)

    on_page(RunPage, source, use, (80, 24))


ODD: list[Any] = [None, 5, "text", [], {}, [1], {"a": [1, {"b": None}]}, True, [[{}]]]


@pytest.mark.parametrize("key", [key for key in FACTS if key not in ("schema", "members", "profile", "host")])
def test_a_file_that_holds_anything_is_shown(key: str) -> None:
    for value in ODD:
        assert told(still({**FACTS, key: value}))


def test_members_and_a_profile_that_hold_anything() -> None:
    for value in ODD:
        member = {"member": "0", "rank": 0, "role": "rank", "argv": value, "env": value, "cwd": "x"}
        facts = {
            **FACTS,
            "members": [member],
            "profile": {"launch": value, "x": value},
            "gpus": {"devices": [{"gpu": value}]},
        }
        source = still(facts)
        assert told(source)
        command_of(facts)


@pytest.mark.parametrize("size", [(80, 24), (200, 60)], ids=str)
def test_hostile_and_wide_text(size: tuple[int, int]) -> None:
    texts = [text.decode("utf-8", "surrogateescape") for text in HOSTILE.values()] + ["环境 😀", "среда"]
    source = still({
        **FACTS, "environment": {text: text for text in texts}, "command": texts, "notes": texts,
        "profile_path": texts[0],
        "members": [{"member": text, "argv": texts, "env": {text: text}} for text in texts[:3]],
    })  # fmt: skip

    async def use(_: RunPage, app: Dashboard, pilot: Pilot[None]) -> None:
        await press_harmlessly(app, pilot, "c", "pagedown", "pagedown", "G")
        assert harmless(app.clipboard)

    on_page(RunPage, source, use, size)
