"""All checks of a job at once: order, limits, errors, Ctrl-C, and GPUs that are as they were before."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from support.fake_gpus import FakeGpus, gpu
from support.preflight import job, left_behind
from support.waiting import wait_until

from grpotui_supervisor.preflight import child, devices
from grpotui_supervisor.preflight import run as run_module
from grpotui_supervisor.preflight.check import Result, worst
from grpotui_supervisor.preflight.documents import documents
from grpotui_supervisor.preflight.run import Finished, run, selected

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from grpotui_supervisor.preflight.check import Check, Job, Outcome


@dataclass
class Fake:
    """A check that does what the test says."""

    name: str
    does: Callable[[Job], Result | None] = lambda _: None
    limit_s: float = 20.0
    group: str | None = None
    needs: tuple[str, ...] = ()
    on_request: str | None = None
    uses_gpu_memory: bool = False
    costly: bool = False
    title: str = "A check"
    outcome: Outcome = "passed"
    times: list[float] = field(default_factory=list)

    def run(self, job: Job) -> Result:
        self.times.append(time.monotonic())
        found = self.does(job)
        self.times.append(time.monotonic())
        return found or Result(outcome=self.outcome, evidence=f"{self.name} was here")


def waited(event: threading.Event) -> None:
    event.wait(60)


def results(one: Job, checks: list[Check], **options: Any) -> dict[str, Result]:
    return {finished.name: finished.result for finished in run(one, checks, **options)}


def test_side_by_side_but_one_group_in_order(tmp_path: Path) -> None:
    meet = threading.Barrier(2, timeout=10)

    def together(_: Job) -> None:
        meet.wait()

    first, second = Fake("first", group="gpu"), Fake("second", group="gpu")
    found = results(job(tmp_path), [Fake("a", together), first, Fake("b", together), second])
    assert {result.outcome for result in found.values()} == {"passed"}
    assert first.times[1] <= second.times[0]


def test_what_needs_another_is_not_tried_when_that_failed(tmp_path: Path) -> None:
    last = Fake("last", group="gpu", needs=("broken", "fine"))
    found = results(job(tmp_path), [Fake("fine", group="gpu"), Fake("broken", group="gpu", outcome="failed"), last])
    assert (found["last"].outcome, found["last"].evidence) == ("unchecked", "not tried, since broken failed")
    assert not last.times
    assert results(job(tmp_path), [last])["last"].outcome == "passed"  # alone it is


def test_a_check_that_raises(tmp_path: Path) -> None:
    def fault(_: Job) -> None:
        raise OSError(5, "Input/output error", "/data")

    found = results(job(tmp_path), [Fake("a", fault), Fake("b")])
    assert found["a"].outcome == "unchecked"
    assert found["a"].evidence == "the check itself failed: OSError: [Errno 5] Input/output error: '/data'"
    assert found["b"].outcome == "passed"


def test_a_check_that_does_not_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told to end; if it does not, it is left alone, and the next of its group has its turn."""
    monkeypatch.setattr(run_module, "_SPARE_S", 0.3)
    never, told = threading.Event(), threading.Event()

    def polite(one: Job) -> Result:
        assert one.stopping is not None
        one.stopping.wait(10)
        told.set()
        return Result(outcome="unchecked", evidence="given up")

    checks: list[Check] = [
        Fake("stuck", lambda _: waited(never), limit_s=0.2, group="gpu"),
        Fake("next", group="gpu"),
        Fake("polite", polite, limit_s=0.2),
    ]
    began = time.monotonic()
    found = results(job(tmp_path), checks)
    never.set()
    assert time.monotonic() - began < 10
    assert found["stuck"].evidence == "the check did not come back within 0.2 s"
    assert (found["next"].outcome, found["polite"].evidence) == ("passed", "given up")
    assert told.is_set()


def test_they_come_as_they_end(tmp_path: Path) -> None:
    go = threading.Event()
    coming = run(job(tmp_path), [Fake("slow", lambda _: waited(go)), Fake("quick")])
    assert next(coming).name == "quick"
    go.set()
    assert [finished.name for finished in coming] == ["slow"]


def test_which_are_run(tmp_path: Path) -> None:
    checks: list[Check] = [Fake("a"), Fake("b", on_request="generate")]

    def names(*only: str, asked: frozenset[str] = frozenset()) -> list[str]:
        return [check.name for check in selected(checks, job(tmp_path, on_request=asked), only)]

    assert names() == ["a"]
    assert names(asked=frozenset({"generate"})) == ["a", "b"]
    assert names("b") == ["b"]
    costly = Fake("costly", costly=True)
    assert list(results(job(tmp_path), [Fake("a"), costly], cheaply=True)) == ["a"]
    assert list(results(job(tmp_path), [Fake("a"), costly])) == ["a", "costly"]


SLEEPS = "import time\nfrom grpotui_supervisor.preflight.programs.base import tell\ntell(ok=1)\ntime.sleep(1000)\n"


def test_whoever_stops_ends_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    with open(os.path.join(child._FOLDER, "base.py"), encoding="utf-8") as file:
        (programs / "base.py").write_text(file.read())
    (programs / "own.py").write_text(SLEEPS)
    monkeypatch.setattr(child, "_FOLDER", str(programs))

    def program(one: Job) -> Result:
        answer = child.run_program("own", one, limit_s=100)
        return Result(outcome="unchecked", evidence=answer.words)

    def tick(_running: object, done: int, _total: int) -> None:
        if done == 1 and len(left_behind()) == 2:
            raise KeyboardInterrupt

    checks: list[Check] = [Fake("a", program), Fake("b", program), Fake("quick")]
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        list(run(job(tmp_path), checks, tick=tick))
    assert not left_behind()
    assert time.monotonic() - began < 15


@pytest.fixture
def fakes(tmp_path: Path) -> FakeGpus:
    return FakeGpus(tmp_path / "gpus", gpus=[gpu(0), gpu(1)])


IN_A_PROCESS = """
import json, os, sys
sys.path[:0] = json.loads(sys.argv[1])
from pathlib import Path
from support.preflight import job
from grpotui_supervisor.preflight import devices, run
from grpotui_supervisor.preflight.check import Result
devices.BACK_S = 1.0

class Check:
    name, title, limit_s, uses_gpu_memory = "own", "Own", 10, True
    def run(self, job):
        exec(sys.argv[3])
        return Result(outcome="passed", evidence="ran")

for one in run.run(job(Path(sys.argv[2]), more=os.environ.get("MORE", "")), [Check()]):
    print(one.name, "|", one.result.outcome, "|", one.result.evidence, flush=True)
"""
"""The stand-in for the driver's library is found through LD_LIBRARY_PATH, which is read at the start of a process."""


def with_gpus(fakes: FakeGpus, folder: Path, does: str = "", **env: str) -> list[list[str]]:
    import json  # noqa: PLC0415  (here only)

    words = [sys.executable, "-c", IN_A_PROCESS, json.dumps(sys.path), str(folder), does]
    home = {"GRPOTUI_HOME": str(folder / "home")}
    done = subprocess.run(
        words, env={**os.environ, **fakes.env(), **home, **env}, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return [line.split(" | ") for line in done.stdout.splitlines()]


HOLD = """
import os, subprocess
held = subprocess.Popen(["sleep", "{seconds}"])
open(os.environ["FAKE_NVML_CLAIMS"] + "/1." + str(held.pid) + ".C", "w").write(str(600 << 20))
{after}
"""


def test_the_memory_is_waited_for(fakes: FakeGpus, tmp_path: Path) -> None:
    found = with_gpus(fakes, tmp_path)
    assert [line[:2] for line in found] == [["own", "passed"], ["memory_back", "passed"]]
    assert found[1][2].startswith("2 GPUs are as before the checks, after 0.")
    found = with_gpus(fakes, tmp_path, HOLD.format(seconds=0.7, after=""))
    assert found[1][:2] == ["memory_back", "passed"]
    found = with_gpus(fakes, tmp_path, HOLD.format(seconds=30, after="import atexit; atexit.register(held.kill)"))
    assert found[1][:2] == ["memory_back", "warning"]
    assert "GPU 1 has 600 MiB more in use" in found[1][2]


def test_nothing_is_put_on_a_device_that_somebody_holds(fakes: FakeGpus, tmp_path: Path) -> None:
    holder = subprocess.Popen(["sleep", "1000"])
    try:
        fakes.claim(0, holder.pid, "2GiB")
        ((name, outcome, evidence),) = with_gpus(fakes, tmp_path)
        assert (name, outcome) == ("own", "unchecked")
        assert evidence.startswith("nothing is put on a GPU that is not known to be idle: GPU 0 is not idle: ")
        found = with_gpus(fakes, tmp_path, CUDA_VISIBLE_DEVICES="1")  # the run has the other one
        assert found[0][1] == "passed"
    finally:
        holder.kill()
        holder.wait()


def test_a_check_keeps_to_the_devices_that_the_profile_names(fakes: FakeGpus, tmp_path: Path) -> None:
    """Where the job's environment does not say which it sees: others may be somebody's."""
    seen = 'self.seen = job.environment.get("CUDA_VISIBLE_DEVICES"); print("seen", "|", self.seen, "|", "")'
    uuid = "GPU-00000000-0000-0000-0000-000000000001"
    assert with_gpus(fakes, tmp_path, seen, MORE="[gpus]\ndevices = [1]")[0][:2] == ["seen", uuid]
    assert with_gpus(fakes, tmp_path, seen, MORE="[gpus]\ndevices = []")[0][:2] == ["seen", ""]
    assert with_gpus(fakes, tmp_path, seen)[0][:2] == ["seen", "None"]
    found = with_gpus(fakes, tmp_path, seen, MORE="[gpus]\ndevices = [1]", CUDA_VISIBLE_DEVICES="0,1")
    assert found[0][:2] == ["seen", "0,1"]


def test_a_driver_that_cannot_be_read(tmp_path: Path) -> None:
    """No library: the checks say themselves what they find."""
    found = results(job(tmp_path), [Fake("own", uses_gpu_memory=True)])
    assert {name: result.outcome for name, result in found.items()} == {"own": "passed"}


def test_documents_hold_no_secret(tmp_path: Path) -> None:
    one = job(tmp_path, env={"WANDB_API_KEY": "abcdef-secret"})
    data = {"list": ["abcdef-secret", 1, None], "nested": {"x": 1.5, "nan": float("nan"), "inf": -float("inf")}}
    result = Result(
        outcome="warning", evidence="see abcdef-secret", next="--token=zzzzzzzz", details=("abcdef-secret",), data=data
    )
    (found,) = documents([Finished(name="a", title="A", result=result, seconds=0.12345)], one)
    assert "abcdef-secret" not in str(found)
    assert found["next"] == "--token=<redacted>"
    assert found["seconds"] == 0.123
    assert found["data"]["list"][1:] == [1, None]
    assert found["data"]["nested"] == {"x": 1.5, "nan": "nan", "inf": "-inf"}


def test_the_worst_counts() -> None:
    def of(*outcomes: Outcome) -> Outcome:
        return worst([Result(outcome=outcome, evidence="") for outcome in outcomes])

    assert of("passed", "warning", "failed") == "failed"
    assert of("passed", "unchecked", "warning") == "warning"
    assert of("passed", "not_applicable") == "passed"
    assert of("not_applicable") == of() == "not_applicable"
    assert devices.BACK_S > 0
    assert wait_until(lambda: True)
