"""A plan as text: a bar for each phase of a card, how every part was computed, what follows from the batches. Pure."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

from grpotui.text import inert
from grpotui_supervisor.plan.advice import advice
from grpotui_supervisor.plan.cache_plan import cache_plan
from grpotui_supervisor.plan.states import MEANINGS
from grpotui_supervisor.plan.units import both, gb, gib

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grpotui_supervisor.plan.batches import Batches
    from grpotui_supervisor.plan.memory import MemoryPlan, Phase
    from grpotui_supervisor.plan.request import Request
    from grpotui_supervisor.planning import Planned
    from grpotui_supervisor.used_memory import Device, Used

_GLYPHS: Final = {
    "weights": "█", "gradients": "▓", "optimizer": "▒", "reference": "≡", "engine": "░", "engine asleep": "░",
    "gathered": "+", "activations": "a", "logits": "l", "context": "c",
}  # fmt: skip
_LEAST_BAR: Final = 20
_BESIDE: Final = 52
"""Columns of a phase's line beside its bar."""
_SIGNS: Final = {"failed": "✖ failed", "warning": "▲ warning", "information": "● note"}


def plan_lines(planned: Planned, width: int) -> list[str]:
    """All of it, of lines as wide as the terminal where they can be."""
    request, memory = planned.request, planned.memory
    lines = [*_head(request, memory)]
    if memory is not None:
        lines += ["", *_phases(memory, width), *_parts(memory), *_host(memory)]
    lines += _cache(request, memory)
    if planned.batches is not None:
        lines += ["", *_batches(planned.batches)]
    lines += [f"▲ {inert(mistake)}" for mistake in planned.mistakes]
    lines += _end(request, memory) if memory is not None else []
    return [piece for line in lines for piece in _wrapped(line, width)]


def _wrapped(line: str, width: int) -> list[str]:
    """What goes on in a further line is indented below it; bars are as wide as they were made."""
    indent = len(line) - len(line.lstrip()) + 4
    if len(line) <= width or "|" in line or width <= indent + 20:
        return [line]
    return textwrap.wrap(line, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)


def _head(request: Request, memory: MemoryPlan | None) -> Iterator[str]:
    model, training, rollout = request.model, request.training, request.rollout
    nominal = "; the number in its name, nothing that needs its shape is computed" if model.is_nominal else ""
    yield f"{inert(model.name)}: {model.parameters / 1e9:.4g} B parameters{nominal}"
    if memory is not None:
        yield f"  {memory.machine.words()}"
    method = f"LoRA of rank {training.lora.rank}" if training.lora is not None else MEANINGS[training.method]
    offloads = [
        f"{name} on the host{' between uses' if where == 'between' else ''}"
        for name, where in (("weights", training.parameter_offload), ("optimizer", training.optimizer_offload))
        if where != "no"
    ]
    reference = {"none": "no reference", "card": "reference on the card", "host": "reference on the host"}
    yield "  train: " + ", ".join([method, training.sharding, *offloads, reference[training.reference]])
    if rollout.engine != "none":
        share = "share not known" if rollout.share is None else f"share {rollout.share:g}"
        if rollout.cache_bytes is not None:
            share = f"{gib(rollout.cache_bytes)} of KV cache"
        yield f"  generate: {rollout.engine}, {share}, tensor parallel {rollout.tensor_parallel}"


def _phases(memory: MemoryPlan, width: int) -> list[str]:
    names = [f"  {phase.name}" for phase in memory.phases]
    room = max(map(len, names)) + 2
    bar = max(_LEAST_BAR, width - room - _BESIDE)
    lines = ["a card in each phase:"]
    for name, phase in zip(names, memory.phases, strict=True):
        share = phase.total / memory.machine.card_bytes
        figures = f"{gb(phase.total):>8} of {gb(memory.machine.card_bytes)}  {share:4.0%}  {memory.verdict(phase)}"
        lines.append(f"{name:<{room}}|{_bar(phase, memory.machine.card_bytes, bar)}| {figures}")
    return lines


def _bar(phase: Phase, full: int, room: int) -> str:
    """Each part as long as its share of the card; what does not fit is cut with a sign."""
    out, total = "", 0
    for part in phase.parts:
        total += part.size
        out += _GLYPHS.get(part.name, "?") * (round(total / full * room) - len(out))
    return f"{out[: room - 1]}»" if len(out) > room else out.ljust(room, "·")


def _parts(memory: MemoryPlan) -> Iterator[str]:
    """Every part once, the largest it gets in any phase."""
    seen: dict[str, tuple[int, str]] = {}
    for phase in memory.phases:
        for part in phase.parts:
            sign = "about " if part.is_estimate else ""
            seen.setdefault(part.name, (part.size, f"{sign}{gb(part.size)}: {part.why}"))
    for name, (_, words) in seen.items():
        yield f"    {_GLYPHS.get(name, '?')} {name:<13} {words}"


def _host(memory: MemoryPlan) -> Iterator[str]:
    if memory.host:
        known = memory.machine.host_bytes
        of = f" of {both(known)}" if known is not None else "; how much the host has was not given (--host 128GB)"
        yield f"  host: {both(memory.host_total)}{of}"
        yield from (f"      {part.name:<13} {gb(part.size)}: {part.why}" for part in memory.host)


def _cache(request: Request, memory: MemoryPlan | None) -> Iterator[str]:
    found = cache_plan(request, memory)
    if found is None:
        return
    yield ""
    yield f"KV cache: {found.token_bytes / 1024:.4g} KiB a token on a card"
    if found.budget is not None:
        most = "at most " if found.is_upper_bound else ""
        at_once = f" = {found.sequences:.1f} sequences of {request.rollout.length} tokens" if found.sequences else ""
        yield f"  {most}{gib(found.budget)}: {found.tokens} tokens{at_once}"
    if found.need is not None:
        fits = {
            True: "fits",
            False: "does not fit at full length: the engine queues them",
            None: "the room is not known",
        }
        yield f"  {found.wanted} at once need {gib(found.need)} ({found.need} bytes): {fits[found.fits]}"


def _batches(batches: Batches) -> Iterator[str]:
    yield "batches:"
    room = max((len(name) for name, _ in batches.facts), default=0)
    yield from (f"  {name:<{room}}  {words}" for name, words in batches.facts)
    for one in batches.broken:
        yield f"  {_SIGNS[one.severity]}: {inert(one.evidence)}"
        yield f"      {inert(one.next)}"


def _end(request: Request, memory: MemoryPlan) -> Iterator[str]:
    yield ""
    yield f"verdict: {memory.whole}, by the phase {memory.fullest.name!r}"
    words: Sequence[str] = advice(request, memory)
    if words:
        yield "  change first:"
        yield from (f"    {number}. {word}" for number, word in enumerate(words, 1))
    yield from (f"  not counted: {word}" for word in memory.unknown)


def used_lines(used: Used) -> Iterator[str]:
    """What a run used, each device's peak beside what was planned for it."""
    if used.unplanned is not None:
        yield f"no plan: {inert(used.unplanned)}"
    yield ""
    yield f"what {inert(used.run)} used, by the driver's readings, about one a second:"
    if used.unread is not None:
        yield f"  nothing is known: {inert(used.unread)}"
    memory = None if used.planned is None else used.planned.memory
    for device in used.devices:
        yield from _device(device, memory)
    for one in used.torch:
        most = f"at most {gb(one.max_allocated_bytes)} allocated, {gb(one.max_reserved_bytes)} reserved"
        yield f"  torch, rank {inert(one.member)}, device {one.device}: {most}"


def _device(device: Device, memory: MemoryPlan | None) -> Iterator[str]:
    total = "" if device.total_bytes is None else f" of {gb(device.total_bytes)}"
    before = "its baseline is not known" if device.baseline_bytes is None else f"{gb(device.baseline_bytes)} before it"
    fullest = "" if memory is None else f"; planned {gb(memory.fullest.total)} ({memory.fullest.name})"
    yield f"  GPU {device.gpu}: at most {gb(device.peak_bytes)}{total}, {before}, {device.readings} readings{fullest}"
    planned = {} if memory is None else {phase.name: phase.total for phase in memory.phases}
    for phase, most in device.phases.items():
        beside = f"; planned {gb(planned[phase])}" if phase in planned else ""
        yield f"      {inert(phase):<12} at most {gb(most)}{beside}"
