"""The partitioner against Kafka's published vectors (UtilsTest.testMurmur2)."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from kraftcheck.reference.clients.partitioner import murmur2, partition_for_key

VECTORS = [
    (b"21", -973932308),
    (b"foobar", -790332482),
    (b"a-little-bit-long-string", -985981536),
    (b"a-little-bit-longer-string", -1486304829),
    (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
    (b"abc", 479470107),
]


@pytest.mark.parametrize(("data", "expected"), VECTORS)
def test_hashes_are_kafkas(data: bytes, expected: int) -> None:
    assert murmur2(data) == expected


@pytest.mark.parametrize(("data", "expected"), VECTORS)
def test_the_partition_is_the_hash_without_its_sign(data: bytes, expected: int) -> None:
    assert partition_for_key(data, 7) == (expected & 0x7FFFFFFF) % 7


def java_murmur2(data: bytes) -> int:
    """`Utils.murmur2` line by line, one byte at a time."""

    def int32(value: int) -> int:
        return (value + (1 << 31)) % (1 << 32) - (1 << 31)

    def shifted(value: int, by: int) -> int:
        return (value % (1 << 32)) >> by

    m = 0x5BD1E995
    h = int32(0x9747B28C ^ len(data))
    for i in range(len(data) // 4):
        k = 0
        for at in range(4):
            k = int32(k + (data[4 * i + at] << 8 * at))
        k = int32(k * m)
        k ^= shifted(k, 24)
        k = int32(int32(k) * m)
        h = int32(h * m) ^ k
    rest = len(data) % 4
    if rest == 3:
        h ^= data[(len(data) & ~3) + 2] << 16
    if rest >= 2:
        h ^= data[(len(data) & ~3) + 1] << 8
    if rest >= 1:
        h = int32((h ^ data[len(data) & ~3]) * m)
    h ^= shifted(h, 13)
    h = int32(int32(h) * m)
    return int32(h ^ shifted(h, 15))


@given(st.binary(max_size=40))
def test_the_hash_agrees_with_a_slow_twin(data: bytes) -> None:
    assert murmur2(data) == java_murmur2(data)


@given(st.binary(max_size=20), st.integers(1, 50))
def test_a_partition_exists(data: bytes, partitions: int) -> None:
    assert 0 <= partition_for_key(data, partitions) < partitions
