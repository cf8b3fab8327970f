"""Becomes the test rank in the mode that stands at this rank's place: `choose_mode.py MODE0 MODE1 …`."""

import os
import sys

mode = sys.argv[1:][int(os.environ["RANK"])]
script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rank.py")
os.execv(sys.executable, [sys.executable, "-I", "-S", script, *mode.split()])
