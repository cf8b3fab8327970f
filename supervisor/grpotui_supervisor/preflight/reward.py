"""A dry run of the reward function, in the training interpreter, on answers that the profile gives."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from grpotui_supervisor.model.placeholders import expand
from grpotui_supervisor.preflight import said
from grpotui_supervisor.preflight.check import Result
from grpotui_supervisor.preflight.child import run_program
from grpotui_supervisor.preflight.finding import Finding, together

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from grpotui_supervisor.model.profile import RewardSample
    from grpotui_supervisor.planning import Command
    from grpotui_supervisor.preflight.check import Job

_LIMIT_S: Final = 90.0
"""Importing TRL for its reward functions takes 5 to 60 s."""
_VERL_DEFAULT: Final = ("verl.utils.reward_score", "default_compute_score")
_KEYS: Final = ("custom_reward_function.", "reward.custom_reward_function.")
"""verl until 0.7, and after."""
_SLOW_S: Final = 5.0
_CLOSE: Final = 1e-6
_NO_GPU: Final = {"CUDA_VISIBLE_DEVICES": ""}
"""As Ray has it for verl; and whatever it is, it must not take a GPU's memory now."""


@dataclass(frozen=True, slots=True)
class Function:
    """Which one."""

    path: str
    """A file, absolute, or a module."""
    name: str
    arguments: Mapping[str, Any]


class _Reward:
    name = "reward"
    title = "Reward function"
    limit_s = _LIMIT_S + 10
    costly = True

    def run(self, job: Job) -> Result:
        """Loads the function, and calls it as the framework would."""
        command, reward = said.command(job), job.loaded.profile.reward
        function = _function(job, command)
        if function is None:
            if reward.samples:
                words = "[[reward.samples]] are given, and no function to try on them"
                return Result(outcome="unchecked", evidence=words, next='[reward] path = "reward.py" and name = "…"')
            return Result(outcome="not_applicable", evidence="the profile gives no reward function")
        doubt = getattr(job, "python_doubt", None)
        if doubt is not None:
            return Result(outcome="unchecked", evidence=str(doubt))
        words = json.dumps({
            "path": function.path, "name": function.name, "arguments": dict(function.arguments), "kind": command.kind,
            "chat": reward.chat, "samples": [asdict(sample) for sample in reward.samples],
        }, default=str)  # fmt: skip
        told = run_program("reward", job, args=[words], limit_s=_LIMIT_S, extra_env=_NO_GPU)
        facts = told.document or {}
        if "tries" not in facts and "error" not in facts:
            stage = f" while {facts['stage']} it" if "stage" in facts else ""
            tail = told.stderr_tail.splitlines()[-1:]
            outcome = "warning" if told.outcome in ("timed_out", "crashed") and stage else "unchecked"
            return Result(
                outcome=outcome,  # type: ignore[arg-type]
                evidence=f"{function.name}: the program that tries it {told.words}{stage}",
                details=tuple(tail),
            )
        return together(list(judged(facts, function, reward.samples)), _kept(facts))


def _function(job: Job, command: Command) -> Function | None:
    reward, folder = job.loaded.profile.reward, said.folder(job)
    key = next((key for key in _KEYS if command.settings.text(f"{key}path") is not None), _KEYS[0])
    path = None if reward.path is None else expand((reward.path,), {"profile_dir": (folder,)})[0]
    name = reward.name or command.settings.text(f"{key}name", "compute_score") or "compute_score"
    start = folder
    if path is None:
        path, start = command.settings.text(f"{key}path"), job.cwd
    if path is None:
        if command.kind != "verl" or not reward.samples:
            return None
        return Function(*_VERL_DEFAULT, {})
    before = f"{key}reward_kwargs."
    arguments = {
        k.removeprefix(before): _value(command.settings.text(k)) for k in command.settings if k.startswith(before)
    }
    is_file = path.endswith(".py") or os.sep in path
    return Function(os.path.join(start, os.path.expanduser(path)) if is_file else path, name, arguments)


def _value(text: str | None) -> Any:  # noqa: ANN401
    """A word of hydra as the number, truth or text that it is."""
    try:
        return json.loads((text or "null").replace("True", "true").replace("False", "false"))
    except ValueError:
        return text


def judged(facts: Mapping[str, Any], function: Function, samples: Sequence[RewardSample]) -> Iterator[Finding]:
    """What came of it. That it cannot be loaded ends the run, too; all else the run survives, and learns nothing."""
    name = f"{function.name} of {os.path.basename(function.path)}"
    if "tries" not in facts:
        where = "" if facts.get("frame") is None else f" ({facts['frame']})"
        yield Finding("failed", f"{name} cannot be loaded: {facts['error']}{where}", "correct [reward], or the file")
        return
    tries = facts["tries"]
    if not tries:
        words = f"{name}{facts['signature']} is loaded ({facts['kind']}), and was not tried"
        yield Finding("unchecked", words, "[[reward.samples]] with answer and ground_truth")
        return
    scores = [one["score"] for one in tries]
    shown = ", ".join("none" if score is None else f"{score:g}" for score in scores)
    yield from _raised(tries, name, len(samples))
    yield from _expected(tries, samples)
    known = {score for score in scores if score is not None}
    if len(known) == 1 and len(scores) > 1 and None not in scores:
        words = f"{name} gives all {len(scores)} answers {shown.partition(',')[0]}: every advantage is 0"
        yield Finding("warning", words, "does it find the answer in the text? try a right and a wrong one")
    else:
        yield Finding("passed", f"{name} gives {shown}")
    slow = max(one["seconds"] for one in tries)
    if slow > _SLOW_S:
        yield Finding("warning", f"{name} takes {slow:.1f} s an answer", "nothing else runs meanwhile; make it faster")
    yield from _threads(facts, name)


def _raised(tries: Sequence[Mapping[str, Any]], name: str, count: int) -> Iterator[Finding]:
    errors = [one for one in tries if one["error"] is not None]
    if errors:
        first = errors[0]
        where = "" if first.get("frame") is None else f" ({first['frame']})"
        yield Finding("warning", f"{name} fails on {len(errors)} of {count} answers: {first['error']}{where}",
                      "correct it: many trainers take a failure for the score 0")  # fmt: skip


def _expected(tries: Sequence[Mapping[str, Any]], samples: Sequence[RewardSample]) -> Iterator[Finding]:
    for number, (one, sample) in enumerate(zip(tries, samples, strict=False), 1):
        if sample.expected is None or one["score"] is None or abs(one["score"] - sample.expected) <= _CLOSE:
            continue
        yield Finding("warning", f"answer {number} should get {sample.expected:g} and gets {one['score']:g}",
                      "correct the function, or [[reward.samples]] expected")  # fmt: skip


def _threads(facts: Mapping[str, Any], name: str) -> Iterator[Finding]:
    """Verl calls it in a thread, where e.g. math_verify's time limit by signal fails and the answer counts as wrong."""
    aside = facts.get("in_thread")
    if not aside:
        return
    differ = [
        (a, b)
        for a, b in zip(facts["tries"], aside, strict=False)
        if (a["score"], a["error"]) != (b["score"], b["error"])
    ]
    if differ:
        here, there = differ[0]
        words = f"{name} gives {here['score']} in the main thread and {there['error'] or there['score']} in another"
        yield Finding("warning", f"{words}: verl may call it in another", "no signals in it: parsing_timeout=None")


def _kept(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "kind": facts.get("kind"),
        "scores": [one["score"] for one in facts.get("tries", ())],
        "error": facts.get("error"),
    }


CHECK = _Reward()
