"""Blocks of plain and packed files, of pipes, and of files that are cut off or damaged."""

import gzip
import os
import threading
from pathlib import Path

import pytest

from grpotui_supervisor.errors import UsageError
from grpotui_supervisor.source.blocks import SIZE, Blocks

TEXT = b"".join(b"line %d of a log, %x\n" % (n, n * 2654435761 % 2**32) for n in range(100_000))


def test_the_position_goes_to_the_size_of_the_file_as_it_lies_there(tmp_path: Path) -> None:
    for name, data in (("plain", TEXT), ("packed", gzip.compress(TEXT))):
        (tmp_path / name).write_bytes(data)
        blocks, seen, content = Blocks(str(tmp_path / name)), [], b""
        for block in blocks:
            assert len(block) <= SIZE
            content += block
            seen.append(blocks.position)
        assert (content, blocks.size, blocks.position, blocks.cut) == (TEXT, len(data), len(data), None)
        assert len(seen) > 2
        assert seen == sorted(seen)


def test_a_pipe_may_be_packed_too(tmp_path: Path) -> None:
    """As in `grpotui replay <(ssh node cat log.gz)`: it can be opened once only."""
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(gzip.compress(TEXT),))
    writer.start()
    blocks = Blocks(str(tmp_path / "pipe"))
    assert b"".join(blocks) == TEXT
    assert (blocks.size, blocks.position) == (None, len(TEXT))
    writer.join(20)


@pytest.mark.parametrize("lost", [1, 9, 1000])
def test_what_precedes_the_cut_is_read(tmp_path: Path, lost: int) -> None:
    (tmp_path / "cut").write_bytes(gzip.compress(TEXT)[:-lost])
    blocks = Blocks(str(tmp_path / "cut"))
    content = b"".join(blocks)
    assert TEXT.startswith(content)
    assert len(content) >= len(TEXT) - 8 * lost - 8  # 1 kB of this packs 4 kB
    assert blocks.cut is not None


def test_damage_and_garbage_behind_are_told(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(TEXT))
    packed[len(packed) // 2 : len(packed) // 2 + 64] = bytes(64)
    for name, data in (("damaged", bytes(packed)), ("trailed", gzip.compress(TEXT) + b"garbage")):
        (tmp_path / name).write_bytes(data)
        blocks = Blocks(str(tmp_path / name))
        assert len(b"".join(blocks)) > len(TEXT) // 3
        assert blocks.cut is not None
    (tmp_path / "none").write_bytes(b"\x1f\x8bno gzip at all")
    with pytest.raises(UsageError, match="cannot be unpacked"):
        list(Blocks(str(tmp_path / "none")))


def test_zstd(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard", reason="zstandard is an extra")
    half = len(TEXT) // 2
    packed = zstandard.compress(TEXT[:half]) + zstandard.compress(TEXT[half:])
    (tmp_path / "log.zst").write_bytes(packed)
    blocks = Blocks(str(tmp_path / "log.zst"))
    assert b"".join(blocks) == TEXT
    assert blocks.position == len(packed)
    (tmp_path / "log.zst").write_bytes(packed[:-1000])
    content = b"".join(Blocks(str(tmp_path / "log.zst")))
    assert TEXT.startswith(content)
    assert len(content) > half
    (tmp_path / "log.zst").write_bytes(packed + b"garbage")
    blocks = Blocks(str(tmp_path / "log.zst"))
    assert b"".join(blocks) == TEXT
    assert blocks.cut is not None


def test_zstd_without_its_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "zstandard", None)
    (tmp_path / "log.zst").write_bytes(b"\x28\xb5\x2f\xfd and more")
    with pytest.raises(UsageError, match="zstd") as caught:
        list(Blocks(str(tmp_path / "log.zst")))
    assert "grpotui[zstd]" in str(caught.value.hint)


def test_what_cannot_be_opened_or_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be opened"):
        list(Blocks(str(tmp_path / "none")))
    with pytest.raises(UsageError, match="cannot be opened"):
        list(Blocks(str(tmp_path)))
