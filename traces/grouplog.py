"""`groups.jsonl`: what the brokers' own log says of consumer groups, a record to a line.

A recording of a cluster of ours has it beside its history (kraftcheck/kafka/live/grouplog.py writes
it).

    committed   what was committed of a partition, and the commit's metadata; none: a tombstone
    member      a member and what it has, or is to give up (consumer protocol)
    removed     a member is gone
    generation  all members of a group with what each has (classic protocol)
    epoch       the group's epoch, and a hash of the topics that it wants (consumer protocol); none:
                a tombstone
    wish        what a member, or a pattern of names, subscribes to, or topics' partitions, or that
                it is gone (consumer protocol): a reason for a new epoch
    other       any other record, so that a gap in offsets means that some were cleaned away
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

import msgspec

from kraftcheck.traces.history import HistoryError

GROUPS: Final = "groups.jsonl"


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A record.

    partition, offset: its place in the log of groups. key, committed, mark: of `committed`. epoch,
    topics: of `epoch`.
    """

    partition: int
    offset: int
    what: Literal["committed", "member", "removed", "generation", "epoch", "wish", "other"]
    group: str = ""
    key: str | None = None
    committed: int | None = None
    mark: str = ""
    member: str = ""
    """Of `member` and `removed`."""
    has: tuple[str, ...] = ()
    """Topic-partitions, of `member` those that it is to give up included."""
    all: dict[str, tuple[str, ...]] = {}
    """Of `generation`, by member."""
    epoch: int | None = None
    topics: int = 0


def read(path: Path) -> tuple[Entry, ...]:
    """Raises HistoryError: it is damaged. OSError."""
    decode = msgspec.json.Decoder(Entry).decode
    found = []
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        try:
            found.append(decode(line))
        except msgspec.DecodeError as error:
            raise HistoryError(str(path), number, f"no record of a group's log: {error}") from None
    return tuple(found)
