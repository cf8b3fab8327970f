"""What a program says: its facts, marked lines on stdout among whatever else is printed there, and its last words."""

from __future__ import annotations

import codecs
import contextlib
import json
import os
import selectors
from typing import TYPE_CHECKING, Any, Final

from grpotui_supervisor.preflight.programs.base import SIGN

if TYPE_CHECKING:
    import subprocess

_CHUNK: Final = 1 << 16
_LONGEST: Final = 1 << 20
"""Bytes of a line that is still waited for the end of; a longer one is none of ours."""
_LAST_WORDS: Final = 8192
_LONGEST_WORDS: Final = 500
_DRAINED: Final = 64
"""Chunks that are read after the end: whoever holds the pipe then may write for ever."""


class Hearing:
    """Both streams of a process, read without waiting for one of them.

    Attributes:
        document: all facts told, the later over the earlier.
    """

    def __init__(self) -> None:
        self.document: dict[str, Any] = {}
        self._line = bytearray()
        self._stderr = bytearray()
        self._selector = selectors.DefaultSelector()

    @property
    def stderr(self) -> str:
        """Its end, at most 8 KiB, of every line the end too: of a progress bar what it last showed."""
        text = codecs.decode(bytes(self._stderr), "utf-8", "replace").strip()
        return "\n".join(line.rpartition("\r")[2][-_LONGEST_WORDS:] for line in text.split("\n"))

    def listen(self, process: subprocess.Popen[bytes]) -> None:
        """From now on to this process."""
        for stream in (process.stdout, process.stderr):
            assert stream is not None  # noqa: S101  (both are pipes)
            os.set_blocking(stream.fileno(), False)
            self._selector.register(stream, selectors.EVENT_READ, stream is process.stdout)

    def take(self, seconds: float) -> bool:
        """What has come, or comes within so long; False: nothing did."""
        if not self._selector.get_map():
            self._selector.select(seconds)  # nothing to wait for but time
            return False
        heard = False
        for key, _ in self._selector.select(seconds):
            data = self._read(key.fd)
            if not data:
                self._selector.unregister(key.fileobj)
                continue
            heard = True
            (self._hear if key.data else self._note)(data)
        return heard

    def close(self, process: subprocess.Popen[bytes]) -> None:
        """Takes what is left, and lets the pipes go."""
        for _ in range(_DRAINED):
            if not self._selector.get_map() or not self.take(0):
                break
        self._selector.close()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    @staticmethod
    def _read(descriptor: int) -> bytes:
        try:
            return os.read(descriptor, _CHUNK)
        except OSError:
            return b""

    def _note(self, data: bytes) -> None:
        self._stderr += data
        del self._stderr[:-_LAST_WORDS]

    def _hear(self, data: bytes) -> None:
        *whole, rest = (bytes(self._line) + data).split(b"\n")
        self._line = bytearray(rest[-_LONGEST:])
        for line in whole:
            _, sign, text = line.partition(SIGN.encode())
            if sign:
                self._learn(text)

    def _learn(self, text: bytes) -> None:
        try:
            facts = json.loads(text)
        except (ValueError, RecursionError):
            return
        if isinstance(facts, dict):
            self.document.update(facts)
