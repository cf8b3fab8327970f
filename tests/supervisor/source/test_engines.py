"""Engine lines in the logs of other members and of companions, and what is told of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.waiting import wait_until

from grpotui.text import engine_line, phase_line, progress_line
from grpotui_supervisor.source.engines import MAX_ENGINES, NAMELESS, Engines

if TYPE_CHECKING:
    from support.runs import Home

LINE = "INFO 11-29 16:05:57 [loggers.py:118] Engine {}: Avg prompt throughput: 1.0 tokens/s, Running: 5 reqs, \
GPU KV cache usage: {}%"


def test_every_log_of_a_run_is_searched(home: Home) -> None:
    profile = f"""
name = "engines"
framework = "trl"
[launch]
mode = "ranks"
nproc = 2
argv = ["sh", "-c", "echo \\"{LINE.format("00$RANK", "1$RANK")}\\"; sleep 60"]
[companions.server]
argv = ["sh", "-c", "echo '{LINE.format("000", 99)}'; sleep 60"]
"""
    run = home.launch(home.profile(profile))
    document = wait_until(lambda: s if len((s := home.status(run))["engines"]) == 3 else {}, what="three engines")
    cache = {one["engine"]: one["metrics"]["engine/kv_cache"] for one in document["engines"]}
    assert cache == {"Engine 000": 0.1, "rank 1 Engine 001": 0.11, "server Engine 000": 0.99}
    assert document["metrics"] == {}  # one number of three engines would be of none
    assert all(0 <= one["age_s"] < 60 for one in document["engines"])
    assert "engine server Engine 000: KV cache 99 %, running 5" in home.run("status", run).stdout


def test_an_engine_without_a_name() -> None:
    engines = Engines()
    engines.read("INFO 08-13 12:00:00 [x.py:1] GPU KV cache size: 1,000 tokens", "", m=None, step=3)
    assert engines.single() == {"engine/kv_cache_tokens": 1000.0}
    (observation,) = engines.series(NAMELESS)
    assert (observation.m, observation.step) == (None, 3)


def test_a_garbled_log_opens_no_engine_a_line() -> None:
    engines = Engines()
    for number in range(MAX_ENGINES + 100):
        engines.read(f"(Server pid={number}) " + LINE.format("000", 50), "", m=1, step=None)
    assert len(engines.latest) == MAX_ENGINES
    assert engines.single() == {}


def test_words_for_people() -> None:
    progress = {"rate_s_per_step": 3.123, "rate_from": "record times", "eta_s": 25.0, "last_line_age_s": 2.4}
    told = phase_line("generate + update", "process title")
    assert told == "generating and updating (from the process title)"
    assert phase_line("unheard_of", None) == "unheard_of"
    text = progress_line(progress, 100.0, 88.0, told)
    assert text == f"{told} for 12s · 3.12 s/step · ETA 25s · last line 2s ago"
    assert progress_line(dict.fromkeys(progress), None, None, None) is None
    printed = {**progress, "rate_from": "printed", "eta_s": None, "last_line_age_s": None}
    assert progress_line(printed, None, None, None) == "3.12 s/step (as printed)"
    numbers = {"engine/kv_cache": 0.57, "engine/running": 7.0, "engine/tokens_per_s": "nan"}
    line = engine_line({"engine": "E", "metrics": numbers, "age_s": 3})
    assert line == "engine E: KV cache 57 %, running 7, tokens/s nan, 3s ago"
    assert engine_line({"engine": "E", "metrics": {}, "age_s": None}) == "engine E: started"
