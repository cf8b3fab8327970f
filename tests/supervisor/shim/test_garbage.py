"""Whatever stands in the record, a takeover is right and neither process ends by itself."""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.gates import fates
from support.runs import kill, rank_argv
from support.waiting import wait_until

from grpotui_supervisor.shim import past, procfs
from grpotui_supervisor.shim.past import Past

if TYPE_CHECKING:
    from support.gates import Gate
    from support.runs import ShimRun

SLEEP = ["/bin/sleep", "3600"]


def line(ev: object, **fields: object) -> bytes:
    """One line as only a mistaken or malicious writer would write it."""
    return json.dumps({"ev": ev, "t": 0, "m": 1, "seq": 1, **fields}).encode() + b"\n"


GARBAGE: dict[str, bytes] = {
    "a number": b"123\n",
    "a list": b"[]\n",
    "a string": b'"exit"\n',
    "null": b"null\n",
    "binary": bytes(range(256)) + b"\n",
    "a torn line": b'{"ev": "exit", "member": "0", "pi',
    "blank lines": b"\n\n \n",
    "deep": b"[" * 100_000 + b"\n",
    "5 MB": line("exit", member="x" * 5_000_000),
    "5 MB of digits": b'{"ev": "spawned", "pid": ' + b"9" * 5_000_000 + b"}\n",
    "python attributes": line("__init__") + line("__class__", pid=1) + line("take"),
    "event of a wrong type": line(None) + line(["exit"]) + line({"exit": 1}) + line(1.5),
    "a huge seq": line("note", seq=10**300) + line("note", seq=-5) + line("note", seq=True),
    "exits without sense": b"".join(
        line("exit", member="0", pid=pid, start=start, sent=sent, how=how, code=code, signal=None, signo=None, core=0)
        for pid, start, sent, how, code in [
            (None, 1, [], "exited", 0),
            (1, 1, 7, "exited", 0),
            (-1, -1, [], "exited", 0),
            (0, 0, [], "exited", 0),
            (10**30, 1, [], "exited", 0),
            (1e308 * 10, 1, [], "exited", 0),
            ("1", "1", [], "exited", 0),
            (1, 1, [], {"how": 1}, 0),
        ]
    ),
    "starts without sense": b"".join(
        line("spawned", member=member, rank=rank, role=role, pid=pid, start=1, owned=owned)
        for member, rank, role, pid, owned in [
            ("0", 0, "rank", -1, True),
            ("0", 0, "rank", 0, True),
            ("0", 0, "rank", 2**31, True),
            ("0", "zero", "rank", 1, True),
            (None, None, None, None, None),
        ]
    ),
    "stops without sense": b"".join(
        line("stop", plan=plan, why=why, signal=name, members=members, orphans=orphans)
        for plan, why, name, members, orphans in [
            ("foo", "x", "SIGTERM", [], []),
            ("__class__", 1, "SIGKILL", ["0"], [1]),
            ("failure", 1, ["SIGTERM"], 5, 5),
            (["stop"], None, None, None, None),
            (None, None, "SIGKILL", {}, {}),
        ]
    ),
    "orphans without sense": line("adopted", pid=1e99, start=1, name=1) + line("adopted", pid=0, start=0, name="x"),
    "times without sense": line("first_failure", m="soon") + line("ranks_done", m=-1) + line("hold", until_m=1e999),
}


@pytest.mark.parametrize("name", GARBAGE)
def test_garbage_before_a_takeover(shim: ShimRun, gate: Gate, name: str) -> None:
    shim.start([*gate.fates(), SLEEP], limits={"grace": 600, "interrupt": 60})
    shim.wait_for("spawn_done")
    worker, guard = shim.worker, shim.guard
    with (shim.path / "ranks.jsonl").open("ab") as file:
        file.write(GARBAGE[name])
    kill(worker)
    shim.wait_for("takeover")
    assert shim.shim_pids() == [guard]
    gate.open()
    wait_until(lambda: len([r for r in shim.of("exit") if r["t"]]) == 6, what="the true ends")
    os.kill(guard, signal.SIGTERM)
    shim.wait_done()
    ours = [r for r in shim.records if r["t"]]
    ends = {r["rank"]: (r["how"], r["signal"] or r["code"]) for r in ours if r["ev"] == "exit"}
    assert ends == {**fates(), 6: ("killed", "SIGINT")}
    assert len([r for r in ours if r["ev"] == "exit"]) == 7
    assert [r["rank"] for r in ours if r["ev"] == "first_failure"]
    assert not [r for r in ours if r["ev"] == "lost"]
    assert not [r for r in ours if r["ev"] == "stop" and r["plan"] != "stop"]


def test_garbage_of_all_kinds_before_an_adoption(shim: ShimRun) -> None:
    shim.start([SLEEP, rank_argv("orphan")], limits={"interrupt": 60})
    shim.wait_for("adopted")
    shim.kill_both()
    with (shim.path / "ranks.jsonl").open("ab") as file:
        file.write(b"".join(text + b"\n" for text in GARBAGE.values()))
    shim.adopt(limits={"interrupt": 10, "terminate": 10})
    shim.request("stop")
    shim.wait_done()
    assert ("killed", "SIGINT") in [(r["how"], r["signal"]) for r in shim.of("exit") if r["t"] and r["rank"] == 0]
    assert not [pid for pid in procfs.marked(shim.run) if procfs.is_running(pid)]
    assert not shim.of("takeover")


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from([0, 1, 7, "0", "SIGTERM"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)
FIELDS = (
    "boot", "pidns", "starts", "member", "rank", "role", "pid", "start", "owned", "how", "code", "signal", "signo",
    "core", "sent", "reason", "name", "plan", "why", "members", "orphans", "id", "what", "until_m", "m", "seq", "errno",
)  # fmt: skip
RECORDS = st.builds(
    lambda ev, fields: {**fields, "ev": ev},
    st.sampled_from([*past._HANDLERS, "other"]),
    st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=12),
)


@given(st.lists(RECORDS, max_size=12))
def test_no_record_can_raise(records: list[dict[str, Any]]) -> None:
    found = Past()
    found.take(records)
    for pid, start in [*found.open, *found.ended, *found.orphans]:
        assert type(pid) is type(start) is int
        assert 0 < pid < 1 << 22


SOUND = st.fixed_dictionaries(
    {
        "member": st.sampled_from(["0", "1"]),
        "rank": st.sampled_from([0, 1]),
        "role": st.just("rank"),
        "pid": st.sampled_from([10, 11]),
        "start": st.sampled_from([5, 6]),
        "owned": st.booleans(),
        "m": st.integers(0, 1 << 40),
        "seq": st.integers(1, 99),
        "sent": st.just([]),
        "how": st.just("exited"),
        "code": st.integers(0, 255),
        "signal": st.none(),
        "signo": st.none(),
        "core": st.just(False),
        "reason": st.just("?"),
    }
)


@given(st.lists(st.tuples(st.sampled_from(["spawning", "spawned", "exit", "lost", "not_observable"]), SOUND)))
def test_a_process_is_open_or_ended_never_both(events: list[tuple[str, dict[str, Any]]]) -> None:
    found = Past()
    found.take({**fields, "ev": ev} for ev, fields in events)
    assert not found.open.keys() & found.ended.keys()
    assert all(member.ending is not None for member in found.ended.values())
    assert all(member.ending is None for member in found.open.values())
