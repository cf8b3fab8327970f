"""GPUs as people see them: status, the lines while a run goes on, and its end."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest
from support.gpu_documents import GIB, SECOND, GpuRun, baseline, device, hostile, in_use, locked, process, reading
from support.hostile import HOSTILE, harmless
from support.schemas import check_lines

from grpotui.awaiting import await_return
from grpotui.gpu_text import gpu_lines
from grpotui.gpu_words import names, return_lines
from grpotui.ndjson import NdJson
from grpotui.plain import Plain
from grpotui.show import status_text
from grpotui_supervisor.source.changes import Changes
from grpotui_supervisor.source.now import update_now

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

    from support.runs import Home

    from grpotui.following import FrontEnd


def shown(run: GpuRun, width: int = 200, until: int | None = None) -> list[str]:
    return gpu_lines(run.status(until), width)


def test_a_device_on_a_line(tmp_path: Path) -> None:
    run = in_use(tmp_path / "run")
    first = "GPU 0  H200  baseline 0 B  now 5.3 GiB of 140 GiB  86 %  612 W  41 °C"
    assert shown(run) == [
        f"{first}  rank 0 (pid 4711) 5.0 GiB · 300.0 MiB of nobody listed",
        "GPU 1  H200  baseline 0 B  now 4.0 GiB of 140 GiB  86 %  612 W  41 °C  rank 1 (pid 4712) 4.0 GiB",
        "also here: GPU 2 python of bob (pid 99, not of this run) 20.0 GiB",
    ]
    assert shown(run, 80)[:2] == [
        first,
        "       rank 0 (pid 4711) 5.0 GiB · 300.0 MiB of nobody listed",
    ]
    assert all(len(line) <= 80 for line in shown(run, 80))


def test_who_is_there(tmp_path: Path) -> None:
    run = in_use(tmp_path / "run")
    owners = ("probably", "before", "other", "unseen")
    listed = [process(5000 + at, GIB, owner=owner) for at, owner in enumerate(owners)]
    run.gpu("processes", gpu="0", reason=None, list=[process(4720, None, name="VLLM::EngineCore"), *listed])
    run.gpu("processes", gpu="1", reason=None, list=[])
    run.gpu("processes", gpu="2", reason=None, list=[])
    run.read(_0=6 * GIB, _1=0, _2=0)
    first, second, *others = shown(run, 400)
    for words in (
        "VLLM::EngineCore of rank 0 (pid 4720) · ", "python (pid 5000, probably of this run) 1.0 GiB",
        "python (pid 5001, there before) 1.0 GiB", "python of ada (pid 5002, not of this run) 1.0 GiB",
        "pid 5003 (not visible here) 1.0 GiB",
    ):  # fmt: skip
        assert words in first
    assert second.endswith("nobody visible here")
    assert others == []
    assert "free" not in "".join(shown(run))
    run.read(_2=20 * GIB)
    assert shown(run)[-1] == "also here: GPU 2 20.0 GiB used, nobody visible here"


def test_what_is_old_or_not_there_is_not_shown_as_now(tmp_path: Path) -> None:
    run = GpuRun.make(tmp_path / "run", [baseline("0")])
    run.start()
    assert shown(run) == ["GPU 0  H200  baseline 0 B  not read yet"]
    run.monitor("0")
    m = run.read(_0=GIB)
    (line,) = shown(run, until=m + 42 * SECOND)
    assert line.startswith("GPU 0  H200  baseline 0 B  42s ago: 1.0 GiB of 140 GiB")
    assert "now" not in line
    assert "86 %" not in line
    run.gpu("lost", gpu="0", reason="GPU is lost")
    assert "GPU is lost; 1s ago: 1.0 GiB of 140 GiB" in shown(run)[0]
    run.gpu("silent", seconds=5.0)
    assert shown(run)[0] == "NVML has not answered for 5s: what is shown of GPUs is older"


def test_without_gpus_the_reason_stands_there(tmp_path: Path) -> None:
    run = GpuRun.make(tmp_path / "run", None)
    assert shown(run) == ["gpus: unavailable (the driver's library is not there)"]


def test_the_three_readings_stand_side_by_side(tmp_path: Path) -> None:
    document = in_use(tmp_path / "run").status()
    counters = {
        "allocated_bytes": 3 * GIB,
        "reserved_bytes": 6 * GIB,
        "max_allocated_bytes": 0,
        "max_reserved_bytes": 0,
    }
    document["torch_memory"] = [{"member": "0", "pid": 4711, "device": 0, "age_s": 0.5, **counters}]
    document["memory_lines"] = [
        {"member": "1", "process": None, "label": "After FSDP", "step": 3, "age_s": age, "device_total_bytes": None,
         "allocated_bytes": GIB * at, "reserved_bytes": GIB * at, "device_used_bytes": GIB * at}
        for at, age in ((7, 90.0), (2, 5.0))
    ]  # fmt: skip
    lines = gpu_lines(document, 400)
    assert "rank 0 (pid 4711): torch allocated 3.0 GiB, reserved 6.0 GiB; driver 5.0 GiB on GPU 0" in lines
    said = "rank 1, in the log at 'After FSDP', 5s ago: torch allocated 2.0 GiB, torch reserved 2.0 GiB"
    assert f"{said}, driver 2.0 GiB on the whole device" in lines


def ended(path: Path, count: int) -> GpuRun:
    keys = [str(index) for index in range(count)]
    run = GpuRun.make(path, [baseline(key) for key in keys])
    run.start()
    run.monitor(*keys)
    run.end()
    return run


def test_after_the_end_one_line_says_that_all_are_back(tmp_path: Path) -> None:
    run = ended(tmp_path / "eight", 8)
    unknown = "whether GPUs 0-7 are back was not on record then"
    assert shown(run) == [unknown]
    for index in range(8):
        run.returned(str(index), seconds=0.1 * (index % 7))
    assert shown(run) == ["GPUs 0-7 are back at their baseline, at most 0.6 s after the last process ended"]
    one = ended(tmp_path / "one", 1)
    one.returned()
    assert shown(one) == ["GPU 0 is back at its baseline (0 B), 0.4 s after the last process ended"]


def test_after_the_end_each_that_is_not_back_has_its_reason(tmp_path: Path) -> None:
    run = ended(tmp_path / "run", 3)
    run.returned("0")
    run.not_returned("1", "residue", evidence="305 MiB used, nobody listed", final=True)
    assert shown(run) == [
        "GPU 0 is back at its baseline (0 B), 0.4 s after the last process ended",
        "GPU 1 is not back, a residue: 305 MiB used, nobody listed",
        "whether GPU 2 is back was not on record then",
    ]
    document = run.status()
    document["monitor"]["alive"] = False
    assert return_lines(document)[-1] == "whether GPU 2 is back was not seen: nobody watched to the end"


def test_names() -> None:
    assert names(["3"]) == "GPU 3"
    assert names(["0", "2", "3", "4", "9"]) == "GPUs 0, 2-4, 9"
    assert names(["0:1", "0:2"]) == "GPUs 0:1, 0:2"


def test_changes_in_both_forms(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = GpuRun.make(tmp_path / "run", [baseline("0"), baseline("1")])
    run.start()
    run.monitor("0", "1")
    for number, severity in ((79, "gpu"), (45, "note")):
        run.gpu("xid", gpu="1", xid=number, name=None, severity=severity)
    run.gpu("lost", gpu="1", reason="GPU is lost")
    run.gpu("found", gpu="1")
    run.gpu("silent", seconds=5.0)
    run.gpu("silent", seconds=0)
    run.gpu("nvml", available=False, reason="mismatch", driver=None, cuda=None)
    run.adopt()
    run.exit()
    run.write("ranks", "ranks_done", leftovers=[])
    run.gpu("processes", gpu="0", reason=None, list=[process(4720, GIB, start=78)])
    fronts: list[FrontEnd] = [Plain(), NdJson()]
    seen = [Changes(), Changes()]
    for front, changes in zip(fronts, seen, strict=True):
        source = run.source()
        front.show(source, changes.of(source, source.run))
    out, err = capsys.readouterr()
    for line in (
        "GPU 1: Xid 79; the device or its driver", "GPU 1 is lost: GPU is lost", "GPU 1 answers again",
        "NVML has not answered for 5s", "NVML answers again", "NVML cannot be used any more: mismatch",
        "still alive: pid 4720 VLLM::EngineCore (of rank 0), holds 1.0 GiB on GPU 0",
    ):  # fmt: skip
        assert line in err.splitlines()
    assert "Xid 45" not in err
    kinds = [line["ev"] for line in check_lines("stream", out.splitlines())]
    for kind in ("xid", "gpu_lost", "gpu_found", "nvml_silent", "nvml", "leftover"):
        assert kind in kinds
    run.write("ranks", "orphan_exit", pid=4720, start=78, how="exited", code=0, signal=None, signo=None, core=False)
    run.write("ranks", "done")
    run.returned("0")
    run.not_returned("1")
    for front, changes in zip(fronts, seen, strict=True):
        source = run.source()
        front.show(source, changes.of(source, source.run))
    out, err = capsys.readouterr()
    said = "GPU 1 is still releasing, held by nobody visible here: 305 MiB used, nobody listed"
    assert err.splitlines() == [said]  # of the other the end tells
    kinds = [line["ev"] for line in check_lines("stream", out.splitlines())]
    assert kinds == ["gpu_returned", "gpu_not_returned", "state"]


@pytest.mark.parametrize("text", [piece.decode("utf-8", "replace") for piece in HOSTILE.values()], ids=HOSTILE)
def test_hostile_names_do_not_reach_a_terminal(tmp_path: Path, text: str) -> None:
    run = in_use(tmp_path / "run")
    hostile(run, text)
    assert harmless(status_text(run.source(), run.status()))
    run.end(ranks=2)
    run.not_returned("0", evidence=text)
    assert harmless(status_text(run.source(), run.status()))


def test_a_hostile_gpu_run_by_the_command_line(home: Home) -> None:
    run = in_use(home.path / "runs" / "hostile-1")
    home.path.chmod(0o700)
    for piece in HOSTILE.values():
        hostile(run, piece.decode("utf-8", "replace"))
    for words in (("status",), ("replay", "--plain"), ("replay", "--json")):
        done = home.run(*words[:1], str(run.path), *words[1:])
        assert done.returncode == 0, done.stderr
        assert harmless(done.stdout + done.stderr)


def waiting(run: GpuRun, pauses: list[Any]) -> tuple[bool, list[str]]:
    """`await_return`, doing what `pauses` say in each pause."""
    said: list[str] = []
    source = run.source()

    def pause() -> bool:
        time.sleep(0.02)
        act = pauses.pop(0) if pauses else None
        stopped = bool(act and act())
        update_now(source)
        return stopped

    return await_return(source, pause=pause, say=said.append), said


def test_the_wait_lasts_until_each_device_has_its_final_word(tmp_path: Path) -> None:
    run = ended(tmp_path / "run", 2)
    lock = locked(run, "monitor.lock")
    acts = [lambda: run.returned("0") and None, lambda: run.not_returned("1") and None, lambda: None,
            lambda: run.not_returned("1", "residue", final=True) and None]  # fmt: skip
    try:
        assert waiting(run, acts) == (True, [])
        assert acts == []
    finally:
        os.close(lock)


def test_the_wait_ends_with_control_c_and_without_a_monitor(tmp_path: Path) -> None:
    run = ended(tmp_path / "run", 2)
    lock = locked(run, "monitor.lock")
    assert waiting(run, [lambda: None, lambda: True]) == (False, [])
    os.close(lock)
    begin = time.monotonic()
    assert waiting(run, []) == (True, [])
    assert time.monotonic() - begin < 10


def test_without_gpus_nothing_is_waited_for(tmp_path: Path) -> None:
    run = GpuRun.make(tmp_path / "run", None)
    run.start()
    run.end()
    assert waiting(run, [lambda: True]) == (True, [])


def test_what_is_waited_for_is_said_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grpotui.awaiting._SAID_AFTER_S", 0.05)
    run = ended(tmp_path / "run", 2)
    lock = locked(run, "monitor.lock")
    run.returned("0")
    _, said = waiting(run, [None] * 20 + [lambda: True])
    os.close(lock)
    assert said == ["waiting for the memory of GPU 1 to come back; Ctrl-C ends the waiting"]


def test_launch_s_end_waits_for_the_word_and_control_c_keeps_the_code(home: Home) -> None:
    """An attached client of an ended run, with a monitor that has not said its word yet."""
    run = ended(home.path / "runs" / "ended-1", 1)
    home.path.chmod(0o700)
    lock = locked(run, "monitor.lock")
    try:
        client = home.start("attach", str(run.path))
        _wait_for_begin(client)
        client.send_signal(signal.SIGINT)
        _, err = client.communicate(timeout=20)
        assert client.returncode == 0, err
        assert "passed: every rank exited 0" in err
        client = home.start("attach", str(run.path))
        _wait_for_begin(client)
        run.returned("0")
    finally:
        os.close(lock)
    _, err = client.communicate(timeout=20)
    assert (client.returncode, err.splitlines()[-1]) == (
        0,
        "GPU 0 is back at its baseline (0 B), 0.4 s after the last process ended",
    )


def _wait_for_begin(client: subprocess.Popen[str]) -> None:
    """From its first line on it takes Ctrl-C itself."""
    assert client.stderr is not None
    assert client.stderr.readline().startswith("run ended-1")


def test_devices_that_are_slowed_or_at_fault(tmp_path: Path) -> None:
    run = in_use(tmp_path / "run")
    run.gpu("gpus", read={"0": reading(GIB, clocks=0x48), "1": reading(None, power=None)})
    run.gpu("xid", gpu="1", xid=79, name="GPU has fallen off the bus", severity="gpu")
    run.gpu("device", **device("1", kind="v1"))
    first, second, *_ = shown(run, 400)
    assert "slowed by HW slowdown and HW thermal" in first
    assert "memory not told" in second
    assert "Xid 79 (GPU has fallen off the bus) 1s ago" in second
