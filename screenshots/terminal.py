"""The program in a terminal of its own, and the screen that it makes there."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from typing import TYPE_CHECKING, Self

import pyte

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

_UNKNOWN = re.compile(rb"\x1b\[[<>=][0-9;]*[a-zA-Z]|\x1b\[\?[0-9;]*\$p|\x1b\]22;[^\x07]*\x07")
"""Questions and modes that pyte would print: the keyboard's, the pointer's, synchronized output."""
_QUIET_S = 0.4


class Terminal:
    """A pty with a program in it; as a context, the program is ended at the end."""

    def __init__(self, words: Sequence[str], environment: Mapping[str, str], size: tuple[int, int]) -> None:
        self.screen = pyte.Screen(*size)
        self._stream = pyte.ByteStream(self.screen)
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self._process = subprocess.Popen(
            list(words), stdin=slave, stdout=slave, stderr=slave, env=dict(environment), start_new_session=True
        )
        os.close(slave)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._master)

    def press(self, keys: str) -> None:
        """As typed, one after the other: each may open what the next one is for."""
        for key in keys:
            os.write(self._master, key.encode())
            self.settle()

    def wait_for(self, text: str, seconds: float = 40.0) -> None:
        """Until it is on the screen.

        Raises:
            TimeoutError: it never was.
        """
        deadline = time.monotonic() + seconds
        while not any(text in line for line in self.screen.display):
            if not self._take(0.2) and time.monotonic() > deadline:
                raise TimeoutError(f"{text!r} is not on the screen:\n" + "\n".join(self.screen.display))

    def settle(self, longest: float = 3.0) -> None:
        """Until nothing more is drawn for a moment; what is live never rests."""
        deadline = time.monotonic() + longest
        while self._take(_QUIET_S) and time.monotonic() < deadline:
            pass

    def _take(self, seconds: float) -> bool:
        if not select.select([self._master], [], [], seconds)[0]:
            return False
        try:
            self._stream.feed(_UNKNOWN.sub(b"", os.read(self._master, 1 << 16)))
        except OSError:  # it has ended
            return False
        return True
