"""Writes TensorBoard event files byte by byte, and reads them back in the most obvious way."""

import struct
from collections.abc import Iterable

from grpotui_supervisor.logs.crc32c import crc32c, masked

Read = dict[str, list[tuple[int, float, float]]]
"""(step, wall time, value) by tag."""


def varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    out = b""
    while number > 0x7F:
        out += bytes((number & 0x7F | 0x80,))
        number >>= 7
    return out + bytes((number,))


def field(number: int, content: bytes | int) -> bytes:
    """A varint for a number, else a text with its length."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    return varint(number << 3 | 2) + varint(len(content)) + content


def fixed(number: int, form: str, value: float) -> bytes:
    return varint(number << 3 | (1 if form == "<d" else 5)) + struct.pack(form, value)


def simple(tag: str, value: float) -> bytes:
    """One value of a summary, as nearly every writer lays it out."""
    return field(1, field(1, tag.encode()) + fixed(2, "<f", value))


def tensor(tag: str, content: bytes) -> bytes:
    return field(1, field(1, tag.encode()) + field(8, content))


def event(wall: float, step: int | None, *values: bytes) -> bytes:
    told = b"" if step is None else field(2, step)
    return fixed(1, "<d", wall) + told + field(5, b"".join(values))


def record(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked(crc32c(length))) + data + struct.pack("<I", masked(crc32c(data)))


FIRST = record(fixed(1, "<d", 1764000000.0) + field(3, b"brain.Event:2"))
"""How every file begins."""


def training(tags: Iterable[str], steps: Iterable[int], wall: float = 1764000000.0) -> bytes:
    """What a trainer writes: the same tags at every step."""
    names = list(tags)
    out = [FIRST]
    for step in steps:
        for place, tag in enumerate(names):
            wall += 0.0371  # no sum of powers of two: all the lower bytes change
            out.append(record(event(wall, step, simple(tag, step + place / 8))))
    return b"".join(out)


def obvious(data: bytes) -> Read:
    """Only simple values; stops at a torn or damaged length, leaves damaged records out."""
    found: Read = {}
    while len(data) >= 12:
        length = int.from_bytes(data[:8], "little")
        body, checksum = data[12 : 12 + length], data[12 + length : 16 + length]
        if masked(crc32c(data[:8])).to_bytes(4, "little") != data[8:12] or len(checksum) < 4:
            break
        data = data[16 + length :]
        if masked(crc32c(body)).to_bytes(4, "little") == checksum and body[9:10] == b"\x10":
            wall, number, at = struct.unpack("<d", body[1:9])[0], 0, 10
            while True:
                number |= (body[at] & 0x7F) << 7 * (at - 10)
                at += 1
                if body[at - 1] < 0x80:
                    break
            tag = body[at + 6 : -5].decode()
            found.setdefault(tag, []).append((number, wall, struct.unpack("<f", body[-4:])[0]))
    return found
