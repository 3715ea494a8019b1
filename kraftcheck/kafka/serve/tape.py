"""The tape: everything that reached a served cluster from outside, and when.

An arrival is written before it is handled. Nothing else is needed: what a cluster does follows from
its `Setup` and the arrivals, so that `replayed` gives the same answers again, byte by byte. For
that to be seen, the tape has a checksum of each answer as well (N2).

A file: MAGIC, then one `Setup` and any number of entries, each a length of four bytes and
MessagePack.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias

import google_crc32c
import msgspec

from kraftcheck.exits import BadInput
from kraftcheck.kafka.serve.cluster import cluster
from kraftcheck.kafka.serve.core import Core, Effect, Witness
from kraftcheck.kafka.serve.partition import Observer, ServedPartition
from kraftcheck.kafka.serve.world import Setup
from kraftcheck.osutil.files import open_file

MAGIC: Final = b"kraftcheck tape 5\n"
HEAL_STEP_US: Final = 500_000
_LENGTH: Final = struct.Struct(">I")
_ENTRY_MAX: Final = 1 << 27

Kind: TypeAlias = Literal["opened", "closed", "frame", "command", "tick", "left"]


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """An arrival; or, as `left`, what left."""

    kind: Kind
    time: int
    """The cluster's own, microseconds."""
    connection: int
    data: bytes
    """A frame; a command as JSON; of `opened` the broker, of `left` a checksum."""


class Sink(Protocol):
    def write(self, data: bytes | bytearray, /) -> object: ...


class Taped:
    """A cluster, and the tape of what happens to it. Raises OSError: the tape cannot be written."""

    def __init__(self, setup: Setup, sink: Sink, block: int = 0) -> None:
        """block: so many bytes are kept until they are written at once, or `flush` is called."""
        self.core = cluster(setup)
        self._sink = sink
        self._encode_into = msgspec.msgpack.Encoder().encode_into
        self._block = block
        self._buffer = bytearray()
        self.arrivals = 0
        sink.write(MAGIC)
        self._write(setup)

    def _write(self, entry: object) -> None:
        """An `Entry`, or what is written as one."""
        buffer = self._buffer
        at = len(buffer)
        end = at + _LENGTH.size
        self._encode_into(entry, buffer, end)
        _LENGTH.pack_into(buffer, at, len(buffer) - end)
        if len(buffer) > self._block:
            self.flush()

    def flush(self) -> None:
        """Everything is written that is known."""
        self._sink.write(self._buffer)
        self._buffer.clear()

    def arrive(self, kind: Kind, now: int, connection: int, data: bytes = b"") -> str:
        """Returns what is wrong with a command, or ""."""
        self.arrivals += 1
        self._write((kind, now, connection, data))
        self.core.advance(now)
        return handled(self.core, kind, connection, data)

    def left(self) -> list[Effect]:
        """What leaves now."""
        effects, self.core.effects = self.core.effects, []
        for each in effects:
            self._write(("left", self.core.world.now, each.connection, checksum(each)))
        return effects

    def command(self, now: int, said: Mapping[str, Any]) -> str:
        return self.arrive("command", now, 0, json.dumps(said, sort_keys=True).encode())

    def finish(self, now: int) -> None:
        """Clients go, trouble ends, and the cluster gets the time for its progress."""
        self.command(now, {"do": "heal"})
        while not all(each.over for each in self.core.world.live_partitions):
            now += HEAL_STEP_US
            self.arrive("tick", now, 0)
        self.left()


def handled(core: Core, kind: Kind, connection: int, data: bytes) -> str:
    """An arrival is handed to the cluster."""
    if kind == "frame":
        core.frame(connection, data)
    elif kind == "opened":
        core.opened(connection, int(data))
    elif kind == "closed":
        core.closed(connection)
    elif kind == "command":
        return core.command(json.loads(data))
    return ""


def checksum(effect: Effect) -> bytes:
    if effect.data is None:
        return b"closed"
    found: int = google_crc32c.value(effect.data)
    return found.to_bytes(4, "big")


# --- Read again


def entries(path: Path) -> Iterator[Setup | Entry]:
    """The setup, then the entries. One that was cut off at the end is none. Raises BadInput."""
    with open_file(path) as file:
        begins = file.read(len(MAGIC))
        if begins != MAGIC:
            if begins.startswith(MAGIC[:-2]):
                what = "a tape of another version: play it with the kit that wrote it"
                raise BadInput(f"{path}: {what}; this one plays `{MAGIC.decode().strip()}`")
            raise BadInput(f"{path}: no tape: `kraftcheck serve` writes them, and says where")
        kind: Any = Setup
        while len(head := file.read(_LENGTH.size)) == _LENGTH.size:
            size = _LENGTH.unpack(head)[0]
            if size > _ENTRY_MAX:
                raise BadInput(f"{path}: an entry of {size} bytes")
            body = file.read(size)
            if len(body) < size:
                return
            try:
                yield msgspec.msgpack.decode(body, type=kind)
            except msgspec.MsgspecError as error:
                raise BadInput(f"{path}: {error}") from None
            kind = Entry
        if kind is Setup:
            raise BadInput(f"{path}: an empty tape")


class Difference(NamedTuple):
    """The first answer that is not what it was."""

    number: int
    entry: Entry | None
    found: Effect | None

    def __str__(self) -> str:
        was = "none" if self.entry is None else self.entry.data.hex()
        now = "none" if self.found is None else checksum(self.found).hex()
        return f"answer {self.number} was {was} and is {now}"


class Replayed(NamedTuple):
    """What a tape says when it is played again."""

    core: Core
    """As it is at the end."""
    arrivals: int
    answers: int
    difference: Difference | None
    is_whole: bool
    """Whether it was played to its end."""

    @property
    def violated(self) -> list[ServedPartition]:
        return [each for each in self.core.world.all if each.violations]

    @property
    def steps(self) -> int:
        return sum(each.handler_calls for each in self.core.world.all)


def replayed(
    path: Path,
    watched: bool = True,
    recorded: bool = False,
    steps: int | None = None,
    observer: Observer | None = None,
    witness: Witness | None = None,
) -> Replayed:
    """Plays a tape; where steps are recorded, about so many distinct ones at most.

    Stops at the first answer that differs, and at the first violated invariant if they are watched.
    observer: hears of every step. witness: sees what clients saw.

    Raises BadInput.
    """
    listed = entries(path)
    setup = next(listed)
    assert isinstance(setup, Setup), "the first of all entries"
    core = cluster(setup, watched, recorded, observer)
    core.witness = witness
    expected: list[Entry] = []
    arrivals = answers = 0
    is_whole = True
    difference: Difference | None = None
    for entry in listed:
        assert isinstance(entry, Entry), "all but the first"
        if entry.kind == "left":
            expected.append(entry)
            continue
        arrivals += 1
        core.advance(entry.time)
        handled(core, entry.kind, entry.connection, entry.data)
        difference, answers = _compared(core, expected, answers)
        stopped = difference is not None or bool(core.world.broken)
        stopped = stopped or any(each.violations for each in core.world.all)
        if stopped or (steps is not None and core.world.distinct_steps >= steps):
            is_whole = False
            break
    if is_whole:
        difference, answers = _compared(core, expected, answers)
        if difference is None and expected:
            difference = Difference(answers, expected[0], None)
        # What left last may be missing on a tape that was cut off.
        ended = all(each.over for each in core.world.live_partitions)
        if difference is None and core.effects and ended:
            difference = Difference(answers, None, core.effects[0])
    return Replayed(core, arrivals, answers, difference, is_whole)


def _compared(core: Core, expected: list[Entry], answers: int) -> tuple[Difference | None, int]:
    """What has left against what left then, as far as both are known."""
    effects = core.effects
    both = min(len(effects), len(expected))
    for found, entry in zip(effects[:both], expected[:both], strict=True):
        if (found.connection, checksum(found)) != (entry.connection, entry.data):
            return Difference(answers, entry, found), answers
        answers += 1
    del effects[:both], expected[:both]
    return None, answers
