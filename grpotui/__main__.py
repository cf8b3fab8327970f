"""`python -m grpotui`."""

import sys

from grpotui.cli import main

if __name__ == "__main__":
    sys.exit(main())
