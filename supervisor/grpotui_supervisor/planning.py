"""A plan from what a person names: a profile, or a model and cards. Reads files; computes nothing itself."""

from __future__ import annotations

import functools
import json
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from grpotui_supervisor import hub_cache
from grpotui_supervisor.errors import PlanError, UsageError
from grpotui_supervisor.plan import lengths, trl_batches, trl_command, verl_batches, verl_command
from grpotui_supervisor.plan.batches import Batches
from grpotui_supervisor.plan.cache_plan import starved
from grpotui_supervisor.plan.machine import parse_cards
from grpotui_supervisor.plan.memory import plan
from grpotui_supervisor.plan.parameters import adapter, parameters
from grpotui_supervisor.plan.request import Lora, Model, Request
from grpotui_supervisor.plan.settings import flat, options, overrides
from grpotui_supervisor.plan.shape import shape_of
from grpotui_supervisor.plan.units import parse_count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from grpotui_supervisor.model.profile import Profile
    from grpotui_supervisor.plan.batches import Broken
    from grpotui_supervisor.plan.machine import Machine
    from grpotui_supervisor.plan.memory import MemoryPlan
    from grpotui_supervisor.plan.request import Rollout, Training
    from grpotui_supervisor.plan.settings import Settings

_LARGEST: Final = 1 << 20
_MODELS: Final = os.path.join(os.path.dirname(os.path.abspath(__file__)), "plan", "models.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """All that is computed for one job."""

    request: Request
    memory: MemoryPlan | None
    """None where the cards are not known."""
    batches: Batches | None
    """None for a job whose batch sizes are not known."""
    mistakes: tuple[str, ...]
    """Settings that could not be read."""


Kind = Literal["verl", "trl"]
_VERL_WORDS: Final = ("verl.", "actor_rollout_ref.")
_VERL_KEYS: Final = ("actor_rollout_ref.", "data.", "algorithm.", "trainer.")
_TRL_MARKS: Final = frozenset({
    "model_name_or_path", "per_device_train_batch_size", "num_generations", "max_completion_length",
    "gradient_accumulation_steps", "generation_batch_size", "use_vllm",
})  # fmt: skip
"""A command with one of these options is one of TRL's."""


@dataclass(frozen=True, slots=True)
class Command:
    """What a job tells its framework."""

    kind: Kind | None
    """None: it has no settings of either."""
    settings: Settings
    world: int
    """Cards of all nodes together."""
    own: tuple[str, ...]
    """Keys of `[training]` and `[rollout]`: a person wrote them for this, so one that is not read is a mistake."""


@functools.cache
def known_models() -> Mapping[str, Mapping[str, Any]]:
    """The config.json fields of the models that grpotui ships the numbers of, by their names on the hub."""
    with open(_MODELS, encoding="utf-8") as file:
        found: dict[str, dict[str, Any]] = json.load(file)
    return found


def find_model(
    word: str, *, count: str | None = None, folder: str = "", environment: Mapping[str, str] = os.environ
) -> Model:
    """The model that `word` names: a config.json, the folder of one, a name on the hub, or a size as `1.7B`.

    Of a name on the hub the config.json in the cache is taken, or shipped numbers.

    Args:
        word: what names it.
        count: its number of parameters where that cannot be counted.
        folder: what a relative path starts from.
        environment: whose cache of the hub is looked into.

    Raises:
        PlanError: it is none of these, or its config.json cannot be used.
    """
    config = _config(word, folder, environment)
    if config is None:
        return _nominal(word, count)
    shape = shape_of(config)
    if count is not None:
        return Model(name=word, parameters=parse_count(count), shape=shape)
    return Model(name=word, parameters=parameters(shape), shape=shape)


def _nominal(word: str, count: str | None) -> Model:
    try:
        return Model(name=word, parameters=parse_count(count or word))
    except UsageError as error:
        if count is not None:
            raise
        raise PlanError(
            f"no model {word!r}: no config.json there or in the hub's cache, no shipped numbers, no size such as 1.7B",
            hint=f"name a config.json, or one of {', '.join(known_models())}",
        ) from error


def _config(word: str, folder: str, environment: Mapping[str, str]) -> Mapping[str, Any] | None:
    path = os.path.join(folder, os.path.expanduser(word))
    path = os.path.join(path, "config.json") if os.path.isdir(path) else path
    if os.path.isfile(path):
        return _read(path)
    cached = hub_cache.snapshot(environment, "models", word)
    if cached is not None and os.path.isfile(os.path.join(cached, "config.json")):
        return _read(os.path.join(cached, "config.json"))
    names = {name.lower(): config for name, config in known_models().items()}
    lower = word.lower()
    return names.get(lower) or next((c for name, c in names.items() if name.rpartition("/")[2] == lower), None)


def _read(path: str) -> Mapping[str, Any]:
    try:
        with open(path, "rb") as file:
            data = file.read(_LARGEST + 1)
        found = json.loads(data) if len(data) <= _LARGEST else None
    except (OSError, ValueError) as error:
        raise PlanError(f"{path} cannot be read as a config.json: {error}") from error
    if not isinstance(found, dict):
        raise PlanError(f"{path} is no config.json: an object of at most 1 MiB is expected")
    return found


def of_model(model: Model, machine: Machine, training: Training, rollout: Rollout) -> Planned:
    """Of what a command line says."""
    request = _sized(Request(model=model, training=training, rollout=rollout))
    return Planned(request=request, memory=plan(request, machine), batches=None, mistakes=())


def command_of(profile: Profile, argv: Sequence[str] | None = None) -> Command:
    """What a profile says to verl or TRL: the words of its command, over which `[training]` and `[rollout]` go.

    `argv`: these words with their placeholders filled in.
    """
    tables = {**flat(profile.training), **flat(profile.rollout)}
    argv = profile.launch.argv if argv is None else argv
    if profile.framework == "verl" or any(word.startswith(_VERL_WORDS) for word in argv):
        settings = overrides(argv).over(tables)
        kind: Kind | None = "verl" if any(key.startswith(_VERL_KEYS) for key in settings) else None
        return Command(kind, settings, verl_command.gpus(settings), tuple(tables))
    settings = options(argv).over(tables)
    kind = "trl" if any(key in settings for key in _TRL_MARKS) else None
    return Command(kind, settings, _ranks(profile, settings), tuple(tables))


def machine_of(profile: Profile) -> Machine | None:
    """The machine that a profile says it is for."""
    return None if profile.gpus.cards is None else parse_cards(profile.gpus.cards, host=profile.gpus.host)


def spans(command: Command) -> tuple[int | None, int]:
    """Longest prompt, where it is bounded, and longest answer; tokens."""
    if command.kind == "verl":
        sizes = verl_command.batches(command.settings)
        return sizes.max_prompt_length, sizes.max_response_length or 0
    return trl_command.lengths(command.settings)


def model_of(profile: Profile, command: Command | None = None) -> str | None:
    """The model's path or name: of `[model]`, else of the command."""
    command = command_of(profile) if command is None else command
    module = verl_command if command.kind == "verl" else trl_command
    return profile.model.path or module.model_name(command.settings)


def batches_of(profile: Profile, command: Command) -> Batches:
    """The batch rules of a verl or TRL command."""
    rows = profile.data.rows
    if command.kind == "verl":
        return verl_batches.check(verl_command.batches(command.settings, rows=rows))
    return trl_batches.check(trl_command.batches(command.settings, command.world, rows=rows))


def of_profile(
    profile: Profile,
    machine: Machine | None,
    *,
    model: str | None = None,
    folder: str = "",
    environment: Mapping[str, str] = os.environ,
) -> Planned:
    """Of a verl or TRL profile; the last three are those of `find_model`.

    Raises:
        PlanError: neither framework's settings are in it, or it names no model.
    """
    command = command_of(profile)
    if command.kind is None:
        raise PlanError(
            "the profile's command has no settings of verl or TRL",
            hint="write them in [training] and [rollout]: per_device_train_batch_size = 1",
        )
    word = model or model_of(profile, command)
    if word is None:
        raise PlanError("the profile names no model", hint='[model] path = "Qwen/Qwen3-1.7B", or --model')
    found = find_model(word, count=profile.model.parameters, folder=folder, environment=environment)
    request = _sized(_request(found, command))
    batches = batches_of(profile, command)
    memory = None if machine is None else plan(request, machine)
    broken = (*batches.broken, *lengths_of(profile, command, found), *starved(request, memory))
    mistakes = (*command.settings.mistakes, *command.settings.misspelled(command.own))
    return Planned(
        request=request,
        memory=memory,
        batches=Batches(batches.facts, broken),
        mistakes=tuple(dict.fromkeys(mistakes)),
    )


def lengths_of(profile: Profile, command: Command, model: Model | None) -> tuple[Broken, ...]:
    """The rules of lengths; `model`: None where it is not known."""
    prompt, answer = spans(command)
    places = None if model is None or model.shape is None else model.shape.positions
    key = "actor_rollout_ref.rollout.max_model_len" if command.kind == "verl" else "vllm_max_model_length"
    engine = command.settings.whole(key)
    thinking = _thinks(profile, command)
    return tuple(lengths.check(prompt or 0, answer, positions=places, thinking=thinking, engine=engine))


def _thinks(profile: Profile, command: Command) -> bool:
    if profile.model.thinking is not None:
        return profile.model.thinking
    is_on = command.settings.flag("data.apply_chat_template_kwargs.enable_thinking", default=True)
    return is_on and lengths.thinks(model_of(profile, command) or "")


def rollout_of(profile: Profile) -> Rollout:
    """How a verl or TRL profile generates its answers, as far as its command and its tables say."""
    return _rollout(command_of(profile))


def _rollout(command: Command) -> Rollout:
    settings = command.settings
    return verl_command.rollout(settings) if command.kind == "verl" else trl_command.rollout(settings)


def _request(model: Model, command: Command) -> Request:
    if command.kind == "verl":
        training = verl_command.training(command.settings)
    else:
        training = trl_command.training(command.settings, command.world)
    return Request(model=model, training=training, rollout=_rollout(command))


def _sized(request: Request) -> Request:
    """With the size of the adapter, where the shape tells it."""
    lora, shape = request.training.lora, request.model.shape
    if lora is None or shape is None:
        return request
    sized = Lora(rank=lora.rank, parameters=adapter(shape, lora.rank))
    return replace(request, training=replace(request.training, lora=sized))


def _ranks(profile: Profile, settings: Settings) -> int:
    """Of a TRL job: those of grpotui, else those that torchrun, accelerate or deepspeed is told to start."""
    nodes = settings.count("nnodes", 1)
    each = settings.whole("nproc_per_node") or settings.whole("num_gpus")
    return profile.launch.nproc or settings.whole("num_processes") or (nodes * each if each else 1)
