"""The GPUs of a run, read back: against the baseline, as of any moment, and whatever stands in the record."""

from __future__ import annotations

import json
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.gpu_documents import (
    BEGIN,
    GIB,
    MIB,
    SECOND,
    GpuRun,
    baseline,
    device,
    hostile,
    in_use,
    locked,
    process,
    reading,
)
from support.hostile import HOSTILE
from support.schemas import check

from grpotui_supervisor.shim.journal import Journal
from grpotui_supervisor.source.changes import Changes
from grpotui_supervisor.source.gpu_changes import (
    GpuFound,
    GpuLost,
    GpuNotReturned,
    GpuReturned,
    NvmlChanged,
    NvmlSilent,
    XidSeen,
)
from grpotui_supervisor.source.gpus import Gpus
from grpotui_supervisor.source.now import look_now
from grpotui_supervisor.source.source import Source
from grpotui_supervisor.source.status import status

if TYPE_CHECKING:
    from pathlib import Path

    from grpotui_supervisor.source.changes import Change

LIVE_ONLY = ("supervision", "monitor")
EVENTS = (GpuFound, GpuLost, GpuNotReturned, GpuReturned, NvmlChanged, NvmlSilent, XidSeen)


@pytest.fixture
def run(tmp_path: Path) -> GpuRun:
    """One rank on one device."""
    return GpuRun.make(tmp_path / "run", [baseline("0")])


def first(run: GpuRun, until: int | None = None) -> dict[str, Any]:
    document = run.status(until)
    check("status", document)
    found = document["gpus"][0]
    assert isinstance(found, dict)
    return found


def test_before_the_first_reading_the_baseline_is_all_there_is(run: GpuRun) -> None:
    run.start()
    document = run.status()
    check("status", document)
    (gpu,) = document["gpus"]
    assert (document["gpu_unavailable"], document["gpu_silent_s"]) == (None, None)
    assert (gpu["name"], gpu["kind"], gpu["in_run"], gpu["baseline_bytes"]) == ("NVIDIA H200", "v2", True, 0)
    unknown = ("used_bytes", "utilization_percent", "power_w", "temperature_c", "sample_age_s", "processes",
               "unattributed_bytes", "returned", "returned_s", "reason", "evidence", "final")  # fmt: skip
    assert [gpu[name] for name in unknown] == [None] * len(unknown)
    assert (gpu["unavailable"], gpu["processes_reason"], gpu["xids"]) == ("not read yet", "not read yet", [])


def test_a_reading_has_an_age_that_grows_when_nobody_samples(run: GpuRun) -> None:
    run.start()
    run.monitor("0")
    m = run.read(_0=5 * GIB)
    gpu = first(run, m + 400_000_000)
    assert (gpu["used_bytes"], gpu["sample_age_s"], gpu["unavailable"]) == (5 * GIB, 0.4, None)
    assert (gpu["utilization_percent"], gpu["power_w"], gpu["temperature_c"], gpu["slowed"]) == (86, 612.4, 41, [])
    assert first(run, m + 90 * SECOND)["sample_age_s"] == 90.0
    assert first(run, m - 1)["used_bytes"] == 0


def test_a_run_without_gpus_says_run_json_s_reason(tmp_path: Path) -> None:
    document = GpuRun.make(tmp_path / "run", None).status()
    check("status", document)
    assert (document["gpus"], document["gpu_unavailable"]) == ([], "the driver's library is not there")


def test_a_run_json_that_does_not_tell_is_no_fault(tmp_path: Path) -> None:
    for number, gpus in enumerate(([], {"devices": 3}, "x", {"devices": [{"gpu": "0"}]}, 10**400)):
        run = GpuRun.make(tmp_path / f"run{number}", None)
        path = run.path / "run.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"gpus": gpus, "gpu_unavailable": None}))
        document = run.status()
        check("status", document)
        assert (document["gpus"], document["gpu_unavailable"]) == ([], "no device is on record")


def test_an_attached_job_is_sampled_without_a_baseline(tmp_path: Path) -> None:
    why = "an attached job: no idle baseline could be taken"
    run = GpuRun.make(tmp_path / "run", None, gpu_unavailable=why)
    run.gpu("nvml", available=False, reason="no library", driver=None, cuda=None)
    assert run.status()["gpu_unavailable"] == "no library"
    run.monitor("0")
    run.read(_0=GIB)
    document = run.status()
    assert (document["gpu_unavailable"], document["gpus"][0]["baseline_bytes"]) == (None, None)
    assert (document["gpus"][0]["used_bytes"], document["gpus"][0]["returned"]) == (GIB, None)
    assert run.source().gpus.awaited(run.source().ends) == []


def test_readings_of_two_kinds_are_never_compared(run: GpuRun) -> None:
    run.gpu("device", **device("0", kind="v1"))
    run.read(_0=615 * MIB)
    assert (first(run)["kind"], first(run)["baseline_bytes"]) == ("v1", None)


def test_a_baseline_belongs_to_its_device(run: GpuRun) -> None:
    run.gpu("device", **device("0", uuid="GPU-another"))
    assert first(run)["baseline_bytes"] is None


def test_it_is_back_only_when_the_record_says_so(run: GpuRun) -> None:
    run.start()
    run.monitor("0")
    run.read(_0=5 * GIB)
    run.end()
    run.read(_0=0)
    run.gpu("processes", gpu="0", reason=None, list=[])
    assert first(run)["returned"] is None  # the bytes and the list are no proof
    m = run.returned(seconds=0.4)
    gpu = first(run)
    assert (gpu["returned"], gpu["returned_s"], gpu["reason"], gpu["final"]) == (True, 0.4, None, True)
    assert first(run, m - 1)["returned"] is None
    assert first(run)["used_bytes"] == 0


def test_it_is_never_back_while_anything_of_the_run_is_alive(run: GpuRun) -> None:
    """A rank, or an orphan that reads as nothing at that moment, and takes 2.8 GB four seconds later."""
    run.start()
    run.monitor("0")
    run.returned()
    assert first(run)["returned"] is None
    run.adopt()
    run.exit()
    run.write("ranks", "ranks_done", leftovers=[])
    run.returned()
    assert first(run)["returned"] is None
    assert run.source().gpus.awaited(run.source().ends) == ["0"]
    run.not_returned(reason="held_by_ours")
    assert first(run)["returned"] is False
    run.write("ranks", "orphan_exit", pid=4720, start=78, how="exited", code=0, signal=None, signo=None, core=False)
    assert first(run)["returned"] is None  # what was said before the last end counts no more
    run.write("ranks", "done")
    assert first(run)["returned"] is None
    run.returned()
    assert first(run)["returned"] is True
    assert run.source().gpus.awaited(run.source().ends) == []


def test_without_a_shim_the_monitor_s_word_is_what_there_is(run: GpuRun) -> None:
    """The ends of leftovers are on no record then."""
    run.start()
    run.monitor("0")
    run.adopt()
    run.exit()
    run.write("ranks", "ranks_done", leftovers=[])
    run.write("host", "unsupervised")
    run.returned()
    assert first(run)["returned"] is True


def test_why_it_is_not_back(run: GpuRun) -> None:
    run.start()
    run.monitor("0")
    run.end()
    run.not_returned("0", "held_invisible")
    gpu = first(run)
    assert (gpu["returned"], gpu["reason"], gpu["final"]) == (False, "held_invisible", False)
    assert gpu["evidence"] == "305 MiB used, nobody listed"
    assert run.source().gpus.awaited(run.source().ends) == ["0"]
    run.not_returned("0", "residue", final=True)
    assert (first(run)["reason"], first(run)["final"]) == ("residue", True)
    assert run.source().gpus.awaited(run.source().ends) == []


def test_process_lists(run: GpuRun) -> None:
    run.start()
    run.monitor("0")
    run.read(_0=5 * GIB)
    run.gpu("processes", gpu="0", reason="no permission", list=[])
    gpu = first(run)
    assert (gpu["processes"], gpu["processes_reason"], gpu["unattributed_bytes"]) == (None, "no permission", None)
    seen = [process(4711, 3 * GIB), process(26357, GIB, owner="unseen")]
    run.gpu("processes", gpu="0", reason=None, list=seen)
    gpu = first(run)
    assert (gpu["processes"], gpu["processes_reason"], gpu["unattributed_bytes"]) == (seen, None, GIB)
    run.gpu("processes", gpu="0", reason=None, list=[*seen, process(5, None)])
    assert first(run)["unattributed_bytes"] is None
    run.gpu("processes", gpu="0", reason=None, list=[])
    assert (first(run)["processes"], first(run)["unattributed_bytes"]) == ([], 5 * GIB)


def test_what_a_leftover_holds(tmp_path: Path) -> None:
    run = GpuRun.make(tmp_path / "run", [baseline("0"), baseline("1")])
    run.start()
    run.monitor("0", "1")
    for pid in (4720, 4721, 4722, 4723):
        run.adopt(pid=pid)
    run.exit()
    run.write("ranks", "ranks_done", leftovers=[])
    listed = [process(4720, GIB, start=78), process(4721, None, start=78), process(4722, GIB, start=999)]
    run.gpu("processes", gpu="0", reason=None, list=listed)
    run.gpu("processes", gpu="1", reason=None, list=[process(4720, 2 * GIB, start=78)])
    document = run.status()
    check("status", document)
    found = {left["pid"]: (left["gpus"], left["gpu_bytes"]) for left in document["leftovers"]}
    assert found == {
        4720: (["0", "1"], 3 * GIB),
        4721: (["0"], None),  # the driver does not tell
        4722: ([], None),  # another process has that pid
        4723: ([], None),
    }


def test_lost_and_found_and_nvml_gone(run: GpuRun) -> None:
    run.start()
    run.monitor("0")
    m = run.read(_0=GIB)
    run.gpu("lost", gpu="0", reason="GPU is lost")
    gpu = first(run)
    assert (gpu["unavailable"], gpu["used_bytes"], gpu["sample_age_s"]) == ("GPU is lost", GIB, 1.0)
    run.gpu("found", gpu="0")
    assert first(run)["unavailable"] is None
    run.gpu("nvml", available=False, reason="driver/library mismatch", driver=None, cuda=None)
    assert (first(run)["unavailable"], run.status()["gpu_unavailable"]) == ("driver/library mismatch", None)
    assert first(run, m)["unavailable"] is None


def test_a_silence_goes_on_until_anything_is_answered(run: GpuRun) -> None:
    run.start()
    run.monitor("0")
    m = run.gpu("silent", seconds=5.0)
    assert run.status(m + 2 * SECOND)["gpu_silent_s"] == 7.0
    assert run.status(m + 3600 * SECOND)["gpu_silent_s"] == 65.0  # nobody has asked since
    run.gpu("silent", seconds=0)
    assert run.status()["gpu_silent_s"] is None
    run.gpu("silent", seconds=5.0)
    run.read(_0=GIB)
    assert run.status()["gpu_silent_s"] is None


def test_absent_fields_and_faults(run: GpuRun) -> None:
    run.start()
    run.monitor("0")
    run.gpu("absent", gpu="0", field="power", reason="Not Supported")
    run.gpu("gpus", read={"0": reading(GIB, power=None, clocks=0x40 | 0x4)})
    for number in range(25):
        run.gpu("xid", gpu="0", xid=number, name=None, severity="gpu")
    gpu = first(run)
    assert (gpu["power_w"], gpu["absent"], gpu["slowed"]) == (None, {"power": "Not Supported"}, ["HW thermal"])
    assert [(one["xid"], one["age_s"]) for one in gpu["xids"]][-2:] == [(23, 1.0), (24, 0.0)]
    assert len(gpu["xids"]) == 20


def test_devices_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    run = GpuRun.make(tmp_path / "run", [baseline(gpu) for gpu in ("10", "0:1", "2", "0", "0:0")])
    assert [gpu["gpu"] for gpu in run.status()["gpus"]] == ["0", "0:0", "0:1", "2", "10"]


def test_the_history_has_an_entry_for_each_reading(run: GpuRun) -> None:
    run.start()
    run.monitor("0")
    moments = [run.read(_0=used) for used in (GIB, None, 2 * GIB)]
    history = run.source().gpus.history["0"]
    assert list(history.moments)[-2:] == [moments[0], moments[2]]
    assert list(history.used) == [0, GIB, 2 * GIB]
    assert (history.moments.typecode, history.used.typecode) == ("q", "q")


def test_the_end_of_everything_on_record_is_that_of_the_devices(run: GpuRun) -> None:
    """They are looked at for a while after the end of the processes."""
    run.start()
    run.end()
    run.monitor("0")
    m = run.returned()
    assert run.status()["as_of"]["m"] == m
    assert run.status() == {**run.status(m), "as_of": run.status()["as_of"]}


def told(changes: Changes, source: Source, until: int | None = None) -> list[Change]:
    source.update(until)
    return [change for change in changes.of(source, source.run) if isinstance(change, EVENTS)]


def test_each_change_is_told_once(tmp_path: Path) -> None:
    run = GpuRun.make(tmp_path / "run", [baseline("0"), baseline("1")])
    run.start()
    source, changes = run.source(), Changes()
    run.monitor("0", "1")
    assert told(changes, source) == []
    run.gpu("xid", gpu="1", xid=79, name="fallen off the bus", severity="gpu")
    run.gpu("lost", gpu="1", reason="GPU is lost")
    run.gpu("silent", seconds=5.0)
    run.gpu("silent", seconds=65.0)
    found = told(changes, source)
    assert [type(change) for change in found] == [XidSeen, GpuLost, NvmlSilent]
    assert found[1:] == [GpuLost("1", "GPU is lost"), NvmlSilent(5.0)]
    run.gpu("silent", seconds=0)
    run.gpu("found", gpu="1")
    run.gpu("nvml", available=False, reason="mismatch", driver=None, cuda=None)
    run.gpu("nvml", available=False, reason="mismatch", driver=None, cuda=None)
    assert told(changes, source) == [NvmlSilent(0), GpuFound("1"), NvmlChanged(available=False, reason="mismatch")]
    run.returned("0")
    assert told(changes, source) == []  # a rank lives
    run.end()
    run.returned("0")
    run.not_returned("1")
    found = told(changes, source)
    assert [type(change) for change in found] == [GpuReturned, GpuNotReturned]
    run.returned("1", seconds=12.0)
    assert [type(change) for change in told(changes, source)] == [GpuReturned]
    assert told(changes, source) == []


def test_a_storm_of_faults_is_told_as_far_as_it_is_kept(run: GpuRun) -> None:
    run.start()
    run.monitor("0")
    source, changes = run.source(), Changes()
    told(changes, source)
    for number in range(1500):
        run.gpu("xid", gpu="0", xid=number, name=None, severity="job")
    found = told(changes, source)
    assert [change.record.xid for change in found if isinstance(change, XidSeen)] == list(range(500, 1500))
    assert told(changes, source) == []


def recorded(document: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key not in LIVE_ONLY}


def test_at_every_moment_it_is_the_same_live_and_replayed(tmp_path: Path) -> None:
    run = in_use(tmp_path / "run")
    run.gpu("processes", gpu="1", reason="no permission", list=[])
    run.gpu("lost", gpu="1", reason="GPU is lost")
    run.gpu("silent", seconds=5.0)
    run.adopt()
    run.exit(0)
    run.exit(1)
    run.write("ranks", "ranks_done", leftovers=[])
    run.returned("0")
    run.not_returned("1", "held_by_ours")
    run.write("ranks", "orphan_exit", pid=4720, start=78, how="exited", code=0, signal=None, signo=None, core=False)
    run.write("ranks", "done")
    run.read(_0=0, _1=0)
    run.returned("0")
    run.returned("1")
    staying, shown = Source(run.directory), []
    for moment in range(BEGIN, run.now + 2 * SECOND, SECOND // 2):
        staying.update(moment)
        document = status(staying)
        check("status", document)
        assert document == run.status(moment)
        shown.append([gpu["returned"] for gpu in document["gpus"]])
    assert [words for at, words in enumerate(shown) if at == 0 or words != shown[at - 1]] == [
        [None, None, None], [None, False, None], [None, None, None], [True, None, None], [True, True, None],
    ]  # fmt: skip


def test_live_at_t_is_replay_at_t(tmp_path: Path) -> None:
    """A monitor's journal grows while a source that stays and one that has just come look at it."""
    run = GpuRun.make(tmp_path / "run", [baseline("0")])
    locked(run)
    ranks, gpu = (Journal(str(run.path / f"{name}.jsonl"), "node-0", writer="test") for name in ("ranks", "gpu"))

    def write() -> None:
        place: dict[str, Any] = {"member": "0", "rank": 0, "role": "rank", "pid": 4711, "start": 77}
        for journal in (ranks, gpu):
            journal.begin()
        ranks.add("spawned", **place, owned=True)
        gpu.add("nvml", available=True, reason=None, driver="580", cuda=None)
        gpu.add("device", **device("0"))
        for number in range(200):
            gpu.add("gpus", read={"0": reading(number * GIB, util=number % 100)})
            if number % 10 == 0:
                gpu.add("processes", gpu="0", reason=None, list=[process(4711, number * GIB)])
            time.sleep(0.002)
        ranks.add("exit", **place, how="exited", code=0, signal=None, signo=None, core=False, sent=[])
        ranks.add("ranks_done", leftovers=[])
        ranks.add("done")
        gpu.add("returned", gpu="0", seconds=0.1, used_bytes=0, baseline_bytes=0, tolerance_bytes=MIB)

    writer, staying = threading.Thread(target=write), Source(run.directory)
    seen: list[dict[str, Any]] = []
    writer.start()
    deadline = time.monotonic() + 30
    while not (seen and seen[-1]["gpus"][0]["returned"]):
        assert time.monotonic() < deadline
        seen += [look_now(staying)[0], look_now(Source(run.directory))[0]]
    writer.join()
    assert len({document["gpus"][0]["used_bytes"] for document in seen}) > 5
    for live in seen:
        assert recorded(run.status(live["as_of"]["m"])) == recorded(live)


LINES: list[dict[str, Any]] = [
    {"ev": "nvml", "available": True, "reason": None, "driver": "580", "cuda": None},
    {"ev": "silent", "seconds": 5.0},
    {"ev": "slow", "tick_ms": 3.0, "interval_s": 2.0},
    {"ev": "device", **device("0")},
    {"ev": "absent", "gpu": "0", "field": "power", "reason": "no"},
    {"ev": "gpus", "read": {"0": reading(5)}},
    {"ev": "processes", "gpu": "0", "reason": None, "list": [process(4711)]},
    {"ev": "xid", "gpu": "0", "xid": 79, "name": None, "severity": "gpu"},
    {"ev": "lost", "gpu": "0", "reason": "lost"},
    {"ev": "found", "gpu": "0"},
    {"ev": "returned", "gpu": "0", "seconds": 0.4, "used_bytes": 0, "baseline_bytes": 0, "tolerance_bytes": 5},
    {"ev": "not_returned", "gpu": "0", "reason": "residue", "evidence": "x", "final": True, "seconds": 10.0,
     "used_bytes": 5, "baseline_bytes": 0, "holders": []},
]  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.integers(2**62, 2**70) | st.floats() | st.text() | st.just(10**400),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["0", "used", "x"]), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def broken(draw: st.DrawFn) -> dict[str, Any]:
    """A line in which a few fields, at any depth, are something else."""
    line: dict[str, Any] = json.loads(json.dumps(draw(st.sampled_from(LINES))))
    for _ in range(draw(st.integers(1, 3))):
        place: Any = line
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            key = draw(st.sampled_from(keys)) if keys else None
            inner = None if key is None else place[key]
            if not isinstance(inner, dict | list) or not inner or draw(st.booleans()):
                break
            place = inner
        if key is not None:
            place[key] = draw(VALUES)
    return line


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(broken() | st.dictionaries(st.text(), VALUES) | st.sampled_from(LINES), max_size=12))
def test_no_line_raises_and_what_is_shown_is_a_status(run: GpuRun, lines: list[dict[str, Any]]) -> None:
    source = Source(run.directory)
    source.as_of = BEGIN
    for line in lines:
        source.gpus.take({**line, "m": BEGIN})
    document = status(source)
    check("status", json.loads(json.dumps(document, allow_nan=False)))
    for history in source.gpus.history.values():
        assert len(history.moments) == len(history.used)
    Changes().of(source, source.run)


@pytest.mark.parametrize("line", LINES, ids=lambda line: line["ev"])
def test_a_line_that_lacks_what_its_kind_needs_changes_nothing(run: GpuRun, line: dict[str, Any]) -> None:
    optional = {"ev", "driver", "cuda", "tick_ms", "interval_s", "bus_id", "mig", "parent", "numa", "persistence",
                "tolerance_bytes", "holders"}  # fmt: skip
    run.start()
    run.monitor("0")
    run.end()
    run.gpu("silent", seconds=9.0)
    before = run.status()
    for name in line.keys() - optional:
        run.gpu(line["ev"], m=run.now, **{key: value for key, value in line.items() if key not in (name, "ev")})
        run.gpu(line["ev"], m=run.now, **{**{k: v for k, v in line.items() if k != "ev"}, name: [1]})
    assert run.status() == before
    run.gpu(line["ev"], m=run.now, **{key: value for key, value in line.items() if key != "ev"})
    assert (run.status() == before) == (line["ev"] in ("slow", "found", "device"))


def test_a_device_that_is_not_known_changes_nothing(run: GpuRun) -> None:
    before = run.status()
    for line in LINES[4:]:
        if line["ev"] != "gpus":
            run.gpu(line["ev"], m=BEGIN, **{**{k: v for k, v in line.items() if k != "ev"}, "gpu": "7"})
    run.gpu("gpus", m=BEGIN, read={"7": reading(5)})
    assert run.status()["gpus"] == before["gpus"]
    assert "7" not in Gpus({}).history


@pytest.mark.parametrize("text", [piece.decode("utf-8", "replace") for piece in HOSTILE.values()], ids=HOSTILE)
def test_hostile_names_are_shown_as_they_are_in_json(tmp_path: Path, text: str) -> None:
    run = in_use(tmp_path / "run")
    hostile(run, text)
    check("status", json.loads(json.dumps(run.status())))
