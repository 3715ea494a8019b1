"""A broker's partition over AbstractPartitionTest.

The context has Kafka's Partition with a log, and mocks of what surrounds it: of the metadata, of
what sends AlterPartition, of what waits in purgatory. The broker under test has the context's
brokerId, the others follow it. What happens in the broker and does not change its partition, such
as a heartbeat, is not the context's and is left out; what changes it elsewhere than in Partition
(crashes, starts, what a follower's fetcher does) cannot be delivered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from kraftcheck.kafka.witness.junit.written import (
    Test,
    Wrong,
    common,
    outcomes,
    refused,
)
from kraftcheck.kafka.witness.speech import Outcome
from kraftcheck.reference.partition.messages import (
    NOBODY,
    AlterPartitionResponse,
    ConsumerFetchRequest,
    DeleteRecordsRequest,
    IsrShrinkTimeout,
    MetadataUpdate,
    Partition,
    PartitionRecord,
    ProduceRequest,
    ReplicaFetchRequest,
    ReplicaLagTimeout,
)
from kraftcheck.reference.partition.types import UNDEFINED, BrokerRow
from kraftcheck.reference.runner.narrate import render_input
from kraftcheck.reference.steered.moves import NodeStep

CONTEXT: Final = "AbstractPartitionTest"
LATER: Final = 2000
"""A broker's first epoch is the context's; what is added to later ones."""
SEEN: Final = (
    *("log", "log_start", "high_watermark", "role", "leader", "leader_epoch"),
    *("partition_epoch", "epoch_start", "isr", "pending", "remotes", "parked", "producers"),
)
"""The fields of a row that a Partition has, or that wait for it."""


MEMBERS: Final = Path(__file__).with_name("members.java")
"""Of the test's class. setPartition does what ReplicaManager does with a change of metadata."""


def test(wrong: Wrong) -> Test:
    """The test of the broker that takes the last step. Raises BadInput: an input has no words."""
    last = wrong.steps[-1]
    own = wrong.own
    names = _names(last)
    body = [*_beginning(own[0], names)]
    for step in own:
        told = [
            [*_delivered(step, each, names), *_state(step, each.row, names)]
            for each in outcomes(step, wrong)
        ]
        if lines := common(told):
            body += ["", f"// {render_input(step.input)}", *lines]
        elif step is last:
            raise refused(CONTEXT, render_input(step.input))
    replicas = ", ".join(names[broker] for broker in last.constants.replicas)
    members = [
        line.replace("MIN_ISR", str(last.constants.min_insync_replicas)).replace("ALL", replicas)
        for line in MEMBERS.read_text(encoding="utf-8").splitlines()
    ]
    members[:0] = [*_ids(own[0].node, names), ""]
    return Test("kafka.cluster", body, "broker", CONTEXT, members)


def _names(last: NodeStep) -> Mapping[int, str]:
    """What brokers are called. The one under test has the context's id."""
    return {broker: f"broker{broker}" for broker in last.constants.brokers}


def _ids(node: int, names: Mapping[int, str]) -> Iterator[str]:
    others = [name for broker, name in names.items() if broker != node]
    yield f"private final int {names[node]} = brokerId();"
    for number, name in enumerate(others):
        yield f"private final int {name} = remoteReplicaId(){f' + {number}' if number else ''};"


def _beginning(first: NodeStep, names: Mapping[int, str]) -> Iterator[str]:
    """A follower of nobody."""
    yield "partition().createLogIfNotExists("
    yield "    true, false, offsetCheckpoints(), topicId(), Option.empty());"
    yield from _metadata(first.before, first, names, {*names})
    yield _made(first.before.image.partition, names)


# -- What is delivered


def _delivered(step: NodeStep, outcome: Outcome, names: Mapping[int, str]) -> Iterator[str]:
    """The lines that give the partition an input. Raises BadInput: the context has none."""
    m: Any = step.input
    sent: Any = next((each for each in outcome.sent if hasattr(each, "error")), None)
    error = outcome.ignored if sent is None else sent.error
    match m:
        case MetadataUpdate():
            told = {each.broker for each in m.records if not isinstance(each, PartitionRecord)}
            yield from _metadata(step.after, step, names, told)
            partitions = [each.partition for each in m.records if isinstance(each, PartitionRecord)]
            if partitions:
                yield _made(partitions[-1], names)
        case ProduceRequest():
            values = ", ".join(f'new SimpleRecord("{value}".getBytes())' for value in m.values)
            kind = "withRecords(Compression.NONE"
            if m.producer != UNDEFINED:
                kind = f"withIdempotentRecords(Compression.NONE, {m.producer}L, "
                kind += f"(short) {m.producer_epoch}, {m.sequence}"
            yield from _called(
                error,
                "partition().appendRecordsToLeader(",
                f"    MemoryRecords.{kind}, {values}),",
                f"    AppendOrigin.CLIENT, {m.acks}, RequestLocal.noCaching(),",
                "    partition().appendRecordsToLeader$default$5(),",
                "    partition().appendRecordsToLeader$default$6())",
            )
        case ReplicaFetchRequest():
            epoch = _epoch(m.source, m.broker_epoch, names)
            reader = f"{names[m.source]}, {epoch}, 0L, 1, Integer.MAX_VALUE, "
            reader += "FetchIsolation.LOG_END"
            yield from _fetched(error, reader, m, m.log_start, m.last_fetched_epoch)
        case ConsumerFetchRequest(from_follower=False):
            reader = "FetchRequest.ORDINARY_CONSUMER_ID, -1L, 0L, 1, Integer.MAX_VALUE, "
            reader += "FetchIsolation.HIGH_WATERMARK"
            yield from _fetched(error, reader, m, 0, UNDEFINED)
        case DeleteRecordsRequest():
            yield from _called(error, f"partition().deleteRecordsOnLeader({m.offset}L)")
        case ReplicaLagTimeout() if not any(each.caught_up for each in step.after.remotes):
            # Time passes for all of them.
            yield "time().sleep(ReplicationConfigs.REPLICA_LAG_TIME_MAX_MS_DEFAULT + 1);"
        case IsrShrinkTimeout():
            yield "partition().maybeShrinkIsr();"
        case AlterPartitionResponse() if outcome.ignored != "NotAwaited":
            yield (
                f"alterPartitionManager().completeIsrUpdate({m.partition_epoch});"
                if m.error == "NONE"
                else f"alterPartitionManager().failIsrUpdate(Errors.{m.error});"
            )
        case _:
            if _seen(step.before) != _seen(step.after) or _seen(outcome.row) != _seen(step.after):
                raise refused(CONTEXT, render_input(m))


def _seen(row: BrokerRow) -> tuple[Any, ...]:
    return tuple(getattr(row, name) for name in SEEN)


def _fetched(error: str, reader: str, m: Any, log_start: int, last: int) -> Iterator[str]:
    return _called(
        error,
        "partition().fetchRecords(",
        f"    new FetchParams({reader},",
        "        Optional.empty()),",
        f"    new FetchRequest.PartitionData(Uuid.ZERO_UUID, {m.fetch_offset}L, {log_start}L,",
        f"        Integer.MAX_VALUE, {_known(m.epoch)}, {_known(last)}),",
        "    time().milliseconds(), Integer.MAX_VALUE, true, true)",
    )


def _known(epoch: int) -> str:
    return "Optional.empty()" if epoch == UNDEFINED else f"Optional.of({epoch})"


def _called(error: str, *lines: str) -> Iterator[str]:
    """A call that returns, or ends in this error."""
    if error in ("", "NONE"):
        yield from lines[:-1]
        yield f"{lines[-1]};"
        return
    yield f"assertEquals(Errors.{error}, Errors.forException(assertThrows(ApiException.class, () ->"
    yield from (f"    {line}" for line in lines[:-1])
    yield f"    {lines[-1]})));"


def _metadata(
    row: BrokerRow, step: NodeStep, names: Mapping[int, str], told: set[int]
) -> Iterator[str]:
    """What the metadata says of these brokers now."""
    for broker, known in zip(step.constants.brokers, row.image.brokers, strict=True):
        if broker in told:
            flags = f"{str(known.fenced).lower()}, {str(known.stopping).lower()}"
            yield f"setBroker({names[broker]}, {_epoch(broker, known.epoch, names)}, {flags});"


def _made(partition: Partition, names: Mapping[int, str]) -> str:
    """A partition of the metadata."""
    isr = "".join(f", {names[broker]}" for broker in partition.isr)
    leader = "-1" if partition.leader == NOBODY else names[partition.leader]
    recovery = "RECOVERING" if partition.recovering else "RECOVERED"
    epochs = f"{partition.leader_epoch}, {partition.partition_epoch}"
    return f"setPartition({leader}, {epochs}, LeaderRecoveryState.{recovery}{isr});"


def _epoch(broker: int, epoch: int, names: Mapping[int, str]) -> str:
    return f"{LATER + epoch}L" if epoch > 0 else f"defaultBrokerEpoch({names[broker]})"


# -- What is asserted


def _state(step: NodeStep, row: BrokerRow, names: Mapping[int, str]) -> Iterator[str]:
    """What can differ: what the specification or Kafka has changed."""

    def changed(*fields: str) -> bool:
        said = [tuple(getattr(r, f) for f in fields) for r in (step.before, step.after, row)]
        return not said[0] == said[1] == said[2]

    leads = row.role == "Leader"
    if changed("role"):
        yield f"assert{'True' if leads else 'False'}(partition().isLeader());"
    if changed("leader_epoch"):
        yield f"assertEquals({row.leader_epoch}, partition().getLeaderEpoch());"
    if changed("partition_epoch"):
        yield f"assertEquals({row.partition_epoch}, partition().getPartitionEpoch());"
    log = "partition().localLogOrException()"
    if changed("log"):
        yield f"assertEquals({len(row.log)}L, {log}.logEndOffset());"
    if changed("log_start"):
        yield f"assertEquals({row.log_start}L, {log}.logStartOffset());"
    if changed("high_watermark"):
        yield f"assertEquals({row.high_watermark}L, {log}.highWatermark());"
    if leads and changed("isr", "pending"):
        isr, pending = ", ".join(names[n] for n in row.isr), row.pending
        yield f"assertEquals(Set.of({isr}), partition().partitionState().isr());"
        in_flight = "False" if pending.kind == "None" else "True"
        yield f"assert{in_flight}(partition().partitionState().isInflight());"
        if pending.kind != "None":
            proposed = {*(each.broker for each in pending.isr), *row.isr}
            told = ", ".join(names[n] for n in sorted(proposed))
            yield f"assertEquals(Set.of({told}), partition().partitionState().maximalIsr());"
    if leads and changed("parked"):
        for each in row.parked:
            waits = f"partition().checkEnoughReplicasReachOffset({each.required}L)._1()"
            yield f"assertEquals(false, {waits});"
    if leads and step.before.role == "Leader":
        brokers = step.constants.brokers
        for at, broker in enumerate(brokers):
            ends = {r.remotes[at].end_offset for r in (step.before, step.after, row)}
            if len(ends) > 1 and broker != step.node:
                yield f"assertEquals({row.remotes[at].end_offset}L,"
                yield f"    partition().getReplica({names[broker]}).get()"
                yield "        .stateSnapshot().logEndOffset());"
