"""A partition of which brokers and controller are Kafka's (docs/reference/witness-classes.md).

Law of this file: a step of Kafka's is taken as it stands; the schedule chooses among moves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

import msgspec

from kraftcheck.kafka.live.witness.host import REFUSED, THROWN, Host
from kraftcheck.kafka.witness import covering, walking
from kraftcheck.kafka.witness.chance import (
    Component,
    a_move,
    a_step,
    drawn_move,
    drawn_step,
    wanted,
)
from kraftcheck.kafka.witness.departures import NO_USE, STOPS
from kraftcheck.kafka.witness.following import Hosted, if_any
from kraftcheck.kafka.witness.kafka import Kafka
from kraftcheck.kafka.witness.speech import Speech, Taken
from kraftcheck.kafka.witness.walking import Walker
from kraftcheck.reference.partition.messages import (
    CONTROLLER,
    NO_REQUEST,
    AlterPartitionRequest,
    ClientRequest,
    ControllerFailover,
    ControllerRequestTimeout,
    Election,
    ElectLeaders,
    Input,
    MetadataUpdate,
    PartitionRecord,
    ReplicaFetchRequest,
    SendHeartbeat,
    SessionTimeout,
)
from kraftcheck.reference.partition.protocol import PARTITION
from kraftcheck.reference.partition.sim.machine import PartitionMemo
from kraftcheck.reference.partition.sim.options import PartitionOptions, constants_of
from kraftcheck.reference.partition.steered.schedule import PartitionSchedule
from kraftcheck.reference.partition.steered.told import DISK, FAILED, LATE, PROMPT
from kraftcheck.reference.partition.types import BrokerRow, PartitionConstants
from kraftcheck.reference.sim.choices import Stream, chance, pick
from kraftcheck.reference.sim.interning import KnownInput
from kraftcheck.reference.steered.moves import Move
from kraftcheck.traces.cover.matching import Step
from kraftcheck.traces.foreign.reading import ForeignTrace
from kraftcheck.traces.foreign.verdicts import Finding
from tla_utils import Record, Value


class KafkaPartition(Hosted, PartitionSchedule):
    """As PartitionSchedule, with a witness in place of the reference's brokers and controller."""

    def __init__(self, options: PartitionOptions, host: Host, compares: bool = False) -> None:
        self.be_hosted(host, compares)
        self.moves = []
        self._constants = constants_of(options)
        self._speech = Speech(self._constants)
        super().__init__(options, memo=PartitionMemo(None).taking(self._taken))

    def _taken(self, node: int, row: Any, input: Any, reference: Callable[..., Any]) -> Any:
        steps = self.ask_host(node, self._speech.text(input), f"broker {node}")
        if not steps:
            return None
        made = self._speech.taken(steps[0])._replace(before=row, input=input)
        self._reference = reference
        self.note_step(made, self._constants, partial(self.reference, node, row, input))
        return made.outcome

    def reference(self, node: int, row: Any, input: Any) -> list[Any]:
        """What the reference may do, after a step has been compared with it."""
        return if_any(self._reference(node, row, input))

    # --- Which moves there are: less than Kafka's may do, where the spec has no word for it

    def unread(self) -> list[tuple[int, Input]]:
        """Have a leader send what it proposes before it reads of the partition again.

        Kafka would send it even if metadata had cleared it.
        """
        found = super().unread()
        return [n for n in found if not (is_unsent(self.row(n[0])) and _of_partition(n[1]))]

    def wanted(self, *kinds: str) -> list[tuple[int, KnownInput]]:
        """Give up a request to change the ISR only while it is still what is proposed.

        Kafka would send it again in any case.
        """
        found = super().wanted(*kinds)
        return [each for each in found if not is_cleared(self.row(each[0]), each[1].value)]

    def drops(self) -> list[Move]:
        return [each for each in super().drops() if "AlterPartition" not in each.words]

    def requests(self) -> Iterator[ClientRequest]:
        """Also what runs by chance ask (_produce, _ask): their schedules are followed."""
        known = [*super().requests()]
        yield from known
        for node in self.leaders():
            acks = () if self.options.idempotence else (-1, 0, 1)
            asked: list[ClientRequest] = [self.produce(node, each) for each in acks]
            asked += [self.consume(node, each) for each in range(len(self.row(node).log) + 2)]
            yield from (each for each in asked if each not in known)

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
    if not (there := schedule.mail.deliverable()):
        return False
    message = there[0] if chance(stream, 600) else pick(stream, there)
    schedule.do(message.value.destination, message.value)
    return True


def _again(schedule: KafkaPartition, stream: Stream) -> bool:
    if not (there := schedule.mail.deliverable(again=True)[-20:]):
        return False
    message = pick(stream, there)
    schedule.do(message.value.destination, message.value)
    return True


def _straggler(schedule: KafkaPartition, stream: Stream) -> bool:
    """A fetch of a process that is gone, which the leader knows, comes once more."""
    there = []
    for message in schedule.mail.deliverable(again=True):
        m = message.value
        if isinstance(m, ReplicaFetchRequest):
            row = schedule.row(m.destination)
            known = row.image.brokers[schedule.brokers.index(m.source)]
            if known.epoch > m.broker_epoch and m.epoch == row.leader_epoch:
                there.append((m.destination, m))
    return drawn_step(there, schedule, stream)


def _produce(schedule: KafkaPartition, stream: Stream) -> bool:
    """By the idempotent producer, or another."""
    if schedule.options.idempotence:
        return drawn_move([*schedule.posts(), *schedule.sends()], stream)
    if not (leaders := schedule.leaders()):
        return False
    schedule.ask(schedule.produce(pick(stream, leaders), pick(stream, (-1, -1, -1, 1, 0))))
    return True


def _ask(schedule: KafkaPartition, stream: Stream) -> bool:
    if not (leaders := schedule.leaders()):
        return False
    node = pick(stream, leaders)
    if chance(stream, 400):
        schedule.ask(schedule.list_offsets(node, "Latest"))
    else:
        schedule.ask(schedule.consume(node, stream.below(len(schedule.row(node).log) + 2)))
    return True


def _session(schedule: KafkaPartition, stream: Stream) -> bool:
    """Mostly of a process that is gone, if another is refused because of it."""
    refused = [n for n in schedule.brokers if schedule.is_refused(n)]
    among = refused if refused and chance(stream, 800) else schedule.brokers
    return drawn_step([(CONTROLLER, SessionTimeout(n)) for n in among], schedule, stream)


def _depose(schedule: KafkaPartition, stream: Stream) -> bool:
    """Who leads is taken for dead, lives, and leads again, before it hears of any of it."""
    leader = schedule.controller.partition.leader
    if leader not in [node for node, _ in schedule.wanted("SendHeartbeat")]:
        return False
    schedule.do(CONTROLLER, SessionTimeout(leader))
    schedule.do(leader, SendHeartbeat())
    sent = [m for m in schedule.mail.deliverable() if m.value.source == leader]
    for message in sent:
        if message.value.destination == CONTROLLER:
            schedule.do(CONTROLLER, message.value)
    schedule.do(CONTROLLER, ElectLeaders("PREFERRED"))
    return True


def _crash(schedule: KafkaPartition, stream: Stream) -> bool:
    running = [n for n in schedule.brokers if schedule.is_running(n)]
    if len(running) < len(schedule.brokers):
        return False
    node = pick(stream, running)
    schedule.crash(node, *pick(stream, schedule.damages(node, True)))
    return True


MOVES: Final[dict[Callable[[KafkaPartition, Stream], bool], tuple[int, ...]]] = {
    _deliver: (60, 100),
    wanted("SendReplicaFetch", "SendAlterPartition"): (20, 30),
    a_move(KafkaPartition.readings): (5, 15, 40),
    _produce: (10, 20, 40),
    wanted(*LATE): (5, 15, 30),
    wanted(*PROMPT): (2, 4, 8),
    a_move(KafkaPartition.restarts): (5, 10, 20),
    wanted(*FAILED): (0, 2, 6),
    _again: (0, 10, 20),
    _straggler: (0, 5),
    a_move(KafkaPartition.drops): (0, 2, 6),
    wanted(*DISK): (0, 2, 6),
    _ask: (2, 6),
    a_move(KafkaPartition.breakages): (0, 2),
    _session: (1, 3, 6),
    a_step(lambda _: [(CONTROLLER, ElectLeaders("PREFERRED"))]): (1, 3, 8),
    _depose: (0, 1, 2),
    a_step(lambda _: [(CONTROLLER, ControllerFailover())]): (0, 1),
    _crash: (0, 1, 3),
    a_move(KafkaPartition.shutdowns): (0, 1, 3),
}
"""How often each kind may be taken, of which a run draws one."""


def left_open(trace: ForeignTrace) -> list[Finding]:
    """Find followers that count as caught up without what the leader had at their last fetch.

    The entry caught-up-before allows it, since that is not in the row.
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


# -- Graphs: how brokers and their controller are told a walk

SENT_AGAIN: Final = "metadata cleared what is proposed, and Kafka sends it all the same"


def is_cleared(row: BrokerRow, input: Input) -> bool:
    """Say whether it gives up the request of a proposal that metadata has cleared.

    Kafka sends that again and again, and makes no other meanwhile.
    """
    if not isinstance(input, ControllerRequestTimeout):
        return False
    asked = input.request
    if not isinstance(asked, AlterPartitionRequest):
        return False
    same = (asked.isr, asked.leader_epoch, asked.partition_epoch)
    return same != (row.pending.isr, row.leader_epoch, row.partition_epoch)


def _clears_unsent(step: Step) -> bool:
    """Whether metadata clears a proposal that is to be sent yet, or again."""
    before = step.before
    return (
        isinstance(step.input, MetadataUpdate)
        and before.alter_request == NO_REQUEST
        and before.pending.kind != "None"
        and not before.pending.refused
        and step.result.row.pending.kind == "None"
    )


class Walk(Walker):
    """Of brokers and their controller."""

    loads = (CONTROLLER,)

    def _lines(self, step: Step) -> Sequence[str]:
        """A controller is brought to where the model is if it has come to another row."""
        told = super()._lines(step)
        if step.node != CONTROLLER:
            return told
        return *told, f"{step.node} follow {self._speech.step_text(step.input, step.result)}"

    def got(self, step: Step, answers: Sequence[str]) -> Taken | str | None:
        answer = answers[0]
        if is_cleared(step.before, step.input) or _clears_unsent(step):
            return SENT_AGAIN
        if not answer or answer.startswith(REFUSED):
            return NO_USE
        taken, *thrown = answer.split("\t")
        if thrown:
            return f"{STOPS}: {thrown[0].removeprefix(THROWN)}"
        return self._speech.taken(taken)

    def goes_on(self, step: Step, answers: Sequence[str]) -> bool:
        brought = answers[1:]
        return bool(brought) and self._speech.leads_to(brought[0], step.result.row)


class _Brokers(Component):
    """See chance.Component."""

    protocol = PARTITION
    kinds = MOVES

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

    def left_open(self, trace: ForeignTrace) -> list[Finding]:
        return left_open(trace)


BROKERS: Final = _Brokers()


def component(kafka: Kafka) -> _Brokers:
    """Those of all versions are driven alike."""
    return BROKERS


cover = partial(covering.cover, Walk, walking.drive, PARTITION.name)
