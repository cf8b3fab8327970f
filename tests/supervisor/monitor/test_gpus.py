"""gpu.jsonl: what is written of the devices and how often, and a monitor that no driver can hold up."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.fake_gpus import FakeGpus, gpu
from support.gpu_runs import BASE, GIB, MIB, GpuRun, baseline, facts
from support.runs import kill, rank_argv, records
from support.schemas import check_lines
from support.waiting import wait_until

from grpotui_supervisor.gpu.events import Event, Found, Lists, Opened, Readings, Slow, Unavailable, Xid
from grpotui_supervisor.gpu.ownership import Owners
from grpotui_supervisor.model.gpu import Device, GpuProcess, ProcessList, Reading
from grpotui_supervisor.model.run_state import RunState
from grpotui_supervisor.monitor import gpus as monitored
from grpotui_supervisor.monitor.gpu_budget import Budget, Matters
from grpotui_supervisor.monitor.gpu_lists import ListsOnRecord
from grpotui_supervisor.monitor.gpu_values import Values
from grpotui_supervisor.monitor.gpus import Gpus
from grpotui_supervisor.rundir import RunDirectory
from grpotui_supervisor.shim import journal, procfs
from grpotui_supervisor.shim.journal import Journal
from grpotui_supervisor.source.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterator

S = 1_000_000_000
TOTAL = 80 * GIB
CALM = Reading(used_bytes=BASE, utilization_percent=0, power_w=70.0, temperature_c=30, clock_reasons=1)


class Book:
    """A record whose time is the test's."""

    def __init__(self, path: Path) -> None:
        self.journal = Journal(str(path / "gpu.jsonl"), "node-0", writer="monitor")
        self.journal.begin()
        self.budget = Budget(self.journal)
        self.path = path / "gpu.jsonl"
        self.values = Values(self.budget, absent=set(), lost=set())

    def read(self, at: float, window: Matters = Matters.LITTLE, **readings: Reading) -> list[dict[str, Any]]:
        """The records that a look at that second makes."""
        before = len(records(self.path))
        read = {key.removeprefix("gpu"): reading for key, reading in readings.items()}
        self.values.take(round(at * S), read, dict.fromkeys(read, TOTAL), window)
        check_lines("gpu", self.path.read_bytes().splitlines())
        return records(self.path)[before:]


@pytest.fixture
def book(tmp_path: Path) -> Book:
    return Book(tmp_path)


CHANGES = [
    ("much memory at once", {"used_bytes": BASE + TOTAL // 100 + 1}, 1.0, True),
    ("less of it not at once", {"used_bytes": BASE + TOTAL // 100}, 3.9, False),
    ("but after 4 s", {"used_bytes": BASE + 1}, 4.0, True),
    ("trouble with the clocks at once", {"clock_reasons": 0x1 | 0x40}, 1.0, True),
    ("a power cap is no trouble", {"clock_reasons": 0x4}, 6.0, False),
    ("utilisation after 5 s", {"utilization_percent": 10}, 5.0, True),
    ("and not before", {"utilization_percent": 100}, 4.9, False),
    ("and not by 9 points", {"utilization_percent": 9}, 6.0, False),
    ("power", {"power_w": 73.5}, 5.0, True),
    ("less power", {"power_w": 73.4}, 6.0, False),
    ("temperature", {"temperature_c": 32}, 5.0, True),
    ("less warmth", {"temperature_c": 31}, 6.0, False),
    ("what cannot be read any more", {"used_bytes": None}, 1.0, True),
    ("nothing", {}, 9.0, False),
    ("a sign of life", {}, 10.0, True),
]


@pytest.mark.parametrize(("change", "at", "news"), [row[1:] for row in CHANGES], ids=[row[0] for row in CHANGES])
def test_what_is_news(book: Book, change: dict[str, Any], at: float, *, news: bool) -> None:
    assert len(book.read(0, gpu0=CALM, gpu1=CALM)) == 1
    found = book.read(at, gpu0=replace(CALM, **change), gpu1=CALM)
    assert [r["ev"] for r in found] == (["gpus"] if news else [])
    if news:
        assert set(found[0]["read"]) == ({"0", "1"} if at == 10 else {"0"})
        used = change.get("used_bytes", BASE)
        assert found[0]["read"]["0"]["used"] == used


def test_after_the_end_every_change_is_news(book: Book) -> None:
    book.read(0, gpu0=CALM)
    for quarter in range(1, 40):
        window = Matters.AT_THE_END if quarter < 20 else Matters.AT_A_DEATH
        assert book.read(quarter / 4, window, gpu0=replace(CALM, used_bytes=BASE + quarter))
    assert not book.read(9.9, Matters.LITTLE, gpu0=replace(CALM, used_bytes=BASE + 40))


def test_what_a_device_does_not_tell_is_said_once(book: Book) -> None:
    blind = replace(CALM, power_w=None, absent={"power_w": "Not Supported"})
    assert [r["ev"] for r in book.read(0, gpu0=blind)] == ["absent", "gpus"]
    assert [r["ev"] for r in book.read(20, gpu0=blind)] == ["gpus"]
    (said,) = [r for r in records(book.path) if r["ev"] == "absent"]
    assert (said["gpu"], said["field"], said["reason"]) == ("0", "power", "Not Supported")


def test_a_lost_device_is_said_and_found_again(book: Book) -> None:
    lost = Reading(lost="GPU is lost")
    assert [r["ev"] for r in book.read(0, gpu0=CALM, gpu1=lost)] == ["lost", "gpus"]
    assert [r["ev"] for r in book.read(1, gpu0=CALM, gpu1=lost)] == []
    assert [r["ev"] for r in book.read(2, gpu0=CALM, gpu1=CALM)] == ["found", "gpus"]


def listing(pids: range, size: int) -> ProcessList:
    return ProcessList(processes=tuple(GpuProcess(pid=pid, type="compute", used_bytes=size) for pid in pids))


def test_lists_on_change(book: Book) -> None:
    lists = ListsOnRecord(book.budget, Owners("run"), known={})
    steps = [
        (0.0, listing(range(4_190_000, 4_190_002), GIB), 1),
        (2.0, listing(range(4_190_000, 4_190_002), GIB), 0),
        (4.0, listing(range(4_190_000, 4_190_002), GIB + 20 * MIB), 0),
        (6.0, listing(range(4_190_000, 4_190_002), GIB + 20 * MIB), 1),
        (12.0, listing(range(4_190_000, 4_190_002), GIB + 21 * MIB), 0),
        (12.5, listing(range(4_190_000, 4_190_003), GIB), 1),
        (13.0, ProcessList(reason="No permission"), 1),
        (14.0, ProcessList(), 1),
    ]
    for at, listed, count in steps:
        before = len(records(book.path))
        lists.take(round(at * S), {"0": listed}, RunState(), Matters.LITTLE)
        assert len(records(book.path)) - before == count, at
    check_lines("gpu", book.path.read_bytes().splitlines())


def test_the_worst_day_of_eight_devices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory, power, utilisation, processes and faults change in each second; then the run ends, in full detail."""
    written = {"bytes": 0, "lines": 0}

    class Scale(Journal):
        """Counts what the file would hold: a line as it is encoded, and its frame."""

        def add(self, ev: str, **more: object) -> int:
            frame = {"ev": ev, "t": 1796008561.687277, "m": 32988282399416, "seq": 123456}
            written["bytes"] += len(json.dumps({**frame, **more})) + 1
            written["lines"] += ev == "gpus"
            return 0

    budget = Budget(Scale(str(tmp_path / "gpu.jsonl"), "node-0", writer="monitor"))
    values = Values(budget, absent=set(), lost=set())
    lists = ListsOnRecord(budget, Owners("run"), known={})
    monkeypatch.setattr(procfs, "stat", lambda _: None)
    totals: dict[str, int | None] = {str(key): TOTAL for key in range(8)}

    def look(quarter: int, window: Matters) -> None:
        odd = quarter // 4 % 2 if window is Matters.LITTLE else quarter % 2
        reading = Reading(
            used_bytes=TOTAL - odd * 9 * GIB - quarter, utilization_percent=100 * odd, power_w=100.123 + 600 * odd,
            temperature_c=40 + 30 * odd, clock_reasons=0x40 * odd,
        )  # fmt: skip
        values.take(quarter * S // 4, dict.fromkeys(totals, reading), totals, window)
        if quarter % 8 == 0 or window is not Matters.LITTLE:
            first = 4_190_000 + quarter % 1000
            lists.take(
                quarter * S // 4, dict.fromkeys(totals, listing(range(first, first + 2), 9 * GIB)), RunState(), window
            )

    for second in range(86_400):
        window = Matters.AT_A_DEATH if second % 40 < 10 else Matters.LITTLE  # a worker dies every 40 s
        look(second * 4, window)
    before = written["lines"]
    for quarter in range(86_400 * 4, 86_400 * 4 + 240):
        look(quarter, Matters.AT_THE_END)
    assert written["lines"] - before == 240
    assert 15e6 < written["bytes"] <= 25e6


class StandIn:
    """A sampler that tells what the test wants."""

    def __init__(self) -> None:
        self.fd = os.eventfd(0)
        self.events: list[Event] = []
        self.hurried: list[float] = []
        self.silent = 0.0
        self.closed = False

    def start(self) -> None:
        return

    def take(self) -> list[Event]:
        taken, self.events = self.events, []
        return taken

    def hurry(self, seconds: float) -> None:
        self.hurried.append(seconds)

    def silent_s(self) -> float:
        return self.silent

    def close(self) -> None:
        self.closed = True
        os.close(self.fd)


@dataclass
class Clock:
    """Stands for the module `time`, of the devices and of what writes their record."""

    now: int = field(default_factory=time.monotonic_ns)
    time = staticmethod(time.time)

    def monotonic_ns(self) -> int:
        return self.now


def device(key: str = "0", **changes: Any) -> Device:
    known = Device(
        key=key, index=int(key), uuid=f"GPU-00000000-0000-0000-0000-{int(key):012d}", name="H100", bus_id="0",
        total_bytes=TOTAL, reserved_bytes=0, kind="v2",
    )  # fmt: skip
    return replace(known, **changes)


@dataclass
class Scene:
    """A run directory, what the shim would write into it, and the part of the monitor that is about GPUs."""

    path: Path
    clock: Clock
    sampler: StandIn
    gpus: Gpus = field(init=False)
    source: Source = field(init=False)

    def begin(self, devices: list[dict[str, Any]] | None, **more: Any) -> Scene:
        document = facts(self.path, 1, devices, **more)
        (self.path / "run.json").write_text(json.dumps(document))
        self.shim = Journal(str(self.path / "ranks.jsonl"), "node-0", writer="shim")
        self.shim.begin()
        self.again()
        return self

    def again(self) -> None:
        """Another monitor."""
        self.source = Source(RunDirectory(str(self.path)))
        self.gpus = Gpus(RunDirectory(str(self.path)), self.source)

    def spawn(self) -> None:
        self.shim.add(
            "spawned", member="0", rank=0, role="rank", owned=True, pid=os.getpid(), start=1, m=self.clock.now
        )

    def end(self, *, done: bool = True) -> None:
        named = {"member": "0", "rank": 0, "role": "rank", "pid": os.getpid(), "start": 1}
        self.shim.add("exit", **named, how="exited", code=0, signal=None, sent=[], m=self.clock.now)
        if done:
            self.shim.add("done", m=self.clock.now)

    def look(self, *events: Event, seconds: float = 0.25, supervised: bool = True) -> list[dict[str, Any]]:
        """One round, so much later; what it put on record."""
        before = len(self.records)
        self.clock.now += round(seconds * S)
        self.sampler.events += events
        fresh = [r for r in records(self.path / "ranks.jsonl") if r["m"] > self.clock.now - round(seconds * S) - 1]
        self.source.update(None)
        self.gpus.look(self.source, fresh, supervised=supervised)
        check_lines("gpu", (self.path / "gpu.jsonl").read_bytes().splitlines())
        return self.records[before:]

    def seen(self, used: int, *, key: str = "0", lost: str | None = None) -> tuple[Event, ...]:
        """A reading and a list of now, or a little later."""
        now = self.clock.now + 1000
        reading = Reading(lost=lost) if lost else replace(CALM, used_bytes=used)
        return Readings(now, {key: reading}), Lists(now + 1, {key: ProcessList()})

    @property
    def records(self) -> list[dict[str, Any]]:
        return [r for r in records(self.path / "gpu.jsonl") if r["ev"] != "header"]

    def said(self, found: list[dict[str, Any]]) -> list[str]:
        return [r["ev"] for r in found]


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    (tmp_path / "run-1/ranks").mkdir(parents=True)
    found = Scene(tmp_path / "run-1", Clock(), StandIn())
    for module in (monitored, journal):
        monkeypatch.setattr(module, "time", found.clock)
    monkeypatch.setattr(monitored, "Sampler", lambda: found.sampler)
    yield found
    if not found.sampler.closed:
        found.gpus.close()


OPENED = (Opened("580.1", "13.0"), Found((device(), device("1"))))


def test_the_order_of_the_first_records_and_which_devices_are_the_run_s(scene: Scene) -> None:
    scene.begin([baseline(0), baseline(1, in_run=False)])
    assert scene.gpus.fds() == (scene.sampler.fd,)
    found = scene.look(*OPENED, *scene.seen(BASE))
    assert scene.said(found) == ["nvml", "device", "device", "gpus", "processes"]
    assert [r["in_run"] for r in found[1:3]] == [True, False]
    assert (found[0]["driver"], found[0]["cuda"], found[0]["reason"]) == ("580.1", "13.0", None)
    assert scene.gpus.fds() == ()  # while there is time its events wait for the next round
    assert scene.look(*OPENED) == []


def test_without_a_baseline_all_are_the_run_s_but_the_whole_of_what_is_split(scene: Scene) -> None:
    scene.begin(None)
    whole = device("0", mig=True)
    part = device("1", uuid="MIG-1", parent=whole.uuid)
    found = scene.look(Opened(None, None), Found((whole, part, device("2"))))
    assert [(r["gpu"], r["in_run"]) for r in found if r["ev"] == "device"] == [("0", False), ("1", True), ("2", True)]


def test_faults_slowness_and_silence_are_said(scene: Scene) -> None:
    scene.begin([baseline(0)]).look(*OPENED)
    found = scene.look(Xid(1, "0", 79), Xid(1, "0", 45), Xid(1, "0", 4711), Slow(120.04, 2.0))
    assert [(r["xid"], r["name"], r["severity"]) for r in found[:3]] == [
        (79, "fallen off the bus", "gpu"), (45, "preemptive channel removal", "note"), (4711, None, "gpu")
    ]  # fmt: skip
    assert (found[3]["tick_ms"], found[3]["interval_s"]) == (120.0, 2.0)
    spans = []
    for silent in (0.0, 4.9, 5.0, 30.0, 64.9, 65.0, 0.0, 0.0):
        scene.sampler.silent = silent
        spans += [r["seconds"] for r in scene.look()]
    assert spans == [5.0, 65.0, 0]


def test_the_end_of_a_run_and_its_devices(scene: Scene) -> None:
    scene.begin([baseline(0), baseline(1, in_run=False)]).spawn()
    scene.look(*OPENED, *scene.seen(9 * GIB), *scene.seen(9 * GIB, key="1"))
    assert scene.sampler.hurried == []
    assert not scene.gpus.is_settled()
    scene.end()
    scene.look()
    assert scene.sampler.hurried == [10.0]
    assert scene.gpus.fds() == (scene.sampler.fd,)
    assert "returned" not in scene.said(scene.look(*scene.seen(BASE)))
    found = scene.look(*scene.seen(BASE))
    assert [(r["gpu"], r["seconds"]) for r in found if r["ev"] == "returned"] == [("0", 0.25)]
    assert scene.gpus.is_settled()
    assert scene.sampler.hurried[1:] == [2.0] * len(scene.sampler.hurried[1:])


def test_nothing_is_back_before_the_shim_has_said_that_all_are_gone(scene: Scene) -> None:
    scene.begin([baseline(0)]).spawn()
    scene.look(*OPENED)
    scene.end(done=False)
    for _ in range(20):
        assert "returned" not in scene.said(scene.look(*scene.seen(0)))
    assert not scene.gpus.is_settled()
    scene.shim.add("done", m=scene.clock.now)
    scene.look(*scene.seen(0))
    assert "returned" in scene.said(scene.look(*scene.seen(0)) + scene.look(*scene.seen(0)))


def test_a_marked_process_that_no_record_names_is_looked_for(scene: Scene) -> None:
    """It left the tree before the shim could adopt it: only its environment tells."""
    scene.begin([baseline(0)]).spawn()
    scene.look(*OPENED)
    stray = subprocess.Popen(["/bin/sleep", "60"], env={**os.environ, procfs.RUN_MARK: "run-1"})
    try:
        wait_until(lambda: procfs.environment(stray.pid).get(procfs.RUN_MARK), what="its environment")
        scene.end()
        for _ in range(44):
            scene.look(*scene.seen(0))
        (said,) = [r for r in scene.records if r["ev"] == "not_returned"]
        assert (said["reason"], said["final"]) == ("held_by_ours", False)
        assert f"(pid {stray.pid}) of this run is alive" in said["evidence"]
    finally:
        stray.kill()
        stray.wait()
    for _ in range(8):
        scene.look(*scene.seen(0))
    (returned,) = [r for r in scene.records if r["ev"] == "returned"]
    assert returned["seconds"] < 1.1  # from when it was found to be gone


def test_no_library_no_baseline_no_device(scene: Scene) -> None:
    scene.begin([baseline(0)]).spawn()
    found = scene.look(Unavailable("NVML does not start: Driver Not Loaded", "load it"))
    assert [(r["ev"], r["available"], r["reason"]) for r in found] == [
        ("nvml", False, "NVML does not start: Driver Not Loaded; load it")
    ]
    scene.end()
    (said,) = scene.look()
    assert (said["reason"], said["final"], said["gpu"]) == ("unverifiable", True, "0")
    assert "Driver Not Loaded" in said["evidence"]
    assert scene.gpus.is_settled()


def test_without_a_baseline_that_is_said_at_once(scene: Scene) -> None:
    scene.begin(None, gpu_unavailable="the driver did not answer").spawn()
    scene.look(Opened(None, None), Found((device(),)), *scene.seen(BASE))
    scene.end()
    (said,) = scene.look()
    assert (said["reason"], said["final"]) == ("unverifiable", True)
    assert "the driver did not answer" in said["evidence"]
    assert scene.gpus.is_settled()


@pytest.mark.parametrize("document", [{"devices": [{"gpu": 3}]}, {"devices": "x"}, 7, [1]])
def test_a_baseline_that_is_garbage_is_none(scene: Scene, document: object) -> None:
    scene.begin(None, gpus=document).spawn()
    scene.look(Opened(None, None), Found((device(),)))
    scene.end()
    (said,) = scene.look()
    assert said["reason"] == "unverifiable"


def test_a_library_that_never_answers(scene: Scene) -> None:
    scene.begin([baseline(0)]).spawn()
    scene.end()
    found = [r for _ in range(16) for r in scene.look()]
    assert [(r["ev"], r["reason"], r["final"]) for r in found] == [("not_returned", "unverifiable", True)]
    assert scene.gpus.is_settled()


def test_an_attached_job_is_sampled_and_not_judged(scene: Scene) -> None:
    attached = {"attached": {"logs": []}, "gpu_unavailable": "an attached job: no idle baseline could be taken"}
    scene.begin(None, **attached)
    assert scene.said(scene.look(*OPENED, *scene.seen(BASE))) == ["nvml", "device", "device", "gpus", "processes"]
    assert scene.gpus.is_settled()
    for _ in range(60):
        scene.look(*scene.seen(9 * GIB), seconds=2, supervised=False)
    assert not [r for r in scene.records if "returned" in r["ev"]]


def test_a_monitor_leaves_in_the_end_whatever_happens(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.begin([baseline(0)]).spawn()
    scene.look(*OPENED)
    scene.end()
    monkeypatch.setattr(scene.sampler, "take", lambda: 1 // 0)
    scene.look()  # a fault is reported, and costs nothing else
    assert not scene.gpus.is_settled()
    scene.clock.now += 131 * S
    assert scene.gpus.is_settled()


def test_another_monitor_goes_on_where_the_last_one_was(scene: Scene) -> None:
    scene.begin([baseline(0)]).spawn()
    scene.look(*OPENED, *scene.seen(9 * GIB, lost="GPU is lost"))
    before = len(scene.records)
    scene.again()
    assert scene.said(scene.look(*OPENED, *scene.seen(9 * GIB, lost="GPU is lost"))) == []
    assert scene.said(scene.look(*scene.seen(9 * GIB))) == ["found", "gpus"]
    scene.end()
    for _ in range(44):
        scene.look(*scene.seen(9 * GIB))
    assert [r["reason"] for r in scene.records[before:] if r["ev"] == "not_returned"] == ["held_invisible"]
    scene.again()
    scene.look(*OPENED)
    for _ in range(8):
        scene.look(*scene.seen(BASE))
    assert [r["ev"] for r in scene.records if "returned" in r["ev"]] == ["not_returned", "returned"]
    scene.again()
    for _ in range(8):
        scene.look(*OPENED, *scene.seen(9 * GIB))
    assert [r["ev"] for r in scene.records if "returned" in r["ev"]] == ["not_returned", "returned"]
    assert scene.gpus.is_settled()


@pytest.fixture
def gpu_run(tmp_path: Path) -> Iterator[GpuRun]:
    found = GpuRun(tmp_path / f"gpu-{tmp_path.name}-{id(tmp_path):x}", FakeGpus(tmp_path / "nvml", gpus=[gpu(0)]))
    yield found
    found.clean()


def test_a_driver_that_hangs_delays_nothing_else(gpu_run: GpuRun) -> None:
    """A call that takes 5 s: a log's growth and a rank's end are on record as soon as ever, and the silence too."""
    gpu_run.start([rank_argv("sleep")], [baseline(0)])
    gpu_run.wait_for("processes")
    gpu_run.gpus.write([gpu(0)], delay_us=5_500_000)
    time_of_silence = wait_until(lambda: gpu_run.of("silent"), seconds=15)[0]["seconds"]
    assert time_of_silence >= 5
    log = gpu_run.path / "ranks/0/stdout.log"
    before = time.monotonic_ns()
    with log.open("ab") as file:
        file.write(b"step:1 - actor/loss:0.5\n")
    size = log.stat().st_size
    timeline = gpu_run.path / "timeline.jsonl"
    (grown,) = wait_until(lambda: [r for r in records(timeline) if r.get("size") == size], what="its growth")
    assert grown["m"] - before < 3e9  # the driver answers after 5.5 s
    gpu_run.gpus.write([gpu(0)])
    wait_until(lambda: gpu_run.of("silent")[-1]["seconds"] == 0, what="its answer")
    kill(gpu_run.rank())
    gpu_run.wait_for("returned")
    gpu_run.wait_over()


def test_a_removed_run_directory_ends_the_monitor(gpu_run: GpuRun) -> None:
    gpu_run.start([rank_argv("sleep")], [baseline(0)])
    gpu_run.wait_for("gpus")
    pid = gpu_run.rank()
    shim = gpu_run.shim.shim_pids()
    shutil.rmtree(gpu_run.path)
    gpu_run.wait_over()
    for one in (*shim, pid):
        kill(one)


def test_a_monitor_that_dies_between_the_end_and_the_return(gpu_run: GpuRun) -> None:
    gpu_run.gpus.write([gpu(0)], linger_ms=2500)
    gpu_run.start([rank_argv("sleep")], [baseline(0)])
    gpu_run.gpus.claim(0, gpu_run.rank(), "5GiB")
    gpu_run.wait_for("processes")
    kill(gpu_run.rank())
    gpu_run.shim.wait_done()
    gpu_run.monitors[0].kill()
    gpu_run.monitors[0].wait()
    gpu_run.monitor()
    (returned,) = gpu_run.wait_for("returned")
    assert returned["seconds"] > 2
    gpu_run.wait_over()
    assert len(gpu_run.of("nvml")) == len(gpu_run.of("device")) == 1
    gpu_run.monitor()  # as launch does it where it finds no monitor after the end
    gpu_run.wait_over()
    assert gpu_run.verdicts() == [("returned",)]


def has_a_library() -> bool:
    code = "import ctypes; ctypes.CDLL('libnvidia-ml.so.1')"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(has_a_library(), reason="there is an NVIDIA driver here")
def test_a_machine_without_nvidia(gpu_run: GpuRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeGpus, "env", lambda _: {})
    gpu_run.start([rank_argv("sleep")], None)
    gpu_run.wait_for("nvml")
    monitor = gpu_run.monitors[0].pid
    wait_until(lambda: len(os.listdir(f"/proc/{monitor}/task")) == 1, what="the end of the thread")
    maps = Path(f"/proc/{monitor}/maps").read_text()
    assert "nvidia" not in maps
    kill(gpu_run.rank())
    gpu_run.shim.wait_done()
    ended = time.monotonic()
    gpu_run.wait_over()
    assert time.monotonic() - ended < 5  # devices would be waited for twice as long
    assert [(r["ev"], r.get("available")) for r in gpu_run.records] == [("header", None), ("nvml", False)]
