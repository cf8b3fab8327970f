"""Entry of the shim: `python -I -S <this folder> RUN_DIRECTORY`, with the specification as JSON on stdin.

`-I -S` keeps the process small and out of reach of PYTHONPATH and sitecustomize, so the folder that holds
`grpotui_supervisor` has to be put on the path here.
"""

import os
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from grpotui_supervisor.shim.guard import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], sys.stdin.buffer))
