"""The two streams of a command: data on stdout, words on stderr. Neither may harm a run that is being watched."""

from __future__ import annotations

import contextlib
import io
import os
import sys

import click

from grpotui.text import inert


def prepare() -> None:
    """What the terminal's encoding has no character for is written as its escape, instead of ending the command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def say(text: str) -> None:
    """Words on stderr, without anything that a terminal would obey; a full disk behind it is ignored.

    Raises:
        BrokenPipeError: nobody reads it any more.
    """
    lines = "\n".join(inert(line) for line in text.split("\n"))
    try:
        click.echo(lines, err=True)
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
