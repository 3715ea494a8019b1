"""What each field of a state or a message means, as its declaration says it.

The text beside a field in the core is an attribute docstring, which Python drops. It is read from
the source, for people who map their own names onto these. A name that means the same in every
protocol is explained once, here; a declaration that says more takes precedence.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import Final

import msgspec

COMMON: Final[Mapping[str, str]] = {
    "acks": "What the producer asks for: acks of Kafka's produce request.",
    "announced": "Epoch in which the state machine was told that it leads, or -1.",
    "awaiting": "Requests that were sent and not answered.",
    "batch": "The records of one produce request.",
    "broker": "Id of a broker.",
    "broker_epoch": "Epoch that the controller gave the broker when it registered.",
    "client": "A producer or a consumer, by its number.",
    "correlation": "Number that joins a response to its request.",
    "destination": "The node that receives the message.",
    "directory": "Log directory of a broker.",
    "diverging": "Where the fetcher's log leaves the leader's: the end of the diverging epoch.",
    "elr": "Eligible leader replicas (KIP-966).",
    "end_offset": "Offset after the last record.",
    "entries": "Records of the log, from its start.",
    "epoch": "Leader epoch of the quorum or partition; of a member, its member epoch.",
    "error": "Kafka's error code by name; NONE if there is none.",
    "fetch_max_records": "Most records in one fetch response.",
    "fetch_offset": "Offset from which the fetcher asks for records.",
    "flushed": "Offset up to which the log is known to be on disk.",
    "generation": "Generation of the group (classic protocol).",
    "group": "A consumer group, by its number.",
    "high_watermark": "Offset up to which records are committed; -1 when unknown.",
    "image": "What the node has read of the metadata log.",
    "incarnation": "Incarnation id of a broker: one life of its process.",
    "is_caught_up": "Whether the broker has read the metadata log to its end.",
    "is_fenced": "Whether the broker is fenced.",
    "isr": "In-sync replicas.",
    "keep": "A crash loses all records from this offset on.",
    "last_epoch": "Epoch of the last record of the candidate's log.",
    "last_fetched_epoch": "Epoch of the last record that the fetcher has.",
    "last_offset": "End offset of the candidate's log.",
    "leader": "Id of the leader; -1 when unknown.",
    "leader_epoch": "Leader epoch of the partition.",
    "log": "The records, by position from the start of the log.",
    "log_start": "Offset of the first record that is kept.",
    "member": "A member of the group, by its number.",
    "members": "The members of the group.",
    "metadata_offset": "Offset of the metadata log.",
    "node": "Id of the node.",
    "nodes": "Ids of the nodes that take part.",
    "offset": "Offset in the log.",
    "offsets": "Offsets by partition.",
    "partition": "A partition, by its number.",
    "partition_epoch": "Partition epoch: grows with every change of the partition's metadata.",
    "partitions": "Partitions, by their numbers.",
    "pre_vote": "Whether this is a pre-vote (KIP-996), which binds nobody.",
    "producer": "Id of the producer.",
    "producer_epoch": "Epoch of the producer.",
    "records": "The records that the message carries.",
    "rejected": "Voters that refused their vote in this (pre-)election, sorted.",
    "replicas": "The replicas of the partition, the preferred leader first.",
    "request": "The request that this answers, or that waits.",
    "role": "Role of the node in this epoch.",
    "sequence": "Sequence number of the producer's batch.",
    "should_shut_down": "Whether the broker may shut down (controlled shutdown).",
    "snapshot_id": "End offset and epoch of a snapshot.",
    "source": "The node that sent the message.",
    "state": "State of the group, the member or the transaction.",
    "status": "Status of the node's process.",
    "target": "The node or assignment that is aimed at.",
    "timestamp": "Time by the clock of the writer.",
    "topics": "The topics, by their numbers.",
    "txn": "A transaction, by the number of its producer.",
    "unreleased": "Partitions that a member has not released yet.",
    "value": "What a client wrote, as a number.",
    "values": "What clients wrote, as numbers.",
    "voted": "Voter that got this node's vote in this epoch; -1 when nobody did.",
    "voter": "Id of a voter.",
    "voters": "Ids of the voters.",
    "want_fence": "Whether the broker asks to be fenced.",
    "want_shut_down": "Whether the broker asks to shut down.",
}
"""By a field's name, in snake case."""


@cache
def meanings(struct: type[msgspec.Struct]) -> Mapping[str, str]:
    """By field, in snake case; fields that nothing is said of are absent."""
    names = [field.name for field in msgspec.structs.fields(struct)]
    found = {name: COMMON[name] for name in names if name in COMMON}
    for each in reversed(struct.__mro__):
        if issubclass(each, msgspec.Struct) and each is not msgspec.Struct:
            found |= _own(each)
    return found


def _own(struct: type) -> dict[str, str]:
    body = _classes(struct.__module__).get(struct.__qualname__)
    return (
        {}
        if body is None
        else {
            field.target.id: " ".join(text.value.value.split())
            for field, text in pairwise(body.body)
            if isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
            and isinstance(text.value.value, str)
        }
    )


@cache
def _classes(module: str) -> Mapping[str, ast.ClassDef]:
    """The classes of a module, by name; none of one without a source."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (OSError, TypeError):
        return {}
    return {each.name: each for each in tree.body if isinstance(each, ast.ClassDef)}
