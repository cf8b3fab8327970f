"""The hook in real processes, with stand-ins for the trainer: what it records, and that it never disturbs."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.hooked import HOOK, Job
from support.runs import records
from support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterable

TRAIN = "from trl.grpo import GRPOTrainer; GRPOTrainer().train()"
PYTHONS = [word for word in os.environ.get("GRPOTUI_TEST_PYTHONS", "").split(os.pathsep) if word]
"""Other interpreters, from 3.8 on."""


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path)


def told(found: Iterable[dict[str, Any]]) -> list[str]:
    """Names of events, and of the sections with their begin and end."""
    names: dict[int, str] = {}
    lines = []
    for record in found:
        if record["ev"] == "begin":
            names[record["seq"]] = record["name"].partition(".")[2]
            lines.append(f"+{names[record['seq']]}")
        elif record["ev"] == "end":
            lines.append(f"-{names[record['begin']]}")
        else:
            lines.append(record["ev"])
    return lines


STEP = [
    "step_begin", "+_prepare_inputs", "+transformers.generate", "-transformers.generate", "+shortness", "-shortness",
    "-_prepare_inputs", "+compute_loss", "-compute_loss", "step_end", "log",
]  # fmt: skip


@pytest.mark.parametrize("generation", ["class", "generator"])
def test_everything_the_trainer_says_is_on_record(tmp_path: Path, generation: str) -> None:
    job = Job(tmp_path, generation=generation)
    done = job.run(TRAIN)
    assert (done.returncode, done.stderr) == (0, "")
    found = job.records()
    end = ["+_save_checkpoint", "-_save_checkpoint", "save", "train_end"]
    assert told(found) == ["header", "train_begin", *STEP, *STEP, *end]
    assert [r["step"] for r in found if r["ev"] in ("step_begin", "step_end", "log")] == [0, 1, 1, 1, 2, 2]
    assert [r["logs"] for r in found if r["ev"] == "log"] == [{"loss": 1 / 3, "epoch": 0.5}] * 2
    assert next(r for r in found if r["ev"] == "train_begin")["max_steps"] == 2
    assert next(r for r in found if r["ev"] == "save")["path"] == str(tmp_path / "out/checkpoint-2")
    kinds = {r["name"]: r.get("kind") for r in found if r["ev"] == "begin"}
    assert kinds["GRPOTrainer.shortness"] == ("reward" if generation == "generator" else None)


@pytest.mark.skipif(not PYTHONS, reason="GRPOTUI_TEST_PYTHONS names no other interpreter")
@pytest.mark.parametrize("python", PYTHONS or [""])
def test_other_interpreters(tmp_path: Path, python: str) -> None:
    job = Job(tmp_path, python=python)
    done = job.run(TRAIN)
    assert (done.returncode, done.stderr) == (0, "")
    assert told(job.records())[:2] == ["header", "train_begin"]


@pytest.mark.parametrize("path", sorted(Path(HOOK).parent.rglob("*.py")), ids=lambda path: path.name)
def test_its_files_are_python_3_8(path: Path) -> None:
    ast.parse(path.read_text(), feature_version=(3, 8))


def test_a_section_under_way_is_seen_and_outlives_sigkill(job: Job) -> None:
    process = job.start(
        "import time; from trl.grpo import GRPOTrainer\n"
        "trainer = GRPOTrainer(); trainer.inside = lambda: time.sleep(600); trainer.train()"
    )
    try:
        inside = ["+transformers.generate"]
        wait_until(lambda: job.paths() and told(records(job.paths()[0]))[-1:] == inside, what="the section's begin")
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert told(job.records())[-2:] == ["+_prepare_inputs", "+transformers.generate"]


def test_errors_of_the_job_pass_and_are_named(job: Job) -> None:
    done = job.run(
        "from trl.grpo import GRPOTrainer\n"
        "def fail(): raise ZeroDivisionError('theirs')\n"
        "trainer = GRPOTrainer()\n"
        "try: trainer.save_model()\n"
        "except OSError as error: print(error)\n"
        "trainer.inside = fail\n"
        "trainer.train()"
    )
    assert (done.returncode, done.stdout) == (1, "no room\n")
    assert done.stderr.endswith("ZeroDivisionError: theirs\n")
    assert [r["error"] for r in job.records() if "error" in r] == ["OSError", "ZeroDivisionError", "ZeroDivisionError"]


def test_numbers_that_json_does_not_know(job: Job) -> None:
    more = "kl=i - i, a=i, b=-i, c=None, d='x', e=True"
    job.run(f"from trl.grpo import GRPOTrainer; i = float('inf')\nGRPOTrainer({more}).train()")
    (logs, _) = [r["logs"] for r in job.records() if r["ev"] == "log"]
    assert logs == {"loss": 1 / 3, "epoch": 0.5, "kl": "nan", "a": "inf", "b": "-inf", "c": None, "e": 1.0}


def test_a_process_without_a_trainer_writes_nothing(job: Job) -> None:
    done = job.run("import sys, json, random; print([m for m in sys.modules if 'grpotui' in m], sys.path)")
    assert done.returncode == 0
    assert done.stdout.startswith("[] ")
    assert HOOK not in done.stdout
    assert not list((job.folder / "run").iterdir())


@pytest.mark.parametrize("flags", [["-I"], ["-S"], ["-E"]], ids=" ".join)
def test_where_python_ignores_it_there_is_no_hook(job: Job, flags: list[str]) -> None:
    site = str(job.folder / "site")
    done = job.run(f"import sys; sys.path.insert(0, {site!r}); {TRAIN}", *flags)
    assert (done.returncode, done.stderr, job.paths()) == (0, "", [])


def test_another_sitecustomize_runs_as_if_alone(job: Job) -> None:
    job.write("site/sitecustomize.py", "import os, sys; print('theirs', __file__, 'sitecustomize' in sys.modules)")
    job.write("user/lib/python/site-packages/usercustomize.py", "")
    done = job.run(f"import sitecustomize; print(sitecustomize.__file__); {TRAIN}")
    theirs = str(job.folder / "site/sitecustomize.py")
    assert done.stdout == f"theirs {theirs} True\n{theirs}\n"
    assert told(job.records())[1] == "train_begin"


def test_a_broken_sitecustomize_is_reported_as_without_the_hook(job: Job) -> None:
    job.write("site/sitecustomize.py", "raise RuntimeError('theirs')")
    with_hook = job.run("print(1)")
    without = job.run("print(1)", PYTHONPATH=str(job.folder / "site"))
    assert (with_hook.returncode, with_hook.stdout) == (0, "1\n")
    assert with_hook.stderr == without.stderr != ""


def test_usercustomize_runs(tmp_path: Path) -> None:
    """Not in a virtual environment, where Python itself leaves it out."""
    job = Job(tmp_path, python=str(Path(sys.executable).resolve()))
    base = {"PYTHONUSERBASE": str(tmp_path / "user")}
    folder = job.run("import site; print(site.USER_SITE)", **base).stdout.strip()
    job.write(os.path.relpath(folder, tmp_path) + "/usercustomize.py", "print('user')")
    assert job.run(TRAIN, **base).stdout == "user\n"
    assert told(job.records())[1] == "train_begin"


def test_a_torch_that_cannot_be_imported_fails_as_it_would(job: Job) -> None:
    job.write("site/torch.py", "raise OSError('libcudart.so: cannot open shared object file')")
    job.write("site/transformers/trainer.py", "import torch")
    done = job.run(TRAIN)
    assert done.returncode == 1
    assert done.stderr.endswith("OSError: libcudart.so: cannot open shared object file\n")
    assert "sitecustomize" not in done.stderr.rpartition("  File")[2]


def test_a_directory_that_cannot_be_written(job: Job) -> None:
    (job.folder / "run/ranks").write_text("a file")
    done = job.run(TRAIN)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_full_disk_loses_lines_and_says_how_many(job: Job) -> None:
    """The limit on a file's size stands for it: a line is cut short, the next ones are refused."""
    done = job.run(
        "import resource as r; from trl.grpo import GRPOTrainer\n"
        "trainer, calls = GRPOTrainer(steps=3), []\n"
        "def inside():\n"
        "    calls.append(1)\n"
        "    if len(calls) < 3: r.setrlimit(r.RLIMIT_FSIZE, (900 if len(calls) == 1 else 1 << 20, r.RLIM_INFINITY))\n"
        "trainer.inside = inside\n"
        "trainer.train(); print(trainer.state.global_step)"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "3\n", "")
    (path,) = job.paths()
    found = records(path)
    assert [record["seq"] for record in found] == list(range(1, len(found) + 1))
    (first,) = [record for record in found if "lost" in record]
    assert first["lost"] > 5
    assert len(path.read_bytes().split(b"\n")) > len(found) + 1  # the torn line is still there
    assert told([r for r in found if r["ev"] != "end"])[-1] == "train_end"


def test_a_forked_child_has_its_own_file(job: Job) -> None:
    done = job.run(
        "import os; from trl.grpo import GRPOTrainer\n"
        "trainer = GRPOTrainer(steps=1)\n"
        "def inside():\n"
        "    trainer.inside = lambda: None\n"
        "    if os.fork() == 0:\n"
        "        trainer._prepare_inputs()\n"
        "        return\n"  # and so the sections end that the parent began
        "    print(os.wait()[1])\n"
        "parent = os.getpid(); trainer.inside = inside; trainer._prepare_inputs()\n"
        "os.getpid() == parent or os._exit(0)\n"
        "trainer.train()\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")
    parent, child = sorted(map(records, job.paths()), key=len, reverse=True)
    assert told(parent)[:8] == ["header", *STEP[1:7], "train_begin"]
    assert told(child) == ["header", *STEP[1:7], *STEP[4:6]]
    assert {r["pid"] for r in (parent[0], child[0])} == {int(p.stem.partition("-")[2]) for p in job.paths()}


def test_spawned_children_and_threads(job: Job) -> None:
    job.write(
        "site/work.py",
        "from trl.grpo import GRPOTrainer\ndef work(): GRPOTrainer()._prepare_inputs()\n",
    )
    done = job.run(
        "import multiprocessing as mp, threading\nfrom work import work\n"
        "process = mp.get_context('spawn').Process(target=work); process.start(); process.join()\n"
        "thread = threading.Thread(target=work); thread.start(); thread.join()\n"
        "print(process.exitcode)"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")
    files = [records(path) for path in job.paths()]
    assert [told(found) for found in files] == [["header", *STEP[1:7]]] * 2
    assert sorted(all(r.get("main") is False for r in found if r["ev"] == "begin") for found in files) == [False, True]


def test_a_closed_descriptor_is_nobody_else_s_file(job: Job) -> None:
    """A job that closes all descriptors and opens a file of its own must not find our lines in it."""
    done = job.run(
        "import os; from trl.grpo import GRPOTrainer\n"
        "trainer, files = GRPOTrainer(steps=1), []\n"
        "def inside():\n"
        "    os.closerange(3, 64)\n"
        "    files.extend(open(f'theirs-{i}', 'wb') for i in range(8))\n"
        "trainer.inside = inside; trainer.train()"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [path.read_bytes() for path in job.folder.glob("theirs-*")] == [b""] * 8


@pytest.mark.parametrize(
    "code", ["import os; os._exit(7)", "raise SystemExit(7)", "import os; os.kill(os.getpid(), 11)"]
)
def test_the_job_ends_as_it_would(job: Job, code: str) -> None:
    with_hook = job.run(f"{TRAIN}; {code}").returncode
    assert with_hook == job.run(f"{TRAIN}; {code}", GRPOTUI_HOOK="").returncode
    assert with_hook in (7, -signal.SIGSEGV)


def test_a_launcher_s_worker_goes_by_its_rank(job: Job) -> None:
    job.run(TRAIN, GRPOTUI_RANK="driver", RANK="3")
    assert (job.records("3")[0]["member"], job.records("3")[0]["rank"]) == ("3", 3)


def test_a_module_that_was_there_before_the_hook_is_patched_too(job: Job) -> None:
    """Files ending in .pth run before sitecustomize; a folder of our own stands for site-packages."""
    early = f"import sys; sys.path.insert(0, {str(job.folder / 'site')!r}); import trl.grpo; import runpy\n"
    late = f"runpy.run_path({os.path.join(HOOK, 'sitecustomize.py')!r}, run_name='sitecustomize')\n"
    for generation in ("class", "generator"):
        folder = job.folder / generation
        folder.mkdir()
        other = Job(folder, generation=generation)
        sys_modules = "import types; sys.modules['sitecustomize'] = types.ModuleType('sitecustomize')\n"
        code = early.replace(str(job.folder / "site"), str(folder / "site")) + sys_modules + late + TRAIN
        done = other.run(code, "-S", PYTHONPATH="")
        assert (done.returncode, done.stderr) == (0, "")
        assert told(other.records())[2:13] == STEP


def test_torch_memory_is_read_where_cuda_is_in_use(job: Job) -> None:
    stats = {
        f"{kind}_bytes.all.{which}": 10 * len(kind) + len(which)
        for kind in ("allocated", "reserved")
        for which in ("current", "peak")
    }
    job.write(
        "site/torch/__init__.py",
        "import types\nready = []\n"
        f"stats = {stats!r}\n"
        "def memory_stats(device):\n"
        "    ready or open('touched', 'w')\n"
        "    return stats if device == 1 else dict.fromkeys(stats, 0)\n"
        "cuda = types.SimpleNamespace(memory_stats=memory_stats, device_count=lambda: 2)\n"
        "cuda.is_initialized = lambda: bool(ready)\n",
    )
    job.write("site/transformers/trainer.py", "import torch\nclass Trainer: pass\n")
    body = "import torch; from trl.grpo import GRPOTrainer as T; t = T(); t._save_checkpoint = lambda *a: 'saved'\n"
    job.run(body + "t.train()")
    assert [r for r in job.records() if r["ev"] == "torch_memory"] == []
    assert not (job.folder / "touched").exists()
    job.paths()[0].unlink()
    job.run(body + "torch.ready.append(1); t.train()")
    (found,) = [r for r in job.records() if r["ev"] == "torch_memory"]  # the whole job took less than 0.25 s
    assert {key: found[key] for key in found if key not in ("ev", "t", "m", "seq")} == {
        "device": 1, "allocated_bytes": 97, "reserved_bytes": 87, "max_allocated_bytes": 94, "max_reserved_bytes": 84,
    }  # fmt: skip


def test_what_it_costs_where_no_trainer_is_imported(job: Job) -> None:
    """Far above the 0.4 ms that it takes, so that a busy machine does not fail it."""
    load = f"runpy.run_path({HOOK + '/sitecustomize.py'!r})"
    code = f"import runpy, time; begin = time.perf_counter(); {load}; print(time.perf_counter() - begin)"
    times = [float(job.run(code, "-S").stdout) for _ in range(5)]
    assert min(times) < 0.05


def test_a_context_without_room_for_a_mark_works_as_before(job: Job) -> None:
    done = job.run(
        "import sys; from trl.extras.profiling import ProfilingContext\n"
        "class Nameless(ProfilingContext):\n"
        "    def __init__(self): pass\n"
        "    @property\n"
        "    def __dict__(self): raise RuntimeError\n"
        "with Nameless() as inside: print(type(inside).__name__)"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "Nameless\n", "")


def test_a_finder_of_an_old_kind_is_passed_over(job: Job) -> None:
    done = job.run(f"import sys; sys.meta_path.insert(1, object()); {TRAIN}")
    without = job.run(f"import sys; sys.meta_path.insert(1, object()); {TRAIN}", GRPOTUI_HOOK="")
    assert (done.returncode, done.stderr) == (without.returncode, without.stderr)


def test_the_folder_on_the_path_holds_nothing_that_a_job_could_import(job: Job) -> None:
    """Without `site` nobody takes it off the path again."""
    assert [path.name for path in Path(HOOK).iterdir() if path.name != "__pycache__"] == ["sitecustomize.py"]
    done = job.run("import record", "-S")
    assert done.stderr.endswith("ModuleNotFoundError: No module named 'record'\n")


def test_a_subprocess_of_the_job_has_it_too(job: Job) -> None:
    done = job.run(f"import subprocess, sys; print(subprocess.call([sys.executable, '-c', {TRAIN!r}]))")
    assert done.stdout == "0\n"
    assert told(job.records())[1] == "train_begin"


def test_it_is_not_imported_for_an_interpreter_that_is_none(job: Job) -> None:
    """A program in the job that is not Python, or an older Python, is not disturbed."""
    done = subprocess.run(
        ["/bin/sh", "-c", "echo fine"], env=job.environment, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("fine\n", "")
