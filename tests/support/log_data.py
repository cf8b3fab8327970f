"""Where the captured logs are: beside the checkout, or in `$GRPOTUI_TEST_DATA`. Tests that need them skip without."""

import os
from pathlib import Path

DATA = Path(os.environ.get("GRPOTUI_TEST_DATA") or Path(__file__).parents[3] / "shared" / "data")
