"""What lies beside the segments: indexes, snapshots of producers, checkpoints.

Formats of Kafka 3 and 4; nothing is ever written.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import struct
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

import google_crc32c
import numpy as np
import numpy.typing as npt

from kraftcheck.osutil.files import named, open_file, read_bytes, read_text
from kraftcheck.traces.disks.batches import OFFSET_MAX

SEGMENT: Final = re.compile(r"([0-9]{20})\.log")
SNAPSHOT: Final = re.compile(r"([0-9]{20})\.snapshot")
PARTITION: Final = re.compile(r"(?P<topic>[A-Za-z0-9._-]+)-(?P<partition>[0-9]{1,10})")
LEFT_OVER: Final = re.compile(r".+\.(cleaned|swap|deleted)|.+-(delete|stray|future)")
META, LOCK, CLEAN = "meta.properties", ".lock", ".kafka_cleanshutdown"
BOOTSTRAP = "bootstrap.checkpoint"
TOPIC = "partition.metadata"
EPOCHS = "leader-epoch-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
RECOVERY_POINTS = "recovery-point-offset-checkpoint"
LOG_STARTS = "log-start-offset-checkpoint"
CLEANED = "cleaner-offset-checkpoint"
BROKERS: Final = (HIGH_WATERMARKS, RECOVERY_POINTS, LOG_STARTS)
"""What a broker writes beside its partitions every few seconds, and at a clean stop."""
NUMBER: Final = re.compile(r"-?[0-9]{1,19}")
ID: Final = re.compile(r"[A-Za-z0-9_-]{22}")
NO_ID: Final = "A" * 22
TEXT_MAX: Final = 1 << 26
INDEX_MAX: Final = 1 << 30
ZEROS: Final = 1 << 16
ENTRIES: Final = 1 << 10
"""So many of an index are read at once."""

INDEXES: Final = (".index", ".timeindex", ".txnindex")

Table: TypeAlias = npt.NDArray[np.int64]


class Malformed(Exception):
    """A file is not what its name says. The text says how. position: in bytes; -1: all of it."""

    def __init__(self, said: str, position: int = -1) -> None:
        super().__init__(said)
        self.position = position


class Newer(Malformed):
    """It is of a later version of its format than is known here."""


class Aborted(NamedTuple):
    """An entry of a transaction index."""

    producer: int
    first: int
    last: int
    """Offset of the marker."""
    stable: int
    """The last stable offset after it."""


class Remembered(NamedTuple):
    """An entry of a snapshot of producers: of the last batch of data."""

    epoch: int
    sequence: int
    offset: int
    transaction: int
    """First offset of the one that is open, or -1."""


def segments_of(folder: Path) -> dict[int, Path]:
    """The segments by their base offsets, ascending."""
    found = {}
    for path in folder.iterdir():
        name = SEGMENT.fullmatch(path.name)
        if name is not None and int(name[1]) <= OFFSET_MAX:
            found[int(name[1])] = path
    return dict(sorted(found.items()))


def snapshots_of(folder: Path) -> dict[int, Path]:
    """The snapshots of producers by their offsets, ascending."""
    found = ((SNAPSHOT.fullmatch(path.name), path) for path in folder.iterdir())
    return dict(sorted((int(name[1]), path) for name, path in found if name is not None))


def indexes_from(folder: Path, path: Path | None = None) -> list[Path]:
    """The transaction indexes from this one on."""
    least = "" if path is None else path.name
    return sorted(each for each in folder.glob("*.txnindex") if each.name >= least)


class Index(NamedTuple):
    """Entries of an index, ascending in the file."""

    entries: Table
    zeros: int
    """How many at its end are room for more."""


def offset_index(path: Path, base: int) -> Index:
    """Rows of (offset, position). Raises Malformed, OSError."""
    data, zeros = _entries(path, 8)
    rows = np.frombuffer(data, dtype=">i4").reshape(-1, 2).astype(np.int64)
    return Index(rows + np.array((base, 0)), zeros)


def time_index(path: Path, base: int) -> Index:
    """Rows of (timestamp, offset). Raises Malformed, OSError."""
    kind = np.dtype([("timestamp", ">i8"), ("offset", ">i4")])
    data, zeros = _entries(path, 12)
    found = np.frombuffer(data, dtype=kind)
    rows = np.stack([found["timestamp"], found["offset"]], axis=1).astype(np.int64)
    return Index(rows + np.array((0, base)), zeros)


def _entries(path: Path, entry: int) -> tuple[bytes, int]:
    """Count the entries that are written, and those for which there is room behind them.

    The room of an open index is megabytes.
    """
    data = _whole(path, entry)
    end = len(data)
    while end and data[max(end - ZEROS, 0) : end] == bytes(min(end, ZEROS)):
        end -= min(end, ZEROS)
    used = -(-len(data[:end].rstrip(b"\0")) // entry)
    return data[: used * entry], len(data) // entry - used


def _whole(path: Path, entry: int) -> bytes:
    data = read_bytes(path, INDEX_MAX)
    if over := len(data) % entry:
        raise Malformed(f"{len(data)} bytes are no entries of {entry}", len(data) - over)
    return data


def transaction_index(path: Path) -> Iterator[Aborted]:
    """In the order of the file, which is that of markers. Raises Malformed, OSError."""
    entry, position = struct.Struct(">hqqqq"), 0
    with open_file(path) as file, named(path):
        while data := file.read(entry.size * ENTRIES):
            if over := len(data) % entry.size:
                said = f"{position + len(data)} bytes are no entries of {entry.size}"
                raise Malformed(said, position + len(data) - over)
            for version, *of in entry.iter_unpack(data):
                if version != 0:
                    raise _of_version("an entry", version, 0, position)
                yield Aborted(*of)
                position += entry.size


def snapshot(path: Path) -> dict[int, Remembered]:
    """By producer. Raises Malformed: Kafka deletes such a snapshot and takes an older one; OSError.

    (org.apache.kafka.storage.internals.log.ProducerStateManager.)
    """
    data = read_bytes(path, INDEX_MAX)
    entry = struct.Struct(">qhiqiqiq")
    if len(data) < 10:
        raise Malformed(f"{len(data)} bytes are no snapshot")
    version, crc, count = struct.unpack_from(">hIi", data)
    if version != 1:
        raise _of_version("a snapshot", version, 1, 0)
    if google_crc32c.value(data[6:]) != crc:
        raise Malformed("its checksum does not fit")
    if len(data) != 10 + count * entry.size:
        raise Malformed(f"{len(data)} bytes are not {count} entries")
    return {
        producer: Remembered(epoch, sequence, offset, transaction)
        for producer, epoch, sequence, offset, _, _, _, transaction in entry.iter_unpack(data[10:])
    }


def epochs(path: Path) -> list[tuple[int, int]]:
    """(epoch, first offset) of each. Raises Malformed, OSError."""
    return [(int(epoch), int(start)) for epoch, start in _lines(path, 2)]


def checkpoint(path: Path) -> dict[tuple[str, int], int]:
    """The offset of each partition that it names; none if there is no such file.

    Raises Malformed, OSError.
    """
    if not path.exists():
        return {}
    return {(topic, int(number)): int(offset) for topic, number, offset in _lines(path, 3)}


def _lines(path: Path, words: int) -> list[list[str]]:
    """A version, a count, and so many lines, the last two words of which are numbers.

    An empty file has none.
    """
    try:
        lines = read_text(path, TEXT_MAX).split("\n")
        if lines == [""]:
            return []
        if not (NUMBER.fullmatch(lines[0]) and NUMBER.fullmatch(lines[1])):
            raise ValueError
        version, count = int(lines[0]), int(lines[1])
    except (ValueError, IndexError):
        raise Malformed("no checkpoint of Kafka's") from None
    if lines[-1]:
        raise Malformed("its last line is cut")
    if version != 0:
        raise _of_version("a checkpoint", version, 0, 0)
    found = [line.split() for line in lines[2:] if line]
    for number, line in enumerate(found, 3):
        if len(line) != words or not all(NUMBER.fullmatch(each) for each in line[-2:]):
            raise Malformed(f"line {number} is not of {words} words that end with two numbers")
    if count != len(found):
        raise Malformed(f"{count} entries said, {len(found)} there")
    return found


def _of_version(what: str, version: int, known: int, position: int) -> Malformed:
    kind = Newer if version > known else Malformed
    return kind(f"{what} of version {version}, which is not read here", position)


def node(folder: Path) -> str | None:
    """The id of the broker whose log directory it is.

    None: nothing says it. Raises Malformed: a broker does not take the file; OSError.
    (org.apache.kafka.metadata.properties.MetaProperties.)
    """
    told = _properties(folder / META, "=", newest=1)
    if told is None:
        return None
    if told["version"] == "1":
        for name in ("node.id", "cluster.id"):
            if not told.get(name):
                raise Malformed(f"has no {name}")
    number = told.get("node.id", told.get("broker.id"))
    if number is not None and not (NUMBER.fullmatch(number) and int(number) < 1 << 31):
        raise Malformed(f"{number!r} is no number of a node")
    if "directory.id" in told and not is_id(told["directory.id"]):
        raise Malformed(f"{told['directory.id']!r} is no id of a directory")
    return number


def cluster(folder: Path) -> str | None:
    """The id of the cluster whose log directory it is. None: nothing says it. Raises as node."""
    return (_properties(folder / META, "=", newest=1) or {}).get("cluster.id")


def is_ended(path: Path) -> bool:
    """Whether the last line of a text has an end. Raises OSError."""
    return read_bytes(path, TEXT_MAX).endswith(b"\n")


def topic_id(folder: Path) -> str | None:
    """Of the topic whose partition it is.

    None: there is no such file. Raises Malformed: a broker does not take the file; OSError.
    (org.apache.kafka.storage.internals.checkpoint.PartitionMetadataFile.)
    """
    told = _properties(folder / TOPIC, ":", newest=0)
    if told is None:
        return None
    if not is_id(told.get("topic_id", "")):
        raise Malformed("has no topic id")
    return told["topic_id"]


def is_id(said: str) -> bool:
    """As Kafka writes 16 bytes (org.apache.kafka.common.Uuid)."""
    return ID.fullmatch(said) is not None and said != NO_ID


def _properties(path: Path, between: str, newest: int) -> dict[str, str] | None:
    """newest: version of what is known here. None: there is no such file."""
    if not path.exists():
        return None
    try:
        lines = [each for each in read_text(path, TEXT_MAX).split("\n") if between in each]
    except UnicodeDecodeError:
        raise Malformed("is no text") from None
    # As Java reads them: a blank behind a value is a part of it.
    pairs = [line.partition(between) for line in lines]
    told = {name.strip(" \t\f"): value.lstrip(" \t\f") for name, _, value in pairs}
    version = told.get("version", "")
    if not NUMBER.fullmatch(version):
        raise Malformed("has no version")
    if int(version) > newest:
        raise _of_version("properties", int(version), newest, -1)
    if int(version) < 0:
        raise Malformed(f"properties of version {version}")
    return told


def stop_epoch(folder: Path) -> int:
    """The broker epoch in the marker of a clean stop.

    Raises Malformed, OSError.
    (org.apache.kafka.storage.internals.checkpoint.CleanShutdownFileHandler.)
    """
    try:
        told = json.loads(read_bytes(folder / CLEAN, TEXT_MAX))
        epoch = told["brokerEpoch"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Malformed("says no epoch of its broker") from None
    if type(epoch) is not int or told.get("version") != 0:
        raise Malformed("says no epoch of its broker")
    return epoch


def is_held(folder: Path) -> bool:
    """Whether a broker holds the lock of a log directory: asked, and not taken. Of Linux only."""
    if sys.platform != "linux":
        return False
    with suppress(OSError), open_file(folder / LOCK) as file:
        # struct flock of Linux: type, whence, start, length, process; F_UNLCK: nobody has it.
        asked = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        told = struct.unpack("hhqqi4x", fcntl.fcntl(file, fcntl.F_GETLK, asked))
        return bool(told[0] != fcntl.F_UNLCK)
    return False
