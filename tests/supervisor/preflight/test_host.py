"""The checks of the host: on this machine for what they say of it, on numbers for what they make of others."""

from __future__ import annotations

import json
import os
import resource
import socket
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from support.preflight_jobs import RANKS, VERL, job_of

from grpotui_supervisor.preflight import (
    clock,
    disk,
    hub,
    init_process,
    limits,
    memory_group,
    ports,
    registry,
    scheduler,
    shm,
)
from grpotui_supervisor.shim import procfs

if TYPE_CHECKING:
    from pathlib import Path

    from grpotui_supervisor.preflight.finding import Finding

GIB = 1 << 30
UNLIMITED = resource.RLIM_INFINITY
SAVES = (*VERL, "actor_rollout_ref.model.path=1.7B", "trainer.save_freq=50", "trainer.total_training_steps=200")
TRL = ("t.py", "--model_name_or_path", "Qwen/Qwen3-0.6B", "--output_dir", "out", "--max_steps", "1000")
HOST = (clock, disk, hub, init_process, limits, memory_group, ports, scheduler, shm)


def outcomes(findings: list[Finding]) -> list[str]:
    return [one.outcome for one in findings]


@pytest.mark.parametrize("module", HOST)
def test_every_one_says_something_here_and_changes_nothing(tmp_path: Path, module: Any) -> None:
    job = job_of(tmp_path, *SAVES, mode='mode = "command"')
    before = sorted(os.listdir(tmp_path)), threading.active_count(), psutil.Process().children(recursive=True)
    found = module.CHECK.run(job)
    assert found.outcome in ("passed", "warning", "failed", "unchecked", "not_applicable")
    assert found.evidence
    assert "\n" not in found.evidence
    json.dumps(dict(found.data))
    assert (sorted(os.listdir(tmp_path)), threading.active_count(), psutil.Process().children(recursive=True)) == before


def test_names_in_the_registry_differ_and_stay() -> None:
    names = [check.name for check in registry.CHECKS]
    assert len(set(names)) == len(names)
    assert all(check.name == type(check).__module__.rpartition(".")[2] for check in registry.CHECKS)
    assert all(0 < check.limit_s <= 600 and check.title for check in registry.CHECKS)


# disk


def test_how_many_checkpoints_fit(tmp_path: Path) -> None:
    """1.7 B · (4 + 8) bytes of weights and moments each, after 50, 100, 150 and 200 steps."""
    found = disk.CHECK.run(job_of(tmp_path, *SAVES))
    free = os.statvfs(tmp_path).f_bavail * os.statvfs(tmp_path).f_frsize
    assert f"{free // round(1.7e9 * 12)} checkpoints of about 19.0 GiB" in found.evidence + "".join(found.details)


@pytest.mark.parametrize(
    ("free", "words", "outcome"),
    [
        (1000, (), "passed"),
        (70, (), "warning"),
        (70, ("trainer.max_actor_ckpt_to_keep=2",), "passed"),
        (50, ("trainer.max_actor_ckpt_to_keep=2",), "warning"),  # the oldest goes when the newest is there
        (10, (), "failed"),
    ],
)
def test_checkpoints_that_do_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, words: tuple[str, ...], outcome: str
) -> None:
    monkeypatch.setattr(disk, "_free", lambda _: free * GIB)
    (found,) = disk._checkpoints(job_of(tmp_path, *SAVES, *words))
    assert found.outcome == outcome
    if outcome == "warning":
        assert f"{3 if words else 4} are to be kept" in found.evidence
        assert f"max_actor_ckpt_to_keep={2 if words else 3}" in str(found.next)


def test_what_goes_into_the_run_directory_needs_its_disk(tmp_path: Path) -> None:
    job = job_of(tmp_path / "job", *TRL, "--output_dir={run_dir}/out", env={"GRPOTUI_HOME": str(tmp_path / "state")})
    (found,) = disk._checkpoints(job)
    assert f" free in {tmp_path}: " in found.evidence


def test_an_adapter_of_trl_is_small_and_its_folder_is_the_jobs(tmp_path: Path) -> None:
    whole, adapter = job_of(tmp_path, *TRL), job_of(tmp_path, *TRL, "--use_peft", "--lora_r", "16")
    assert disk.checkpoint_bytes(whole) == (596_049_920 * 14)
    assert (disk.checkpoint_bytes(adapter) or GIB) < GIB
    (found,) = disk._checkpoints(whole)
    assert f" free in {tmp_path}: " in found.evidence
    assert "2 are to be kept" in found.evidence


def test_a_folder_that_cannot_be_written_to(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        folder = "/proc/1"
    else:
        (tmp_path / "closed").mkdir(mode=0o500)
        folder = str(tmp_path / "closed")
    (found,) = disk._checkpoints(job_of(tmp_path, *TRL, f"--output_dir={folder}/x"))
    assert found.outcome in ("failed", "warning")


def test_a_model_that_is_not_known_leaves_the_size_open(tmp_path: Path) -> None:
    (found,) = disk._checkpoints(job_of(tmp_path, *SAVES, "actor_rollout_ref.model.path=someone/new"))
    assert found.outcome == "unchecked"
    assert "free for checkpoints" in found.evidence


def test_rays_sockets_have_short_paths(tmp_path: Path) -> None:
    long = tmp_path / ("x" * 60)
    long.mkdir()
    found = list(disk._ray(job_of(tmp_path, *SAVES, env={"RAY_TMPDIR": str(long)})))
    assert found[0].outcome == "failed"
    assert "Linux takes 107" in found[0].evidence
    assert outcomes(list(disk._ray(job_of(tmp_path, *SAVES, env={"RAY_TMPDIR": "/"}))))[0] != "failed"


@pytest.mark.parametrize(("used", "outcome"), [(0.96, "warning"), (0.94, "passed")])
def test_rays_disk_is_nearly_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, used: float, outcome: str) -> None:
    monkeypatch.setattr(disk, "_used", lambda _: used)
    (found,) = disk._ray(job_of(tmp_path, *SAVES, env={"RAY_TMPDIR": "/"}))
    assert (found.outcome, f"{used:.0%} used" in found.evidence) == (outcome, True)


def test_a_run_that_saves_nothing(tmp_path: Path) -> None:
    assert disk.CHECK.run(job_of(tmp_path, "t.py")).outcome == "not_applicable"
    assert disk.CHECK.run(job_of(tmp_path, *TRL, "--save_strategy", "no")).outcome == "not_applicable"


# shared memory, limits


@pytest.mark.parametrize(
    ("total", "free", "ray", "outcome", "word"),
    [
        (64 << 20, 64 << 20, None, "warning", "--shm-size"),
        (64 * GIB, 1 << 20, None, "warning", "remove what nobody uses"),
        (16 * GIB, 16 * GIB, 38 * GIB, "warning", "object_store_memory"),
        (64 * GIB, 60 * GIB, 38 * GIB, "passed", ""),
        (2 * GIB, 2 * GIB, None, "passed", ""),
    ],
)
def test_shared_memory(total: int, free: int, ray: int | None, outcome: str, word: str) -> None:
    (found,) = shm.judged(total, free, ray)
    assert found.outcome == outcome
    assert word in str(found.next or "")


@pytest.mark.parametrize(
    ("soft", "hard", "ray", "outcome", "word"),
    [
        (1024, 1_048_576, True, "warning", "ulimit -n 65536"),
        (1024, 4096, True, "warning", "hard limit (now 4096)"),
        (1024, 4096, False, "passed", ""),
        (256, UNLIMITED, False, "warning", "ulimit -n 65536"),
        (UNLIMITED, UNLIMITED, True, "passed", ""),
    ],
)
def test_open_files(soft: int, hard: int, ray: bool, outcome: str, word: str) -> None:
    (found,) = limits.files(soft, hard, ray=ray)
    assert found.outcome == outcome
    assert word in str(found.next or "")


def test_processes_and_locked_memory(tmp_path: Path) -> None:
    assert outcomes([*limits.processes(512, ray=False), *limits.processes(2048, ray=True)]) == ["warning", "warning"]
    assert outcomes([*limits.processes(None, ray=True), *limits.processes(2048, ray=False)]) == ["passed", "passed"]
    assert outcomes([*limits.locked(8 << 20, rdma=True)]) == ["warning"]
    assert outcomes([*limits.locked(8 << 20, rdma=False), *limits.locked(UNLIMITED, rdma=True)]) == ["passed", "passed"]
    (tmp_path / "pids").write_text("512\n")
    assert limits._pids_limit(str(tmp_path / "pids")) == 512
    (tmp_path / "pids").write_text("max\n")
    assert limits._pids_limit(str(tmp_path / "pids")) is None


def test_the_limit_of_open_files_is_the_one_that_the_job_inherits(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (600, hard))
    try:
        found = limits.CHECK.run(job_of(tmp_path, "t.py"))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert (found.outcome, found.data["nofile"]) == ("warning", 600)
    assert "600 open files" in found.evidence + "".join(found.details)


# memory of the host


@pytest.mark.parametrize(
    ("limit", "room", "wanted", "ray", "outcome"),
    [
        (None, None, 90, False, "passed"),
        (None, None, 110, False, "failed"),
        (64, 60, 59, False, "passed"),
        (64, 60, 59, True, "failed"),
        (64, 60, 61, False, "failed"),
        (64, 60, None, True, "passed"),
    ],
)
def test_the_host_part_of_the_plan(
    limit: int | None, room: int | None, wanted: int | None, ray: bool, outcome: str
) -> None:
    numbers = [None if one is None else one * GIB for one in (limit, room, wanted)]
    (found,) = memory_group.judged(100 * GIB, *numbers, ray=ray)
    assert found.outcome == outcome
    assert ("a higher limit" in str(found.next)) == (outcome == "failed" and limit is not None)


def test_what_is_offloaded_counts(tmp_path: Path) -> None:
    """8 bytes of Adam's moments for each of 1.7 B parameters."""
    off = "actor_rollout_ref.actor.fsdp_config.optimizer_offload=True"
    assert memory_group._wanted(job_of(tmp_path, *SAVES, off)) == pytest.approx(1.7e9 * 8, rel=0.001)
    assert memory_group._wanted(job_of(tmp_path, *SAVES)) == 0
    assert memory_group._wanted(job_of(tmp_path, *SAVES, off, "trainer.nnodes=2")) is None


# ports


def held(port: int = 0) -> socket.socket:
    found = socket.socket()
    found.bind(("127.0.0.1", port))
    found.listen()
    return found


def test_a_port_in_use_is_named_with_its_holder(tmp_path: Path) -> None:
    with held() as sock:
        port = sock.getsockname()[1]
        found = ports.CHECK.run(job_of(tmp_path, "-m", "torch.distributed.run", f"--master_port={port}", "t.py"))
        assert found.outcome == "failed"
        assert f"port {port} is in use by {procfs.Stat.__name__ and _own_name()} (pid {os.getpid()})" in found.evidence
    free = ports.CHECK.run(job_of(tmp_path, "-m", "torch.distributed.run", f"--master_port={port}", "t.py"))
    assert free.outcome == "passed"


def _own_name() -> str:
    found = procfs.stat(os.getpid())
    assert found is not None
    return found.name


@pytest.mark.parametrize(
    ("words", "env", "port"),
    [
        (("torchrun", "t.py"), {}, 29500),
        (("torchrun", "t.py"), {"MASTER_PORT": "29777"}, 29777),
        (("accelerate", "launch", "--main_process_port", "29600", "t.py"), {}, 29600),
        (("torchrun", "--standalone", "t.py"), {}, None),
        (("t.py",), {}, None),
    ],
)
def test_where_ranks_will_meet(tmp_path: Path, words: tuple[str, ...], env: dict[str, str], port: int | None) -> None:
    assert ports.master_port(job_of(tmp_path, *words, env=env)) == port


def test_the_port_that_ranks_of_grpotui_get(tmp_path: Path) -> None:
    job = job_of(tmp_path, "t.py", mode=RANKS % 2)
    assert ports.master_port(job) == int(job.plan.starts[0].env["MASTER_PORT"])


def test_a_ray_cluster_that_is_there_already(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It leaves its address in a file, also when it has ended."""
    (tmp_path / "ray").mkdir()
    env = {"RAY_TMPDIR": str(tmp_path)}
    with held() as sock:
        monkeypatch.setattr(ports, "_RAY_HEAD", _free())
        (tmp_path / "ray/ray_current_cluster").write_text(f"127.0.0.1:{sock.getsockname()[1]}\n")
        found = ports.CHECK.run(job_of(tmp_path, *SAVES, env=env))
        local = ports.CHECK.run(job_of(tmp_path, *SAVES, env={**env, "RAY_ADDRESS": "local"}))
        named = ports.CHECK.run(job_of(tmp_path, *SAVES, env={**env, "RAY_ADDRESS": "10.0.0.1:6379"}))
        monkeypatch.setattr(ports, "_RAY_HEAD", sock.getsockname()[1])
        other = ports.CHECK.run(job_of(tmp_path, *SAVES, env={"RAY_TMPDIR": str(tmp_path / "none")}))
    assert found.outcome == "warning"
    assert f"(pid {os.getpid()}" in found.evidence
    assert "the job joins it" in found.evidence
    assert "RAY_ADDRESS=local" in str(found.next)
    assert (local.outcome, named.outcome) == ("passed", "passed")
    assert (other.outcome, "another Ray cluster perhaps" in other.evidence) == ("warning", True)
    monkeypatch.setattr(ports, "_RAY_HEAD", _free())
    assert ports.CHECK.run(job_of(tmp_path, *SAVES, env=env)).outcome == "passed"


def _free() -> int:
    with held() as sock:
        return int(sock.getsockname()[1])


# the hub


def cached(home: Path, *files: str, index: tuple[str, ...] = ()) -> dict[str, str]:
    place = home / "hub/models--Qwen--Qwen3-0.6B"
    snapshot = place / "snapshots/abc"
    snapshot.mkdir(parents=True, exist_ok=True)
    (place / "refs").mkdir(exist_ok=True)
    (place / "refs/main").write_text("abc")
    for name in files:
        (snapshot / name).touch()
    if index:
        (snapshot / "model.safetensors.index.json").write_text(
            json.dumps({"weight_map": {name: name for name in index}})
        )
    return {"HF_HOME": str(home)}


def test_a_model_in_the_cache(tmp_path: Path) -> None:
    env = cached(tmp_path / "hf", "config.json", "model.safetensors")
    assert hub.CHECK.run(job_of(tmp_path / "job", *TRL, env=env)).outcome == "passed"
    offline = hub.CHECK.run(job_of(tmp_path / "job", *TRL, env={**env, "HF_HUB_OFFLINE": "1"}))
    assert (offline.outcome, "HF_HUB_OFFLINE is set" in offline.evidence) == ("passed", True)


def test_a_model_that_is_not_whole(tmp_path: Path) -> None:
    """A file that was being fetched is a link into nothing."""
    env = cached(tmp_path / "hf", "config.json", "a.safetensors", index=("a.safetensors", "b.safetensors"))
    os.symlink("../../blobs/none", tmp_path / "hf/hub/models--Qwen--Qwen3-0.6B/snapshots/abc/b.safetensors")
    found = hub.CHECK.run(job_of(tmp_path / "job", *TRL, env={**env, "HF_HUB_OFFLINE": "1"}))
    assert found.outcome == "failed"
    assert "b.safetensors missing" in found.evidence
    assert "hf download Qwen/Qwen3-0.6B" in str(found.next)


def test_what_is_not_in_the_cache_is_only_fetched_online(tmp_path: Path) -> None:
    env = {"HF_HOME": str(tmp_path / "none")}
    words = (*TRL, "--dataset_name", "openai/gsm8k")
    found = hub.CHECK.run(job_of(tmp_path / "job", *words, env=env))
    assert found.outcome == "unchecked"
    assert len(found.details) == 1
    offline = hub.CHECK.run(job_of(tmp_path / "job", *words, env={**env, "HF_DATASETS_OFFLINE": "1"}))
    assert offline.outcome == "failed"
    assert "hf download openai/gsm8k --repo-type dataset" in str(offline.next)


def test_a_folder_is_nothing_on_the_hub(tmp_path: Path) -> None:
    (tmp_path / "models/mine").mkdir(parents=True)
    assert hub.CHECK.run(job_of(tmp_path, "t.py", "--model_name_or_path", "models/mine")).outcome == "not_applicable"
    assert hub.CHECK.run(job_of(tmp_path, "t.py", "--model_name_or_path", "1.7B")).outcome == "not_applicable"


# clock, process 1, scheduler


@pytest.mark.parametrize(
    ("asked", "now", "nodes", "outcome", "word"),
    [
        ((0, 0x2001, 12_000), 1.8e9, 2, "passed", "12 ms"),
        ((5, 0x40, 16_000_000), 1.8e9, 1, "passed", "harms no run"),
        ((5, 0x40, 16_000_000), 1.8e9, 2, "warning", "2 machines"),
        ((0, 0x40, 1), 1.8e9, 2, "warning", "2 machines"),
        ("Operation not permitted", 1.8e9, 1, "unchecked", "Operation not permitted"),
        ((0, 0, 1), 1e9, 1, "failed", "2001-09-09"),
    ],
)
def test_clocks(asked: tuple[int, int, int] | str, now: float, nodes: int, outcome: str, word: str) -> None:
    found = clock.judged(asked, now, nodes)
    assert found.outcome == outcome
    assert word in found.evidence


def test_the_kernel_is_really_asked() -> None:
    """State, status bits and largest error: the layout of `struct timex` is the kernel's."""
    found = clock._asked()
    assert isinstance(found, str) or (0 <= found[0] <= 5 and 0 <= found[1] < 1 << 16 and found[2] >= 0)


def test_process_1() -> None:
    assert init_process.judged("tini", 0).outcome == "passed"
    assert "is not known" in init_process.judged("sleep", 0).evidence
    assert init_process.judged(None, 0).outcome == "unchecked"
    found = init_process.judged("sleep", 3)
    assert (found.outcome, "3 dead processes" in found.evidence) == ("warning", True)
    assert "--init" in str(found.next)


NO_REAPER = """
import os, subprocess, sys, time
if os.getpid() != 1:
    sys.exit("not process 1")
for _ in range(2):  # its parent ends before it
    subprocess.run(["sh", "-c", "sleep 0.05 &"])
subprocess.run(["mount", "-t", "proc", "proc", "/proc"], check=True)
time.sleep(0.5)
from grpotui_supervisor.preflight import init_process
print(len(init_process._zombies()))
init_process._OLD_S = 0
print(init_process.judged("python", len(init_process._zombies())).evidence)
"""


def test_a_first_process_that_does_not_reap() -> None:
    """A real one, in a pid namespace of its own."""
    namespace = ["unshare", "--user", "--map-root-user", "--pid", "--mount", "--fork", "--kill-child"]
    if subprocess.run([*namespace, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this machine makes no pid namespaces")
    done = subprocess.run(
        [*namespace, sys.executable, "-c", NO_REAPER], capture_output=True, text=True, check=False, timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    if "mount" in done.stderr:
        pytest.skip(f"no /proc of its own: {done.stderr[-200:]}")
    assert done.stdout.startswith("0\nprocess 1 (python) has left 2 dead processes unreaped"), done.stderr


def test_slurm() -> None:
    base = {"SLURM_JOB_ID": "17"}
    few = list(scheduler.slurm({**base, "SLURM_GPUS_ON_NODE": "2"}, 4, 0.0))
    assert outcomes(few) == ["passed", "failed"]
    assert "2 GPUs on this node, and the job wants 4" in few[1].evidence
    assert outcomes(list(scheduler.slurm({**base, "SLURM_GPUS_PER_NODE": "a100:8"}, 4, 0.0))) == ["passed"]
    ending = list(scheduler.slurm({**base, "SLURM_JOB_END_TIME": "1600"}, 4, 1000.0))
    assert (ending[1].outcome, "10 min" in ending[1].evidence) == ("warning", True)
    tasks = {**base, "SLURM_NTASKS_PER_NODE": "8", "SLURM_PROCID": "0"}
    assert outcomes(list(scheduler.slurm(tasks, 8, 0.0))) == ["passed", "warning"]


def test_cpus_that_may_be_used(tmp_path: Path) -> None:
    (few,) = scheduler.processors(2, 64, 4, ray=False)
    assert (few.outcome, "for 4 ranks" in few.evidence) == ("warning", True)
    (ray,) = scheduler.processors(15.5, 64, 4, ray=True)
    assert (ray.outcome, ray.next) == ("warning", "ray_kwargs.ray_init.num_cpus=15")
    assert next(scheduler.processors(64, 64, 4, ray=True)).outcome == "passed"
    (tmp_path / "cpu.max").write_text("150000 100000\n")
    assert scheduler._quota(str(tmp_path / "cpu.max")) == 1.5
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert scheduler._quota(str(tmp_path / "cpu.max")) is None


def test_ray_in_a_narrow_affinity(tmp_path: Path) -> None:
    mine = os.sched_getaffinity(0)
    if len(mine) < 2:
        pytest.skip("one CPU only")
    os.sched_setaffinity(0, {min(mine)})
    try:
        found = scheduler.CHECK.run(job_of(tmp_path, *SAVES, "trainer.n_gpus_per_node=1"))
        told = scheduler.CHECK.run(
            job_of(tmp_path, *SAVES, "trainer.n_gpus_per_node=1", "ray_kwargs.ray_init.num_cpus=1")
        )
    finally:
        os.sched_setaffinity(0, mine)
    assert (found.outcome, found.next) == ("warning", "ray_kwargs.ray_init.num_cpus=1")
    assert told.outcome == "passed"
