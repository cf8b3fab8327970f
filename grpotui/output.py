"""The two streams of a command: data on stdout, words on stderr.

Neither may harm a run that is being watched, and nothing that a terminal would obey gets through either, whoever wrote
the text and whichever command prints it.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import sys

import click

from grpotui.text import inert_lines


class Inert(io.TextIOWrapper):
    """A text stream that only printable characters and line ends get through.

    What its encoding has no character for is written as its escape, instead of ending the command.
    """

    def __init__(self, stream: io.TextIOWrapper) -> None:
        encoding = codecs.lookup(stream.encoding).name
        super().__init__(
            stream.buffer,
            encoding="utf-8" if encoding == "ascii" else encoding,  # click mistrusts ASCII, and would go around this
            errors="backslashreplace",
            line_buffering=stream.line_buffering,
            write_through=stream.write_through,
        )

    def write(self, text: str) -> int:
        """Writes the text; says how much of it was taken, which is all."""
        super().write(inert_lines(text))
        return len(text)


def prepare() -> None:
    """From here on whatever is printed is harmless."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            setattr(sys, name, Inert(stream))


def is_screen() -> bool:
    """Whether a person sits before all three streams, at a terminal that can be drawn on in UTF-8."""
    streams = (sys.__stdin__, sys.__stdout__, sys.__stderr__)
    if os.environ.get("TERM", "dumb") == "dumb" or not all(
        stream is not None and stream.isatty() for stream in streams
    ):
        return False
    encoding = getattr(sys.__stderr__, "encoding", None) or "ascii"
    return codecs.lookup(encoding).name == "utf-8"


def draw(text: str) -> None:
    """Our own drawing on stderr, cursor movements and all; what of it others wrote must be inert already.

    Raises:
        OSError: it cannot be written.
    """
    stream = sys.stderr
    if isinstance(stream, Inert):
        io.TextIOWrapper.write(stream, text)
    else:
        stream.write(text)
    stream.flush()


def say(text: str) -> None:
    """Words on stderr; a full disk behind it is ignored.

    Raises:
        BrokenPipeError: nobody reads it any more.
    """
    try:
        click.echo(text, err=True)
    except BrokenPipeError:
        raise
    except OSError:
        return


class Data:
    """Lines on stdout. When they cannot be written, that is said once and the command goes on without them."""

    def __init__(self) -> None:
        self._failing = False

    def line(self, text: str) -> None:
        """One line.

        Raises:
            BrokenPipeError: nobody reads it any more.
        """
        try:
            click.echo(text)
        except BrokenPipeError:
            raise
        except OSError as error:
            if not self._failing:
                say(f"grpotui: stdout cannot be written ({error.strerror}); the run is followed without it")
            self._failing = True


def leave(code: int) -> int:
    """Flushes, so that the interpreter finds nothing left to fail on at its end; returns the code to exit with."""
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            with contextlib.suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), number)
            code = code or 1
    return code
