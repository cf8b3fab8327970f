"""The memory plan: the figures of published tables from nominal sizes, phases and offloads, and what is not known."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import grpotui_supervisor.plan as package
from grpotui_supervisor.errors import PlanError, UsageError
from grpotui_supervisor.plan.machine import parse_cards
from grpotui_supervisor.plan.memory import MemoryPlan, Phase, plan
from grpotui_supervisor.plan.parameters import adapter, parameters
from grpotui_supervisor.plan.request import Lora, Model, Request, Rollout, Training
from grpotui_supervisor.plan.shape import shape_of
from grpotui_supervisor.plan.units import GB, GIB, both, gb, parse_bytes, parse_count

MODELS = json.loads(Path(package.__file__).with_name("models.json").read_text())
FOUR = parse_cards("4x32GB", host="128GB")
NOMINAL = Rollout(share=0.4)


def nominal(size: str) -> Model:
    return Model(name=size, parameters=parse_count(size))


def known(name: str) -> Model:
    shape = shape_of(MODELS[name])
    return Model(name=name, parameters=parameters(shape), shape=shape)


def part(phase: Phase, name: str) -> int:
    (found,) = (one.size for one in phase.parts if one.name == name)
    return found


def named(found: MemoryPlan, name: str) -> Phase:
    return next(phase for phase in found.phases if phase.name == name)


@pytest.mark.parametrize(
    ("size", "actor", "card", "verdict"),
    [
        ("0.6B", 10, 2.5, "free"),
        ("1.7B", 27, 7, "comfortable"),
        ("4B", 64, 16, "tight"),
        ("8B", 128, 32, "does not fit"),
    ],
)
def test_nominal_sizes_give_the_published_table(size: str, actor: float, card: float, verdict: str) -> None:
    """Four cards of 32 GB, 16 bytes a parameter, the engine's share 0.4: the table's figures, to their rounding."""
    found = plan(Request(model=nominal(size), training=Training(), rollout=NOMINAL), FOUR)
    (phase,) = found.phases
    state = sum(one.size for one in phase.parts if one.name != "engine")
    assert state * 4 / GB == pytest.approx(actor, rel=0.05)
    assert state / GB == pytest.approx(card, rel=0.05)
    assert part(phase, "engine") / GB == pytest.approx(12.8)
    assert found.verdict(phase) == verdict
    assert any("config.json is not known" in word for word in found.unknown)


def test_eight_billion_fit_with_an_adapter() -> None:
    training = Training(lora=Lora(rank=32, parameters=None), optimizer_offload="between")
    found = plan(Request(model=nominal("8B"), training=training, rollout=NOMINAL), FOUR)
    assert found.whole in ("free", "comfortable")
    assert any("adapter" in word for word in found.unknown)


def test_figures_that_cannot_be_reproduced_are_not_matched() -> None:
    """A published guide gives 7 B · 8 bytes = 56 GB a card of eight; with FSDP over 8 cards it is 14 GB at 16 bytes."""
    eight = parse_cards("8x80GB")
    (phase,) = plan(Request(model=nominal("7B"), training=Training(), rollout=Rollout(engine="none")), eight).phases
    assert phase.total / GB == pytest.approx(14)


def test_one_card_divides_nothing() -> None:
    request = Request(model=nominal("4B"), training=Training(), rollout=NOMINAL)
    (phase,) = plan(request, parse_cards("32GB")).phases
    assert part(phase, "weights") + part(phase, "gradients") + part(phase, "optimizer") == 64 * GB


@pytest.mark.parametrize(
    ("sharding", "weights", "gradients", "optimizer"),
    [("ddp", 8, 8, 48), ("zero1", 8, 8, 12), ("zero2", 8, 2, 12), ("zero3", 2, 2, 12), ("fsdp", 2, 2, 12)],
)
def test_what_each_strategy_divides(sharding: str, weights: float, gradients: float, optimizer: float) -> None:
    training = Training(sharding=sharding)  # type: ignore[arg-type]
    (phase,) = plan(Request(model=nominal("4B"), training=training, rollout=NOMINAL), FOUR).phases
    assert (part(phase, "weights"), part(phase, "gradients"), part(phase, "optimizer")) == (
        weights * GB,
        gradients * GB,
        optimizer * GB,
    )


def test_an_offloaded_optimizer_leaves_the_generation_and_comes_back_for_the_update() -> None:
    """verl loads it before the update; DeepSpeed's CPU Adam never does."""
    request = Request(model=known("Qwen/Qwen3-4B"), training=Training(micro_tokens=3000), rollout=NOMINAL)
    stays = plan(request, FOUR)
    between = plan(replace(request, training=replace(request.training, optimizer_offload="between")), FOUR)
    always = plan(replace(request, training=replace(request.training, optimizer_offload="always")), FOUR)
    size = part(named(stays, "update"), "optimizer")
    assert size == pytest.approx(request.model.parameters * 12 / 4)
    assert named(stays, "generate").total - named(between, "generate").total == size
    assert named(stays, "update").total == named(between, "update").total
    assert named(stays, "update").total - named(always, "update").total == size
    assert between.host_total == always.host_total == size * 4
    assert stays.host_total == 0


def test_the_host_is_added_up_and_may_be_what_does_not_fit() -> None:
    training = Training(parameter_offload="between", optimizer_offload="between", reference="host", method="fp32")
    found = plan(Request(model=known("Qwen/Qwen3-8B"), training=training, rollout=NOMINAL), FOUR)
    assert found.host_total == pytest.approx(known("Qwen/Qwen3-8B").parameters * (4 + 8 + 2), abs=10)
    assert found.whole == found.verdict(found.fullest)  # 114.7 of 128 GB: the host does not decide
    small = plan(Request(model=known("Qwen/Qwen3-8B"), training=training, rollout=NOMINAL),
                 parse_cards("4x80GB", host="64GB"))  # fmt: skip
    assert small.whole == "does not fit"


def test_the_engines_mean_different_things_by_their_share() -> None:
    def engine(name: str) -> int:
        rollout = Rollout(engine=name, share=0.5)  # type: ignore[arg-type]
        request = Request(model=known("Qwen/Qwen3-4B"), training=Training(), rollout=rollout)
        return part(named(plan(request, FOUR), "generate"), "engine")

    resident = round(known("Qwen/Qwen3-4B").parameters * 2 / 4) + round(known("Qwen/Qwen3-4B").parameters * 12 / 4)
    assert engine("vllm") == 16 * GB
    assert engine("vllm-global") == 16 * GB - resident
    assert engine("sglang") == (32 * GB - resident) // 2


def test_logits_are_the_largest_part_of_a_small_model() -> None:
    """Qwen3-0.6B filled 49 GiB at batch 4, 2048 + 1024 tokens (trl#3456): not by its weights."""
    training = Training(sharding="none", micro_tokens=4 * (2048 + 1024))
    request = Request(model=known("Qwen/Qwen3-0.6B"), training=training, rollout=Rollout(engine="none"))
    (phase,) = plan(request, parse_cards("80GB")).phases
    assert max(phase.parts, key=lambda one: one.size).name == "logits"
    assert part(phase, "logits") == pytest.approx(20.87 * GIB, rel=0.01)
    fused = plan(replace(request, training=replace(training, fused_logits=True)), parse_cards("80GB"))
    assert "logits" not in {one.name for one in fused.phases[0].parts}


def test_an_adapter_is_counted_from_the_shape() -> None:
    shape = shape_of(MODELS["Qwen/Qwen3-8B"])
    assert adapter(shape, 32) == 36 * 32 * ((4096 + 4096) * 2 + (4096 + 1024) * 2 + (4096 + 12288) * 3)


def test_a_model_that_is_not_known_is_not_guessed() -> None:
    with pytest.raises(PlanError, match="model_type 'mamba' are not known"):
        parameters(shape_of(MODELS["Qwen/Qwen3-0.6B"] | {"model_type": "mamba"}))
    with pytest.raises(PlanError, match="no hidden_size"):
        shape_of({"model_type": "qwen3"})
    with pytest.raises(PlanError, match="'many', not a whole number"):
        shape_of(MODELS["Qwen/Qwen3-0.6B"] | {"num_hidden_layers": "many"})


def test_units_are_labelled_and_a_bare_number_is_no_size() -> None:
    assert both(32 * GB) == "32.0 GB (29.8 GiB)"
    assert (parse_bytes("8 GiB"), parse_bytes("80gb"), gb(0.04 * GB)) == (8 * GIB, 80 * GB, "0.04 GB")
    for text in ("32", "thirty GB", "", "1e9GB"):
        with pytest.raises(UsageError):
            parse_bytes(text)
    with pytest.raises(UsageError):
        parse_cards("0x32GB")
