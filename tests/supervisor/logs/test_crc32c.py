import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpotui_supervisor.logs.crc32c import crc32c, masked, masked_columns, planes_of


@pytest.mark.parametrize(
    ("text", "checksum"),
    [
        (b"", 0),
        (b"123456789", 0xE3069283),
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
    ],
)
def test_known_checksums(text: bytes, checksum: int) -> None:
    assert crc32c(text) == checksum


def test_how_a_checksum_is_stored() -> None:
    assert masked(0) == 0xA282EAD8
    assert masked(0xFFFFFFFF) == (0xFFFFFFFF + 0xA282EAD8) & 0xFFFFFFFF


@given(st.data())
def test_many_at_once_are_as_many_one_by_one(data: st.DataObject) -> None:
    length, count = data.draw(st.integers(1, 20)), data.draw(st.integers(1, 9))
    common = data.draw(st.binary(min_size=length, max_size=length))
    places = data.draw(st.lists(st.integers(0, length - 1), unique=True))
    columns = {place: data.draw(st.binary(min_size=count, max_size=count)) for place in places}
    texts = [bytes(columns[p][row] if p in columns else byte for p, byte in enumerate(common)) for row in range(count)]
    zeroed = bytes(0 if place in columns else byte for place, byte in enumerate(common))
    pairs = [(length - 1 - place, column) for place, column in columns.items()]
    planes = [planes_of(pairs[:1], count), planes_of(pairs[1:], count)]
    expected = b"".join(masked(crc32c(text)).to_bytes(4, "little") for text in texts)
    assert masked_columns(crc32c(zeroed), planes, count) == expected
