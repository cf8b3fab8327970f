"""Demo runs for tests: where the profiles are, and one run's processes and output."""

import contextlib
import signal
import socket
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

PROFILES = Path(__file__).parents[2] / "profiles"
PATIENCE = 30.0


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


@dataclass
class Job:
    """The ranks of one demo run, and the files that hold their output."""

    folder: Path
    processes: list[subprocess.Popen[bytes]]

    def stdout(self, rank: int = 0) -> str:
        return (self.folder / f"{rank}.out").read_text()

    def stderr(self, rank: int = 0) -> str:
        return (self.folder / f"{rank}.err").read_text()

    def codes(self) -> list[int]:
        """Wait for every rank; a signal is a negative code."""
        return [process.wait(PATIENCE) for process in self.processes]

    def steps(self) -> list[dict[str, float]]:
        """Read the metrics that rank 0 has printed."""
        lines = [line for line in self.stdout().splitlines(keepends=True) if line.endswith("\n")]
        return [
            {key: float(value) for key, value in (part.split(":") for part in line.strip().split(" - "))}
            for line in lines
            if line.startswith("step:")
        ]

    def end(self) -> None:
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGKILL)
            process.wait(PATIENCE)


Start = Callable[..., Job]
"""The fixture `start`: the demo's arguments, `world=` ranks, `env=` additions."""
