"""What nobody sends to a partition, or asks of it: the stated generator of moves to be refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, get_args

from msgspec.structs import replace

from kraftcheck.reference.partition.messages import (
    CLIENTS,
    NOBODY,
    AlterPartitionResponse,
    BrokerCrash,
    ConsumerFetchRequest,
    DeleteRecordsRequest,
    HeartbeatResponse,
    Input,
    ListOffsetsRequest,
    Member,
    ProduceRequest,
    RegisterBrokerResponse,
    ReplicaFetchResponse,
    Timestamp,
)
from kraftcheck.reference.partition.system import CLIENT
from kraftcheck.reference.partition.types import (
    NO_DIVERGENCE,
    UNDEFINED,
    BrokerRow,
    EpochEnd,
    PartitionConstants,
    Record,
)

NUMBERS: Final = frozenset(
    {
        *("incarnation", "previous_epoch", "broker_epoch", "metadata_offset"),
        *("leader_epoch", "partition_epoch", "epoch", "fetch_offset", "last_fetched_epoch"),
        *("high_watermark", "log_start", "end_offset"),
    }
)
# Of a response, whose sender follows the protocol in form: these may be undefined in it as well.
_MAY_BE_UNDEFINED: Final = frozenset(
    {"broker_epoch", "leader_epoch", "partition_epoch", "end_offset"}
)
ERRORS: Final[dict[type, tuple[str, ...]]] = {
    RegisterBrokerResponse: ("NONE", "DUPLICATE_BROKER_REGISTRATION"),
    HeartbeatResponse: ("NONE", "STALE_BROKER_EPOCH"),
    AlterPartitionResponse: (
        *("NONE", "STALE_BROKER_EPOCH", "NOT_CONTROLLER", "FENCED_LEADER_EPOCH"),
        *("INVALID_REQUEST", "INVALID_UPDATE_VERSION", "INELIGIBLE_REPLICA"),
        *("NEW_LEADER_ELECTED", "UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID"),
        "OPERATION_NOT_ATTEMPTED",
    ),
    ReplicaFetchResponse: (
        *("NONE", "FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH", "NOT_LEADER_OR_FOLLOWER"),
        "OFFSET_OUT_OF_RANGE",
    ),
}
"""What each response may say."""


def attempts(constants: PartitionConstants, node: int, row: Any) -> Iterator[Input]:
    """Torn crashes, and clients' requests of the past, of the future, and for what there is not."""
    if not isinstance(row, BrokerRow):
        return
    yield from (BrokerCrash(len(row.log), corrupt) for corrupt in range(len(row.log) + 1))
    epochs = (UNDEFINED, *range(max(0, row.leader_epoch - 1), row.leader_epoch + 2))
    offsets = range(len(row.log) + 2)
    for epoch in epochs:
        for offset in offsets:
            for follower in (False, True):
                yield ConsumerFetchRequest(CLIENTS, node, CLIENT, epoch, offset, follower)
        for timestamp in get_args(Timestamp):
            yield ListOffsetsRequest(CLIENTS, node, CLIENT, epoch, timestamp)
    for offset in offsets:
        yield DeleteRecordsRequest(CLIENTS, node, CLIENT, offset)
    for acks in (-1, 0, 1):
        yield ProduceRequest(CLIENTS, node, CLIENT, acks, (1,), *(UNDEFINED,) * 3)
        for epoch in (0, 1):
            for sequence in (0, 1, 2):
                yield ProduceRequest(CLIENTS, node, CLIENT, acks, (1,), CLIENT, epoch, sequence)


def mutants(message: Any, brokers: Sequence[int]) -> Iterator[Any]:
    """The message with one thing changed: the stated generator of moves that nobody makes.

    Numbers go one up and one down (not below -1 in a request, which may be malformed, nor below 0
    in a response, except where it may say -1). Booleans are turned; errors, leaders and sources
    become every other. A set of brokers loses or gains each; a proposed member also gets another
    broker epoch. Records get one more, of their epoch and of the next; where a log diverges moves
    by one in epoch and offset. The request in a response is mutated alike.

    An offset is never out of range without the end of the leader's log (`_in_form`).
    """
    for name in message.__struct_fields__:
        value = getattr(message, name)
        for other in _others(message, name, value, brokers):
            yield from (m for m in _in_form(replace(message, **{name: other})) if m != message)


def _in_form(mutant: Any) -> Iterator[Any]:
    """Give the mutant in a form that the log can bear.

    An answer that an offset is out of range and does not say where the leader's log ends becomes
    two that do: at its beginning, and where the follower asked. Every such answer says it, and no
    log can be cut to an undefined offset.
    """
    answers = isinstance(mutant, ReplicaFetchResponse)
    if not answers or mutant.error != "OFFSET_OUT_OF_RANGE" or mutant.end_offset != UNDEFINED:
        yield mutant
        return
    for end in dict.fromkeys((0, mutant.request.fetch_offset)):
        yield replace(mutant, end_offset=end)


def _others(message: Any, name: str, value: Any, brokers: Sequence[int]) -> Iterable[Any]:
    response = hasattr(message, "request")
    if name in NUMBERS:
        least = 0 if response and name not in _MAY_BE_UNDEFINED else UNDEFINED
        return [other for other in (value - 1, value + 1) if other >= least]
    if isinstance(value, bool):
        return [not value]
    if name == "error":
        return [e for e in ERRORS.get(type(message), ()) if e != value]
    if name == "leader":
        return [b for b in (NOBODY, *brokers) if b != value]
    if name == "source" and value in brokers:
        return [b for b in brokers if b not in (value, message.destination)]
    if name == "isr":
        return _other_isrs(message, brokers)
    if name == "records":
        return _more_records(message)
    if name == "diverging":
        return _other_ends(value)
    return mutants(value, brokers) if name == "request" else ()


def _other_isrs(message: Any, brokers: Sequence[int]) -> Iterator[tuple[Any, ...]]:
    isr = message.isr
    if hasattr(message, "request"):
        for b in brokers:
            yield tuple(sorted({*isr} ^ {b}))
        return
    members = {member.broker: member for member in isr}
    for b in brokers:
        if b in members:
            epoch = members[b].epoch
            yield tuple([m for m in isr if m.broker != b])
            for other in (epoch - 1, epoch + 1):
                if other >= UNDEFINED:
                    yield tuple([Member(b, other) if m.broker == b else m for m in isr])
        else:
            yield tuple(sorted([*isr, Member(b, 0)], key=lambda m: m.broker))


def _more_records(message: Any) -> Iterator[tuple[Any, ...]]:
    records = message.records
    last = records[-1].epoch if records else max(0, message.request.epoch)
    for epoch in (last, last + 1):
        yield (*records, Record(epoch, 1, *(UNDEFINED,) * 5))


def _other_ends(end: EpochEnd) -> Iterator[EpochEnd]:
    if end != NO_DIVERGENCE:
        yield NO_DIVERGENCE
    epoch, offset = max(0, end.epoch), max(0, end.end_offset)
    for later, further in ((0, 0), (1, 0), (0, 1)):
        other = EpochEnd(epoch + later, offset + further)
        if other != end:
            yield other
