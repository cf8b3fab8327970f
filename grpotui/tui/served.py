"""What `grpotui serve` starts for each window: `python -m grpotui.tui.served [SOURCE]`. It only looks."""

from __future__ import annotations

import os
import sys

from grpotui import output
from grpotui.output import say
from grpotui.tui import opening
from grpotui.tui.app import Rights
from grpotui.tui.feed.live import LiveFeed
from grpotui.tui.feed.log import LogFeed
from grpotui.tui.feed.replay import ReplayFeed
from grpotui.watching import Interrupts
from grpotui_supervisor import rundir
from grpotui_supervisor.errors import GrpotuiError
from grpotui_supervisor.source.file_source import FileSource
from grpotui_supervisor.source.now import look_now
from grpotui_supervisor.source.opening import open_source
from grpotui_supervisor.source.source import Source

RIGHTS = Rights(local=False)


def show(word: str | None) -> None:
    """All runs; or one, as it goes on or from its end; or a log.

    Raises:
        GrpotuiError: it cannot be read.
    """
    root = rundir.root(os.environ)
    if word is None:
        opening.home(root, RIGHTS)
        return
    opened = open_source(word, root)
    if isinstance(opened, FileSource):
        opening.show(LogFeed(opened, None), RIGHTS)
        return
    document, _ = look_now(Source(opened.directory, with_logs=False))
    if document["state"] == "ended":
        opening.show(ReplayFeed(opened.directory, None), RIGHTS)
    else:
        opening.show(LiveFeed(opened.directory, Interrupts()), RIGHTS)


def main() -> int:
    """Its stdout is the server's: words go to stderr."""
    output.prepare()
    try:
        show(sys.argv[1] if len(sys.argv) > 1 else None)
    except BrokenPipeError:  # the window is gone
        return 0
    except (GrpotuiError, OSError) as error:
        say(f"grpotui serve: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
