"""How a process ended, in the words of the record: `how`, `code` or `signal`, `core`.

A code and a signal are never folded into one number: exit 137 and SIGKILL are different endings.
"""

from __future__ import annotations

import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypedDict

    class Ending(TypedDict):
        """The part of an `exit` record that says how; exactly one of `code` and `signal` is not None."""

        how: str
        code: int | None
        signal: str | None
        signo: int | None
        core: bool


NOT_OBSERVABLE: Ending = {"how": "not_observable", "code": None, "signal": None, "signo": None, "core": False}
_MOST_CODE = 255
_MOST_SIGNAL = 64


def signal_name(number: int) -> str:
    """`SIGKILL` for 9; `SIG42` where the platform has no name for it."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"


def _exited(code: int) -> Ending:
    return {"how": "exited", "code": code, "signal": None, "signo": None, "core": False}


def _killed(number: int, core: bool) -> Ending:
    return {"how": "killed", "code": None, "signal": signal_name(number), "signo": number, "core": core}


def from_siginfo(info: os.waitid_result) -> Ending:
    """From `waitid`: CLD_DUMPED is the only place where the core flag of a signal survives."""
    if info.si_code == os.CLD_EXITED:
        return _exited(info.si_status)
    return _killed(info.si_status, info.si_code == os.CLD_DUMPED)


def from_wait_status(raw: int) -> Ending:
    """From a raw 16-bit wait status, as /proc/PID/stat field 52 and PIDFD_GET_INFO give it."""
    if os.WIFEXITED(raw):
        return _exited(os.WEXITSTATUS(raw))
    return _killed(os.WTERMSIG(raw), os.WCOREDUMP(raw))


def from_record(record: dict[str, Any]) -> Ending:
    """From a line of the record; KeyError or ValueError when it is no exit."""
    how, code, name, number = record["how"], record["code"], record["signal"], record["signo"]
    if how == "exited" and type(code) is int and 0 <= code <= _MOST_CODE:
        return _exited(code)
    if how == "killed" and isinstance(name, str) and type(number) is int and 0 < number <= _MOST_SIGNAL:
        return _killed(number, record["core"] is True)
    if how == "not_observable":
        return NOT_OBSERVABLE
    raise ValueError("no ending")


def is_failure(ending: Ending) -> bool:
    """Anything but exit code 0."""
    return ending["code"] != 0
