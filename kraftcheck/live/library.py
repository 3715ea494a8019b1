"""What a client of a recording needs of a client library, whichever it is.

Two libraries that share no code are two opinions: what one of them does wrong, or hides by trying
again, the other need not. kraftcheck/live/confluent.py and kraftcheck/live/kafka_python.py are
they. Options have the names of librdkafka; a library that has others translates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol

Options = Mapping[str, Any]


class LibraryError(Exception):
    """The library is not there, or cannot be used like this. The text is one line."""


class ClientError(Exception):
    """A request that the library gave up. The text is the library's name for the reason."""


class SendResult(NamedTuple):
    """What became of a record, as far as the library says."""

    offset: int | None = None
    """None: not said."""
    error: str | None = None
    """Why it was not acknowledged; None: it was."""
    never_sent: bool = False
    """It cannot have been written."""
    fatal: bool = False
    """The producer is of no further use."""


class Ending(NamedTuple):
    """How a transaction ended."""

    kind: Literal["ok", "fail", "info"]
    """As was asked, aborted instead, or nobody knows."""
    error: str | None = None
    """What was said where it was not as asked."""


class Got(NamedTuple):
    """A record that was read."""

    partition: int
    offset: int
    value: bytes
    epoch: int | None
    """Of the leader that wrote it, where the library tells."""


class Sender(Protocol):
    """A producer with connections of its own."""

    def send(self, topic: str, partition: int, value: bytes) -> SendResult:
        """Sends one record, and returns when its fate is known."""
        ...

    def initialise(self, seconds: float) -> None:
        """Before the first transaction. Raises ClientError: not within that time."""
        ...

    def write(
        self, topic: str, sends: Sequence[tuple[int, bytes]], seconds: float
    ) -> Sequence[SendResult]:
        """Opens a transaction and sends (partition, value) pairs; what became of each.

        seconds: how long that may take.
        """
        ...

    def end(self, abort: bool, seconds: float) -> Ending:
        """Commits the open transaction, or aborts it; one that cannot be committed is aborted."""
        ...

    def close(self) -> None: ...


class Listener(Protocol):
    """What a consumer is told of its partitions while it polls or closes."""

    def assigned(self, partitions: Sequence[int]) -> None: ...

    def revoked(self, partitions: Sequence[int]) -> None: ...

    def lost(self, partitions: Sequence[int]) -> None: ...


class Reader(Protocol):
    """A consumer with connections of its own. It reads what is committed."""

    def assign(self, topic: str, partitions: int, starts: Sequence[int] = ()) -> None:
        """From now on every partition, from its beginning; or from these offsets."""
        ...

    def subscribe(self, topic: str, listener: Listener) -> None: ...

    def poll(self, seconds: float) -> list[Got]:
        """At most 500 records, in order of each partition. Raises ClientError."""
        ...

    def commit(self, topic: str, offsets: Mapping[int, int], mark: str) -> None:
        """The group goes on from there. mark: the commit's metadata. Raises ClientError."""
        ...

    def member(self) -> str | None:
        """Its id in the group, once it has one."""
        ...

    def positions(self) -> dict[int, int]:
        """By partition that is assigned, the offset that comes next, where that is known."""
        ...

    def end(self, topic: str, partition: int, seconds: float) -> int:
        """The latest offset. Raises ClientError."""
        ...

    def close(self) -> None: ...


class Configured:
    """A library whose clients have further options, which give way to those of a recording."""

    def __init__(self, library: Library, options: Options) -> None:
        self._library = library
        self._options = options

    @property
    def version(self) -> str:
        return self._library.version

    def sender(self, bootstrap: str, options: Options) -> Sender:
        return self._library.sender(bootstrap, {**self._options, **options})

    def reader(self, bootstrap: str, group: str, options: Options) -> Reader:
        return self._library.reader(bootstrap, group, {**self._options, **options})


class Library(Protocol):
    """Makes producers and consumers. bootstrap: addresses, separated by commas."""

    @property
    def version(self) -> str:
        """Its name and version."""
        ...

    def sender(self, bootstrap: str, options: Options) -> Sender: ...

    def reader(self, bootstrap: str, group: str, options: Options) -> Reader: ...
