"""The logs on brokers' disks, when all is quiet: do they agree, and with what clients were told?

A replica is a line of `logs.jsonl`, as `kraftcheck record` writes it: broker, key (its partition),
records as [offset, leader epoch, value], the epoch cache as [epoch, first offset], and of each
record of a transaction [offset, producer id, whether it is the marker that ends it]; of each batch
of a producer [first offset, last offset, producer id, producer epoch, sequence, coordinator epoch],
the last of which is -1 but for markers.

What is asked (docs/reference/protocol-rules.md):

- offsets of a log have no gaps, and leader epochs never fall;
- LogMatching: where two replicas have a record of the same offset and epoch, they have the same
  records up to it;
- all replicas of a partition end alike, since nobody writes any more and the cluster is at rest;
- the epoch cache says of each record the epoch that it has (S5, S6); it may know epochs in which
  nothing was written (KAFKA-7415);
- what was read in the end is what lies there, without markers and without records of transactions
  that were aborted or never ended; and of every transaction all records are shown or none (KIP-98:
  a consumer that reads what is committed is shown those of no others).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import msgspec

from kraftcheck.kafka.observed.records import decoded
from kraftcheck.kafka.observed.verdicts import Defect

NAME = "logs.jsonl"
COMMIT = "COMMIT"
"""The value of a marker that ends a transaction well."""


class Replica(msgspec.Struct, frozen=True):
    """One partition on one broker's disk."""

    broker: int
    key: str
    records: list[tuple[int, int, Any]]
    epochs: list[tuple[int, int]]
    transactions: list[tuple[int, int, bool]] = []
    batches: list[tuple[int, int, int, int, int, int]] = []


def topic_of(key: str) -> str:
    """Of a partition's name, as topic-0."""
    return key.rpartition("-")[0]


def read(path: Path) -> list[Replica]:
    """Raises ObservedError: no such file, or a line that is no replica."""
    return decoded(path, Replica, "replica")


def judge(
    replicas: Sequence[Replica],
    final: Mapping[str, Mapping[int, Any]] | None = None,
    transactions: Sequence[Sequence[tuple[str, Any]]] = (),
    *,
    at_rest: bool = True,
) -> list[Defect]:
    """Everything that is wrong, the first place of each kind.

    final: by key, the value at each offset that somebody read at the very end. transactions: keys
    and values that clients wrote as one, however that ended; values are unique. at_rest: if not,
    the last records of a log may still be missing or be replaced.
    """
    found: list[Defect] = []
    by_key: dict[str, list[Replica]] = {}
    for replica in replicas:
        by_key.setdefault(replica.key, []).append(replica)
        found += _alone(replica)
    for key, group in by_key.items():
        for one, other in combinations(group, 2):
            found += _together(one, other, at_rest)
        if final is not None and key in final:
            found += [each for replica in group for each in _as_read(replica, final[key])]
    for broker in sorted({replica.broker for replica in replicas}) if at_rest else ():
        found += _whole([each for each in replicas if each.broker == broker], transactions)
    return found


def _alone(replica: Replica) -> Iterator[Defect]:
    def defect(name: str, reason: str) -> Defect:
        return Defect(name, replica.key, (replica.broker,), reason)

    for (offset, epoch, _), (following, later, _) in pairwise(replica.records):
        if following != offset + 1:
            yield defect("gap", f"offset {following} follows {offset}")
            break
        if later < epoch:
            yield defect("epoch falls", f"offset {following} has epoch {later}, after {epoch}")
            break
    for (epoch, start), (later, begins) in pairwise(replica.epochs):
        if later <= epoch or begins < start:
            reason = f"epoch {later} from {begins} after epoch {epoch} from {start}"
            yield defect("epoch cache disordered", reason)
            return
    starts = [start for _, start in replica.epochs]
    for offset, epoch, _ in replica.records:
        at = bisect_right(starts, offset) - 1
        known = replica.epochs[at][0] if at >= 0 else None
        if known != epoch:
            reason = f"offset {offset} has epoch {epoch}, and the cache says {known}"
            yield defect("epoch cache unsound", reason)
            break


def _together(one: Replica, other: Replica, at_rest: bool) -> Iterator[Defect]:
    def defect(name: str, reason: str) -> Defect:
        return Defect(name, one.key, (one.broker, other.broker), reason)

    theirs = {offset: (epoch, value) for offset, epoch, value in other.records}
    differs: int | None = None
    for offset, epoch, value in one.records:
        if offset not in theirs:
            continue
        if theirs[offset] != (epoch, value):
            differs = offset if differs is None else differs
        if differs is not None and theirs[offset][0] == epoch:
            reason = f"both have epoch {epoch} at offset {offset}, and they differ at {differs}"
            yield defect("LogMatching", reason)
            break
    if not at_rest:
        return
    if differs is not None:
        yield defect("not the same", f"they differ at offset {differs}")
    elif _end(one) != _end(other):
        yield defect("not the same", f"they end at {_end(one)} and {_end(other)}")


def _end(replica: Replica) -> int:
    return replica.records[-1][0] + 1 if replica.records else 0


def _as_read(replica: Replica, final: Mapping[int, Any]) -> Iterator[Defect]:
    hidden = _hidden(replica)
    here = {offset: value for offset, _, value in replica.records if offset not in hidden}
    for offset in sorted(here.keys() | final.keys()):
        if here.get(offset) != final.get(offset):
            reason = f"offset {offset} holds {here.get(offset)}, and {final.get(offset)} was read"
            yield Defect("not as read", replica.key, (replica.broker,), reason)
            break


def _whole(
    replicas: Sequence[Replica], transactions: Sequence[Sequence[tuple[str, Any]]]
) -> Iterator[Defect]:
    """Of one broker: the first transaction of which a reader is shown a part."""
    shown = {each.key: _shown(each) for each in replicas}
    for written in transactions:
        here = [(key, value) for key, value in written if key in shown]
        missing = [(key, value) for key, value in here if value not in shown[key]]
        if 0 < len(missing) < len(here):
            key, value = missing[0]
            reason = f"{value} is not shown, of a transaction that wrote {[v for _, v in here]}"
            yield Defect("part of a transaction", key, (replicas[0].broker,), reason)
            return


def _shown(replica: Replica) -> set[Any]:
    hidden = _hidden(replica)
    return {value for offset, _, value in replica.records if offset not in hidden}


def _hidden(replica: Replica) -> set[int]:
    """Offsets that no consumer of committed records is shown."""
    values = {offset: value for offset, _, value in replica.records}
    hidden: set[int] = set()
    begun: dict[int, list[int]] = {}
    for offset, producer, marker in replica.transactions:
        if not marker:
            begun.setdefault(producer, []).append(offset)
            continue
        hidden.add(offset)
        ended = begun.pop(producer, [])
        if values.get(offset) != COMMIT:
            hidden.update(ended)
    return hidden.union(*begun.values())
