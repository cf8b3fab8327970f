"""Which versions train, and whether they are known to work together. Imports none of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from grpotui_supervisor import planning
from grpotui_supervisor.preflight.check import Result
from grpotui_supervisor.preflight.interpreter import LIMIT_S, PACKAGES, InterpreterSilent, interpreter
from grpotui_supervisor.preflight.known_bad import found_bad
from grpotui_supervisor.preflight.requirements import unmet

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from grpotui_supervisor.preflight.check import Job
    from grpotui_supervisor.preflight.interpreter import Interpreter

_NAMED: Final = 11
"""Of `PACKAGES`, so many stand in the evidence; the rest is among the details."""


class _Versions:
    name = "versions"
    title = "Versions in the training interpreter"
    limit_s = LIMIT_S + 5

    def run(self, job: Job) -> Result:
        """Asks the interpreter, and holds the answer against what is known."""
        try:
            found = interpreter(job)
        except InterpreterSilent as silent:
            step = "set launch.python to the interpreter that trains, or the words that lead to it"
            return Result(outcome="unchecked", evidence=str(silent), next=step)
        bad = list(found_bad(found.packages, job.environment, planning.rollout_of(job.loaded.profile)))
        broken = list(unmet(found.packages, found.requires))
        others = list(_unlike(found, job.loaded.profile.versions))
        details = [f"{found.python} (Python {found.version})", *_others(found), *_image(found)]
        evidence = _evidence(found)
        if not bad and not broken and not others:
            return Result(outcome="passed", evidence=evidence, details=tuple(details), data=_data(found))
        steps = [step for _, step in bad] + (["install versions that fit each other"] if broken else [])
        steps += ["the profile was made with other versions: install those, or expect differences"] if others else []
        return Result(
            outcome="warning",
            evidence="; ".join([*(seen for seen, _ in bad), *broken, *others]),
            next="; ".join(steps),
            details=(evidence, *details),
            data={**_data(found), "known_bad": [seen for seen, _ in bad], "unmet": broken, "unlike": others},
        )


CHECK: Final = _Versions()


def _evidence(found: Interpreter) -> str:
    words = [f"{name} {found.packages[name]}" for name in PACKAGES[:_NAMED] if name in found.packages]
    if found.has_torch:
        build = f" ({found.torch_build or 'without CUDA'})"
        words = [word + build if word.startswith("torch ") else word for word in words]
    return ", ".join([f"Python {found.version}", *words]) if words else f"Python {found.version}, no training framework"


def _unlike(found: Interpreter, wanted: Mapping[str, str]) -> Iterator[str]:
    """What is not as the profile's `[versions]` has it: `2.8` there is met by 2.8.0 and by 2.8.0+cu128."""
    for name, version in wanted.items():
        here = found.version if name == "python" else found.packages.get(name.lower().replace("_", "-"))
        if here is None and name.lower().replace("_", "-") in PACKAGES:
            yield f"no {name} here, {version} in the profile"
        elif here is not None and here != version and not here.startswith((f"{version}.", f"{version}+")):
            yield f"{name} {here} here, {version} in the profile"


def _others(found: Interpreter) -> list[str]:
    words = [f"{name} {found.packages[name]}" for name in PACKAGES[_NAMED:] if name in found.packages]
    return [f"also {', '.join(words)}"] if words else []


def _image(found: Interpreter) -> list[str]:
    if found.image is None:
        return []
    name = found.image["name"] or "its image's name cannot be seen from inside"
    known = [f"{key}={value}" for key, value in found.image["environment"].items()]
    return [", ".join([f"in a container ({found.image['kind'] or 'of unknown kind'}): {name}", *known])]


def _data(found: Interpreter) -> dict[str, Any]:
    return {
        "python": found.python,
        "python_version": found.version,
        "packages": dict(found.packages),
        "torch_cuda": found.torch_cuda,
        "image": found.image,
    }
