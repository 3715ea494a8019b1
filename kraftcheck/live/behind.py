"""A library whose clients see a topic from where it ended when the recording began.

What was there before is of others: no history tells how it came there, and every offset below would
need an append. So offsets are counted from there: the first record of a recording has offset 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kraftcheck.live.library import Got, Library, Options, Reader, Sender, SendResult


class Behind:
    """starts: by partition, the offset that is 0."""

    def __init__(self, library: Library, starts: Sequence[int]) -> None:
        self._library = library
        self._starts = starts

    @property
    def version(self) -> str:
        return self._library.version

    def sender(self, bootstrap: str, options: Options) -> Sender:
        return _Sender(self._library.sender(bootstrap, options), self._starts)

    def reader(self, bootstrap: str, group: str, options: Options) -> Reader:
        return _Reader(self._library.reader(bootstrap, group, options), self._starts)


class _Sender:
    def __init__(self, sender: Sender, starts: Sequence[int]) -> None:
        self._sender = sender
        self._starts = starts
        self.initialise, self.end, self.close = sender.initialise, sender.end, sender.close

    def send(self, topic: str, partition: int, value: bytes) -> SendResult:
        return self._told(self._sender.send(topic, partition, value), partition)

    def _told(self, told: SendResult, partition: int) -> SendResult:
        offset = told.offset
        return told if offset is None else told._replace(offset=offset - self._starts[partition])

    def write(
        self, topic: str, sends: Sequence[tuple[int, bytes]], seconds: float
    ) -> Sequence[SendResult]:
        told = self._sender.write(topic, sends, seconds)
        return [self._told(each, place) for each, (place, _) in zip(told, sends, strict=True)]


class _Reader:
    def __init__(self, reader: Reader, starts: Sequence[int]) -> None:
        self._reader = reader
        self._starts = starts
        self.subscribe, self.member, self.close = reader.subscribe, reader.member, reader.close

    def assign(self, topic: str, partitions: int, starts: Sequence[int] = ()) -> None:
        from_there = starts or [0] * partitions
        offsets = [own + begin for own, begin in zip(from_there, self._starts, strict=True)]
        self._reader.assign(topic, partitions, offsets)

    def poll(self, seconds: float) -> list[Got]:
        return [
            got._replace(offset=got.offset - self._starts[got.partition])
            for got in self._reader.poll(seconds)
        ]

    def commit(self, topic: str, offsets: Mapping[int, int], mark: str) -> None:
        own = {place: offset + self._starts[place] for place, offset in offsets.items()}
        self._reader.commit(topic, own, mark)

    def positions(self) -> dict[int, int]:
        known = self._reader.positions()
        return {place: offset - self._starts[place] for place, offset in known.items()}

    def end(self, topic: str, partition: int, seconds: float) -> int:
        return self._reader.end(topic, partition, seconds) - self._starts[partition]
