"""The memory plan: what one card holds in each phase of a step, and whether that fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from grpotui_supervisor.plan import parts
from grpotui_supervisor.plan.parts import Part
from grpotui_supervisor.plan.units import gb

if TYPE_CHECKING:
    from grpotui_supervisor.plan.machine import Machine
    from grpotui_supervisor.plan.request import Request

Verdict = Literal["free", "comfortable", "tight", "does not fit"]
_FREE_BELOW: Final = 0.5
_COMFORTABLE_BELOW: Final = 0.8
"""Above this the allocator's fragmentation alone can fill the rest: reserved / allocated was 1.11 to 1.45 in six
public verl logs."""


@dataclass(frozen=True, slots=True)
class Phase:
    """A card in one phase of a step."""

    name: str
    parts: tuple[Part, ...]

    @property
    def total(self) -> int:
        """All of it, estimates too."""
        return sum(part.size for part in self.parts)

    @property
    def certain(self) -> int:
        """The exact parts alone: less than this it cannot be."""
        return sum(part.size for part in self.parts if not part.is_estimate)


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Phases of one card, and the host's part."""

    machine: Machine
    phases: tuple[Phase, ...]
    host: tuple[Part, ...]
    """Of all the cards of the machine together."""
    unknown: tuple[str, ...]
    """What is not counted, and why."""

    @property
    def fullest(self) -> Phase:
        """The phase that needs most."""
        return max(self.phases, key=lambda phase: phase.total)

    @property
    def host_total(self) -> int:
        """Bytes of the host's memory."""
        return sum(part.size for part in self.host)

    def verdict(self, phase: Phase) -> Verdict:
        """Of one phase. Only what is certain makes it not fit; what is estimated makes it tight."""
        card = self.machine.card_bytes
        if phase.certain > card:
            return "does not fit"
        if phase.total < card * _FREE_BELOW:
            return "free"
        return "comfortable" if phase.total < card * _COMFORTABLE_BELOW else "tight"

    @property
    def whole(self) -> Verdict:
        """Of the fullest phase, and of the host where its memory is known."""
        order: tuple[Verdict, ...] = ("free", "comfortable", "tight", "does not fit")
        worst = max((self.verdict(phase) for phase in self.phases), key=order.index)
        host = self.machine.host_bytes
        return "does not fit" if host is not None and self.host_total > host else worst


def plan(request: Request, machine: Machine) -> MemoryPlan:
    """Computes it; what cannot be computed is named in `unknown`, never counted as 0 in silence."""
    phases = (_together(request, machine),) if request.model.is_nominal else _phases(request, machine)
    return MemoryPlan(machine, phases, tuple(_host(request, machine)), tuple(_unknown(request)))


def _together(request: Request, machine: Machine) -> Phase:
    """Of a model of which only the size is known: training state and engine side by side, as published tables do."""
    state = [parts.weights(request, machine), parts.gradients(request, machine)]
    if request.training.optimizer_offload == "no":
        state.append(parts.optimizer(request, machine))
    if request.training.reference == "card":
        state.append(parts.reference(request, machine))
    return Phase("training and generation together", (*state, *_engine(request, machine, 0)))


def _phases(request: Request, machine: Machine) -> tuple[Phase, ...]:
    resident = _resident(request, machine)
    held = sum(part.size for part in resident)
    generate = Phase("generate", (*resident, *_engine(request, machine, held), parts.process(machine)))
    found = [generate] if request.rollout.engine != "none" else []
    training = request.training
    update = [parts.weights(request, machine), parts.gradients(request, machine)]
    if training.optimizer_offload != "always":
        update.append(parts.optimizer(request, machine))
    if training.reference == "card":
        update.append(parts.reference(request, machine))
    update += [*parts.gathered(request, machine), *parts.activations(request), *parts.logits(request)]
    return (*found, Phase("update", (*update, *_asleep(request, machine, held), parts.process(machine))))


def _resident(request: Request, machine: Machine) -> list[Part]:
    """What of the training stays on the card while answers are generated."""
    training = request.training
    found = [] if training.parameter_offload != "no" else [parts.weights(request, machine)]
    found += [] if training.optimizer_offload != "no" else [parts.optimizer(request, machine)]
    return [*found, *([parts.reference(request, machine)] if training.reference == "card" else [])]


def _engine(request: Request, machine: Machine, held: int) -> list[Part]:
    """The rollout engine's weights and cache: what its share means depends on the engine."""
    rollout, card = request.rollout, machine.card_bytes
    if rollout.engine == "none":
        return []
    if rollout.cache_bytes is not None:
        weights = round(request.model.parameters * 2 / rollout.tensor_parallel)
        why = f"bf16 weights {gb(weights)} and the KV cache given, {gb(rollout.cache_bytes)}"
        return [Part("engine", weights + rollout.cache_bytes, is_estimate=False, why=why)]
    if rollout.share is None:
        return []
    match rollout.engine:
        case "vllm":
            size, why = card * rollout.share, f"{rollout.share:g} of the card's {gb(card)}"
        case "vllm-global":
            size, why = card * rollout.share - held, f"{rollout.share:g} of the card less what is there already"
        case _:
            size, why = (card - held) * rollout.share, f"{rollout.share:g} of what the training leaves free"
    return [Part("engine", max(0, round(size)), is_estimate=False, why=why)]


def _asleep(request: Request, machine: Machine, held: int) -> list[Part]:
    engine = _engine(request, machine, held)
    if not engine or not request.rollout.sleeps:
        return engine
    why = "what a sleeping engine keeps: context and CUDA graphs"
    return [Part("engine asleep", parts.ASLEEP_BYTES, is_estimate=True, why=why)]


def _host(request: Request, machine: Machine) -> list[Part]:
    """Offloaded parts of all cards, added up."""
    training, found = request.training, list[Part]()
    for part, offload in (
        (parts.weights(request, machine), training.parameter_offload),
        (parts.optimizer(request, machine), training.optimizer_offload),
    ):
        if offload != "no":
            found.append(
                Part(part.name, part.size * machine.cards, is_estimate=False, why=f"{machine.cards} · {part.why}")
            )
    if training.reference == "host":
        part = parts.reference(request, machine)
        found.append(Part(part.name, part.size * machine.cards, is_estimate=False, why=f"{machine.cards} · {part.why}"))
    return found


def _unknown(request: Request) -> list[str]:
    training, rollout, found = request.training, request.rollout, list[str]()
    if request.model.shape is None:
        found.append("activations, logits and the KV cache: the model's config.json is not known")
    elif training.micro_tokens is None:
        found.append("activations and logits: the tokens of a micro batch are not known")
    if training.lora is not None and training.lora.parameters is None:
        found.append("the adapter: its size is not known without the model's config.json")
    if rollout.engine != "none" and rollout.share is None and rollout.cache_bytes is None:
        found.append("the rollout engine: neither its share of the card nor its KV cache is known")
    return found
