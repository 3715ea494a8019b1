"""The controller of a partition over ReplicationControlTestContext.

The context has the controller's managers, and replays the records that they make. A broker's first
epoch is the context's own for it; a later one is the specification's, which begins at 0, and LATER.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    AlterPartitionRequest,
    ControllerFailover,
    ElectLeaders,
    HeartbeatRequest,
    RegisterBrokerRequest,
    SessionTimeout,
)
from kraftcheck.reference.partition.types import UNDEFINED, Contact, Partition
from kraftcheck.reference.runner.narrate import render_input
from kraftcheck.reference.steered.moves import NodeStep

CONTEXT: Final = "ReplicationControlTestContext"
LATER: Final = 1000
_LINE: Final = "\n"


def test(wrong: Wrong) -> Test:
    """The test of a controller. Raises BadInput: an input has no words."""
    body = [*_beginning(wrong.steps[-1].constants)]
    for number, step in enumerate(wrong.own, 1):
        told = [[*_made(step, each, number)] for each in outcomes(step, wrong)]
        body += ["", f"// {render_input(step.input)}", *common(told)]
    return Test(
        "org.apache.kafka.controller", body, "controller", within="ReplicationControlManagerTest"
    )


def _beginning(constants: Any) -> Iterator[str]:
    """A partition that has no leader yet, whose brokers are unfenced."""
    listed = ", ".join(map(str, constants.replicas))
    brokers = ", ".join(map(str, constants.brokers))
    config = {
        "MIN_IN_SYNC_REPLICAS_CONFIG": constants.min_insync_replicas,
        "UNCLEAN_LEADER_ELECTION_ENABLE_CONFIG": str(constants.unclean_election).lower(),
    }
    yield f"{CONTEXT} ctx = new {CONTEXT}.Builder()"
    yield f"    .setIsElrEnabled({str(constants.elr_enabled).lower()})"
    yield "    .build();"
    yield f"ctx.registerBrokers({brokers});"
    yield f"ctx.unfenceBrokers({brokers});"
    yield f"for (int id : List.of({brokers})) {{"
    yield "    ctx.clusterControl.heartbeatManager().touch(id, false, 0);"
    yield "}"
    yield "Uuid fooId = Uuid.randomUuid();"
    yield "ctx.replay(List.of("
    yield "    new ApiMessageAndVersion("
    yield '        new TopicRecord().setName("foo").setTopicId(fooId), (short) 0),'
    for name, value in config.items():
        yield "    new ApiMessageAndVersion("
        yield "        new ConfigRecord().setResourceType(ConfigResource.Type.TOPIC.id())"
        yield '            .setResourceName("foo")'
        yield f'            .setName(TopicConfig.{name}).setValue("{value}"), (short) 0),'
    yield "    new ApiMessageAndVersion("
    yield "        new PartitionRecord().setTopicId(fooId).setPartitionId(0)"
    yield f"            .setReplicas(List.of({listed})).setIsr(List.of({listed}))"
    yield "            .setDirectories(List.of("
    yield ",\n".join(f"                {_directory(each)}" for each in constants.replicas) + "))"
    yield "            .setLeader(NO_LEADER).setLeaderEpoch(0).setPartitionEpoch(0), (short) 2)));"


def _directory(broker: int) -> str:
    """As the context's registerBrokers has it."""
    return f'Uuid.fromString("TESTBROKER{broker:05}DIRAAAA")'


def _epoch(broker: int, epoch: int) -> str:
    if epoch == UNDEFINED:
        return "-1L"
    return f"{LATER + epoch}L" if epoch else f"defaultBrokerEpoch({broker})"


# -- A step


def _made(step: NodeStep, outcome: Outcome, number: int) -> Iterator[str]:
    """The lines that give the controller an input, and what is asserted of its answer."""
    yield from _delivered(step, outcome, f"result{number}")
    yield from _state(step, outcome.row, f"partition{number}")


def _delivered(step: NodeStep, outcome: Outcome, result: str) -> Iterator[str]:
    m: Any = step.input
    answer: Any = next((each for each in outcome.sent if hasattr(each, "error")), None)
    place = step.constants.brokers.index
    checks: list[str] = []
    match m:
        case RegisterBrokerRequest():
            kind, call = "BrokerRegistrationReply", _registration(m, step.before.offset)
        case HeartbeatRequest():
            epoch = _epoch(m.source, m.broker_epoch)
            yield f"ctx.clusterControl.trackBrokerHeartbeat({m.source}, {epoch});"
            known = step.before.registrations[place(m.source)]
            kind, call = "BrokerHeartbeatReply", _heartbeat(m, epoch, known.record_offset)
            checks = [
                f"{_asserts(answer.is_caught_up)}({result}.response().isCaughtUp());",
                f"{_asserts(answer.is_fenced)}({result}.response().isFenced());",
                f"{_asserts(answer.should_shut_down)}({result}.response().shouldShutDown());",
            ]
        case AlterPartitionRequest():
            kind, call = "AlterPartitionResponseData", _proposal(m)
            partition = f"{result}.response().topics().get(0).partitions().get(0)"
            checks = [f"assertEquals(Errors.{answer.error}.code(), {partition}.errorCode());"]
            if answer.error != "STALE_BROKER_EPOCH":
                answer = None  # The error is that of the partition, in a response without one.
        case SessionTimeout():
            epoch = step.before.registrations[place(m.broker)].epoch
            yield "ctx.clusterControl.heartbeatManager().tracker().updateContactTime("
            yield f"    new BrokerIdAndEpoch({m.broker}, {_epoch(m.broker, epoch)}), 0);"
            kind, call = "Boolean", ["ctx.replicationControl.maybeFenceOneStaleBroker()"]
        case ElectLeaders("ONLINE"):
            # Nobody requests one: it follows when a broker comes or goes.
            yield f"List<ApiMessageAndVersion> {result} = new ArrayList<>();"
            yield "ctx.replicationControl.generateLeaderAndIsrUpdates("
            yield f'    "test", NO_LEADER, NO_LEADER, NO_LEADER, {result},'
            yield "    List.of(new TopicIdPartition(fooId, 0)).iterator());"
            yield f"ctx.replay({result});"
            return
        case ElectLeaders():
            kind, call = "ElectLeadersResponseData", _election(m)
            needed = "NotEquals" if not outcome.ignored else "Equals"
            checks = [
                f"assert{needed}(ELECTION_NOT_NEEDED.code(), {result}.response()",
                "    .replicaElectionResults().get(0).partitionResult().get(0).errorCode());",
            ]
        case ControllerFailover():
            yield "ctx.clusterControl.deactivate();"
            yield "ctx.clusterControl.activate();"
            return
        case _:
            raise refused(CONTEXT, render_input(m))
    if answer is not None and answer.error != "NONE":
        yield f"assertEquals(Errors.{answer.error}, Errors.forException(assertThrows("
        yield f"    ApiException.class, () -> {call[0]}"
        yield from (f"    {line}" for line in call[1:-1])
        yield f"    {call[-1]})));"
        return
    yield from f"ControllerResult<{kind}> {result} = {_LINE.join(call)};".split(_LINE)
    yield f"ctx.replay({result}.records());"
    yield from checks
    if isinstance(m, HeartbeatRequest):
        yield from _shutting_down(m.source, outcome.row, place(m.source))


def _registration(m: RegisterBrokerRequest, epoch: int) -> list[str]:
    """epoch: the broker's new one."""
    return [
        "ctx.clusterControl.registerBroker(",
        f"    new BrokerRegistrationRequestData().setBrokerId({m.source})",
        "        .setClusterId(ctx.clusterControl.clusterId())",
        f"        .setIncarnationId({_incarnation(m.source, m.incarnation)})",
        f"        .setPreviousBrokerEpoch({_epoch(m.source, m.previous_epoch)})",
        f"        .setLogDirs(List.of({_directory(m.source)}))",
        "        .setFeatures(new BrokerRegistrationRequestData.FeatureCollection(",
        "            QuorumFeatures.defaultSupportedFeatureMap(true).entrySet().stream()",
        "                .map(each -> new BrokerRegistrationRequestData.Feature()",
        "                    .setName(each.getKey())",
        "                    .setMinSupportedVersion(each.getValue().min())",
        "                    .setMaxSupportedVersion(each.getValue().max()))",
        "                .iterator())),",
        f"    {_epoch(m.source, epoch)}, "
        "ctx.featureControl.finalizedFeatures(Long.MAX_VALUE), true)",
    ]


def _heartbeat(m: HeartbeatRequest, epoch: str, registered: int) -> list[str]:
    """registered: at which offset of the metadata the broker is."""
    return [
        "ctx.replicationControl.processBrokerHeartbeat(",
        f"    new BrokerHeartbeatRequestData().setBrokerId({m.source}).setBrokerEpoch({epoch})",
        f"        .setCurrentMetadataOffset({m.metadata_offset - 1}L)",
        f"        .setWantFence({_bool(m.want_fence)}).setWantShutDown({_bool(m.want_shut_down)}),",
        f"    {registered}L)",
    ]


def _proposal(m: AlterPartitionRequest) -> list[str]:
    """An ISR that a leader proposes."""
    isr = ",\n                ".join(
        f"new BrokerState().setBrokerId({each.broker})"
        f".setBrokerEpoch({_epoch(each.broker, each.epoch)})"
        for each in m.isr
    )
    return [
        "ctx.replicationControl.alterPartition(",
        "    anonymousContextFor(ApiKeys.ALTER_PARTITION),",
        f"    new AlterPartitionRequestData().setBrokerId({m.source})"
        f".setBrokerEpoch({_epoch(m.source, m.broker_epoch)})",
        "        .setTopics(List.of(new TopicData().setTopicId(fooId).setPartitions("
        "List.of(new PartitionData()",
        f"            .setPartitionIndex(0).setLeaderEpoch({m.leader_epoch})"
        f".setPartitionEpoch({m.partition_epoch})",
        f"            .setLeaderRecoveryState({_recovery(m.recovering)}.value())",
        "            .setNewIsrWithEpochs(List.of(",
        f"                {isr})))))))",
    ]


def _election(m: ElectLeaders) -> list[str]:
    """As an administrator requests it."""
    return [
        "ctx.replicationControl.electLeaders(",
        f"    new ElectLeadersRequestData().setElectionType(ElectionType.{m.election}.value)",
        "        .setTopicPartitions(new TopicPartitionsCollection(List.of(new TopicPartitions()",
        '            .setTopic("foo").setPartitions(List.of(0))).iterator())))',
    ]


def _shutting_down(broker: int, row: Any, at: int) -> Iterator[str]:
    """What QuorumController does after the heartbeat of a broker in controlled shutdown."""
    if row.contacts[at].shutdown_offset != UNDEFINED and not row.registrations[at].fenced:
        yield "ctx.clusterControl.heartbeatManager().maybeUpdateControlledShutdownOffset("
        yield f"    {broker}, {row.offset - 1});"


def _incarnation(broker: int, number: int) -> str:
    """The context's brokers have none."""
    return f"new Uuid({broker}, {number})" if number else "Uuid.ZERO_UUID"


def _bool(value: bool) -> str:
    return str(value).lower()


def _asserts(value: bool) -> str:
    return "assertTrue" if value else "assertFalse"


def _recovery(recovering: bool) -> str:
    return f"LeaderRecoveryState.{'RECOVERING' if recovering else 'RECOVERED'}"


def _set(brokers: Any) -> str:
    return f"Set.of({', '.join(map(str, brokers))})"


def _state(step: NodeStep, row: Any, name: str) -> Iterator[str]:
    """What can differ: what the specification or Kafka has changed."""
    brokers = step.constants.brokers
    if {row.partition, step.after.partition} != {step.before.partition}:
        yield f"PartitionRegistration {name} = ctx.replicationControl.getPartition(fooId, 0);"
        yield from _partition(row.partition, name)
    if {row.registrations, step.after.registrations} != {step.before.registrations}:
        fenced = [
            broker for broker, known in zip(brokers, row.registrations, strict=True) if known.fenced
        ]
        yield f"assertEquals({_set(fenced)}, ctx.fencedBrokerIds());"
        for at, broker in enumerate(brokers):
            rows = (step.before, step.after, row)
            if len({each.registrations[at].epoch for each in rows}) > 1:
                epoch = _epoch(broker, row.registrations[at].epoch)
                yield f"assertEquals({epoch}, ctx.currentBrokerEpoch({broker}));"
    for at, broker in enumerate(brokers):
        # Kafka forgets a broker's offsets when it replays a change of its registration, and it
        # fences who is fenced (forgets-metadata-offset, fenced-again). The specification does
        # neither, so it has no answer that Kafka must have.
        if row is not step.after and (
            row.offset != step.before.offset or row.registrations[at].fenced
        ):
            continue
        contacts = [each.contacts[at] for each in (step.before, step.after, row)]
        yield from _contact(broker, contacts)


def _contact(broker: int, contacts: Sequence[Contact]) -> Iterator[str]:
    """What the controller keeps of a broker's heartbeats. contacts: the last one is asserted."""
    manager = "ctx.clusterControl.heartbeatManager()"
    told = contacts[-1]
    if len({each.metadata_offset for each in contacts}) > 1:
        offset = max(told.metadata_offset - 1, UNDEFINED)
        yield f"assertEquals({offset}L, {manager}.brokers().stream()"
        yield f"    .filter(broker -> broker.id() == {broker}).findFirst().get().metadataOffset());"
    if len({each.shutdown_offset for each in contacts}) > 1:
        offset = told.shutdown_offset
        expected = "empty()" if offset == UNDEFINED else f"of({offset - 1}L)"
        yield f"assertEquals(OptionalLong.{expected},"
        yield f"    {manager}.controlledShutdownOffset({broker}));"


def _partition(partition: Partition, name: str) -> Iterator[str]:
    leader = "NO_LEADER" if partition.leader == NOBODY else partition.leader
    yield f"assertEquals({leader}, {name}.leader);"
    yield f"assertEquals({partition.leader_epoch}, {name}.leaderEpoch);"
    yield f"assertEquals({partition.partition_epoch}, {name}.partitionEpoch);"
    yield f"assertEquals({_set(partition.isr)}, Replicas.toSet({name}.isr));"
    yield f"assertEquals({_set(partition.elr)}, Replicas.toSet({name}.elr));"
    yield f"assertEquals({_recovery(partition.recovering)}, {name}.leaderRecoveryState);"
