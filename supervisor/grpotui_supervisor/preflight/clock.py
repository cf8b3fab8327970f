"""Whether the clock is synchronised, as the kernel tells it (adjtimex(2)); nothing is set."""

from __future__ import annotations

import ctypes
import os
import time
from typing import TYPE_CHECKING, Final

from grpotui_supervisor.preflight import framework, said
from grpotui_supervisor.preflight.finding import Finding, together

if TYPE_CHECKING:
    from grpotui_supervisor.preflight.check import Job, Result

_ERROR: Final = 5
"""TIME_ERROR: the clock is not synchronised."""
_UNSYNCHRONISED: Final = 0x40
_PLAUSIBLE: Final = 1_735_689_600
"""The beginning of 2025. With a clock before it no certificate is valid, and no download works."""


class _Timex(ctypes.Structure):
    """`struct timex` of a 64-bit Linux, as far as it is read."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("rest", ctypes.c_char * 256),
    )


class _Clock:
    name = "clock"
    title = "Clock"
    limit_s = 5.0

    def run(self, job: Job) -> Result:
        """On one machine an error of it harms nothing but comparisons with others."""
        return together([judged(_asked(), time.time(), framework.nodes(said.command(job)))])


def _asked() -> tuple[int, int, int] | str:
    """State, status bits and largest error in µs, or why there is no answer."""
    found = _Timex()
    try:
        state = ctypes.CDLL(None, use_errno=True).adjtimex(ctypes.byref(found))
    except (OSError, AttributeError) as error:
        return str(error)
    if state < 0:
        return os.strerror(ctypes.get_errno())
    return state, found.status, found.maxerror


def judged(asked: tuple[int, int, int] | str, now: float, nodes: int) -> Finding:
    """`now`: unix seconds; `nodes`: machines of the job."""
    day = time.strftime("%Y-%m-%d", time.gmtime(now))
    if now < _PLAUSIBLE:
        words = f"the clock says {day}: certificates are not valid yet, and downloads fail"
        return Finding("failed", words, "set the clock")
    if isinstance(asked, str):
        return Finding("unchecked", f"the kernel does not tell whether the clock is synchronised: {asked}")
    state, status, error = asked
    if state != _ERROR and not status & _UNSYNCHRONISED:
        return Finding("passed", f"synchronised, at most {error / 1000:.0f} ms off")
    words = "the kernel does not know the clock to be synchronised"
    if nodes > 1:
        return Finding("warning", f"{words}, and the job spans {nodes} machines: their logs cannot be put in order",
                       "start chronyd or systemd-timesyncd on all of them")  # fmt: skip
    return Finding("passed", f"{words}; on one machine that harms no run")


CHECK = _Clock()
