"""The parts of a cluster under a schedule, what they say to each other, and which moves there are.

What a step of one part means for the others is what reference/cluster/sim says: a controller
decides ahead of what is committed, answers when it is, and each partition's abstract controller
takes the step of a decision that stands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Final, NamedTuple, TypeVar

from kraftcheck.reference.cluster.sim.controllers import REPLAY_AGREES
from kraftcheck.reference.cluster.sim.family import memo_of
from kraftcheck.reference.cluster.sim.joints import Joints
from kraftcheck.reference.cluster.sim.options import ClusterOptions
from kraftcheck.reference.cluster.sim.past import READS_COMMITTED, SENTENCE
from kraftcheck.reference.cluster.sim.scenario import CLUSTER
from kraftcheck.reference.cluster.steered.parts import (
    ChangingVoters,
    Parcel,
    Parcels,
    SteeredBrokers,
    SteeredPartition,
    Watched,
)
from kraftcheck.reference.partition.directories.properties import PROPERTIES
from kraftcheck.reference.partition.messages import (
    CONTROLLER,
    BrokerCrash,
    BrokerRestart,
    Election,
    ElectLeaders,
)
from kraftcheck.reference.partition.steered.schedule import MEMO_STEPS
from kraftcheck.reference.partition.steered.told import ToldPartitions
from kraftcheck.reference.partition.steered.world import NoChoice
from kraftcheck.reference.partition.types import UNDEFINED
from kraftcheck.reference.quorum.messages import Append
from kraftcheck.reference.quorum.sim.machine import QuorumMemo
from kraftcheck.reference.quorum.snapshots.sim.changes import changes, may_vote
from kraftcheck.reference.quorum.timers import Timeouts
from kraftcheck.reference.quorum.types import Row
from kraftcheck.reference.runner.narrate import render_input
from kraftcheck.reference.sim.events import Queue
from kraftcheck.reference.sim.memo import JoinedMemo, Memos, Step
from kraftcheck.reference.sim.recorder import Recorder
from kraftcheck.reference.steered.failures import Violation
from kraftcheck.reference.steered.moves import Move

TIMEOUTS = Timeouts()
_memos = Memos(MEMO_STEPS)
T = TypeVar("T")


class _Promise(NamedTuple):
    name: str
    sentence: str


_OF_CONTROLLERS: Final = {
    REPLAY_AGREES: "What the metadata log says, replayed, is what its controllers decided.",
    READS_COMMITTED: SENTENCE,
}


class ClusterMoves(ToldPartitions, Joints):
    """One run. `partitions` and `voters` are its parts."""

    sentences: ClassVar[Mapping[str, Any]] = {
        **ToldPartitions.sentences,
        **{each.name: each for each in PROPERTIES},
    }

    kind_of_partition = SteeredPartition
    kind_of_brokers = SteeredBrokers
    partitions: list[SteeredPartition]

    def __init__(
        self, options: ClusterOptions, bug: str | None = None, memo: JoinedMemo | None = None
    ) -> None:
        """memo: with the nodes of partitions, if they are not those of the reference."""
        super().__init__(options, Recorder(0))
        self.bug = bug
        self.sessions: dict[tuple[int, int, int], None] = {}
        """By (voter, epoch, broker): those that a controller may end."""
        memo, stream = memo or _memos.memo(bug, lambda: memo_of(bug, timeouts=TIMEOUTS)), NoChoice()
        self.parcels = Parcels(self._passes)
        # A session has no length: it ends when the controller is told that it does.
        self.build(CLUSTER, memo.of["partition"], stream, lambda: self.parcels, Queue(), 0)
        self.be_told(options, options.data)
        self.voters: Watched = self.make_voters(memo.of["quorum"])
        self.voters.moves = self.moves

    def make_voters(self, memo: QuorumMemo) -> Watched:
        of = self.options.quorum
        if changes(of):
            able = may_vote(of)
            return ChangingVoters(self, self.constants.quorum, memo, self.recorder, able)
        return Watched(self, self.constants.voters, memo=memo, recorder=self.recorder)

    # --- What the parts say to each other

    def look(self, node: int, row: Row) -> None:
        self.controllers.look(node, row)

    def began(self, node: int) -> None:
        """Metadata is read when it is told to be."""

    def unregistered(self, broker: int) -> None:
        """Who runs it is told to end it, by a move."""

    def receive(self, partition: int, message: object) -> None:
        raise AssertionError("clients are asked by the partition")

    def stepped(self, of: Any, step: Step) -> None:
        """Nothing follows."""

    def voter(self, node: int) -> Row:
        return self.voters.row(node)

    def give_voter(self, node: int, input: Append) -> str:
        return self.voters.give(node, input)

    def later(self, delay: int, node: int, epoch: int, broker: int) -> None:
        self.sessions[node, epoch, broker] = None

    def violated(self, name: str, explanation: str) -> None:
        raise Violation(_Promise(name, _OF_CONTROLLERS[name]), explanation, self.moves)

    def is_voter_running(self, node: int) -> bool:
        return node in self.voters.nodes()

    # --- Moves: what is on its way

    def between(self, held: bool | None = None) -> list[Move]:
        """Between brokers and controllers. held: only what is slow, or only what is not."""
        there = self.parcels.deliverable()
        return [self._arrival(m) for m in there if held in (None, m in self.parcels.held)]

    def _passes(self, parcel: Parcel) -> bool:
        to = parcel.ends[1]
        return parcel.ends not in self.cut and (to == CONTROLLER or self.brokers.is_running(to))

    def _arrival(self, parcel: Parcel) -> Move:
        def make() -> None:
            self.parcels.come(parcel)
            parcel.arrive(parcel.ends[1])

        return self.move(f"deliver {parcel.words}", make)

    def data(self, again: bool = False, held: bool | None = None) -> list[Move]:
        """Between brokers, and to clients."""
        return self._in_each(lambda partition: partition.data(again, held))

    def posts(self) -> list[Move]:
        """Requests of idempotent producers."""
        return self._in_each(SteeredPartition.posts)

    def _in_each(self, of: Callable[[SteeredPartition], list[T]]) -> list[T]:
        """What may happen in partitions."""
        return [move for partition in self.partitions for move in of(partition)]

    def delays(self) -> Sequence[Callable[[], None]]:
        return [*self.parcels.delays(), *super().delays(), *self.voters.delays()]

    def drops(self) -> list[Move]:
        found = []
        for parcel in self.parcels.next():
            lose = partial(self.parcels.lose, parcel)
            found.append(self.move(f"lose {parcel.words}", lose))
        return found + self._in_each(SteeredPartition.drops)

    # --- Moves: what nodes do by themselves

    def wants(self, *kinds: str) -> list[Move]:
        return [move for kind in kinds for each in self.partitions for move in each.wants(kind)]

    def readings(self) -> list[Move]:
        """For each broker: all that it has not read of the metadata, or the first of that."""
        found = []
        for node in filter(self.brokers.is_running, self.brokers.all):
            unread = self.brokers.unread(node)
            for end in {unread.stop: None, unread.start + 1: None} if unread else ():
                words = f"broker {node} reads metadata {unread.start} to {end}"
                found.append(self.move(words, partial(self.brokers.read, node, end)))
        return found

    def endings(self) -> list[Move]:
        """Sessions that a controller ends: the broker is fenced."""
        return [self.ending(*key) for key in self.sessions if self.controllers.is_active(key[0])]

    def ending(self, node: int, epoch: int, broker: int) -> Move:
        def make() -> None:
            del self.sessions[node, epoch, broker]
            self.controllers.session_over(node, epoch, broker)

        words = f"controller {node} of epoch {epoch} ends the session of broker {broker}"
        return self.move(words, make)

    def elections(self) -> list[Move]:
        """Somebody asks the active controller for one."""
        if self.controllers.active() is None:
            return []
        unclean = self.options.data.unclean
        kinds: list[Election] = ["PREFERRED", "UNCLEAN"] if unclean else ["PREFERRED"]
        found = []
        for number in range(len(self.partitions)):
            for kind in kinds:
                asked = ElectLeaders(kind)
                make = partial(self.controllers.ask, {number: asked})
                found.append(self.move(f"partition {number}: {render_input(asked)}", make))
        return found

    # --- Moves: clients

    def asks(self) -> list[Move]:
        return self._in_each(SteeredPartition.asks)

    def probes(self) -> list[Move]:
        return self._in_each(SteeredPartition.probes)

    def sends(self) -> list[Move]:
        return self._in_each(SteeredPartition.sends)

    def breakages(self) -> list[Move]:
        return self._in_each(SteeredPartition.breakages)

    # --- Moves: faults

    def crashes(self, lossy: bool = True) -> list[Move]:
        """Of brokers: nothing is lost, or all that may be, or something of one partition."""
        found = []
        for node in filter(self.brokers.is_running, self.brokers.all):
            mine = [each for each in self.partitions if node in each.brokers]
            options = {each.number: each.damages(node, lossy) for each in mine}
            least = {number: damages[0] for number, damages in options.items()}
            ways = [least]
            for number, damages in options.items():
                ways += [{**least, number: damage} for damage in damages[1:]]
            most = {number: damages[-1] for number, damages in options.items()}
            found += [self._crash(node, way) for way in ways]
            if most not in ways:
                found.append(self._crash(node, most))
        return found

    def _crash(self, node: int, way: Mapping[int, tuple[int, int]]) -> Move:
        rows = {each.number: each.row(node) for each in self.brokers.partitions_of[node]}
        words = [f"crash broker {node}"]
        for number, (keep, corrupt) in way.items():
            lost = len(rows[number].log) - keep
            if lost:
                words.append(f"losing {lost} of partition {number}")
            if corrupt != UNDEFINED:
                words.append(f"tearing the batch at {corrupt} of partition {number}")

        def crash(partition: Any) -> None:
            partition.has_crashed(node, *way[partition.number])
            partition.give(node, BrokerCrash(*way[partition.number]))

        return self.move(", ".join(words), partial(self.brokers.stop, node, crash))

    def restarts(self) -> list[Move]:
        """Of brokers and voters."""
        found = self.voters.restarts()
        for node in self.brokers.all:
            if not self.brokers.is_running(node):
                found.append(self.move(f"restart broker {node}", partial(self._restart, node)))
        return found

    def _restart(self, node: int) -> None:
        for partition in self.brokers.partitions_of[node]:
            partition.give(node, BrokerRestart())

    def changes(self) -> list[Move]:
        """Of who votes, and of what snapshots have: none where nothing of it changes."""
        voters = self.voters
        if not isinstance(voters, ChangingVoters):
            return []
        return [voters.step_of(node, input) for node, input in voters.changes()]

    def is_cut(self) -> bool:
        return super().is_cut() or bool(self.voters.cut)

    def join_links(self) -> None:
        super().join_links()
        self.parcels.held.clear()
        self.voters.heal()

    def slownesses(self) -> list[Move]:
        return [
            self.move(f"broker {node} is slow from now on", partial(self.slow.add, node))
            for node in self.brokers.all
            if node not in self.slow
        ]
