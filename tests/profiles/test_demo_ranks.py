"""The collectives, over real connections between real processes."""

import json
import os
import subprocess
import sys

import pytest
from demo_ranks import PeerLostError, Ranks
from support.demo import PATIENCE, PROFILES, free_port

MEMBER = """
import json, sys
from demo_ranks import meet
rank, port = int(sys.argv[1]), int(sys.argv[2])
ranks = meet(rank, 3, "127.0.0.1", port)
numbers = [rank + index / 7 for index in range(5000)]
print(json.dumps([ranks.all_reduce(numbers), ranks.all_reduce(numbers, max)]))
ranks.close()
"""


def test_all_reduce_over_tcp_between_three_processes() -> None:
    port = str(free_port())
    members = [
        subprocess.Popen(
            [sys.executable, "-c", MEMBER, str(rank), port],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(PROFILES)},
        )
        for rank in (2, 1, 0)  # rank 0 is the last to come: peers wait for it
    ]
    try:
        printed = [json.loads(member.communicate(timeout=PATIENCE)[0]) for member in members]
    finally:
        for member in members:
            member.kill()
            member.wait()
    assert printed[0] == printed[1] == printed[2]
    assert printed[0][0] == pytest.approx([3 + 3 * index / 7 for index in range(5000)])
    assert printed[0][1] == [2 + index / 7 for index in range(5000)]


@pytest.mark.parametrize("rank", [0, 1])
def test_a_closed_connection_is_an_error(pair: tuple[Ranks, Ranks], rank: int) -> None:
    pair[1 - rank].close()
    with pytest.raises(PeerLostError, match=r"Connection closed by peer \[127\.0\.0\.1\]:"):
        pair[rank].all_reduce([1.0])
