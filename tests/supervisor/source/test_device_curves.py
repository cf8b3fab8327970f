"""The memory of devices as curves: the driver's reading and torch's beside it, as of any moment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.gpu_documents import GIB, SECOND, GpuRun, baseline, process

from grpotui_supervisor.rundir import RunDirectory
from grpotui_supervisor.source.device_curves import DeviceCurves
from grpotui_supervisor.source.source import Source

if TYPE_CHECKING:
    from grpotui_supervisor.source.device_curves import Reading

H200 = Path(__file__).parents[2] / "data" / "runs" / "h200"
TORCH: tuple[Reading, ...] = ("torch allocated", "torch reserved")


def test_the_driver_s_readings_in_gib_over_seconds_since_the_start(tmp_path: Path) -> None:
    run = GpuRun.make(tmp_path / "run", [baseline("0")])
    run.start()
    run.monitor("0")
    run.read(_0=3 * GIB)
    source = run.source()
    found = DeviceCurves(source).curve("0", "driver")
    assert list(found.values) == [0.0, 3.0]
    assert list(found.x) == [(m - (source.start_m or 0)) / SECOND for m in source.gpus.history["0"].moments]
    assert DeviceCurves(source).curve("7", "driver").values.tolist() == []


def test_only_what_is_new_is_told_again() -> None:
    source = Source(RunDirectory(str(H200 / "normal")))
    source.update(None)
    curves = DeviceCurves(source)
    whole = curves.curve("0", "driver")
    rest = curves.curve("0", "driver", 5, whole.version)
    assert rest.begin == 5
    assert list(rest.x) == list(whole.x[5:])
    assert curves.curve("0", "driver", 5, whole.version + 1).begin == 0


def test_those_that_take_the_place_of_others_tell_everything_anew() -> None:
    source = Source(RunDirectory(str(H200 / "one-gpu")))
    source.update(None)
    before = DeviceCurves(source)
    version = before.curve("0", "driver").version
    assert DeviceCurves(source, after=before).curve("0", "driver", 3, version).begin == 0


def test_torch_of_the_process_that_the_driver_lists_there() -> None:
    source = Source(RunDirectory(str(H200 / "normal")))
    source.update(None)
    curves = DeviceCurves(source)
    for gpu in ("0", "1"):
        allocated, reserved = (curves.curve(gpu, reading) for reading in TORCH)
        assert len(allocated.values) == len(reserved.values) > 5
        assert all(a <= r for a, r in zip(allocated.values, reserved.values, strict=True))
    assert curves.curve("0", TORCH[0]).values != curves.curve("1", TORCH[0]).values


def test_torch_is_not_told_apart_where_several_processes_are_on_a_device() -> None:
    source = Source(RunDirectory(str(H200 / "normal")))
    source.update(None)
    seen = source.gpus.devices[0]
    curves = DeviceCurves(source)
    before = curves.curve("0", TORCH[0])
    seen.listed |= source.gpus.devices[1].listed
    after = curves.curve("0", TORCH[0], len(before.x), before.version)
    assert len(before.x)
    assert (after.begin, list(after.values)) == (0, [])


def test_other_people_s_processes_are_nobody_s_torch(tmp_path: Path) -> None:
    run = GpuRun.make(tmp_path / "run", [baseline("0")])
    run.start()
    run.monitor("0")
    run.gpu("processes", gpu="0", reason=None, list=[process(4711), process(99, owner="other")])
    run.gpu("processes", gpu="0", reason=None, list=[])
    assert run.source().gpus.devices[0].listed == {4711}


def test_phases_in_seconds_the_last_one_until_the_end() -> None:
    source = Source(RunDirectory(str(H200 / "sigkill")))
    source.update(None)
    curves = DeviceCurves(source)
    found = curves.phases(0.0, 52.0, 100) or []
    assert found[-1].phase == "generate"
    assert found[-1].end == pytest.approx(52.0)
    assert all(one.begin < one.end for one in found)
    assert [one.phase for one in found].count("update") == 3
    assert curves.phases(0.0, 52.0, 3) is None
