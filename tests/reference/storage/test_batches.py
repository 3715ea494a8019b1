"""Records in each of Kafka's compressions."""

from __future__ import annotations

import gzip

import cramjam
import pytest

from kraftcheck.reference.storage.batches import CODECS, SNAPPY_JAVA, Undecodable, plain

TEXT = b"one and two and three " * 999


def in_blocks(data: bytes, size: int) -> bytes:
    """As snappy-java writes it: two versions of four bytes, and each block behind its length."""
    out = SNAPPY_JAVA + bytes([0, 0, 0, 1, 0, 0, 0, 1])
    for at in range(0, len(data), size):
        block = bytes(cramjam.snappy.compress_raw(data[at : at + size]))
        out += len(block).to_bytes(4, "big") + block
    return out


@pytest.mark.parametrize(
    ("codec", "data"),
    [
        ("none", TEXT),
        ("gzip", gzip.compress(TEXT)),
        ("snappy", bytes(cramjam.snappy.compress_raw(TEXT))),
        ("snappy", in_blocks(TEXT, 1000)),
        ("lz4", bytes(cramjam.lz4.compress(TEXT))),
        ("zstd", bytes(cramjam.zstd.compress(TEXT))),
    ],
    # What a codec makes is not the same in every process, and a test has one name.
    ids=["none", "gzip", "snappy", "snappy-in-blocks", "lz4", "zstd"],
)
def test_what_is_compressed_is_read(codec: str, data: bytes) -> None:
    number = CODECS.index(codec)
    assert plain(data, number) == TEXT
    if number:
        for wrong in (data[:-30], b"", b"\xff" + data[1:]):
            with pytest.raises(Undecodable):
                plain(wrong, number)


def test_a_compression_that_there_is_not() -> None:
    with pytest.raises(Undecodable, match="compression 7 is none of Kafka's"):
        plain(TEXT, 7)
