"""Entry: `python -m grpotui_supervisor.monitor RUN_DIRECTORY`. It leaves its starter at once and ends with the run."""

import os
import sys

from grpotui_supervisor.monitor.loop import run
from grpotui_supervisor.rundir import RunDirectory

if __name__ == "__main__":
    if os.fork():
        os._exit(0)
    run(RunDirectory(os.path.abspath(sys.argv[1])))
