"""What the sets of the frames for partial rows leave out, for each kind of node.

A set of specs/*/steps/Chain*.tla is *cut* where a value outside of it could have an effect that
none inside has. A chain that gets no further behind such a line is "unknown", and never rejected.

Law of this file: a field that is not known to be complete is cut. tests/traces/foreign takes steps
that are right, hides fields of theirs, and none of them may be rejected.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from tla_utils import Record, Value
from traces.foreign.forms import LINES
from traces.foreign.reading import Fields, ForeignStep


class Domain(NamedTuple):
    """What is known of the hidden fields of a kind of node.

    module: with the sets. impossible: a field of a row with a value that none has.
    row_fields: all of a row. complete: fields of inputs whose sets leave nothing out, by their name
    or by that of the input and their own. seen: fields whose sets leave nothing out if this field
    of the row after the step was logged.
    """

    module: str
    impossible: Mapping[str, Value]
    row_fields: frozenset[str]
    complete: frozenset[str]
    seen: Mapping[str, str]

    def cut(self, step: ForeignStep, inputs: Sequence[Record]) -> list[str]:
        """The fields of the step's input that are tried with some of their values only."""
        return sorted(
            {
                name
                for choice in inputs
                for name in _open_of(choice)
                if not self._is_whole(_type_of(choice), name, step.after)
            }
        )

    def _is_whole(self, kind: str, name: str, after: Fields) -> bool:
        names = (name, f"{kind}.{name}")
        if not self.complete.isdisjoint(names):
            return True
        return any(each in self.seen and _shows(after, self.seen[each]) for each in names)


def _shows(after: Fields, field: str) -> bool:
    """Whether the row tells what was put into this field. A log whose start has moved does not: the
    new records may be gone already (specs/partition/PartitionLog.tla)."""
    log = after.get("log")
    if field != "log" or not isinstance(log, tuple):
        return field in after
    return not any(isinstance(record, Record) and record["epoch"] == -1 for record in log)


def _open_of(choice: Record) -> Iterable[str]:
    names = choice["open"]
    assert isinstance(names, tuple)
    return map(str, names)


def _type_of(choice: Record) -> str:
    input = choice["input"]
    assert isinstance(input, Record)
    return str(input["type"])


def _row_fields(kind: str) -> frozenset[str]:
    row = next(f.type for f in msgspec.structs.fields(LINES[kind].full) if f.name == "before")
    return frozenset(row.__struct_fields__)


DOMAINS: Final[dict[str, Domain]] = {
    "voter": Domain(
        module="ChainQuorum",
        impossible={"role": "Nobody's"},
        row_fields=_row_fields("voter"),
        complete=frozenset(
            {
                *("source", "peer", "leader", "granted", "preVote", "error", "lastEpoch"),
                *("lastFetchedEpoch", "lastOffset", "fetchOffset", "highWatermark", "keep"),
                *("successors", "diverging", "request", "value"),
            }
        ),
        seen={"epoch": "epoch", "records": "log"},
    ),
    # Not known of brokers: what identifies a client's request, since a parked one is kept with it.
    "broker": Domain(
        module="ChainPartition",
        impossible={"role": "Nobody's"},
        row_fields=_row_fields("broker"),
        complete=frozenset(
            {
                *("source", "replica", "request", "error", "keep", "corrupt", "acks", "isr"),
                *("diverging", "highWatermark", "endOffset", "leader", "leaderEpoch"),
                *("isCaughtUp", "isFenced", "shouldShutDown", "fromFollower", "timestamp"),
                *("epoch", "fetchOffset", "lastFetchedEpoch", "offset"),
                *("ReplicaFetchRequest.brokerEpoch", "ConsumerFetchRequest.client"),
                *("ListOffsetsRequest.client", "DeleteRecordsRequest.client"),
            }
        ),
        seen={
            "ReplicaFetchResponse.records": "log",
            "ReplicaFetchResponse.logStart": "logStart",
            "ProduceRequest.values": "log",
            "MetadataUpdate.records": "image",
            "AlterPartitionResponse.partitionEpoch": "partitionEpoch",
            "RegisterBrokerResponse.brokerEpoch": "brokerEpoch",
        },
    ),
    # Not known of the controller: who exactly is proposed for the ISR.
    "controller": Domain(
        module="ChainPartitionController",
        impossible={"offset": -2},
        row_fields=_row_fields("controller"),
        complete=frozenset(
            {
                *("source", "broker", "wantFence", "wantShutDown", "recovering", "election"),
                *("previousEpoch", "brokerEpoch", "leaderEpoch", "partitionEpoch"),
            }
        ),
        seen={"incarnation": "registrations", "metadataOffset": "contacts"},
    ),
}
"""By the kind of node (reference/protocols.py)."""
