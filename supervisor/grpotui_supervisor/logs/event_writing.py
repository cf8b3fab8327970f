"""Writes TensorBoard's event files, which `tensorboard` reads: scalars with step and wall time. No TensorFlow.

How a record and the protocol buffer in it are laid out: see `tensorboard`. A value is a `simple_value`, in single
precision, since that is the only kind that every reader of such files knows.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from grpotui_supervisor.logs.crc32c import crc32c, masked

if TYPE_CHECKING:
    from collections.abc import Iterable

VERSION: Final = b"brain.Event:2"
"""What the first record of every file says."""

WRITER: Final = b"grpotui"

_WALL, _STEP, _VERSION, _SUMMARY, _METADATA = b"\x09", b"\x10", b"\x1a", b"\x2a", b"\x52"
_VALUE, _TAG, _SIMPLE, _NAME = b"\x0a", b"\x0a", b"\x15", b"\x0a"


def beginning(wall: float | None) -> bytes:
    """The first record: version of the format, and who wrote it."""
    return _record(_wall(wall) + _text(_VERSION, VERSION) + _text(_METADATA, _text(_NAME, WRITER)))


def scalars(wall: float | None, step: int, pairs: Iterable[tuple[str, float]]) -> bytes:
    """One record with the scalars of a step; a number that single precision cannot hold must not be among them.

    An unknown wall time (seconds since 1970) is left out of the record; readers take that for 0.

    Raises:
        OverflowError: a finite number is too large.
    """
    values = b"".join(
        _text(_VALUE, _text(_TAG, tag.encode("utf-8", "replace")) + _SIMPLE + struct.pack("<f", number))
        for tag, number in pairs
    )
    return _record(_wall(wall) + _STEP + _varint(step) + _text(_SUMMARY, values))


def fits(number: float) -> bool:
    """Whether single precision has a number near this one; nan and the infinities are such."""
    try:
        struct.pack("<f", number)
    except OverflowError:
        return False
    return True


def _record(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    checksums = [struct.pack("<I", masked(crc32c(part))) for part in (length, data)]
    return length + checksums[0] + data + checksums[1]


def _wall(seconds: float | None) -> bytes:
    return b"" if seconds is None else _WALL + struct.pack("<d", seconds)


def _text(key: bytes, content: bytes) -> bytes:
    return key + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)
