"""New files that appear under their name only when they are whole."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO

from grpotui_supervisor.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator


def check_free(path: str) -> None:
    """Says before the work what would stop the file after it.

    Raises:
        UsageError: the file is there, or its folder is not.
    """
    if os.path.lexists(path):
        raise UsageError(f"{path} cannot be written: it exists", hint="name another file, or remove this one first")
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise UsageError(f"{path} cannot be written: there is no folder {folder}")


@contextmanager
def landing(path: str) -> Iterator[BinaryIO]:
    """Opens a file beside `path` and gives it that name at the end; after an error or an interrupt nothing is left.

    Raises:
        UsageError: the file is there, or cannot be written.
    """
    check_free(path)
    draft = os.path.join(os.path.dirname(path), f".grpotui-{os.getpid()}.part")
    try:
        with open(draft, "xb") as file:
            yield file
        _name(draft, path)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            os.unlink(draft)


def _name(draft: str, path: str) -> None:
    """Never over a file that has come there meanwhile; not every file system has links."""
    try:
        os.link(draft, path)
    except FileExistsError:
        raise
    except OSError:
        check_free(path)
        os.rename(draft, path)
