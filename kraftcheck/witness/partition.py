"""A partition of which brokers and controller are Kafka's. What is left out is in docs/witness.md.

Law of this file: a step of Kafka's is taken as it stands; the schedule chooses among moves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import msgspec

from kraftcheck.witness import covering, walking
from kraftcheck.witness.chance import walk
from kraftcheck.witness.comparing import Differing, compared
from kraftcheck.witness.following import Impossible
from kraftcheck.witness.kafka import Kafka
from kraftcheck.witness.partition_graphs import Walk, is_cleared
from kraftcheck.witness.speech import Outcome, Speech
from live.witness.host import REFUSED, THROWN, Host
from reference.partition.messages import (
    CONTROLLER,
    NO_REQUEST,
    AlterPartitionRequest,
    AlterPartitionResponse,
    ControllerFailover,
    Election,
    ElectLeaders,
    Input,
    MetadataUpdate,
    PartitionRecord,
    ReplicaFetchRequest,
    SendHeartbeat,
    SessionTimeout,
)
from reference.partition.protocol import PARTITION
from reference.partition.sim.machine import PartitionMachine, PartitionMemo
from reference.partition.sim.options import PartitionOptions, constants_of
from reference.partition.steered.schedule import PartitionSchedule
from reference.partition.steered.world import DISK, FAILED, LATE, PROMPT
from reference.partition.types import BrokerRow, PartitionConstants
from reference.sim.choices import Stream, chance, pick
from reference.steered.moves import Move
from tla_utils import Record, Value
from traces.counterexamples.moves import alike
from traces.foreign.reading import ForeignTrace
from traces.foreign.verdicts import Finding

METHODS: Final = {
    "HandleRegisterBrokerRequest": "ClusterControlManager.registerBroker",
    "HandleHeartbeatRequest": "ReplicationControlManager.processBrokerHeartbeat",
    "HandleAlterPartitionRequest": "ReplicationControlManager.alterPartition",
    "HandleSessionTimeout": "ReplicationControlManager.maybeFenceOneStaleBroker",
    "HandleElectLeaders": "ReplicationControlManager.electLeaders",
    "HandleControllerFailover": "ClusterControlManager.activate",
    "HandleMetadataUpdate": "ReplicaManager.applyDelta, Partition.makeLeader, makeFollower",
    "HandleProduceRequest": "Partition.appendRecordsToLeader",
    "HandleProduceTimeout": "DelayedProduce",
    "HandleReplicaFetchRequest": "Partition.fetchRecords, updateFollowerFetchState",
    "HandleConsumerFetchRequest": "Partition.fetchRecords",
    "HandleListOffsetsRequest": "Partition.fetchOffsetForTimestamp",
    "HandleDeleteRecordsRequest": "Partition.deleteRecordsOnLeader",
    "HandleReplicaLagTimeout": "ReplicaState.isCaughtUp",
    "HandleIsrShrinkTimeout": "Partition.maybeShrinkIsr",
    "HandleSendAlterPartition": "DefaultAlterPartitionManager.sendRequest",
    "HandleAlterPartitionResponse": "Partition.submitAlterPartition",
    "HandleBrokerFlush": "UnifiedLog.flush",
    "HandleCheckpointHighWatermark": "ReplicaManager.checkpointHighWatermarks",
    "HandleSendReplicaFetch": "AbstractFetcherThread.maybeFetch",
    "HandleReplicaFetchResponse": "AbstractFetcherThread.processFetchRequest",
    "HandleReplicaFetchTimeout": "AbstractFetcherThread.processFetchRequest",
    "HandleSendRegistration": "BrokerLifecycleManager.sendBrokerRegistration",
    "HandleRegisterBrokerResponse": "BrokerLifecycleManager.BrokerRegistrationResponseEvent",
    "HandleSendHeartbeat": "BrokerLifecycleManager.sendBrokerHeartbeat",
    "HandleHeartbeatResponse": "BrokerLifecycleManager.BrokerHeartbeatResponseEvent",
    "HandleControllerRequestTimeout": "BrokerLifecycleManager, NodeToControllerChannelManager",
    "HandleControlledShutdown": "BrokerLifecycleManager.beginControlledShutdown",
    "HandleBrokerRestart": "LogManager.loadLogs, LogLoader.load",
}


class _Machine(PartitionMachine):
    """Nodes whose steps are asked for elsewhere."""

    def __init__(
        self, memo: PartitionMemo, constants: PartitionConstants, taken: Callable[..., Any]
    ) -> None:
        super().__init__(memo, constants)
        self._taken = taken

    def outcome(self, node: int, row: Any, input: Any) -> Any:
        return self._taken(node, row, input, super().outcome)


class KafkaMemo(PartitionMemo):
    """Of one run: what Kafka does depends on more than the row, so nothing is remembered."""

    def __init__(self, taken: Callable[..., Any]) -> None:
        super().__init__(None, enabled=False)
        self._taken = taken

    def new_machine(self, constants: PartitionConstants) -> PartitionMachine:
        return _Machine(self, constants, self._taken)


class KafkaPartition(PartitionSchedule):
    """As PartitionSchedule, with a witness in place of the reference's brokers and controller."""

    def __init__(self, options: PartitionOptions, host: Host, compares: bool = False) -> None:
        self.compares = compares
        self.differing: list[Differing] = []
        self.lines: list[tuple[str, int]] = []
        """The steps, as lines of a trace, each with how many moves had been made by then."""
        self.thrown: list[str] = []
        self.moves = []
        self._host = host
        self._speech = Speech(constants_of(options))
        [said] = host.ask(["new"])
        assert said == "", said
        super().__init__(options, memo=KafkaMemo(self._taken))

    def _taken(self, node: int, row: Any, input: Any, reference: Callable[..., Any]) -> Any:
        made = self._told(node, self._speech.text(input))
        if self.compares and made is not None:
            self._compare(made, input, reference(node, row, input))
        return made

    def _compare(self, kafka: Outcome, input: Any, reference: Any) -> None:
        found = compared(kafka, [] if reference is None else [reference])
        if found:
            action = f"Handle{type(input).__name__}"
            self.differing.append(Differing(len(self.lines), action, found))

    def _told(self, node: int, move: str) -> Outcome | None:
        [said] = self._host.ask([f"{node} {move}"])
        if said.startswith(REFUSED):
            raise Impossible(said.removeprefix(REFUSED))
        step, *more = said.split("\t")
        self.thrown.extend(f"broker {node}: {each.removeprefix(THROWN)}" for each in more)
        if not step:
            return None
        self.lines.append((step, len(self.moves)))
        return self._speech.taken(step).outcome

    @property
    def parts(self) -> tuple[KafkaPartition]:
        return (self,)

    def attempt(self, words: str, later: Sequence[str]) -> int:
        move = alike(self, words)
        if move is None:
            return 0
        try:
            move.make()
        except Impossible:
            return 0
        return 1

    # --- Which moves there are: less than Kafka's may do, where the spec has no word for it

    def readings(self) -> list[tuple[int, Input]]:
        """A leader sends what it proposes before it reads of the partition again: Kafka would send
        it even if metadata had cleared it.
        """
        found = super().readings()
        return [n for n in found if not (is_unsent(self.row(n[0])) and _of_partition(n[1]))]

    def wants(self, *kinds: str) -> list[tuple[int, Input]]:
        """A request to change the ISR is given up only while it is still what is proposed: Kafka
        would send it again in any case.
        """
        found = super().wants(*kinds)
        return [each for each in found if not is_cleared(self.row(each[0]), each[1])]

    def drops(self) -> list[Move]:
        kept = (AlterPartitionRequest, AlterPartitionResponse)
        return [
            Move(self.losing_words(m), partial(self.drop, m))
            for m in self.deliverable()
            if not isinstance(m.value, kept)
        ]

    def electable(self) -> list[tuple[Election, int]]:
        """Nobody lists the replicas anew: a trace of steps has one set of constants."""
        return []


def is_unsent(row: BrokerRow) -> bool:
    """Whether a leader has not sent yet what it proposes."""
    proposed = row.pending.kind != "None" and not row.pending.refused
    return proposed and row.alter_request == NO_REQUEST


def _of_partition(input: Input) -> bool:
    assert isinstance(input, MetadataUpdate), input
    return any(isinstance(record, PartitionRecord) for record in input.records)


# -- Moves by chance


def _deliver(schedule: KafkaPartition, stream: Stream) -> bool:
    if not (there := schedule.deliverable()):
        return False
    message = there[0] if chance(stream, 600) else pick(stream, there)
    schedule.do(message.value.destination, message.value)
    return True


def _again(schedule: KafkaPartition, stream: Stream) -> bool:
    if not (there := schedule.deliverable(again=True)[-20:]):
        return False
    message = pick(stream, there)
    schedule.do(message.value.destination, message.value)
    return True


def _straggler(schedule: KafkaPartition, stream: Stream) -> bool:
    """A fetch of a process that is gone, which the leader knows, comes once more."""
    there = []
    for message in schedule.deliverable(again=True):
        m = message.value
        if isinstance(m, ReplicaFetchRequest):
            row = schedule.row(m.destination)
            known = row.image.brokers[schedule.brokers.index(m.source)]
            if known.epoch > m.broker_epoch and m.epoch == row.leader_epoch:
                there.append((m.destination, m))
    return _given(list(there), schedule, stream)


def _drawn(moves: list[Move], stream: Stream) -> bool:
    if not moves:
        return False
    pick(stream, moves).make()
    return True


def _lose(schedule: KafkaPartition, stream: Stream) -> bool:
    return _drawn(schedule.drops(), stream)


def _given(there: list[tuple[int, Input]], schedule: KafkaPartition, stream: Stream) -> bool:
    if not there:
        return False
    schedule.do(*pick(stream, there))
    return True


def _reads(schedule: KafkaPartition, stream: Stream) -> bool:
    return _given(schedule.readings(), schedule, stream)


def _prompt(schedule: KafkaPartition, stream: Stream) -> bool:
    return _given(schedule.wants(*PROMPT), schedule, stream)


def _fetch(schedule: KafkaPartition, stream: Stream) -> bool:
    return _given(schedule.wants("SendReplicaFetch", "SendAlterPartition"), schedule, stream)


def _late(schedule: KafkaPartition, stream: Stream) -> bool:
    return _given(schedule.wants(*LATE), schedule, stream)


def _failed(schedule: KafkaPartition, stream: Stream) -> bool:
    return _given(schedule.wants(*FAILED), schedule, stream)


def _disk(schedule: KafkaPartition, stream: Stream) -> bool:
    return _given(schedule.wants(*DISK), schedule, stream)


def _produce(schedule: KafkaPartition, stream: Stream) -> bool:
    """By the idempotent producer, or another."""
    if schedule.options.idempotence:
        return _drawn([*schedule.posts(), *schedule.sends()], stream)
    if not (leaders := schedule.leaders()):
        return False
    schedule.produce(pick(stream, leaders), pick(stream, (-1, -1, -1, 1, 0)))
    return True


def _connection(schedule: KafkaPartition, stream: Stream) -> bool:
    return _drawn(schedule.breakages(), stream)


def _ask(schedule: KafkaPartition, stream: Stream) -> bool:
    if not (leaders := schedule.leaders()):
        return False
    node = pick(stream, leaders)
    if chance(stream, 400):
        schedule.list_offsets(node, "Latest")
    else:
        schedule.consume(node, stream.below(len(schedule.row(node).log) + 2))
    return True


def _session(schedule: KafkaPartition, stream: Stream) -> bool:
    """Mostly of a process that is gone, if another is refused because of it."""
    refused = [n for n in schedule.brokers if schedule.is_refused(n)]
    among = refused if refused and chance(stream, 800) else schedule.brokers
    return _given([(CONTROLLER, SessionTimeout(n)) for n in among], schedule, stream)


def _elect(schedule: KafkaPartition, stream: Stream) -> bool:
    return _given([(CONTROLLER, ElectLeaders("PREFERRED"))], schedule, stream)


def _depose(schedule: KafkaPartition, stream: Stream) -> bool:
    """Who leads is taken for dead, lives, and leads again, before it hears of any of it."""
    leader = schedule.controller.partition.leader
    beat = (leader, SendHeartbeat())
    if beat not in schedule.wants("SendHeartbeat"):
        return False
    schedule.do(CONTROLLER, SessionTimeout(leader))
    schedule.do(*beat)
    sent = [m for m in schedule.deliverable() if m.value.source == leader]
    for message in sent:
        if message.value.destination == CONTROLLER:
            schedule.do(CONTROLLER, message.value)
    schedule.do(CONTROLLER, ElectLeaders("PREFERRED"))
    return True


def _failover(schedule: KafkaPartition, stream: Stream) -> bool:
    return _given([(CONTROLLER, ControllerFailover())], schedule, stream)


def _crash(schedule: KafkaPartition, stream: Stream) -> bool:
    running = [n for n in schedule.brokers if schedule.is_running(n)]
    if len(running) < len(schedule.brokers):
        return False
    node = pick(stream, running)
    schedule.crash(node, *pick(stream, schedule.damages(node, True)))
    return True


def _restart(schedule: KafkaPartition, stream: Stream) -> bool:
    return _drawn(schedule.restarts(), stream)


def _stop(schedule: KafkaPartition, stream: Stream) -> bool:
    return _drawn(schedule.shutdowns(), stream)


MOVES: Final[dict[Callable[[KafkaPartition, Stream], bool], tuple[int, ...]]] = {
    _deliver: (60, 100),
    _fetch: (20, 30),
    _reads: (5, 15, 40),
    _produce: (10, 20, 40),
    _late: (5, 15, 30),
    _prompt: (2, 4, 8),
    _restart: (5, 10, 20),
    _failed: (0, 2, 6),
    _again: (0, 10, 20),
    _straggler: (0, 5),
    _lose: (0, 2, 6),
    _disk: (0, 2, 6),
    _ask: (2, 6),
    _connection: (0, 2),
    _session: (1, 3, 6),
    _elect: (1, 3, 8),
    _depose: (0, 1, 2),
    _failover: (0, 1),
    _crash: (0, 1, 3),
    _stop: (0, 1, 3),
}
"""How often each kind may be taken, of which a run draws one."""


def left_open(trace: ForeignTrace) -> list[Finding]:
    """Followers that count as caught up although they have not even what the leader had when they
    fetched last: the entry caught-up-before allows it, since that is not in the row.
    """
    had: dict[tuple[int, int, Value, Value], int] = {}
    found = []
    for step in trace.steps:
        if step.action != "HandleReplicaFetchRequest":
            continue
        assert step.input is not None
        source, offset = step.input["source"], int(str(step.input["fetchOffset"]))
        before, after = _remote(step.before, source), _remote(step.after, source)
        log = step.before["log"]
        assert isinstance(log, tuple), log
        key = step.run, step.node, source, step.before["leaderEpoch"]
        raised = after["caughtUp"] is True and before["caughtUp"] is False
        if raised and offset < min(len(log), had.get(key, 0)):
            had_then = f"the leader had {had[key]} records when it fetched last"
            found.append(Finding(step.line, "CaughtUpInVain", had_then))
        if any(m["type"] == "ReplicaFetchResponse" and _is_noted(m) for m in step.sent or ()):
            had[key] = max(len(log), had.get(key, 0))
    return found


def _remote(row: Mapping[str, Value], of: Value) -> Mapping[Any, Value]:
    remotes: Any = row["remotes"]
    found: Mapping[Any, Value] = remotes[of]
    return found


def _is_noted(answer: Mapping[str, Value]) -> bool:
    return answer["error"] == "NONE" and answer["diverging"] == Record(epoch=-1, endOffset=-1)


class _Brokers:
    """See driving.Component."""

    protocol = PARTITION
    methods = METHODS

    @property
    def parts(self) -> tuple[_Brokers]:
        return (self,)

    def settings(self, nodes: int, seed: int) -> PartitionOptions:
        """Every other run has an idempotent producer, of batches of up to three records."""
        idempotent = bool(seed % 2)
        batch = 1 + seed % 3 if idempotent else 1
        return PartitionOptions(
            replicas=nodes,
            min_insync_replicas=min(2, nodes),
            idempotence=idempotent,
            batch_records=batch,
            watched=False,
        )

    def setting(self, options: Mapping[str, Any]) -> PartitionOptions:
        return msgspec.convert(dict(options), PartitionOptions)

    def constants(self, setting: PartitionOptions) -> PartitionConstants:
        return constants_of(setting)

    def begin(
        self, setting: PartitionOptions, host: Host, watched: bool, compares: bool = False
    ) -> KafkaPartition:
        return KafkaPartition(msgspec.structs.replace(setting, watched=watched), host, compares)

    def walk(self, schedule: KafkaPartition, seed: int, moves: int) -> None:
        walk(schedule, seed, moves, MOVES)

    def left_open(self, trace: ForeignTrace) -> list[Finding]:
        return left_open(trace)


BROKERS: Final = _Brokers()


def component(kafka: Kafka) -> _Brokers:
    """Those of all versions are driven alike."""
    return BROKERS


cover = partial(covering.cover, Walk, walking.drive, PARTITION.name)
