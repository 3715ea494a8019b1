"""Choose the partition of a record by Kafka's murmur2 over its key.

As `Utils.murmur2` and `BuiltInPartitioner.partitionForKey` do.

Law of this file: arithmetic on 32 bits, as Java does it.
"""

from __future__ import annotations

_SEED = 0x9747B28C
_M = 0x5BD1E995
_MASK = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """The hash as Java's signed int."""
    h = _SEED ^ len(data)
    whole = len(data) & ~3
    for at in range(0, whole, 4):
        k = int.from_bytes(data[at : at + 4], "little") * _M & _MASK
        k = (k ^ k >> 24) * _M & _MASK
        h = h * _M & _MASK ^ k
    if whole < len(data):
        h = (h ^ int.from_bytes(data[whole:], "little")) * _M & _MASK
    h = (h ^ h >> 13) * _M & _MASK
    h ^= h >> 15
    return h - (1 << 32) if h >> 31 else h


def partition_for_key(key: bytes, partitions: int) -> int:
    """The partition of a key among `partitions`: the hash without its sign, modulo their number."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions
