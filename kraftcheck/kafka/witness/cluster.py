"""A cluster of Kafka's: voters, a controller on each, and the brokers of a partition on top.

What joins them is reference/cluster's, with Kafka's nodes in place of the reference's: a controller
decides ahead of what is committed, answers when it is, and the partition's abstract controller
takes the step of a decision that stands (docs/reference/joins.md).

Law of this file: a step of Kafka's is taken as it stands; the schedule chooses among moves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from kraftcheck.kafka.live.witness.host import Host
from kraftcheck.kafka.witness import quorum
from kraftcheck.kafka.witness.chance import Component, a_move, drawn_move, wanted
from kraftcheck.kafka.witness.following import Hosted, if_any
from kraftcheck.kafka.witness.kafka import CLUSTER_OF_KAFKA, Kafka
from kraftcheck.kafka.witness.partition import BROKERS, is_cleared, is_unsent
from kraftcheck.kafka.witness.quorum import VOTERS
from kraftcheck.kafka.witness.schedule import KafkaSchedule
from kraftcheck.kafka.witness.speech import Outcome, Speech, Taken
from kraftcheck.reference.cluster.sim.controllers import Controllers
from kraftcheck.reference.cluster.sim.options import ClusterOptions, Shape, constants_of
from kraftcheck.reference.cluster.steered.moves import TIMEOUTS
from kraftcheck.reference.cluster.steered.parts import SteeredPartition, Watched
from kraftcheck.reference.cluster.steered.schedule import ClusterSchedule
from kraftcheck.reference.cluster.types import ClusterConstants
from kraftcheck.reference.kit.protocol import Protocol
from kraftcheck.reference.partition.messages import (
    CONTROLLER,
    ControlledShutdown,
    DeleteRecordsRequest,
)
from kraftcheck.reference.partition.sim.machine import PartitionMemo
from kraftcheck.reference.partition.sim.options import PartitionOptions
from kraftcheck.reference.partition.steered.told import DISK, FAILED, LATE
from kraftcheck.reference.quorum.messages import ElectionTimeout, FetchTimeout
from kraftcheck.reference.quorum.sim import faults
from kraftcheck.reference.quorum.sim.machine import QuorumMemo
from kraftcheck.reference.quorum.types import Row
from kraftcheck.reference.sim.choices import Stream, chance, pick
from kraftcheck.reference.sim.interning import KnownInput
from kraftcheck.reference.sim.memo import JoinedMemo, State, Step
from kraftcheck.reference.steered.moves import Move

VOTERS_OF, CONTROLLERS_OF, BROKERS_OF = "quorum/", "controller/", "broker/"
"""What the host's names of nodes begin with."""

PATIENCE: Final = 30
"""How many messages between voters are delivered for a move of a schedule that is not possible yet.
"""

_FLUSH = re.compile(r"quorum: \d+ Flush")


class _Voters(Watched, KafkaSchedule):
    """Kafka's, of a cluster."""

    def __init__(self, cluster: KafkaCluster, host: Host) -> None:
        quorum, watched = cluster.constants.voters, cluster.options.watched
        super().__init__(cluster, quorum, host, watched, cluster.compares, VOTERS_OF)
        self.taken = cluster.taken

    def crashes(self, lossy: bool = True) -> list[Move]:
        """Kafka has flushed all that it appended."""
        return super().crashes(lossy=False)


class _Partition(SteeredPartition):
    """One whose nodes are Kafka's: see KafkaPartition.wanted."""

    def wanted(self, *kinds: str) -> list[tuple[int, KnownInput]]:
        found = super().wanted(*kinds)
        return [each for each in found if not is_cleared(self.row(each[0]), each[1].value)]


class _Controllers(Controllers):
    """Those on Kafka's voters."""

    cluster: KafkaCluster

    def _replayed(self, row: Row, partition: Any) -> State:
        """What is committed: what the voter has made of the log is read when it becomes active."""
        found: State = partition.state(CONTROLLER)
        return found

    def _step(self, partition: Any, active: Any, input: Any) -> Step | None:
        self.cluster.decides = active.node
        try:
            return super()._step(partition, active, input)
        finally:
            self.cluster.decides = None

    def _take(self, decision: Any) -> None:
        [self.cluster.stands] = decision.steps.values()
        super()._take(decision)


class KafkaCluster(Hosted, ClusterSchedule):
    """A ClusterSchedule with Kafka's classes in place of the reference's nodes.

    Voters, controllers and brokers are Kafka's. It has one partition, which all brokers hold.
    """

    kind_of_partition = _Partition
    kind_of_controllers = _Controllers
    voters: _Voters

    def __init__(
        self, options: ClusterOptions, host: Host, rules: Protocol, compares: bool = False
    ) -> None:
        """rules: of the quorum."""
        self._rules = rules
        self.be_hosted(host, compares)
        self.decides: int | None = None
        """The voter whose controller is asked now."""
        self.stands: Step | None = None
        """What a controller has decided and is committed now."""
        self._speech = Speech(constants_of(options).partitions[0])
        taken = PartitionMemo(None).taking(self._taken)
        memo = JoinedMemo({"quorum": QuorumMemo(TIMEOUTS, None), "partition": taken})
        super().__init__(options, memo=memo)
        self.thrown = self.voters.thrown

    def connect(self, link: Any, brokers: Any, controllers: Any) -> None:
        super().connect(link, brokers, controllers)
        controllers.cluster = self
        self.constants = with_kafkas_quorum(self.constants, self._rules)

    def make_voters(self, memo: QuorumMemo) -> _Voters:
        return _Voters(self, self._host)

    @property
    def parts(self) -> tuple[_Voters, KafkaCluster]:
        return self.voters, self

    def steps(self) -> Any:
        return iter(self.taken)

    # --- Who takes the steps of the partition

    def _taken(self, node: int, row: Any, input: Any, reference: Callable[..., Any]) -> Any:
        if node == CONTROLLER and self.decides is not None:
            decided = self._decided(f"{CONTROLLERS_OF}{self.decides}", input)
            return decided and decided.outcome
        outcome: Outcome | None
        if node == CONTROLLER:
            outcome = self._standing(row)
            if outcome is None:
                return None
            text = self._speech.line(node, row, input, outcome)
        else:
            made = self._decided(f"{BROKERS_OF}{node}", input)
            if made is None:
                return None
            outcome, text = made.outcome, made.text
            if outcome.row.status == "Down":
                self.brokers.stop(node, _is_gone)
        step, constants = Taken(text, node, row, input, outcome), self.constants.partitions[0]
        self.note_step(step, constants, lambda: if_any(reference(node, row, input)))
        return outcome

    def _standing(self, row: Any) -> Outcome | None:
        """The decision that is committed now, if it was made in this row."""
        step = self.stands
        assert step is not None, "a controller decides before it is committed"
        if step.before.row != row:
            return None
        sent = tuple([message.value for _, message in step.sent])
        return Outcome(step.after.row, sent, step.ignored)

    def _decided(self, node: str, input: Any) -> Taken | None:
        steps = self.ask_host(node, self._speech.text(input), node)
        return self._speech.taken(steps[0]) if steps else None

    def attempt(self, words: str, later: Sequence[str]) -> int:
        if _FLUSH.fullmatch(words):
            return 1  # a part of the step before
        move = self.alike(words)
        if move is None and not words.startswith("quorum: "):
            move = self._later(words)
        return self.made(move)

    def _later(self, words: str) -> Move | None:
        """A move that waits for the quorum.

        By the rules since 4.1 it says in other messages what a schedule has in those before, so it
        goes on by itself, in order, until the move is possible.
        """
        for _ in range(PATIENCE):
            there = self.voters.arrivals()
            if not there:
                return None
            there[-1].make()
            if move := self.alike(words):
                return move
        return None

    # --- Which moves there are: see KafkaPartition, and KafkaSchedule

    def possible(self) -> Iterator[Move]:
        yield from (*super().possible(), *self.stops())

    def stops(self) -> list[Move]:
        """Of brokers, clean ones.

        In the reference each of several partitions would say by itself when the process may end, so
        it has none.
        """
        [partition] = self.partitions
        running = [n for n in self.brokers.all if partition.row(n).status == "Running"]
        return [partition.step_of(node, ControlledShutdown()) for node in running]

    def readings(self) -> list[Move]:
        """A leader sends what it proposes before it reads metadata again."""
        [partition] = self.partitions
        unsent = [n for n in self.brokers.all if is_unsent(partition.row(n))]
        return [m for m in super().readings() if int(m.words.split()[1]) not in unsent]

    def drops(self) -> list[Move]:
        return [each for each in super().drops() if "AlterPartition" not in each.words]


def _is_gone(partition: Any) -> None:
    """A process has ended by the step that it took itself."""


def with_kafkas_quorum(constants: ClusterConstants, rules: Protocol) -> ClusterConstants:
    """By the rules of the voters that are driven."""
    of = constants.voters
    return replace(constants, quorum=rules.constants(of.voters, of.fetch_max_records))


# -- Moves by chance


def _calm(cluster: KafkaCluster, stream: Stream) -> bool:
    """Where nobody leads or stands, voters ask each other for a leader for ever."""
    roles = {state.row.role for state in cluster.voters.at.states}
    alone = not roles & {"Leader", "Prospective", "Candidate"}
    return (alone and chance(stream, 200) and _elect(cluster, stream)) or cluster.calm()


def _lose(cluster: KafkaCluster, stream: Stream) -> bool:
    if chance(stream, 500) and (there := list(cluster.voters.mail.waiting)):
        cluster.voters.forget(pick(stream, there))
        return True
    return drawn_move(cluster.drops(), stream)


def _produce(cluster: KafkaCluster, stream: Stream) -> bool:
    return drawn_move([*cluster.posts(), *cluster.sends()] or _asked(cluster), stream)


def _asked(cluster: KafkaCluster) -> list[Move]:
    """What clients ask, but that records be deleted."""
    kind = DeleteRecordsRequest.__name__
    return [each for each in cluster.asks() if kind not in each.words]


def _elect(cluster: KafkaCluster, stream: Stream) -> bool:
    """Another voter stands."""
    there = [
        cluster.voters.step_of(node, timer)
        for node, timer in cluster.voters.timers()
        if isinstance(timer, ElectionTimeout | FetchTimeout)
    ]
    return drawn_move(there, stream)


def _crash(cluster: KafkaCluster, stream: Stream) -> bool:
    """One broker at a time."""
    if not all(map(cluster.brokers.is_running, cluster.brokers.all)):
        return False
    return drawn_move(cluster.crashes(), stream)


def _crash_voter(cluster: KafkaCluster, stream: Stream) -> bool:
    """One voter at a time."""
    return not cluster.voters.nodes("Down") and drawn_move(cluster.voters.crashes(), stream)


MOVES: Final[dict[Callable[[KafkaCluster, Stream], bool], tuple[int, ...]]] = {
    _calm: (60, 100, 150),
    a_move(lambda c: [*c.between(), *c.data(), *c.voters.arrivals()]): (10, 30),
    _produce: (5, 10, 20),
    a_move(KafkaCluster.readings): (5, 10),
    a_move(KafkaCluster.restarts): (5, 10),
    wanted(*LATE): (2, 5, 10),
    a_move(_asked): (2, 5),
    a_move(lambda c: c.voters.expiries()): (0, 1, 4),
    _elect: (0, 1, 2),
    a_move(lambda c: c.voters.resignations()): (0, 1, 2),
    a_move(KafkaCluster.endings): (0, 1, 3),
    a_move(KafkaCluster.elections): (0, 1, 3),
    wanted(*FAILED): (0, 1, 3),
    a_move(lambda c: [*c.data(True)[:20], *c.voters.arrivals(True)[:20]]): (0, 3, 8),
    _lose: (0, 1, 3),
    wanted(*DISK): (0, 2),
    a_move(KafkaCluster.breakages): (0, 1),
    _crash: (0, 1, 2),
    _crash_voter: (0, 1, 2),
    a_move(KafkaCluster.stops): (0, 1, 2),
}
"""How often each kind may be taken, of which a run draws one."""


class _Cluster(Component):
    """voters: its first part."""

    protocol = CLUSTER_OF_KAFKA
    kinds = MOVES

    def __init__(self, voters: quorum.Voters) -> None:
        self._voters = voters

    @property
    def parts(self) -> Sequence[Component]:
        return (self._voters, BROKERS)

    def settings(self, nodes: int, seed: int) -> ClusterOptions:
        """Three voters, and of the partition what it has alone."""
        data: PartitionOptions = BROKERS.settings(nodes, seed)
        return ClusterOptions(
            shape=Shape(brokers=nodes, topic_partitions=1),
            quorum=replace(faults.OFF, voters=3, fetch_max_records=2),
            data=data,
        )

    def setting(self, options: Mapping[str, Any]) -> ClusterOptions:
        found = msgspec.convert(dict(options), ClusterOptions)
        partitions = constants_of(found).partitions
        if len(partitions) > 1 or len(partitions[0].replicas) < found.shape.brokers:
            raise msgspec.ValidationError("Kafka's cluster has one partition, of all brokers")
        return found

    def constants(self, setting: ClusterOptions) -> ClusterConstants:
        return with_kafkas_quorum(constants_of(setting), self._voters.protocol)

    def begin(
        self, setting: ClusterOptions, host: Host, watched: bool, compares: bool = False
    ) -> KafkaCluster:
        data = replace(setting.data, watched=watched)
        return KafkaCluster(replace(setting, data=data), host, self._voters.protocol, compares)


KAFKA_CLUSTER: Final = _Cluster(VOTERS)


def component(kafka: Kafka) -> _Cluster:
    """How those of a version are driven."""
    return _Cluster(quorum.component(kafka))
