"""An Nvml or a Sampler in a process of its own: LD_LIBRARY_PATH, and with it the stand-in, is read at start-up.

`python -m support.gpu_child WORDS` is that process: a question a line on stdin, its answer a line on stdout, as JSON.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Self

PACKAGE = "grpotui_supervisor.gpu"


class GpuChild:
    """`what`: `Nvml` or `Sampler`; `constants`: module-level values to run it with, such as `rounds._LOST_AGAIN_S`."""

    def __init__(
        self,
        env: Mapping[str, str],
        what: str = "Nvml",
        *,
        constants: Mapping[str, Any] | None = None,
        path: str = "",
        **words: Any,
    ) -> None:
        told = json.dumps({"what": what, "constants": constants or {}, "words": words})
        paths = os.pathsep.join([path, *sys.path] if path else sys.path)
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "support.gpu_child", told],
            env={**os.environ, "PYTHONPATH": paths, **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.communicate(timeout=20)

    def __call__(self, name: str, *words: Any) -> Any:
        """What its method or attribute of this name answers; dataclasses as dicts."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([name, *words]) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, self.process.stderr and self.process.stderr.read()
        return json.loads(line)

    def end(self) -> tuple[int, str]:
        """Lets it end as a program does; its exit status, and what it wrote to stderr."""
        _, errors = self.process.communicate(timeout=20)
        return self.process.returncode, errors

    def take(self) -> list[tuple[str, dict[str, Any]]]:
        """All events of a sampler until now: name and fields."""
        self.events += [(one["is"], one) for one in self("take")]
        return self.events

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [fields for name, fields in self.take() if name == kind]

    def wait_for(
        self, kind: str, holds: Callable[[dict[str, Any]], bool] = lambda _: True, *, after: int = 0
    ) -> dict[str, Any]:
        """The first event of a kind that holds, past `after` events of that kind."""
        return wait_until(
            lambda: next((fields for fields in self.of(kind)[after:] if holds(fields)), None), what=f"an event {kind}"
        )


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {"is": type(value).__name__, **fields}
    if hasattr(value, "items"):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value


def _answer(target: Any, name: str, words: list[Any]) -> Any:
    if name == "seconds_of":  # how long a call takes, in the process itself
        began = time.monotonic()
        getattr(target, words[0])(*words[1:])
        return time.monotonic() - began
    if name == "threads":
        return [thread.name for thread in threading.enumerate()]
    if name == "cpu_s":
        return time.process_time()
    if name == "alive":
        return target._thread.is_alive()
    found = getattr(target, name)
    return found(*words) if callable(found) else found


def main() -> None:
    told = json.loads(sys.argv[1])
    for name, value in told["constants"].items():
        module, _, constant = name.rpartition(".")
        found = importlib.import_module(f"{PACKAGE}.{module}")
        assert hasattr(found, constant), name
        setattr(found, constant, value)
    kind = getattr(importlib.import_module(f"{PACKAGE}.{told['what'].lower()}"), told["what"])
    try:
        target = kind(**told["words"])
    except Exception as error:  # noqa: BLE001  (the test looks at it)
        facts = [type(error).__name__, str(error), getattr(error, "hint", None), getattr(error, "may_pass", None)]
        target = type("Failed", (), {"why": facts})
    if hasattr(target, "start"):
        target.start()
    for line in sys.stdin:
        name, *words = json.loads(line)
        print(json.dumps(_plain(_answer(target, name, words))), flush=True)


if __name__ == "__main__":
    main()
