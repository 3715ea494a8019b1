"""Recorded values as values of the specification: the total function `abstract` of law L1.

The reference keeps its state in the fields of specs/QuorumHandlers.tla, PartitionRow.tla and
PartitionController.tla under snake-case names. What differs in form is listed in three tables for
each protocol and nowhere else:

    FIELDS      the name of each field, here and in the spec
    SETS        fields that are sorted tuples here and sets there
    BY_VOTER    fields that are tuples aligned with the voters here and functions on voters there;
                BY_BROKER the same for brokers

Everything else follows from the type: a struct is a record, a tagged struct a record with the
field `type`, a tuple a sequence, a number or a string itself.

Laws of this file: nothing is left out, nothing is made up and nothing is decided. Two recorded
values with the same abstraction are equal, so a verdict on the abstraction is one on the recording.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from reference.core.partition_types import PartitionConstants
from reference.core.types import Constants
from tla_utils import Record, Value, function
from tla_utils.errors import ToolError
from traces.jobs.protocols import AnyConstants

# One line per kind of value that has the field first; a name means the same wherever it occurs.
FIELDS: Final[Mapping[str, str]] = {
    # the row
    "role": "role",
    "epoch": "epoch",
    "leader": "leader",
    "voted": "voted",
    "quorum_state": "quorumState",
    "log": "log",
    "flushed": "flushed",
    "epoch_cache": "epochCache",
    "high_watermark": "highWatermark",
    "granted": "granted",
    "rejected": "rejected",
    "has_fetched": "hasFetched",
    "epoch_start": "epochStart",
    "end_offsets": "endOffsets",
    "fetched_voters": "fetchedVoters",
    "unacked": "unacked",
    "successors": "successors",
    "connections": "connections",
    "parked": "parked",
    "announced": "announced",
    # a record, an entry of the epoch cache, a diverging epoch
    "value": "value",
    "start": "start",
    "end_offset": "endOffset",
    # messages
    "source": "source",
    "destination": "destination",
    "error": "error",
    "request": "request",
    "last_epoch": "lastEpoch",
    "last_offset": "lastOffset",
    "pre_vote": "preVote",
    "fetch_offset": "fetchOffset",
    "last_fetched_epoch": "lastFetchedEpoch",
    "records": "records",
    "diverging": "diverging",
    # other inputs
    "peer": "peer",
    "keep": "keep",
}

# A vote's `granted` is a Boolean; the row's is a set of voters. Only tuples are turned into sets.
SETS: Final = frozenset({"granted", "rejected", "fetched_voters", "unacked", "parked"})
BY_VOTER: Final = frozenset({"end_offsets", "connections"})

PARTITION_FIELDS: Final[Mapping[str, str]] = {
    # a broker's row
    "status": "status",
    "incarnation": "incarnation",
    "broker_epoch": "brokerEpoch",
    "previous_epoch": "previousEpoch",
    "clean_shutdown": "cleanShutdown",
    "image": "image",
    "controller_request": "controllerRequest",
    "alter_request": "alterRequest",
    "log": "log",
    "log_start": "logStart",
    "flushed": "flushed",
    "corrupt": "corrupt",
    "epoch_cache": "epochCache",
    "checkpoint": "checkpoint",
    "producers": "producers",
    "high_watermark": "highWatermark",
    "role": "role",
    "leader": "leader",
    "leader_epoch": "leaderEpoch",
    "partition_epoch": "partitionEpoch",
    "epoch_start": "epochStart",
    "isr": "isr",
    "pending": "pending",
    "remotes": "remotes",
    "parked": "parked",
    "last_fetched_epoch": "lastFetchedEpoch",
    "fetching": "fetching",
    # the controller's
    "registrations": "registrations",
    "partition": "partition",
    "offset": "offset",
    "contacts": "contacts",
    # what rows consist of
    "brokers": "brokers",
    "epoch": "epoch",
    "fenced": "fenced",
    "stopping": "stopping",
    "elr": "elr",
    "last_known_leader": "lastKnownLeader",
    "recovering": "recovering",
    "broker": "broker",
    "registration": "registration",
    "record_offset": "recordOffset",
    "live": "live",
    "metadata_offset": "metadataOffset",
    "shutdown_offset": "shutdownOffset",
    "end_offset": "endOffset",
    "caught_up": "caughtUp",
    "kind": "kind",
    "refused": "refused",
    "request": "request",
    "required": "required",
    "start": "start",
    "value": "value",
    "producer": "producer",
    "producer_epoch": "producerEpoch",
    "sequence": "sequence",
    "first": "first",
    "last": "last",
    "batches": "batches",
    # messages
    "source": "source",
    "destination": "destination",
    "error": "error",
    "want_fence": "wantFence",
    "want_shut_down": "wantShutDown",
    "is_caught_up": "isCaughtUp",
    "is_fenced": "isFenced",
    "should_shut_down": "shouldShutDown",
    "records": "records",
    "fetch_offset": "fetchOffset",
    "diverging": "diverging",
    "client": "client",
    "acks": "acks",
    "values": "values",
    "from_follower": "fromFollower",
    "timestamp": "timestamp",
    # other inputs
    "election": "election",
    "keep": "keep",
    "replica": "replica",
}
PARTITION_SETS: Final = frozenset({"isr", "elr", "producers", "parked", "fetching"})
BY_BROKER: Final = frozenset({"brokers", "remotes", "registrations", "contacts"})


class _Forms(NamedTuple):
    """The three tables of a protocol, and the nodes that tuples by node are aligned with."""

    fields: Mapping[str, str]
    sets: frozenset[str]
    by_node: frozenset[str]
    nodes: tuple[int, ...]


def _forms(constants: AnyConstants) -> _Forms:
    if isinstance(constants, Constants):
        return _Forms(FIELDS, SETS, BY_VOTER, constants.voters)
    return _Forms(PARTITION_FIELDS, PARTITION_SETS, BY_BROKER, constants.brokers)


# The input of a node's first step, which nothing causes; the frame does not look at it.
INIT_INPUT: Final = Record(type="Init")


def spec_names(constants: AnyConstants) -> Mapping[str, str]:
    """The name of each field in the spec of the protocol that has these constants."""
    return _forms(constants).fields


class Abstraction:
    """The abstraction under one set of constants, which say whom the tuples by voter belong to."""

    def __init__(self, constants: AnyConstants) -> None:
        self.constants = constants
        self._forms = _forms(constants)
        # Logs, caches and connections of thousands of rows are a few hundred values.
        self._known: dict[tuple[str, object], Value] = {}

    def row(self, row: Any) -> Value:
        """The row as the spec's record."""
        return self._value(row)

    def input(self, input: Any) -> Value:
        """A message, a timer or another input as a record; None is the input of an Init step."""
        return INIT_INPUT if input is None else self._value(input)

    def sent(self, sent: Iterable[Any]) -> Value:
        """Sent messages as a set. That none stands twice is a check of its own (checks.py)."""
        return frozenset(self._value(message) for message in sent)

    def _value(self, value: object) -> Value:
        if isinstance(value, bool | int | str):
            return value
        if isinstance(value, tuple):
            return tuple([self._value(item) for item in value])
        if isinstance(value, msgspec.Struct):
            return self._record(value)
        raise ToolError(f"a recorded value of type {type(value).__name__} has no form in the spec")

    def _record(self, struct: msgspec.Struct) -> Value:
        fields: dict[str, Value] = {}
        config = struct.__struct_config__
        if config.tag is not None:
            fields[str(config.tag_field)] = str(config.tag)
        for name in struct.__struct_fields__:
            spec_name = self._forms.fields.get(name)
            if spec_name is None:
                raise ToolError(f"the field {name} of {type(struct).__name__} has no spec name")
            fields[spec_name] = self._field(name, getattr(struct, name))
        if not fields:
            raise ToolError(f"{type(struct).__name__} has no fields, so it is no record")
        return Record(fields)

    def _field(self, name: str, value: object) -> Value:
        if not isinstance(value, tuple):
            return self._value(value)
        known = self._known.get((name, value))
        if known is None:
            known = self._known[name, value] = self._tuple(name, value)
        return known

    def _tuple(self, name: str, value: tuple[object, ...]) -> Value:
        items = [self._value(item) for item in value]
        if name in self._forms.sets:
            members = frozenset(items)
            if len(members) != len(items):
                raise ToolError(f"the set {name} was recorded with a member that stands twice")
            return members
        if name in self._forms.by_node:
            nodes = self._forms.nodes
            if len(items) != len(nodes):
                raise ToolError(f"{name} was recorded with {len(items)} entries for {nodes}")
            return function(zip(nodes, items, strict=True))
        return tuple(items)


def cfg_constants(constants: AnyConstants) -> str:
    """The constants as TLC's configuration names them (L8)."""
    if isinstance(constants, PartitionConstants):
        return (
            f"CONSTANTS\n  MinInsyncReplicas = {constants.min_insync_replicas}\n"
            f"  ElrEnabled = {str(constants.elr_enabled).upper()}\n"
            f"  UncleanElection = {str(constants.unclean_election).upper()}\n"
            f"  FetchMaxRecords = {constants.fetch_max_records}\n"
            "  Replicas <- ReplicaList\n"
        )
    voters = ", ".join(str(voter) for voter in constants.voters)
    return (
        f"CONSTANTS\n  Voters = {{{voters}}}\n  FetchMaxRecords = {constants.fetch_max_records}\n"
    )


def constant_definitions(constants: AnyConstants) -> str:
    """What a configuration cannot write: it knows no sequences."""
    if isinstance(constants, PartitionConstants):
        replicas = ", ".join(str(replica) for replica in constants.replicas)
        return f"ReplicaList == <<{replicas}>>\n"
    return ""
