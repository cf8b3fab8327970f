"""What the tests of the demo share: its modules on the path, and a way to start it as a launcher does."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from support.demo import PROFILES, Job, Start, free_port

# The script is started by its path, so its modules know each other by their plain names.
sys.path.insert(0, str(PROFILES))

from demo_ranks import Peer, Ranks


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start the demo's ranks; whatever is left of them at the end is killed."""
    jobs: list[Job] = []

    def begin(*arguments: str, world: int = 2, env: Mapping[str, str] | None = None) -> Job:
        folder = tmp_path / str(len(jobs))
        folder.mkdir()
        port = str(free_port())
        job = Job(folder, [])
        jobs.append(job)
        for rank in range(world):
            place = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(world)}
            meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
            with (folder / f"{rank}.out").open("wb") as out, (folder / f"{rank}.err").open("wb") as err:
                job.processes.append(
                    subprocess.Popen(
                        [sys.executable, str(PROFILES / "demo_grpo.py"), *arguments],
                        stdin=subprocess.DEVNULL,
                        stdout=out,
                        stderr=err,
                        cwd=folder,  # a core file, if the machine writes any
                        env={**os.environ, **place, **meeting, **(env or {})},
                    )
                )
        return job

    yield begin
    for job in jobs:
        job.end()


@pytest.fixture
def pair() -> Iterator[tuple[Ranks, Ranks]]:
    """Two ranks in this process, connected through TCP."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        there = socket.create_connection(listener.getsockname())
        both = Ranks(0, 2, [Peer(listener.accept()[0])]), Ranks(1, 2, [Peer(there)])
    yield both
    for ranks in both:
        ranks.close()
