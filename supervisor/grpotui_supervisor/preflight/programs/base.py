"""What the programs share: telling facts over stdout, the files that are mapped, and not outliving grpotui."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SIGN = "@grpotui "
"""Stands in front of what is told, wherever on a line: others may have written there before, without a line end."""


def tell(**facts: Any) -> None:  # noqa: ANN401  (JSON)
    """Facts known so far; they count even if the program never comes back from what it does next."""
    try:
        os.write(1, (f"\n{SIGN}" + json.dumps(facts) + "\n").encode())
    except BrokenPipeError:  # nobody listens any more
        _end()


def answer(**facts: Any) -> None:  # noqa: ANN401  (JSON)
    """The last facts: what happens to the process afterwards is its exit, and no missing answer."""
    tell(**facts, done=True)


def failure(error: BaseException) -> str:
    """The error as its traceback's last line has it; what is behind the first line is the library's advice."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def mapped(*beginnings: str) -> list[str]:
    """The files mapped into this process whose names begin so; a link is shown as the file that it leads to."""
    found = []
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
            for line in file:
                path = line.rstrip("\n").split(None, 5)[5:]
                if path and path[0] not in found and os.path.basename(path[0]).startswith(beginnings):
                    found.append(path[0])
    except OSError:
        return []
    return found


def _follow_grpotui() -> None:
    """Ends the whole process group when grpotui is gone: its end of stdin closes, even if it is killed.

    A first byte says that stdin really comes from it: `conda run` and `docker exec` may close or replace it.
    """
    try:
        if os.read(0, 1) != b"!":
            return
        while os.read(0, 1):
            pass
    except OSError:
        return
    _end()


def _end() -> None:
    if os.getpid() == _OWN and "GRPOTUI_PREFLIGHT" in os.environ:  # not in a child that was forked from it
        os.killpg(os.getpgrp(), signal.SIGKILL)


_OWN = os.getpid()
if "GRPOTUI_PREFLIGHT" in os.environ:
    threading.Thread(target=_follow_grpotui, daemon=True).start()
    tell(pid=_OWN, python=sys.executable)
