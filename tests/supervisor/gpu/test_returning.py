"""Whether a device is back: every reason against it, and what must never be said."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grpotui_supervisor.gpu.reasons import Baseline, Ends, Ground, Living, Look
from grpotui_supervisor.gpu.returning import NotReturned, Returned, Returning, Verdict, advance
from grpotui_supervisor.model.gpu import tolerance
from grpotui_supervisor.model.holders import Holder

S = 1_000_000_000
MIB, GIB = 1 << 20, 1 << 30
TOTAL = 140 * GIB
"""0.1 % of it is more than 64 MiB."""


def holder(pid: int, owner: Any = "run", size: int | None = GIB, **changes: Any) -> Holder:
    fields = {
        "pid": pid, "start": None if owner == "unseen" else 100 + pid, "name": "python", "user": "ann",
        "type": "compute", "used_bytes": size, "owner": owner,
    }  # fmt: skip
    return Holder(**{**fields, **changes})


NEIGHBOUR = holder(7, "before", 2 * GIB, name="mps-server", user="root")
BASE = Baseline(used_bytes=3 * GIB, kind="v2", processes=(NEIGHBOUR,))
GROUND = Ground(total_bytes=TOTAL, kind="v2", baseline=BASE)
OURS, OTHER, UNSEEN = holder(20), holder(30, "other", 5 * GIB, user="bob"), holder(40, "unseen", 4 * GIB, name=None)
RAY = holder(50, "probably", 6 * GIB, name="ray::WorkerDict")
GONE = Ends(ranks_m=100 * S, last_m=100 * S)
ORPHAN = Living(pid=20, name="VLLM::EngineCore")
LEFT = Ends(ranks_m=100 * S, alive=(ORPHAN,))


@dataclass
class Device:
    """A device that is looked at four times a second from the end of the last rank on."""

    ground: Ground = GROUND
    ends: Ends = GONE
    state: Returning = field(init=False)
    said: list[tuple[float, Verdict]] = field(default_factory=list)
    at: float = 0.0

    def __post_init__(self) -> None:
        self.state = Returning(ground=self.ground)

    def look(self, seconds: float = 0.25, *, silent: bool = False, ends: Ends | None = None, **look: Any) -> Device:
        """So many seconds of looks that all show the same; `silent`: nothing comes back."""
        self.ends = ends or self.ends
        for _ in range(max(1, round(seconds * 4))):
            self.at += 0.25
            now = 100 * S + int(self.at * S)
            seen = None if silent else Look(m=now, **{"used_bytes": 3 * GIB, "holders": (NEIGHBOUR,), **look})
            self.state, verdict = advance(self.state, ends=self.ends, now=now, look=seen, silent_s=0.0)
            if verdict is not None:
                self.said.append((self.at, verdict))
        return self

    @property
    def words(self) -> list[Any]:
        """(Seconds, word, final) of each verdict."""
        return [
            (at, "returned") if isinstance(v, Returned) else (at, v.reason, v.final) for at, v in self.said
        ]  # fmt: skip

    @property
    def last(self) -> NotReturned:
        verdict = self.said[-1][1]
        assert isinstance(verdict, NotReturned)
        return verdict


def test_back_is_what_two_looks_in_a_row_show() -> None:
    device = Device().look(used_bytes=3 * GIB)
    assert device.said == []
    device.look(used_bytes=9 * GIB).look(used_bytes=3 * GIB)
    assert device.said == []
    device.look(used_bytes=3 * GIB + 100 * MIB)
    ((at, verdict),) = device.said
    assert (at, verdict) == (
        1.0,
        Returned(
            seconds=0.75, used_bytes=3 * GIB + 100 * MIB, baseline_bytes=3 * GIB, tolerance_bytes=tolerance(TOTAL)
        ),
    )
    device.look(80, used_bytes=50 * GIB)
    assert device.words == [(1.0, "returned")]  # whoever comes later has nothing to do with the run


def test_a_look_from_before_the_last_end_counts_for_nothing() -> None:
    state = Returning(ground=GROUND)
    for m in (99 * S, 99 * S + 1, 101 * S):
        state, verdict = advance(state, ends=GONE, now=101 * S, look=Look(m=m, used_bytes=0, holders=(NEIGHBOUR,)))
        assert verdict is None
    state, verdict = advance(state, ends=GONE, now=102 * S, look=Look(m=101 * S, used_bytes=0, holders=(NEIGHBOUR,)))
    assert verdict is None  # the same look once more is no second one
    state, verdict = advance(state, ends=GONE, now=102 * S, look=Look(m=102 * S, used_bytes=0, holders=(NEIGHBOUR,)))
    assert isinstance(verdict, Returned)


def test_the_late_orphan_of_a_real_machine() -> None:
    """0 bytes and an empty list at the last rank's exit, 2.8 GB four seconds later: nothing is said to be back."""
    ground = replace(GROUND, baseline=Baseline(used_bytes=0, kind="v2"))
    device = Device(ground, LEFT)
    device.look(4, used_bytes=0, holders=())
    assert device.said == []
    device.look(8, used_bytes=2_800_000_000, holders=(holder(20, size=2_800_000_000),))
    assert device.words == [(10.0, "held_by_ours", False)]
    assert "python (pid 20) of this run holds 2.6 GiB" in device.last.evidence
    assert device.last.holders == (holder(20, size=2_800_000_000),)
    device.look(1, used_bytes=0, holders=(), ends=Ends(ranks_m=100 * S, last_m=112 * S))
    assert device.words[-1] == (12.5, "returned")
    returned = device.said[-1][1]
    assert isinstance(returned, Returned)
    assert returned.seconds == 0.25  # from the orphan's end, not the rank's


REASONS: list[tuple[str, dict[str, Any], str, list[str]]] = [
    ("lost", {"lost": "GPU is lost", "used_bytes": None}, "lost", ["GPU is lost", "dmesg"]),
    ("a listed process of the run", {"holders": (NEIGHBOUR, OURS)}, "held_by_ours", ["pid 20", "1.0 GiB", "leftovers"]),
    ("its bytes are not told", {"holders": (holder(20, size=None),)}, "held_by_ours", ["does not tell"]),
    ("another's", {"holders": (NEIGHBOUR, OTHER)}, "held_by_other", ["pid 30", "user bob", "5.0 GiB", "GiB before"]),
    ("a worker of a Ray that was there", {"holders": (NEIGHBOUR, RAY)}, "held_by_other", ["ray::", "probably"]),
    ("both", {"holders": (OURS, OTHER)}, "held_by_ours", ["pid 20"]),
    ("a foreign pid", {"holders": (NEIGHBOUR, UNSEEN)}, "held_invisible", ["pid 40", "not visible here", "namespace"]),
    ("nobody listed", {"used_bytes": 8 * GIB}, "held_invisible", ["8.0 GiB in use", "not visible here", "mapped"]),
    ("an unreadable list", {"used_bytes": 4 * GIB, "holders": (), "list_reason": "No permission"}, "held_invisible",
     ["No permission"]),
    ("a small residue", {"used_bytes": 3 * GIB + 200 * MIB}, "residue", ["3.2 GiB in use", "No process is listed"]),
    ("just not a residue", {"used_bytes": 3 * GIB + 256 * MIB}, "held_invisible", []),
    ("a neighbour grew", {"used_bytes": 5 * GIB, "holders": (replace(NEIGHBOUR, used_bytes=4 * GIB),)},
     "baseline_moved", ["mps-server (pid 7, user root)", "2.0 GiB more"]),
    ("it grew by less than is missing", {"used_bytes": 9 * GIB, "holders": (replace(NEIGHBOUR, used_bytes=4 * GIB),)},
     "held_invisible", []),
    ("a neighbour left, and the bytes did not", {"used_bytes": 3 * GIB, "holders": ()}, "baseline_moved",
     ["has left with 2.0 GiB"]),
    ("its pid is another's now", {"holders": (replace(NEIGHBOUR, start=999, owner="other"),)}, "held_by_other", []),
    ("memory cannot be read", {"used_bytes": None, "used_reason": "Unknown Error"}, "unverifiable", ["Unknown Error"]),
]  # fmt: skip


@pytest.mark.parametrize(("look", "word", "texts"), [row[1:] for row in REASONS], ids=[row[0] for row in REASONS])
def test_reasons(look: dict[str, Any], word: str, texts: list[str]) -> None:
    device = Device().look(70, **look)
    final = (10.0, word, True) if word == "lost" else (60.0, word, True)
    soft = [] if word == "lost" else [(10.0, word, False)]
    assert device.words == [*soft, final]
    for text in texts:
        assert text in device.last.evidence
    assert device.last.used_bytes == look.get("used_bytes", 3 * GIB)
    assert device.last.baseline_bytes == 3 * GIB


UNVERIFIABLE: list[tuple[str, Ground, dict[str, Any], str]] = [
    ("no baseline", Ground(total_bytes=TOTAL, kind="v2", why_none="there is no baseline"), {}, "no baseline"),
    ("no library", replace(GROUND, why_none="GPUs cannot be read: no driver"), {}, "no driver"),
    ("another kind", replace(GROUND, kind="v1"), {}, "read as v2 before the run, and as v1 now"),
    ("shared memory", replace(GROUND, kind="lists", baseline=replace(BASE, kind="lists")), {}, "shares the host's"),
    ("a NUMA node", replace(GROUND, numa=True), {}, "NUMA"),
    ("unread before", replace(GROUND, baseline=replace(BASE, used_bytes=None)), {}, "could not be read before"),
]


@pytest.mark.parametrize(("ground", "look", "text"), [r[1:] for r in UNVERIFIABLE], ids=[r[0] for r in UNVERIFIABLE])
def test_where_waiting_can_tell_nothing_it_is_said_at_once(ground: Ground, look: dict[str, Any], text: str) -> None:
    device = Device(ground).look(70, **look)
    assert device.words == [(0.25, "unverifiable", True)]
    assert text in device.last.evidence
    assert device.state.is_settled(GONE)


def test_where_bytes_mean_nothing_the_list_still_tells_who_is_there() -> None:
    device = Device(replace(GROUND, numa=True)).look(20, holders=(OTHER,))
    assert device.words == [(10.0, "held_by_other", False)]
    device.look(1)
    assert device.words[-1] == (20.25, "unverifiable", True)
    assert "no process is listed" in device.last.evidence


def test_silence() -> None:
    device = Device().look(1, used_bytes=9 * GIB).look(70, silent=True)
    assert device.words == [(10.0, "unverifiable", False), (60.0, "unverifiable", True)]
    assert "the last reading is 59 s old" in device.last.evidence
    state, verdict = advance(Returning(ground=GROUND), ends=GONE, now=112 * S, silent_s=11.0)
    assert isinstance(verdict, NotReturned)
    assert (verdict.reason, verdict.used_bytes) == ("unverifiable", None)
    assert "has not answered for 11 s" in verdict.evidence
    assert not state.is_settled(GONE)


def test_graphics_and_what_was_there_before_do_not_matter() -> None:
    screen = holder(60, "other", 10 * MIB, type="graphics", name="Xorg")
    assert Device().look(1, holders=(NEIGHBOUR, screen)).words == [(0.5, "returned")]
    hidden = replace(UNSEEN, pid=41)
    ground = replace(GROUND, baseline=replace(BASE, processes=(NEIGHBOUR, hidden)))
    assert Device(ground).look(1, holders=(NEIGHBOUR, hidden)).words == [(0.5, "returned")]


def test_below_the_baseline_is_fine() -> None:
    assert Device().look(1, used_bytes=1 * GIB, holders=()).words == [(0.5, "returned")]
    assert Device().look(1, used_bytes=0, holders=(), list_reason="Not Supported").words == [(0.5, "returned")]


def test_a_baseline_without_a_list_cannot_tell_old_from_new() -> None:
    ground = replace(GROUND, baseline=replace(BASE, processes=(), list_reason="No permission"))
    assert Device(ground).look(1, holders=(OTHER,)).words == [(0.5, "returned")]
    assert Device(ground).look(11, holders=(OURS,)).words == [(10.0, "held_by_ours", False)]


def test_a_large_device_is_given_more_time() -> None:
    device = Device()
    device.look(1, used_bytes=100 * GIB, ends=Ends())
    device.at = 0
    device.look(130, used_bytes=9 * GIB, ends=GONE)
    assert device.words == [(10.0, "held_invisible", False), (120.0, "held_invisible", True)]


def test_a_changed_reason_is_said_again_but_not_at_every_look() -> None:
    device = Device().look(11, used_bytes=9 * GIB)
    for _ in range(40):
        device.look(0.25, holders=(OTHER,)).look(0.25, used_bytes=9 * GIB)
    moments = [at for at, *_ in device.words]
    assert [word for _, word, _ in device.words][:2] == ["held_invisible", "held_by_other"]
    assert all(after - before >= 5 for before, after in pairwise(moments))
    assert len(moments) >= 4


def test_what_lives_on_has_its_own_clock_and_after_it_another_one_starts() -> None:
    device = Device(ends=LEFT).look(90, used_bytes=9 * GIB, holders=(OURS,))
    assert device.words == [(10.0, "held_by_ours", False), (60.0, "held_by_ours", True)]
    ended = Ends(ranks_m=100 * S, last_m=190 * S)
    assert not device.state.is_settled(ended)
    device.look(70, used_bytes=9 * GIB, ends=ended)
    assert device.words[2:] == [(100.0, "held_invisible", False), (150.0, "held_invisible", True)]
    assert device.state.is_settled(ended)
    device.look(1)
    assert device.words[-1] == (160.5, "returned")  # also after the last word, while anybody looks


def test_one_that_lives_without_being_listed_is_named() -> None:
    device = Device(ends=LEFT).look(11, used_bytes=0, holders=())
    assert device.words == [(10.0, "held_by_ours", False)]
    assert "VLLM::EngineCore (pid 20) of this run is alive; it is not listed here" in device.last.evidence
    device = Device(ends=Ends(ranks_m=100 * S)).look(11, used_bytes=0, holders=())
    assert "have not all ended" in device.last.evidence


def test_nothing_is_said_while_a_rank_lives() -> None:
    assert Device(ends=Ends()).look(200, used_bytes=0).said == []


HOLDERS = st.lists(st.sampled_from([NEIGHBOUR, OURS, OTHER, UNSEEN, RAY]), max_size=3, unique=True)
LOOKS = st.builds(
    lambda used, holders, why, lost: {
        "used_bytes": used, "holders": tuple(holders) if why is None else (), "list_reason": why, "lost": lost
    },
    st.sampled_from([None, 0, GIB, 3 * GIB, 3 * GIB + tolerance(TOTAL), 3 * GIB + tolerance(TOTAL) + 1]),
    HOLDERS,
    st.sampled_from([None, None, None, "No permission"]),
    st.sampled_from([None, None, None, "GPU is lost"]),
)  # fmt: skip
GROUNDS = st.sampled_from([GROUND, GROUND, *(row[1] for row in UNVERIFIABLE)])


@settings(max_examples=300, deadline=None)
@given(ground=GROUNDS, alive=st.lists(st.booleans(), min_size=1, max_size=12), data=st.data())
def test_never_back_while_alive_above_the_tolerance_or_on_one_look(
    ground: Ground, alive: list[bool], data: st.DataObject
) -> None:
    state, looks, gone_m = Returning(ground=ground), [], None
    for index, lives in enumerate(alive):
        now = 100 * S + index * S
        gone_m = None if lives else (gone_m if gone_m is not None else now)
        ends = Ends(ranks_m=100 * S, last_m=gone_m, alive=(ORPHAN,) if lives else ())
        one = data.draw(LOOKS)
        looks.append((lives, one))
        state, verdict = advance(state, ends=ends, now=now, look=Look(m=now, **one))
        if isinstance(verdict, Returned):
            assert ground is GROUND
            assert len(looks) >= 2
            for living, seen in looks[-2:]:
                assert not living
                assert seen["lost"] is None
                assert seen["used_bytes"] <= 3 * GIB + tolerance(TOTAL)
                assert not {OURS, OTHER, UNSEEN, RAY} & set(seen["holders"])
            return
        if isinstance(verdict, NotReturned):
            assert verdict.evidence
            assert verdict.seconds >= 0


@settings(max_examples=100, deadline=None)
@given(ground=GROUNDS, data=st.data())
def test_every_device_gets_a_last_word(ground: Ground, data: st.DataObject) -> None:
    device = Device(ground)
    kinds = data.draw(st.lists(LOOKS, min_size=1, max_size=3))
    while device.at < 125:
        device.look(0.25, **kinds[int(device.at * 4) % len(kinds)])
    device.look(0.25, **kinds[0])
    assert device.state.is_settled(GONE)
