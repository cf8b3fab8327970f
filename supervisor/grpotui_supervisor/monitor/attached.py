"""What the monitor does for a job that grpotui did not start: it copies the logs, and decides when it has seen all."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from grpotui_supervisor.monitor.copying import Copies

if TYPE_CHECKING:
    from grpotui_supervisor.rundir import RunDirectory
    from grpotui_supervisor.shim.journal import Journal
    from grpotui_supervisor.source.source import Source

QUIET_SECONDS = 86400.0
"""Without a process to watch, following ends when no log grew for so long (run.json may say otherwise)."""
_SETTLE_S = 2.0
"""So long after the process's end what its children still write is waited for."""


class Attachment:
    """The following of one attached job."""

    def __init__(self, directory: RunDirectory, timeline: Journal, source: Source) -> None:
        facts = source.facts["attached"]
        self._directory = directory
        self._quiet_s = float(facts.get("quiet_seconds", QUIET_SECONDS))
        self._copies = Copies(directory, timeline, facts["logs"], known=source.followed.logs)
        self._moved_at = time.monotonic()
        self.is_behind = False
        """There is more to copy at once."""

    def copy(self) -> None:
        """What has come to the logs, as much as one round may take."""
        self.is_behind = self._copies.look()

    def note_growth(self, *, grew: bool) -> None:
        """Whether a log has grown in this round."""
        if grew or self.is_behind:
            self._moved_at = time.monotonic()

    def paths(self) -> list[str]:
        """What to wait for: the logs, and requests."""
        return [*self._copies.paths(), self._directory.file("control/.")]

    def is_over(self, source: Source) -> str | None:
        """Why following ends now; None: it goes on."""
        asked = self._request()
        if asked is not None:
            return f"asked for: {asked}"
        if self.is_behind:
            return None
        quiet = time.monotonic() - self._moved_at
        watched = [m for m in source.run.members.values() if m.leads]
        if watched:
            ended = not any(m.is_open for m in watched)
            return "the process has ended, and its logs are read" if ended and quiet > _SETTLE_S else None
        if self._copies.are_read:
            return "the logs are read to their end"
        return f"no log grew for {self._quiet_s:g} s" if quiet > self._quiet_s else None

    def _request(self) -> str | None:
        """Why a client asked for the end; requests of others are not ours to obey."""
        folder = self._directory.file("control")
        with suppress(OSError):
            for name in sorted(os.listdir(folder)):
                if name.endswith(".json") and (why := _why(f"{folder}/{name}")) is not None:
                    return why
        return None


def _why(path: str) -> str | None:
    try:
        with open(path, "rb") as file:
            is_own = os.fstat(file.fileno()).st_uid in (os.geteuid(), 0)
            document = json.loads(file.read(65536))
        os.unlink(path)
    except (OSError, ValueError, RecursionError):
        return None
    wanted = isinstance(document, dict) and document.get("what") == "stop"
    return str(document.get("why", "a request")) if wanted and is_own else None
