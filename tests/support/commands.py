"""What tests ask of the command line: a clear refusal, and what it left running."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from grpotui_supervisor.shim import procfs

if TYPE_CHECKING:
    from subprocess import CompletedProcess

    from support.runs import Home


def refused(done: CompletedProcess[str], code: int, *words: str) -> None:
    """One message on stderr with these words, this code, nothing on stdout, and no traceback."""
    assert "Traceback" not in done.stderr, done.stderr
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    for word in words:
        assert word in done.stderr, f"{word!r} is not in:\n{done.stderr}"
    heads = [line for line in done.stderr.splitlines() if line.startswith(("grpotui:", "Error:"))]
    assert len(heads) == 1, done.stderr


def of_home(home: Home) -> dict[int, str]:
    """Living processes that belong to runs of this home (shims, monitors, ranks), with their command lines."""
    root = f"{home.path}/".encode()
    found = {}
    for pid in procfs.pids():
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                line = file.read()
        except OSError:
            continue
        inside = procfs.environment(pid).get("GRPOTUI_RUN_DIR", "").startswith(f"{home.path}/")
        if pid != os.getpid() and procfs.is_running(pid) and (root in line or inside):
            found[pid] = line.replace(b"\0", b" ").decode("utf-8", "replace")
    return found
