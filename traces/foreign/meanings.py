"""What each field of a state or a message means, as its declaration says it.

The text beside a field in the core is an attribute docstring, which Python drops. It is read from
the source, for people who map their own names onto these. So is what the docstring of a class says
of its fields ("first, last: offsets of its records."). A name that means the same in every protocol
is explained once, here; a declaration that says more takes precedence.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Collection, Mapping
from functools import cache
from itertools import pairwise
from typing import Final

import msgspec

COMMON: Final[Mapping[str, str]] = {
    "acked": "Partitions whose leader has acknowledged.",
    "acks": "What the producer asks for: acks of Kafka's produce request.",
    "active": "Whether the coordinator is active.",
    "added": "Partitions that were added to the transaction.",
    "adding": "Replicas that a running reassignment adds.",
    "alter_request": "The AlterPartition request in flight.",
    "announced": "Epoch in which the state machine was told that it leads, or -1.",
    "answered": "Whether the coordinator has answered.",
    "asked": "Partitions whose committed offset the consumer has requested.",
    "assigned": "Partitions that are assigned.",
    "awaiting": "Requests that were sent and not answered.",
    "batch": "The records of one produce request.",
    "batches": "The batches, by offset.",
    "behind": "By how many epochs of the transaction log the sender's metadata is old.",
    "broker": "Id of a broker.",
    "broker_epoch": "Epoch that the controller gave the broker when it registered.",
    "busy": "Whether the member is revoking and taking partitions.",
    "caught_up": "Whether the replica has caught up with the leader.",
    "cells": "State of each offset from the start on.",
    "claimed": "Generation in which the member says it got its partitions.",
    "client": "A producer or a consumer, by its number.",
    "clients": "The consumers.",
    "committed": "What is committed.",
    "coordinator_epoch": "Leader epoch of the transaction log in which the coordinator acts.",
    "coordinators": "The coordinators, by epoch.",
    "correlation": "Number that joins a response to its request.",
    "count": "Number of deliveries.",
    "current": "Partitions of the last assignment that the member has received.",
    "decision": "Commit or Abort.",
    "destination": "The node that receives the message.",
    "directory": "Log directory of a broker.",
    "diverging": "Where the fetcher's log leaves the leader's: the end of the diverging epoch.",
    "elected": "Whether the broker was elected; otherwise it resigned.",
    "election": "Kind of the election.",
    "elr": "Eligible leader replicas (KIP-966).",
    "end": "Offset up to which the snapshot goes.",
    "end_offset": "Offset after the last record.",
    "entries": "Records of the log, from its start.",
    "epoch": "Leader epoch of the quorum or partition; of a member, its member epoch.",
    "error": "Kafka's error code by name; NONE if there is none.",
    "event": "The election or resignation.",
    "events": "Elections and resignations that are to be handled.",
    "fenced": "Whether the broker is fenced.",
    "fetch_max_records": "Most records in one fetch response.",
    "fetch_offset": "Offset from which the fetcher asks for records.",
    "fetched": "Offset up to which the consumer has fetched.",
    "first": "The first of them.",
    "first_voters": "Voters of the bootstrap snapshot.",
    "flushed": "Offset up to which the log is known to be on disk.",
    "follower": "The other replica, if there is one.",
    "gap": "First offset of the window that is read again after a load.",
    "gap_end": "Last offset of the window that is read again after a load.",
    "generation": "Generation of the group (classic protocol).",
    "granted": "Whether the vote is granted.",
    "group": "A consumer group, by its number.",
    "handed_out": "Offset up to which the application has received records.",
    "has_id": "Whether the coordinator has given the member an id.",
    "held": "Partitions by the member that holds them.",
    "high_watermark": "Offset up to which records are committed; -1 when unknown.",
    "hold": "Whether other partitions hold the broker back.",
    "image": "What the node has read of the metadata log.",
    "in_isr": "Whether the replica is in the ISR.",
    "incarnation": "Incarnation id of a broker: one life of its process.",
    "is_caught_up": "Whether the broker has read the metadata log to its end.",
    "is_fenced": "Whether the broker is fenced.",
    "isolation": "Isolation level of the fetch.",
    "isr": "In-sync replicas.",
    "joined": "Whether, or which, members have joined this rebalance.",
    "keep": "A crash loses all records from this offset on.",
    "key": "Key of the record.",
    "kind": "Which kind of entry this is.",
    "known": "Whether the group has this member.",
    "last": "The last of them.",
    "last_epoch": "Epoch of the last record of the candidate's log.",
    "last_fetched_epoch": "Epoch of the last record that the fetcher has.",
    "last_known_leader": "The last leader; -1 when unknown.",
    "last_offset": "End offset of the candidate's log.",
    "leader": "Id of the leader; -1 when unknown.",
    "leader_epoch": "Leader epoch of the partition.",
    "leads": "Whether the broker leads the partition.",
    "live": "Whether the session has not ended.",
    "log": "The records, by position from the start of the log.",
    "log_start": "Offset of the first record that is kept.",
    "marker": "The transaction marker.",
    "markers": "Transaction markers in the log that are not applied.",
    "member": "A member of the group, by its number.",
    "members": "The members of the group.",
    "metadata_offset": "Offset of the metadata log.",
    "min_isr": "Value of min.insync.replicas.",
    "moved": "Whether, or which, voters have other listeners than at first.",
    "next": "Next offset to apply.",
    "node": "Id of the node.",
    "nodes": "Ids of the nodes that take part.",
    "now": "The time.",
    "offset": "Offset in the log.",
    "offsets": "Offsets by partition.",
    "open": "Whether a transaction is open.",
    "outdated": "Whether a newer assignment came meanwhile.",
    "owned": "Partitions that the member has.",
    "partition": "A partition, by its number.",
    "partition_epoch": "Partition epoch: grows with every change of the partition's metadata.",
    "partitions": "Partitions, by their numbers.",
    "peer": "The other node.",
    "pending": "What is on its way and not completed.",
    "phase": "How far the share partition is loaded.",
    "policy": "Migration policy of the group.",
    "position": "Next offset to read.",
    "positions": "The consumer's positions, by partition.",
    "pre_vote": "Whether this is a pre-vote (KIP-996), which binds nobody.",
    "previous_epoch": "Epoch of the member before this one.",
    "producer": "Id of the producer.",
    "producer_epoch": "Epoch of the producer.",
    "protocol": "Classic or Consumer: the protocol of the member.",
    "read": "What was read.",
    "rebalancing": "Whether a rebalance has begun.",
    "reconciled": "Whether the member has what it was assigned.",
    "reconciling": "Assignment that the member is moving to.",
    "record_offset": "Offset of the registration in the metadata log.",
    "records": "The records that the message carries.",
    "recovering": "Whether the leader was elected uncleanly and recovers.",
    "registration": "The broker's registration.",
    "registrations": "The registrations of brokers.",
    "rejected": "Voters that refused their vote in this (pre-)election, sorted.",
    "removing": "Replicas that a running reassignment removes.",
    "replica": "Id of the broker with the replica.",
    "replicas": "The replicas of the partition, the preferred leader first.",
    "request": "The request that this answers, or that waits.",
    "requested": "Commits that were requested and not sent.",
    "required": "Offset that must be reached before the answer.",
    "revoking": "Partitions that the consumer is giving up.",
    "role": "Role of the node in this epoch.",
    "running": "Whether the broker's process runs.",
    "sent": "Partitions to which records were sent.",
    "sequence": "Sequence number of the producer's batch.",
    "sequences": "Next sequence numbers, by partition.",
    "should_shut_down": "Whether the broker may shut down (controlled shutdown).",
    "shutdown_offset": "Metadata offset that others must reach before the broker stops, or -1.",
    "since": "Time since when the group is in this state.",
    "snapshot": "The snapshot.",
    "snapshot_id": "End offset and epoch of a snapshot.",
    "source": "The node that sent the message.",
    "stable": "What the state machine takes for stable.",
    "start": "First offset of the epoch.",
    "state": "State of the group, the member or the transaction.",
    "state_epoch": "Epoch of the stored share state (KIP-932).",
    "status": "Status of the node's process.",
    "stopping": "Whether the broker is in controlled shutdown.",
    "subscribed": "Topics that the member subscribes to.",
    "successors": "Preferred successors, the best first.",
    "syncing": "Whether the member waits for its assignment.",
    "tail": "Which of the tails the next leader has.",
    "tails": "What other replicas may have above what is committed.",
    "taken": "Partitions that the consumer has.",
    "target": "The node or assignment that is aimed at.",
    "target_epoch": "Epoch of the target assignment.",
    "timestamp": "Time by the clock of the writer.",
    "to": "Offset at which the log is cut.",
    "to_mark": "Partitions that are still to be marked.",
    "told": "Members that have received the current generation.",
    "topic_id": "Id of the topic; 0 if there is none.",
    "topics": "The topics, by their numbers.",
    "transaction": "Number of the transaction.",
    "txn": "A transaction, by the number of its producer.",
    "type": "Kind of the group.",
    "unreleased": "Partitions that a member has not released yet.",
    "unsent": "Fields of the heartbeat that are not sent yet.",
    "update": "State of the request for committed offsets.",
    "value": "What a client wrote, as a number.",
    "values": "What clients wrote, as numbers.",
    "verification": "The batch that waits for verification.",
    "voted": "Voter that got this node's vote in this epoch; -1 when nobody did.",
    "voter": "Id of a voter.",
    "voters": "Ids of the voters.",
    "want_fence": "Whether the broker asks to be fenced.",
    "want_shut_down": "Whether the broker asks to shut down.",
    "write": "The write that is under way.",
}
"""By a field's name, in snake case."""


_HEAD: Final = re.compile(r"(?<![\w.])(\w+(?:, \w+)*): ")


@cache
def meanings(struct: type[msgspec.Struct]) -> Mapping[str, str]:
    """By field, in snake case; fields that nothing is said of are absent."""
    names = [field.name for field in msgspec.structs.fields(struct)]
    found = {name: COMMON[name] for name in names if name in COMMON}
    for each in reversed(struct.__mro__):
        if issubclass(each, msgspec.Struct) and each is not msgspec.Struct:
            found |= _own(each)
    return found


def _own(struct: type[msgspec.Struct]) -> dict[str, str]:
    body = _classes(struct.__module__).get(struct.__qualname__)
    if body is None:
        return {}
    beside = {
        field.target.id: " ".join(text.value.value.split())
        for field, text in pairwise(body.body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }
    return above(ast.get_docstring(body) or "", struct.__struct_fields__) | beside


def above(docstring: str, fields: Collection[str]) -> dict[str, str]:
    """What the docstring of a class says of its fields: "name, name: meaning." """
    text = " ".join(docstring.split())
    heads = [
        (match, names)
        for match in _HEAD.finditer(text)
        if (names := match.group(1).split(", ")) and set(names) <= {*fields}
    ]
    ends = [*(match.start() for match, _ in heads), len(text)][1:]
    said = dict[str, str]()
    for (match, names), end in zip(heads, ends, strict=bool(heads)):
        meaning = text[match.end() : end].strip().rstrip(";,")
        said |= dict.fromkeys(names, f"{meaning[:1].upper()}{meaning[1:]}".removesuffix(".") + ".")
    return said


@cache
def _classes(module: str) -> Mapping[str, ast.ClassDef]:
    """The classes of a module, by name; none of one without a source."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (OSError, TypeError):
        return {}
    return {each.name: each for each in tree.body if isinstance(each, ast.ClassDef)}
