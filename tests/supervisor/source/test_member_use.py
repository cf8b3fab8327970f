"""What a member uses, as the records tell it: CPU between two samples, bytes on the devices; and who owns the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from support.gpu_documents import GIB, SECOND, GpuRun, baseline, process
from support.schemas import check

from grpotui_supervisor.source.source import Source
from grpotui_supervisor.source.status import status

if TYPE_CHECKING:
    from pathlib import Path


def document(run: GpuRun) -> dict[str, Any]:
    source = Source(run.directory)
    source.update(None)
    found = status(source)
    check("status", found)
    return found


def use(run: GpuRun) -> tuple[Any, Any, Any]:
    (member,) = document(run)["ranks"]
    return member["cpu_percent"], member["gpus"], member["gpu_bytes"]


def sample(run: GpuRun, cpu_s: float, m: int | None = None) -> None:
    run.write("host", "member", m=m, member="0", rss_bytes=GIB, cpu_s=cpu_s, processes=1)


def test_cpu_is_known_from_the_second_sample_on(tmp_path: Path) -> None:
    run = GpuRun.make(tmp_path / "run", [baseline()])
    run.start()
    sample(run, 5.0)
    assert use(run)[0] is None
    sample(run, 8.0, m=run.now + 2 * SECOND)
    assert use(run)[0] == 150.0
    sample(run, 1.0)  # one of its processes has ended, and took its time with it
    assert use(run)[0] is None
    sample(run, 1.5)
    assert use(run)[0] == 50.0
    run.exit()
    assert use(run)[0] is None


def test_bytes_on_the_devices_are_those_of_all_its_processes(tmp_path: Path) -> None:
    run = GpuRun.make(tmp_path / "run", [baseline("0"), baseline("1")])
    run.start()
    run.monitor("0", "1")
    assert use(run)[1:] == ([], None)
    run.gpu("processes", gpu="0", reason=None, list=[process(4711, GIB), process(9, 2 * GIB), process(8, member="1")])
    run.gpu("processes", gpu="1", reason=None, list=[process(9, 3 * GIB), process(5, owner="other")])
    assert use(run)[1:] == (["0", "1"], 6 * GIB)
    run.gpu("processes", gpu="1", reason=None, list=[process(9, None)])
    assert use(run)[1:] == (["0", "1"], None)
    run.exit()
    assert use(run)[1:] == ([], None)


def test_the_shim_is_the_one_that_was_recorded_last(tmp_path: Path) -> None:
    run = GpuRun.make(tmp_path / "run", [baseline()])
    assert document(run)["shim"] is None
    run.write("ranks", "shim", worker=10, worker_start=1, guard=11, guard_start=2, adopt=False)
    assert document(run)["shim"] == {"worker": 10, "guard": 11}
