"""Stand-ins for transformers and TRL of both generations, and processes of a job with the hook in them."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import grpotui_supervisor
from support.runs import records
from support.schemas import check_lines

if TYPE_CHECKING:
    from pathlib import Path

HOOK = os.path.join(os.path.dirname(grpotui_supervisor.__file__), "hook", "path")

CALLBACKS = """
class CallbackHandler:
    def __init__(self, model=None):
        self.model = model
        self.told = []
    def call_event(self, event, args, state, control, **kwargs):
        self.told.append(event)
        return control
"""
for _name in ("train_begin", "step_begin", "step_end", "save", "train_end"):
    CALLBACKS += f"    def on_{_name}(self, args, state, control, **kwargs):\n"
    CALLBACKS += f"        return self.call_event('on_{_name}', args, state, control, **kwargs)\n"
CALLBACKS += "    def on_log(self, args, state, control, logs, **kwargs):\n"
CALLBACKS += "        return self.call_event('on_log', args, state, control, logs=logs, **kwargs)\n"

TRAINER = """
from transformers.trainer_callback import CallbackHandler
class Trainer:
    def _save_checkpoint(self, model, trial):
        return 'saved'
    def save_model(self, output_dir=None):
        raise OSError('no room')
    def evaluate(self, *args):
        return {}
"""

DECORATOR = """
def profiling_decorator(func):
    @functools.wraps(func)
    def wrapper(self, *args, **kwargs):
        with profiling_context(self, func.__name__):
            return func(self, *args, **kwargs)
    return wrapper
"""

GENERATOR = (
    """
import contextlib, functools
@contextlib.contextmanager
def profiling_context(trainer, name):
    yield
"""
    + DECORATOR
)

CLASS = (
    """
import functools, time
class ProfilingContext:
    def __init__(self, name):
        self.name, self._start_time = name, None
    def __enter__(self):
        self._start_time = time.perf_counter()
        return self
    def __exit__(self, exc_type, exc_val, exc_tb):
        return False
def profiling_context(trainer, name):
    return ProfilingContext(f'{trainer.__class__.__name__}.{name}')
"""
    + DECORATOR
)

GRPO = """
import types
from transformers.trainer import Trainer
from transformers.trainer_callback import CallbackHandler
from trl.extras.profiling import profiling_context, profiling_decorator
class GRPOTrainer(Trainer):
    def __init__(self, model=None, steps=2, **metrics):
        self.reward_funcs = [shortness]
        self.args = types.SimpleNamespace(output_dir='out')
        self.state = types.SimpleNamespace(global_step=0, max_steps=steps, is_world_process_zero=True)
        self.handler, self.metrics = CallbackHandler(model), metrics
        self.inside = lambda: None
    @profiling_decorator
    def _prepare_inputs(self):
        with profiling_context(self, 'transformers.generate'):
            self.inside()
        with profiling_context(self, 'shortness'):
            shortness([])
        return 'inputs'
    @profiling_decorator
    def compute_loss(self):
        return 1.5
    def on(self, event, **more):
        return getattr(self.handler, 'on_' + event)(self.args, self.state, 'control', **more)
    def train(self):
        self.on('train_begin')
        while self.state.global_step < self.state.max_steps:
            self.on('step_begin')
            assert self._prepare_inputs() == 'inputs'
            assert self.compute_loss() == 1.5
            self.state.global_step += 1
            self.on('step_end')
            assert self.on('log', logs={'loss': 1 / 3, 'epoch': 0.5, **self.metrics}) == 'control'
        assert self._save_checkpoint(None, None) == 'saved'
        self.on('save')
        self.on('train_end')
def shortness(completions):
    return [0.0 for _ in completions]
"""


@dataclass
class Job:
    """A folder with the stand-ins, and what processes with the hook left in its run directory."""

    folder: Path
    generation: str = "class"
    wanted: str = "phases,torch_memory,parameters"
    python: str = sys.executable
    files: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        profiling = {"class": CLASS, "generator": GENERATOR}[self.generation]
        self.write("site/transformers/__init__.py", "")
        self.write("site/transformers/trainer_callback.py", CALLBACKS)
        self.write("site/transformers/trainer.py", TRAINER)
        self.write("site/trl/__init__.py", "")
        self.write("site/trl/extras/__init__.py", "")
        self.write("site/trl/extras/profiling.py", profiling)
        self.write("site/trl/grpo.py", GRPO)
        (self.folder / "run").mkdir(exist_ok=True)

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    @property
    def environment(self) -> dict[str, str]:
        own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "GRPOTUI_", "RANK"))}
        path = os.pathsep.join((HOOK, str(self.folder / "site")))
        marks = {"GRPOTUI_HOOK": self.wanted, "GRPOTUI_RUN_DIR": str(self.folder / "run"), "GRPOTUI_RANK": "0"}
        # No __pycache__: the hook's folder is the checkout's.
        return {**own, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", "GRPOTUI_HOOK_NODE": "node-0", **marks}

    def start(self, code: str, *flags: str, **env: str) -> subprocess.Popen[str]:
        command = [self.python, *flags, "-c", code]
        return subprocess.Popen(
            command, cwd=self.folder, env={**self.environment, **env}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def run(self, code: str, *flags: str, **env: str) -> subprocess.CompletedProcess[str]:
        process = self.start(code, *flags, **env)
        try:
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def paths(self) -> list[Path]:
        return sorted(self.folder.glob("run/ranks/*/probe-*.jsonl"))

    def records(self, member: str = "0") -> list[dict[str, Any]]:
        """Those of the member's only file, each one as its schema says."""
        (path,) = self.folder.glob(f"run/ranks/{member}/probe-*.jsonl")
        found = records(path)
        check_lines("probe", path.read_bytes().splitlines())
        assert [record["seq"] for record in found] == list(range(1, len(found) + 1))
        return found
