"""`python -m screenshots [NAME…]`: makes all pictures, or those; needs `pip install -e '.[screenshots]'`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from screenshots.drawing import draw
from screenshots.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

HERE: Final = os.path.dirname(os.path.abspath(__file__))
CHECKOUT: Final = os.path.dirname(HERE)
RUNS: Final = "tests/data/runs/h200"
LOG: Final = "tests/data/logs/verl-0.5.0-two-h200.log"
LARGEST: Final = 150_000
"""Bytes of a picture."""
_GRPOTUI: Final = (sys.executable, "-m", "grpotui")


@dataclass(frozen=True, slots=True)
class Picture:
    """A screen of the real program: what is typed, what is waited for, and which keys are pressed then."""

    name: str
    words: tuple[str, ...] = ()
    waits: str = "1 overview"
    keys: str = ""
    then: str = ""
    """Waited for after the keys."""
    size: tuple[int, int] = (120, 40)
    environment: Mapping[str, str] = field(default_factory=dict)
    demo: bool = False
    """The demo runs meanwhile."""


PICTURES: Final = (
    Picture("overlay", waits="8 ended", keys="j jj  o", then="what differs"),
    Picture("home", waits="● 1 live", then=" 4/4 ", demo=True),
    Picture("live", ("attach",), "step 2", demo=True),
    Picture("verl", ("replay", LOG), "40/40"),
    Picture("killed", ("replay", f"{RUNS}/sigkill"), "SIGKILL"),
    Picture("ranks", ("replay", f"{RUNS}/teardown"), "SIGABRT", keys="2", then="SIGABRT"),
    Picture("gpus", ("replay", f"{RUNS}/one-gpu", "--at", "+60"), keys="3", then="H200"),
    Picture("logs", ("replay", f"{RUNS}/sigkill"), "SIGKILL", keys="5", then="rank"),
    Picture("small", ("replay", f"{RUNS}/one-gpu"), "passed", size=(80, 24)),
    Picture("light", ("replay", LOG), "40/40", keys="z", environment={"GRPOTUI_THEME": "light"}),
)


def main(names: list[str]) -> int:
    """Makes the pictures; 1 where one of them is too large."""
    unknown = set(names) - {picture.name for picture in PICTURES}
    if unknown:
        print(f"no picture {', '.join(sorted(unknown))}; there are {', '.join(p.name for p in PICTURES)}")
        return 2
    large = False
    with tempfile.TemporaryDirectory(prefix="grpotui-") as home:
        environment = _environment(home)
        for picture in PICTURES:
            if not names or picture.name in names:
                size = _make(picture, environment)
                large |= size > LARGEST
                print(f"{picture.name}.png  {picture.size[0]} × {picture.size[1]}  {size:,} bytes")
    return int(large)


def _environment(home: str) -> dict[str, str]:
    """A state root with the recorded runs in it, and nothing of who makes the pictures."""
    os.mkdir(f"{home}/runs", 0o700)
    for folder in (RUNS, "tests/data/runs/schema-1"):
        for name in sorted(os.listdir(os.path.join(CHECKOUT, folder))):
            path = os.path.join(CHECKOUT, folder, name)
            if os.path.isdir(path):
                shutil.copytree(path, f"{home}/runs/{name}")
                os.chmod(f"{home}/runs/{name}", 0o700)
                began = _began(path)
                os.utime(f"{home}/runs/{name}/run.json", (began, began))
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH") if name in os.environ}
    return {**kept, "GRPOTUI_HOME": home, "HOME": home, "TERM": "xterm-256color", "COLORTERM": "truecolor",
            "LANG": "C.UTF-8", "TZ": "UTC"}  # fmt: skip


def _began(run: str) -> float:
    """When a recorded run was started; the list of runs is in this order."""
    with open(os.path.join(run, "ranks.jsonl"), encoding="utf-8") as file:
        return float(json.loads(file.readline())["t"])


def _make(picture: Picture, environment: Mapping[str, str]) -> int:
    path = os.path.join(HERE, f"{picture.name}.png")
    there = {**environment, **picture.environment}
    with _demo(there, wanted=picture.demo), Terminal((*_GRPOTUI, *picture.words), there, picture.size) as terminal:
        terminal.wait_for(picture.waits)
        terminal.settle()
        terminal.press(picture.keys)
        terminal.wait_for(picture.then)
        terminal.settle()
        draw(terminal.screen, path, dark=picture.environment.get("GRPOTUI_THEME") != "light")
    return os.path.getsize(path)


@contextmanager
def _demo(environment: Mapping[str, str], *, wanted: bool) -> Iterator[None]:
    """The demo, from its tenth step on, and its end."""
    if not wanted:
        yield
        return
    launch = [*_GRPOTUI, "launch", "demo", "--detach"]
    done = subprocess.run(launch, env=dict(environment), cwd=CHECKOUT, check=True, capture_output=True, text=True)
    run = done.stdout.strip()
    try:
        with Terminal((*_GRPOTUI, "attach", run), environment, (120, 40)) as terminal:
            terminal.wait_for("step 20/60")
        yield
    finally:
        subprocess.run([*_GRPOTUI, "stop", run, "--now"], env=dict(environment), check=False, capture_output=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
