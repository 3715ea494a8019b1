"""Which records of a compacted topic may be gone: those that a later one with their key replaced.

Kafka's cleaner takes a record away when the log holds a later one with the same key; a record whose
value is null (a tombstone) goes by itself after a while [cleanup.policy=compact; KIP-58]. What
stays keeps its offset and its value, and the end of the log is never cleaned. So a fetch may pass
over a record if a later one with its key had been appended before that fetch was over; of each key
the newest record survives. A broker takes the end that it tells before the records, and a fetch may
find nothing but a batch that was emptied: who finds nothing proves that the first record from there
on is gone, or was not there. Whether a record that is gone was seen again is not looked for:
replicas clean on their own.

Keys are known where each value is a pair (key, value). Where they are not, any record may be gone
that others stand behind.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Keys(NamedTuple):
    """Of each value, by its number: its key's number, and whether it is a tombstone."""

    key: NDArray[np.int64]
    tombstone: NDArray[np.bool_]


def keys_of(values: Sequence[Any]) -> Keys:
    """Raises ValueError: a value that is no pair."""
    numbers: dict[Any, int] = {}
    found = []
    for value in values:
        if type(value) is not tuple or len(value) != 2:
            raise ValueError(f"{value!r:.60} is no [key value], by which the topic is compacted")
        found.append(numbers.setdefault(value[0], len(numbers)))
    tombstone = [value[1] is None for value in values]
    return Keys(np.array(found, np.int64), np.array(tombstone, np.bool_))


def successors(segment: NDArray[np.int64], key: NDArray[np.int64]) -> NDArray[np.int64]:
    """Of each record, in the order of segments and offsets, the next with its key; -1: none."""
    order = np.lexsort((np.arange(len(key)), key, segment))
    one, two = order[:-1], order[1:]
    same = (segment[one] == segment[two]) & (key[one] == key[two])
    found = np.full(len(key), -1)
    found[one[same]] = two[same]
    return found
