"""Running a preflight in front of somebody: progress on a terminal, Ctrl-C, and the document that comes of it."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import time
from typing import TYPE_CHECKING, Any, Final

from grpotui.output import draw
from grpotui.preflight_text import trouble
from grpotui.text import inert
from grpotui_supervisor import launch
from grpotui_supervisor.errors import PreflightError
from grpotui_supervisor.preflight.check import worst
from grpotui_supervisor.preflight.documents import documents
from grpotui_supervisor.preflight.jobs import job_of
from grpotui_supervisor.preflight.registry import CHECKS
from grpotui_supervisor.preflight.run import run, selected

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import FrameType, TracebackType
    from typing import Self

    from grpotui_supervisor.preflight.check import Job
    from grpotui_supervisor.profiles import LoadedProfile

SCHEMA: Final = 1
_APPEARS_S: Final = 0.5


def preflight(job: Job, *, only: Sequence[str] = (), cheaply: bool = False) -> dict[str, Any]:
    """Runs the checks of a job; the document says how each ended."""
    began = time.monotonic()
    with _ended_in_order(), _Line() as line:
        found = list(run(job, selected(CHECKS, job, only), cheaply=cheaply, tick=line.tick))
    order = {check.name: place for place, check in enumerate(CHECKS)}
    found.sort(key=lambda one: order.get(one.name, len(order)))
    return {
        "schema": SCHEMA,
        "profile": job.loaded.profile.name,
        "outcome": worst([one.result for one in found]),
        "seconds": round(time.monotonic() - began, 3),
        "checks": documents(found, job),
    }


def before_launch(loaded: LoadedProfile, environment: Mapping[str, str], cwd: str) -> dict[str, Any]:
    """The checks that come before every start.

    Raises:
        PreflightError: one failed; UsageError: see `launch.prepare`.
    """
    job = job_of(loaded, launch.prepare(loaded, environment, cwd=cwd))
    document = preflight(job, cheaply=True)
    if document["outcome"] == "failed":
        raise _refusal(document)
    return document


def _refusal(document: Mapping[str, Any]) -> PreflightError:
    failed = [check for check in document["checks"] if check["outcome"] == "failed"]
    head = f"nothing was started: {len(failed)} of {len(document['checks'])} checks failed"
    return PreflightError(
        "\n  ".join([head, *(line for check in failed for line in trouble(check))]),
        hint="all of them: grpotui preflight PROFILE · to start all the same: --skip-preflight",
    )


@contextlib.contextmanager
def _ended_in_order() -> Iterator[None]:
    """TERM, or a terminal that hangs up, ends the checks first, and then this process, as if by the signal itself."""
    numbers = [n for n in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) == signal.SIG_DFL]

    def end(number: int, _frame: FrameType | None) -> None:
        raise _Signalled(number)

    for number in numbers:
        signal.signal(number, end)
    try:
        yield
    except _Signalled as signalled:
        signal.signal(signalled.number, signal.SIG_DFL)
        os.kill(os.getpid(), signalled.number)
        raise
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


class _Signalled(BaseException):
    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class _Line:
    """What is being checked, on one line of stderr; drawn only on a terminal, and gone in the end."""

    def __init__(self) -> None:
        self._terminal = sys.stderr is not None and sys.stderr.isatty()
        self._began = time.monotonic()
        self._drawn = False

    def tick(self, running: Sequence[str], done: int, total: int) -> None:
        """Draws it anew."""
        waited = time.monotonic() - self._began
        if self._terminal and waited >= _APPEARS_S:
            text = f"checking {done}/{total}, {waited:.0f} s: {', '.join(map(inert, running))}"
            self._write(f"\r{text[: shutil.get_terminal_size().columns - 1]}\x1b[K")
            self._drawn = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._drawn:
            self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        try:
            draw(text)
        except OSError:  # a terminal that has gone ends no work
            self._terminal = False
