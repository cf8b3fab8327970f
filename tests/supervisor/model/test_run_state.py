"""The fold over process records: members, first failure, phase, verdict, exit code."""

from __future__ import annotations

from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpotui_supervisor.model.members import Exited, Killed, Lost, NotObservable, Running, Starting
from grpotui_supervisor.model.run_state import RunState, advance, exit_status, phase, planned, verdict

Records = list[dict[str, Any]]


def fold(records: Records) -> RunState:
    numbered = [{"m": index + 1, "seq": index + 1, **record} for index, record in enumerate(records)]
    return reduce(advance, numbered, RunState())


def place(member: str, role: str = "rank") -> dict[str, Any]:
    return {"member": member, "rank": int(member) if member.isdigit() else None, "role": role}


def started(member: str, role: str = "rank", *, owned: bool = True, **more: Any) -> dict[str, Any]:
    return {"ev": "spawned", **place(member, role), "pid": 100, "start": 1, "owned": owned, **more}


def exited(member: str, code: int, *, sent: tuple[str, ...] = (), role: str = "rank") -> dict[str, Any]:
    how = {"how": "exited", "code": code, "signal": None, "signo": None, "core": False}
    return {"ev": "exit", **place(member, role), **how, "sent": list(sent)}


def killed(member: str, name: str, number: int, *, sent: tuple[str, ...] = (), role: str = "rank") -> dict[str, Any]:
    how = {"how": "killed", "code": None, "signal": name, "signo": number, "core": False}
    return {"ev": "exit", **place(member, role), **how, "sent": list(sent)}


TWO: Records = [started("0"), started("1"), {"ev": "spawn_done"}]
DONE: Records = [{"ev": "ranks_done"}, {"ev": "done"}]
STOP: Records = [{"ev": "stop", "plan": "stop", "why": "asked", "signal": "SIGINT"}]
TERM: Records = [{"ev": "stop", "plan": "failure", "why": "a rank failed", "signal": "SIGTERM"}]


@pytest.mark.parametrize(
    ("records", "expected", "code"),
    [
        ([*TWO, exited("0", 0), exited("1", 0), *DONE], "passed", (0, "job")),
        ([*TWO, exited("0", 0), exited("1", 3), *DONE], "failed", (3, "job")),
        ([*TWO, exited("0", 137), exited("1", 0), *DONE], "failed", (137, "job")),
        ([*TWO, killed("1", "SIGKILL", 9), exited("0", 1), *DONE], "failed", (137, "job")),
        ([*TWO, killed("1", "SIGSEGV", 11), *TERM, killed("0", "SIGTERM", 15, sent=("SIGTERM",)), *DONE],
         "failed", (139, "job")),
        ([*TWO, *STOP, killed("0", "SIGINT", 2, sent=("SIGINT",)), exited("1", 0, sent=("SIGINT",)), *DONE],
         "stopped", (130, "grpotui")),
        ([*TWO, exited("1", 3), *STOP, exited("0", 1, sent=("SIGINT",)), *DONE], "failed", (3, "job")),
        ([*TWO, exited("0", 0), {"ev": "lost", **place("1"), "reason": "?"}, *DONE], "unknown", (125, "grpotui")),
        ([*TWO, exited("0", 5), {"ev": "lost", **place("1"), "reason": "?"}, *DONE], "failed", (5, "job")),
        ([{"ev": "spawning", **place("0")}, {"ev": "spawn_failed", **place("0"), "errno": 2, "error": "x"},
          {"ev": "spawn_done", "not_started": ["1"]}, *DONE], "failed", (127, "job")),
        ([{"ev": "spawning", **place("0")}, {"ev": "spawn_failed", **place("0"), "errno": 13, "error": "x"},
          {"ev": "spawn_done"}, *DONE], "failed", (126, "job")),
        ([*TWO, exited("1", 0), {"ev": "first_failure", **place("1"), "how": "left_early"}, *TERM,
          killed("0", "SIGTERM", 15, sent=("SIGTERM",)), *DONE], "failed", (1, "job")),
        ([started("judge", "companion"), *TWO, killed("judge", "SIGKILL", 9, role="companion"),
          exited("0", 0), exited("1", 0), *DONE], "passed", (0, "job")),
    ],
)  # fmt: skip
def test_verdict_and_exit_code(records: Records, expected: str, code: tuple[int, str]) -> None:
    state = fold(records)
    assert (verdict(state), exit_status(state), phase(state)) == (expected, code, "ended")


def test_what_a_launcher_said_gives_way_to_its_first_failed_worker() -> None:
    workers = [started("driver", "driver"), started("w0", owned=False, rank=0), started("w1", owned=False, rank=1)]
    ends = [killed("w1", "SIGSEGV", 11), killed("w0", "SIGTERM", 15), exited("driver", 1, role="driver")]
    state = fold(
        [
            *workers,
            *[{**end, "rank": int(end["member"][1])} if end["member"] != "driver" else end for end in ends],
            *DONE,
        ]
    )
    assert state.first_failure is not None
    assert (state.first_failure.rank, exit_status(state)) == (1, (139, "job"))


def test_a_worker_that_the_launcher_replaced_is_no_failure() -> None:
    records = [
        started("driver", "driver"),
        started("a", owned=False, rank=0),
        {**killed("a", "SIGKILL", 9), "rank": 0},
        started("b", owned=False, rank=0),
        {**exited("b", 0), "rank": 0},
        exited("driver", 0, role="driver"),
    ]
    assert verdict(fold([*records, *DONE])) == "passed"


def test_no_verdict_before_every_rank_has_ended() -> None:
    state = fold([*TWO, killed("1", "SIGKILL", 9)])
    assert verdict(state) is None
    assert phase(state) == "running"
    assert isinstance(state.members["0"].state, Running)


def test_unmet_expectation() -> None:
    assert exit_status(fold([*TWO, exited("0", 0), exited("1", 0), *DONE]), expect_met=False) == (4, "grpotui")


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([], "starting"),
        (TWO[:2], "starting"),
        (TWO, "running"),
        ([*TWO, *STOP], "stopping"),
        ([*TWO, exited("0", 0), exited("1", 0), {"ev": "ranks_done"}], "draining"),
        ([*TWO, {"ev": "unsupervised"}], "unsupervised"),
        ([*TWO, {"ev": "unsupervised"}, exited("0", 0), exited("1", 0)], "ended"),
        ([*TWO, {"ev": "unsupervised"}, {"ev": "shim", "worker": 1, "worker_start": 1}], "running"),
    ],
)  # fmt: skip
def test_phase(records: Records, expected: str) -> None:
    assert phase(fold(records)) == expected


def test_states_keep_what_belongs_to_them() -> None:
    state = fold([*TWO, exited("0", 255), killed("1", "SIGABRT", 6)])
    assert state.members["0"].state == Exited(255)
    assert state.members["1"].state == Killed("SIGABRT", 6, core_dumped=False)
    lost = fold([*TWO, {"ev": "lost", **place("0"), "reason": "gone"}])
    assert lost.members["0"].state == Lost("gone")
    unseen = fold([started("w", owned=False), {"ev": "not_observable", **place("0"), "member": "w", "reason": "gone"}])
    assert unseen.members["w"].state == NotObservable("gone")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
KINDS = st.sampled_from(
    ["spawning", "spawned", "spawn_failed", "spawn_done", "exit", "lost", "first_failure", "stop", "request", "done"]
)


@given(
    st.lists(st.dictionaries(st.sampled_from(["member", "rank", "role", "pid", "how", "code", "m"]), JSON), max_size=6),
    KINDS,
)
def test_no_record_raises_and_nothing_unknown_passes(bodies: list[dict[str, Any]], kind: str) -> None:
    state = reduce(advance, ({"m": 1, **body, "ev": kind} for body in bodies), RunState())
    if verdict(state) == "passed":
        assert all(member.state == Exited(0) for member in state.members.values() if member.leads)


def test_a_rank_that_the_record_never_mentions_is_not_passed_over() -> None:
    start = planned([{**place("0"), "argv": []}, {**place("1"), "argv": []}], "node-0")
    records = [started("0"), exited("0", 0), {"ev": "unsupervised"}]
    state = reduce(advance, ({"m": 1, **record} for record in records), start)
    assert verdict(state) is None
    assert isinstance(state.members["1"].state, Starting)
