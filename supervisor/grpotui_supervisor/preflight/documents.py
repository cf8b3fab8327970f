"""A preflight as JSON: what `--json` prints and `run.json` keeps, without secrets."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from grpotui_supervisor.model import redact

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from grpotui_supervisor.preflight.check import Job
    from grpotui_supervisor.preflight.run import Finished


def documents(finished: Iterable[Finished], job: Job) -> list[dict[str, Any]]:
    """One object a check, in the order in which they came."""
    plan = job.plan
    spoken = {secret for start in plan.starts for secret in redact.secret_arguments(start.argv)}
    own = {name: value for start in plan.starts for name, value in start.env.items()}
    secrets = redact.secret_values({**plan.environment, **own}, spoken)
    return [_document(one, secrets) for one in finished]


def _document(one: Finished, secrets: Sequence[str]) -> dict[str, Any]:
    result = one.result
    return {
        "name": one.name,
        "title": one.title,
        "outcome": result.outcome,
        "evidence": redact.text(result.evidence, secrets),
        "next": None if result.next is None else redact.text(result.next, secrets),
        "seconds": round(one.seconds, 3),
        "details": [redact.text(line, secrets) for line in result.details],
        "data": redacted(dict(result.data), secrets),
    }


def redacted(value: object, secrets: Sequence[str]) -> Any:  # noqa: ANN401  (JSON)
    """JSON with every text in it redacted; what is no JSON becomes text: nan, inf and -inf, too."""
    if isinstance(value, dict):
        return {str(key): redacted(item, secrets) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [redacted(item, secrets) for item in value]
    if value is None or isinstance(value, (bool, int)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return redact.text(str(value), secrets)
