"""Writes logs as verl's console and file logger do, of any size, and knows what is in them.

Names and forms are those of our own runs; all text between the records is made up. Deterministic.
"""

from __future__ import annotations

import json
import random
from array import array
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

Row = dict[str, float]

SEED = 7
DRIVER = "\x1b[36m(TaskRunner pid=3417)\x1b[0m "
STATISTICS = ("mean", "max", "min")
NUMPY = (
    *(
        "actor/kl_loss",
        "actor/kl_coef",
        "actor/pg_loss",
        "actor/pg_clipfrac",
        "actor/ppo_kl",
        "actor/pg_clipfrac_lower",
    ),
    *("actor/grad_norm", "perf/mfu/actor", "perf/max_memory_allocated_gb", "perf/max_memory_reserved_gb"),
    *("perf/cpu_memory_used_gb", "actor/lr"),
)
"""What goes through `np.mean`."""

INTS = (
    *(f"global_seqlen/{name}" for name in ("min", "max", "minmax_diff", "balanced_min", "balanced_max")),
    *("training/global_step", "training/epoch", "perf/total_num_tokens"),
)
FLOATS = (
    *("global_seqlen/mean", "actor/entropy", "training/rollout_actor_probs_pearson_corr"),
    *(f"training/rollout_probs_diff_{name}" for name in ("max", "mean", "std")),
    *(f"critic/{name}/{of}" for name in ("score", "rewards", "advantages", "returns") for of in STATISTICS),
    *(f"{name}/{of}" for name in ("response_length", "response_length_non_aborted", "prompt_length")
      for of in (*STATISTICS, "clip_ratio")),
    *("response/aborted_ratio", *(f"num_turns/{of}" for of in STATISTICS)),
    *(f"timing_s/agent_loop/{name}/{of}" for name in ("generate_sequences", "tool_calls") for of in STATISTICS),
    *(f"timing_s/agent_loop/slowest/{name}" for name in ("generate_sequences", "prompt_length", "response_length")),
    *(f"timing_s/{name}" for name in ("start_profile", "gen", "reward", "old_log_prob", "ref", "adv", "update_actor")),
    *(f"timing_s/{name}" for name in ("update_weights", "step", "stop_profile")),
    *(f"timing_per_token_ms/{name}" for name in ("gen", "update_actor", "adv", "ref")),
    *("perf/time_per_step", "perf/throughput"),
)  # fmt: skip
VALIDATION = tuple(f"val-{kind}/openai/gsm8k/{name}/mean@1" for kind in ("core", "aux") for name in ("acc", "reward"))
WHOLE = frozenset(key for key in FLOATS if "length/m" in key or key.startswith("num_turns")) | {
    *("critic/score/max", "critic/score/min", "critic/rewards/max", "critic/rewards/min"),
}
"""Printed as `64.0`, as the largest of a batch is."""

EVERY = 10
"""Steps from one validation to the next."""

WORKER = "\x1b[36m({name} pid=40{a:02d}, ip=10.0.0.{a})\x1b[0m "
VLLM = WORKER.replace("{name}", "vLLMHttpServer") + "INFO 11-29 16:0{e}:{a:02d} "
FSDP = WORKER.replace("{name}", "WorkerDict")
NOISE = (
    "{driver}\rTraining Progress:  {a:2d}%|███▌      | {step}/{total} [{b}:{a:02d}:12<{b}:11:02, {d:.2f}s/it]",
    f"{VLLM}[block_pool.py:3{{a}}] Successfully reset prefix cache",
    (
        f"{VLLM}[loggers.py:118] Engine 000: Avg prompt throughput: {{d:.1f}} tokens/s, Avg generation throughput: "
        "{f:.1f} tokens/s, Running: {a} reqs, Waiting: 0 reqs, GPU KV cache usage: {d:.1f}%"
    ),
    (
        "\x1b[33m(raylet)\x1b[0m [2026-11-29 16:0{e}:{a:02d},{b:03d} E 3417 3417] (raylet) node_manager.cc:3069: {a} "
        "workers were killed for want of memory"
    ),
    (
        f"{FSDP}/usr/lib/python3.11/site-packages/torch/distributed/fsdp/_state_dict.py:680: FutureWarning: "
        "state_dict_type() is deprecated\x1b[32m [repeated {a}x across cluster]\x1b[0m"
    ),
    "{driver}[prompt] user",
    "{driver}A farmer had {a} geese - and {b} more came. How many feet are there? Put #### before the answer.",
    "{driver}[response] step: first we compute {a} + {b} = {c}.",
    "{driver}- so twice {c} is what the {a} geese - and the {b} others - walk on. #### {c}",
    "{driver}[ground_truth] {c}",
    "{driver}[score] {e}",
    (
        f"{FSDP}Rank {{e}} After compute_log_prob, memory allocated (GB): {{d:.2f}}, memory reserved (GB): {{f:.2f}}, "
        "device memory used/total (GB): {f:.2f}/139.72"
    ),
)


@dataclass
class Written:
    """A log and its truth."""

    path: Path
    size: int
    steps: array[int] = field(default_factory=lambda: array("q"))
    values: dict[str, array[float]] = field(default_factory=dict)
    """Of each metric, in order."""

    @property
    def count(self) -> int:
        """How many numbers there are."""
        return sum(len(values) for values in self.values.values())


def metrics(rng: random.Random, step: int) -> Row:
    """One step's metrics: whole numbers, numbers of float32, small and constant ones, as in a real run."""
    row: Row = {key: rng.randrange(10**5) for key in INTS}
    row |= {
        key: float(rng.randrange(4096)) if key in WHOLE else rng.random() * 10 ** rng.randrange(4) for key in FLOATS
    }
    row |= {key: rng.random() for key in NUMPY}
    row |= {"training/global_step": step, "actor/lr": 1e-06, "actor/kl_coef": 0.001, "actor/pg_clipfrac_lower": 0.0}
    row |= {"actor/ppo_kl": -rng.random() * 1e-4, "response/aborted_ratio": 0.0, "prompt_length/clip_ratio": 0.0}
    if step % EVERY == 0:
        row |= {key: rng.random() for key in VALIDATION}
    return row


def console_line(step: int, row: Row, *, numpy: bool) -> str:
    """As verl prints it since 0.5; `numpy` since version 2."""
    dressed = frozenset(NUMPY) if numpy else frozenset[str]()
    fields = (f"{key}:np.float64({value!r})" if key in dressed else f"{key}:{value!r}" for key, value in row.items())
    return f"step:{step} - " + " - ".join(fields)


def noise(rng: random.Random, total: int) -> list[str]:
    """Lines to choose from: making each anew would take most of the time."""
    return [
        template.format(
            driver=DRIVER, total=total, step=rng.randrange(total), a=rng.randrange(1, 99), b=rng.randrange(1, 999),
            c=rng.randrange(10**5), d=rng.random() * 100, e=rng.randrange(8), f=rng.random() * 9000,
        )
        for template in NOISE
        for _ in range(200)
    ]  # fmt: skip


def console(path: Path, size: int, *, lines_a_step: int, numpy: bool = False) -> Written:
    """A merged log of a run behind Ray; between two records there are that many other lines, give or take a fifth."""
    total = 10**6
    rng = random.Random(SEED)
    others = noise(rng, total)
    low, high = lines_a_step * 4 // 5, lines_a_step * 6 // 5

    def texts(row: Callable[[int], Row]) -> Iterator[str]:
        yield f"{DRIVER}Total training steps: {total}\n"
        for step in count(1):
            lines = rng.choices(others, k=rng.randint(low, high))
            lines.append(DRIVER + console_line(step, row(step), numpy=numpy))
            yield "\n".join(lines) + "\n"

    return _write(path, size, rng, texts)


def file_logger(path: Path, size: int, *, spaced: bool) -> Written:
    """The file logger's rows; `spaced` as up to 0.7.0."""
    separators = (", ", ": ") if spaced else (",", ":")

    def texts(row: Callable[[int], Row]) -> Iterator[str]:
        for step in count(1):
            yield json.dumps({"step": step, "data": row(step)}, separators=separators) + "\n"

    return _write(path, size, random.Random(SEED), texts)


def _write(
    path: Path, size: int, rng: random.Random, texts: Callable[[Callable[[int], Row]], Iterator[str]]
) -> Written:
    written = Written(path, 0)

    def row(step: int) -> Row:
        made = metrics(rng, step)
        written.steps.append(step)
        for key, value in made.items():
            written.values.setdefault(key, array("d")).append(value)
        return made

    with path.open("wb") as file:
        for text in texts(row):
            written.size += file.write(text.encode())
            if written.size >= size:
                return written
    return written
