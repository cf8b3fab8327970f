"""A run as it is at this moment, seen from here."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from grpotui_supervisor.source.liveness import View, look
from grpotui_supervisor.source.status import status

if TYPE_CHECKING:
    from grpotui_supervisor.source.source import Source


def update_now(source: Source) -> View:
    """Brings the source to now; the locks are looked at first, so that whatever a finished writer wrote counts."""
    view = look(source.directory, source.facts)
    writing = view.shim_alive or (source.run.attached and view.monitor_alive)
    if writing or not source.same_boot:
        source.update_live()
    else:
        source.update(time.monotonic_ns())
    return view


def look_now(source: Source) -> tuple[dict[str, Any], View]:
    """The status document as of now, and the view it was made from."""
    view = update_now(source)
    return status(source, view), view
