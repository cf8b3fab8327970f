"""Lengths of prompts and answers, against the model's positions and against what a model that thinks needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grpotui_supervisor import planning
from grpotui_supervisor.errors import PlanError
from grpotui_supervisor.preflight import said
from grpotui_supervisor.preflight.check import Result

if TYPE_CHECKING:
    from grpotui_supervisor.plan.request import Model
    from grpotui_supervisor.planning import Command
    from grpotui_supervisor.preflight.check import Job


class _Lengths:
    name = "lengths"
    title = "Lengths of prompts and answers"
    limit_s = 5.0

    def run(self, job: Job) -> Result:
        """A model that is not known leaves the rule of its positions unchecked, and the result with it."""
        command = said.command(job)
        if command.kind is None:
            return said.NOTHING
        model, why = _model(job, command)
        broken = planning.lengths_of(job.loaded.profile, command, model)
        result = said.of_rules([("longest sequence", _words(command))], broken)
        places = None if model is None or model.shape is None else model.shape.positions
        if broken or places is not None:
            return result
        why = why or "its config.json is not known"
        return Result(
            outcome="unchecked",
            evidence=f"{_words(command)}; how long the model's sequences may be is not known: {why}",
            next='[model] path = "the folder of its config.json"',
            data=result.data,
        )


def _words(command: Command) -> str:
    prompt, answer = planning.spans(command)
    if prompt is None:
        return f"answers of {answer} tokens; prompts are not bounded"
    return f"prompt {prompt} + answer {answer} = {prompt + answer} tokens"


def _model(job: Job, command: Command) -> tuple[Model | None, str | None]:
    """The model, or why it is not known."""
    word = planning.model_of(job.loaded.profile, command)
    if word is None:
        return None, "neither the command nor [model] path names one"
    count = job.loaded.profile.model.parameters
    try:
        return planning.find_model(word, count=count, folder=said.folder(job), environment=job.environment), None
    except PlanError as error:
        return None, str(error)


CHECK = _Lengths()
