"""`grpotui plan`."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
from typing import TYPE_CHECKING, Any

import click

from grpotui.cli.options import examples, json_option
from grpotui_supervisor import planning, rundir
from grpotui_supervisor.errors import UsageError
from grpotui_supervisor.plan.advice import advice
from grpotui_supervisor.plan.cache_plan import cache_plan
from grpotui_supervisor.plan.machine import parse_cards
from grpotui_supervisor.plan.request import Lora, Rollout, Training
from grpotui_supervisor.plan.units import parse_bytes
from grpotui_supervisor.profiles import load_profile
from grpotui_supervisor.used_memory import of_run

if TYPE_CHECKING:
    from grpotui_supervisor.plan.batches import Batches
    from grpotui_supervisor.plan.cache_plan import CachePlan
    from grpotui_supervisor.plan.machine import Machine
    from grpotui_supervisor.plan.memory import MemoryPlan
    from grpotui_supervisor.plan.request import Request
    from grpotui_supervisor.planning import Planned
    from grpotui_supervisor.used_memory import Used

SCHEMA = 1
_EXAMPLES = examples(
    "grpotui plan --model Qwen/Qwen3-4B --gpus 4x32GB --share 0.4 --micro-tokens 3000",
    "grpotui plan --model 1.7B --gpus 4x32GB --share 0.4      nominal: only its size is known",
    "grpotui plan verl-qwen3-1.7b-4x32gb                      a profile, also one for another machine",
    "grpotui plan --run demo-2026                             a run: what was planned, and what it used",
)


@click.command(epilog=_EXAMPLES)
@click.argument("profile", required=False)
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Change a value of the profile.")
@click.option("--model", metavar="MODEL", help="A config.json or its folder, a known name, or a size: 1.7B.")
@click.option("--parameters", metavar="N", help="Number of parameters, where it cannot be counted: 7.6B.")
@click.option("--gpus", metavar="CARDS", help="The cards: 4x32GB (GB are 10^9 bytes, GiB 2^30).")
@click.option("--host", metavar="SIZE", help="Memory of the host: 128GB.")
@click.option("--method", type=click.Choice(["mixed", "fp32", "bf16", "adam8bit", "sgd"]), default="mixed")
@click.option("--sharding", type=click.Choice(["none", "ddp", "zero1", "zero2", "zero3", "fsdp"]), default="fsdp")
@click.option("--lora", type=click.IntRange(1), metavar="RANK", help="Train an adapter of this rank.")
@click.option("--offload", multiple=True, type=click.Choice(["weights", "optimizer", "reference"]))
@click.option("--reference", is_flag=True, help="There is a reference model (a KL term).")
@click.option("--engine", type=click.Choice(["vllm", "vllm-global", "sglang", "none"]), default="vllm")
@click.option("--share", type=click.FloatRange(0, 1), help="gpu_memory_utilization or mem_fraction_static.")
@click.option("--kv-cache", metavar="SIZE", help="KV cache of a card, where it is given outright: 8GiB.")
@click.option("--tp", type=click.IntRange(1), default=1, help="Tensor parallelism of the engine.")
@click.option("--length", type=click.IntRange(1), help="Tokens of prompt and answer at most.")
@click.option("--sequences", type=click.IntRange(1), help="Sequences at once (max_num_seqs).")
@click.option("--micro-tokens", type=click.IntRange(1), help="Tokens of a micro batch on one card.")
@click.option("--run", metavar="RUN", help="A run: its plan beside what it really used of its GPUs.")
@click.option("--awake", is_flag=True, help="The engine keeps its memory during updates (sleep mode off).")
@json_option
def command(profile: str | None, *, as_json: bool, **given: Any) -> int:  # noqa: ANN401  (click's options)
    """Compute what a job needs before it is started: memory of a card in each phase, KV cache, batches.

    Of PROFILE, or of --model on --gpus. Nothing is started and no GPU is looked at, so a profile for another machine
    can be planned here. The exit code is 3 where it does not fit or a batch rule fails. With --run it is the plan of a
    run, beside what it used.
    """
    machine = None if given["gpus"] is None else parse_cards(given["gpus"], host=given["host"])
    if given["run"] is not None:
        return _beside(given["run"], profile, machine, given, as_json=as_json)
    planned = _of_model(machine, given) if profile is None else _of_profile(profile, machine, given)
    _print(document(planned) if as_json else None, planned, None)
    return _code(planned)


def _beside(run: str, profile: str | None, machine: Machine | None, given: dict[str, Any], *, as_json: bool) -> int:
    """The plan of a run's own profile, beside what the run used."""
    if profile is not None:
        raise UsageError("PROFILE and --run exclude each other", hint="a run is planned by its own profile")
    root = rundir.root(os.environ)
    used = of_run(rundir.find(run, root), machine=machine, model=given["model"])
    _print({**document(used.planned), "used": used_fields(used)} if as_json else None, used.planned, used)
    return 0


def _print(fields: dict[str, Any] | None, planned: Planned | None, used: Used | None) -> None:
    """As JSON where there are fields, else as text."""
    if fields is not None:
        click.echo(json.dumps(fields))
        return
    from grpotui.plan_text import plan_lines, used_lines  # noqa: PLC0415  (not for --json)

    lines = [] if planned is None else plan_lines(planned, shutil.get_terminal_size().columns)
    click.echo("\n".join([*lines, *([] if used is None else used_lines(used))]))


def _code(planned: Planned) -> int:
    failed = planned.batches is not None and planned.batches.severity == "failed"
    return 3 if failed or (planned.memory is not None and planned.memory.whole == "does not fit") else 0


def _of_model(machine: Machine | None, given: dict[str, Any]) -> Planned:
    if given["model"] is None or machine is None:
        raise UsageError("a plan needs a PROFILE, or --model and --gpus", hint="--model 1.7B --gpus 4x32GB")
    offload = set(given["offload"])
    training = Training(
        method=given["method"],
        sharding=given["sharding"],
        lora=None if given["lora"] is None else Lora(rank=given["lora"], parameters=None),
        parameter_offload="between" if "weights" in offload else "no",
        optimizer_offload="between" if "optimizer" in offload else "no",
        reference="host" if "reference" in offload else "card" if given["reference"] else "none",
        micro_tokens=given["micro_tokens"],
    )
    rollout = Rollout(
        engine=given["engine"],
        share=given["share"],
        cache_bytes=None if given["kv_cache"] is None else parse_bytes(given["kv_cache"]),
        tensor_parallel=given["tp"],
        length=given["length"],
        sequences=given["sequences"],
        sleeps=not given["awake"],
    )
    model = planning.find_model(given["model"], count=given["parameters"])
    return planning.of_model(model, machine, training, rollout)


def _of_profile(word: str, machine: Machine | None, given: dict[str, Any]) -> Planned:
    loaded = load_profile(word, settings=given["settings"])
    machine = machine or planning.machine_of(loaded.profile)
    return planning.of_profile(loaded.profile, machine, model=given["model"], folder=os.path.dirname(loaded.path))


def document(planned: Planned | None) -> dict[str, Any]:
    """The plan as JSON; sizes in bytes. None: of a run that cannot be planned."""
    if planned is None:
        nothing = dict.fromkeys(("model", "memory", "kv_cache", "batches"))
        return {"schema": SCHEMA, **nothing, "mistakes": [], "used": None}
    request, memory = planned.request, planned.memory
    return {
        "schema": SCHEMA,
        "model": {
            "name": request.model.name,
            "parameters": request.model.parameters,
            "nominal": request.model.is_nominal,
        },
        "memory": None if memory is None else _memory(request, memory),
        "kv_cache": _cache(cache_plan(request, memory)),
        "batches": None if planned.batches is None else _batches(planned.batches),
        "mistakes": list(planned.mistakes),
        "used": None,
    }


def _memory(request: Request, memory: MemoryPlan) -> dict[str, Any]:
    return {
        "cards": memory.machine.cards,
        "card_bytes": memory.machine.card_bytes,
        "host_bytes": memory.machine.host_bytes,
        "phases": [
            {
                "name": phase.name,
                "bytes": phase.total,
                "certain_bytes": phase.certain,
                "verdict": memory.verdict(phase),
                "parts": [
                    {"name": part.name, "bytes": part.size, "estimate": part.is_estimate, "why": part.why}
                    for part in phase.parts
                ],
            }
            for phase in memory.phases
        ],
        "host": [{"name": part.name, "bytes": part.size, "why": part.why} for part in memory.host],
        "verdict": memory.whole,
        "change_first": advice(request, memory),
        "not_counted": list(memory.unknown),
    }


def _cache(cache: CachePlan | None) -> dict[str, Any] | None:
    if cache is None:
        return None
    return {
        "token_bytes": cache.token_bytes,
        "budget_bytes": cache.budget,
        "upper_bound": cache.is_upper_bound,
        "tokens": cache.tokens,
        "sequences": cache.sequences,
        "wanted": cache.wanted,
        "need_bytes": cache.need,
    }


def _batches(batches: Batches) -> dict[str, Any]:
    return {
        "facts": dict(batches.facts),
        "broken": [
            {"rule": one.rule, "severity": one.severity, "evidence": one.evidence, "next": one.next}
            for one in batches.broken
        ],
    }


def used_fields(used: Used) -> dict[str, Any]:
    """`used` of the document."""
    return {
        "run": used.run,
        "unplanned": used.unplanned,
        "gpus": [dataclasses.asdict(device) for device in used.devices],
        "gpu_unavailable": used.unread,
        "torch": [dataclasses.asdict(one) for one in used.torch],
    }
