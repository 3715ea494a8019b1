"""What inputs and messages of every protocol have in common: tags, addresses, bytes, one order.

Every value is immutable and hashable, equal by content, and encodes to the same bytes in every
process.

Law of this file: nothing here knows of a protocol.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

from kraftcheck.reference.kit.fields import Address


class Tagged(msgspec.Struct, frozen=True, gc=False, cache_hash=True, tag=True, tag_field="type"):
    """Tagged with the name of the class. The hash is kept, because steps are memoised by input."""


class Addressed(Tagged, frozen=True):
    """A message. These two are its first fields."""

    source: Address
    destination: Address


M = TypeVar("M", bound=Addressed)
_encoder = msgspec.msgpack.Encoder()


def encode(value: Any) -> bytes:
    """Equal values give equal bytes, and different ones different ones."""
    return _encoder.encode(value)


def _order(message: Addressed) -> tuple[int, str, bytes]:
    return (message.destination, type(message).__name__, _encoder.encode(message))


def canonical(messages: Iterable[M]) -> tuple[M, ...]:
    """The set of these messages in its one order: by addressee, type, content.

    A tuple that is sorted by content stands for a set wherever two equal sets must encode to the
    same bytes. A message that is given twice stands once, as in the spec's network.
    """
    listed = tuple(messages)
    if len(listed) < 2:
        return listed
    if len(listed) == 2:
        one, other = listed
        # Mostly they differ in the first two, and need not be encoded.
        first = (one.destination, type(one).__name__)
        second = (other.destination, type(other).__name__)
        if first != second:
            return listed if first < second else (other, one)
    return tuple(sorted(set(listed), key=_order))
