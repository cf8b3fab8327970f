"""A client in a terminal of its own: what it shows, keys, sizes, and how it leaves the terminal behind."""

from __future__ import annotations

import fcntl
import os
import signal
import struct
import subprocess
import termios
import threading
import time
from typing import TYPE_CHECKING, Any, Self

from grpotui_supervisor.readable import readable
from support.emulator import MODES_OF_A_SHELL, Emulator
from support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

ENVIRONMENT = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "NO_COLOR": None}


class Terminal:
    """A process that is the session leader of a pty, as over SSH. As a context: ended and closed at the end.

    Attributes:
        emulator: its screen.
        written: all that was written, in order.
        process: the client.
    """

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str | None], *, size: tuple[int, int] = (120, 40)
    ) -> None:
        self.emulator = Emulator(*size)
        self.written = bytearray()
        self.read_at = 0.0
        self._changed = threading.Condition()
        self.master, self.slave = os.openpty()
        self._size(*size)
        self._before = termios.tcgetattr(self.slave)
        self._over, self._stop = os.pipe()
        wanted = {**os.environ, **ENVIRONMENT, **environment}
        self.process = subprocess.Popen(
            list(command), stdin=self.slave, stdout=self.slave, stderr=self.slave, start_new_session=False,
            env={name: value for name, value in wanted.items() if value is not None}, preexec_fn=self._take,  # noqa: PLW1509  (no other thread runs yet)
        )  # fmt: skip
        self._reader = threading.Thread(target=self._read, name="terminal")
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.write(self._stop, b"x")
        self._reader.join()
        for number in (self.slave, self._over, self._stop, *([self.master] if self.master >= 0 else [])):
            os.close(number)

    @property
    def text(self) -> str:
        """The screen."""
        with self._changed:
            return self.emulator.text

    def press(self, keys: str) -> None:
        """As typed."""
        os.write(self.master, keys.encode())

    def resize(self, columns: int, rows: int) -> None:
        """The window is dragged; the kernel tells the client."""
        with self._changed:
            self.emulator.resize(columns, rows)
            self._size(columns, rows)

    def wait_for(self, *words: str, seconds: float = 20.0) -> str:
        """Until all of these are on the screen; returns the screen."""
        return self.wait_until(lambda text: all(word in text for word in words), words, seconds)

    def wait_gone(self, word: str, seconds: float = 20.0) -> str:
        """Until this is on the screen no more."""
        return self.wait_until(lambda text: word not in text, f"no {word}", seconds)

    def wait_until(self, holds: Any, what: object, seconds: float = 20.0) -> str:
        """Until the screen's text is one that `holds`."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while not holds(text := self.emulator.text):
                if not self._changed.wait(max(0.0, deadline - time.monotonic())) and time.monotonic() >= deadline:
                    raise AssertionError(
                        f"{what!r} did not come within {seconds:g} s (rc {self.process.poll()}):\n{text}"
                    )
        return text

    def wait_end(self, seconds: float = 20.0) -> int:
        """Its exit code, as of `subprocess`; all that it wrote is read then."""
        code = self.process.wait(seconds)
        wait_until(lambda: not readable([self.master], 0), what="all of it read")
        with self._changed:
            return code

    def hang_up(self) -> None:
        """The connection breaks."""
        os.write(self._stop, b"x")
        self._reader.join()
        os.close(self.slave)
        os.close(self.master)
        self.master, self.slave = -1, os.open(os.devnull, os.O_RDWR)

    def left(self) -> dict[str, object]:
        """What of the terminal is not as it was; empty where all is."""
        with self._changed:
            modes = {mode: on for mode, on in self.emulator.modes.items() if on != MODES_OF_A_SHELL.get(mode, False)}
        keyboard = self.written.count(b"\x1b[>") - self.written.count(b"\x1b[<u")
        attributes = termios.tcgetattr(self.slave) != self._before
        return {
            **({"modes": modes} if modes else {}),
            **({"keyboard": keyboard} if keyboard else {}),
            **({"attributes": termios.tcgetattr(self.slave)} if attributes else {}),
        }

    def _size(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def _take(self) -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a test run in the background of a script has it ignored
        os.setsid()
        fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)

    def _read(self) -> None:
        while True:
            ready = readable([self.master, self._over], None)
            if self._over in ready:
                return
            try:
                block = os.read(self.master, 1 << 16)
            except OSError:
                return
            with self._changed:
                self.read_at = time.monotonic()
                self.written += block
                self.emulator.feed(block)
                self._changed.notify_all()
