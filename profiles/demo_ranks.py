"""The demo's collectives: sums and maxima over all ranks, through TCP connections to rank 0.

It stands in for torch.distributed with gloo, and fails like it: a rank that waits for a dead peer raises
"Connection closed by peer". Nothing here has a timeout once all ranks have met, also as in real runs.
"""

from __future__ import annotations

import signal
import socket
import struct
import time
from array import array
from operator import add
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Combine = Callable[[float, float], float]

MEETING_SECONDS = 60.0
"""How long the ranks wait for each other at the start."""
HELLO = struct.Struct("!I")
"""The first message of a peer: its rank."""


class PeerLostError(RuntimeError):
    """A peer closed its connection in the middle of the run: its process has ended."""


def wait_for_ever() -> None:
    """Do nothing until a signal ends the process."""
    while True:
        signal.pause()


class Peer:
    """A connection to another rank. Its sends and receives raise `PeerLostError` once that rank is gone."""

    def __init__(self, connection: socket.socket) -> None:
        host, port = connection.getpeername()[:2]
        self._name = f"[{host}]:{port}"  # asked for now: a connection that was reset no longer knows
        self._connection = connection
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def limit(self, seconds: float | None) -> None:
        """Let sends and receives fail after some time, or (None) wait for ever."""
        self._connection.settimeout(seconds)

    def send(self, data: bytes) -> None:
        """Send all of it."""
        try:
            self._connection.sendall(data)
        except ConnectionError as error:
            raise PeerLostError(f"Connection closed by peer {self._name}: {error}") from error

    def receive(self, size: int) -> bytes:
        """Read exactly `size` bytes."""
        data = bytearray()
        try:
            while len(data) < size:
                piece = self._connection.recv(size - len(data))
                if not piece:
                    raise ConnectionResetError(f"{size - len(data)} of {size} bytes are missing")
                data += piece
        except ConnectionError as error:
            raise PeerLostError(f"Connection closed by peer {self._name}: {error}") from error
        return bytes(data)

    def close(self) -> None:
        """Hang up."""
        self._connection.close()


class Ranks:
    """This process's place among the ranks of a run.

    Rank 0 holds one connection to every peer, in the order of their ranks, so that sums are added in the
    same order every time; a peer holds one to rank 0.
    """

    def __init__(self, rank: int, world: int, peers: Sequence[Peer]) -> None:
        self.rank = rank
        self.world = world
        self.patient = False
        """Wait for ever for a lost peer, as NCCL does over shared memory, where nobody closes anything."""
        self._peers = peers

    def all_reduce(self, values: Iterable[float], combine: Combine = add) -> list[float]:
        """Combine the values of all ranks, element by element; every rank gets the same result."""
        mine = array("d", values)
        try:
            result = self._gather(mine, combine) if self.rank == 0 else self._ask(mine)
        except PeerLostError:
            if self.patient:
                wait_for_ever()
            raise
        return result.tolist()

    def _gather(self, mine: array[float], combine: Combine) -> array[float]:
        for peer in self._peers:
            mine = array("d", map(combine, mine, array("d", peer.receive(len(mine) * 8))))
        for peer in self._peers:
            peer.send(mine.tobytes())
        return mine

    def _ask(self, mine: array[float]) -> array[float]:
        self._peers[0].send(mine.tobytes())
        return array("d", self._peers[0].receive(len(mine) * 8))

    def barrier(self) -> None:
        """Wait until every rank has come this far."""
        self.all_reduce([0.0])

    def close(self) -> None:
        """Hang up. Peers that still wait will raise."""
        for peer in self._peers:
            peer.close()


def meet(rank: int, world: int, address: str, port: int) -> Ranks:
    """Connect the ranks of a run; returns on every rank when all are there.

    Raises:
        TimeoutError: A rank did not come within `MEETING_SECONDS`.
    """
    deadline = time.monotonic() + MEETING_SECONDS
    if world == 1:
        peers = []
    elif rank == 0:
        peers = welcome(world, address, port, deadline)
    else:
        peers = [call(rank, address, port, deadline)]
    for peer in peers:
        peer.limit(None)
    ranks = Ranks(rank, world, peers)
    ranks.barrier()
    return ranks


def welcome(world: int, address: str, port: int, deadline: float) -> list[Peer]:
    """Accept every peer, as rank 0; whoever does not say a rank that is missing is turned away."""
    found: dict[int, Peer] = {}
    with socket.create_server((address, port), backlog=world) as listener:
        while len(found) < world - 1:
            listener.settimeout(max(0.01, deadline - time.monotonic()))
            try:
                peer = Peer(listener.accept()[0])
                peer.limit(max(0.01, deadline - time.monotonic()))
                rank = HELLO.unpack(peer.receive(HELLO.size))[0]
            except OSError as error:
                missing = world - 1 - len(found)
                raise TimeoutError(f"{missing} of {world} ranks did not come to {address}:{port}") from error
            if 0 < rank < world and rank not in found:
                found[rank] = peer
            else:
                peer.close()
    return [found[rank] for rank in sorted(found)]


def call(rank: int, address: str, port: int, deadline: float) -> Peer:
    """Connect to rank 0, which may not listen yet."""
    while True:
        try:
            wait = max(0.01, deadline - time.monotonic())
            peer = Peer(socket.create_connection((address, port), timeout=wait))
        except OSError as error:
            if time.monotonic() > deadline:
                raise TimeoutError(f"nobody listens at {address}:{port} (MASTER_ADDR, MASTER_PORT)") from error
            time.sleep(0.05)
        else:
            peer.send(HELLO.pack(rank))
            return peer
