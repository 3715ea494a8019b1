"""Messages of the quorum that nobody sends: the stated generator of moves to be refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, get_args

from msgspec.structs import replace

from kraftcheck.reference.kit.log import Entry
from kraftcheck.reference.quorum.messages import Error
from kraftcheck.reference.quorum.types import NOBODY

_NUMBERS: Final = frozenset(
    {"epoch", "last_epoch", "last_offset", "fetch_offset", "last_fetched_epoch", "high_watermark"}
)


def mutants(message: Any, voters: Iterable[int]) -> Iterator[Any]:
    """The message with one thing changed: the stated generator of moves that nobody makes.

    Numbers go one up and one down (not below -1 in a request, which may be malformed, nor below 0
    in a response, whose sender follows the protocol in form; a response's high watermark may be
    -1). Booleans are turned, errors and leaders replaced by every other, sources by every other
    sender. Records get one more, of their epoch and of the next. The request in a response is
    mutated alike.
    """
    response = hasattr(message, "request")
    for name in message.__struct_fields__:
        value = getattr(message, name)
        if name in _NUMBERS:
            least = 0 if response and name != "high_watermark" else -1
            yield from (
                replace(message, **{name: other})
                for other in (value - 1, value + 1)
                if other >= least
            )
        elif isinstance(value, bool):
            yield replace(message, **{name: not value})
        elif name == "error":
            yield from (replace(message, error=e) for e in get_args(Error) if e != value)
        elif name == "leader":
            yield from (replace(message, leader=v) for v in (NOBODY, *voters) if v != value)
        elif name == "source":
            others = (v for v in voters if v not in (value, message.destination))
            yield from (replace(message, source=v) for v in others)
        elif name == "records":
            last = value[-1].epoch if value else message.epoch
            for epoch in (last, last + 1):
                yield replace(message, records=(*value, Entry(epoch, 1)))
        elif name == "successors":
            yield replace(message, successors=value[::-1] if len(value) > 1 else ())
        elif name == "request":
            yield from (replace(message, request=m) for m in mutants(value, voters))
