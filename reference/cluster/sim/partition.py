"""One partition of a cluster.

Its brokers fetch from each other and serve clients as those of a single partition do. What they
have to say to the controller, and what their processes do for all partitions alike, goes through
the cluster; and its controller is an abstract one: it takes a step when the quorum has committed
the decision, so that its steps are a run of specs/partition/PartitionController.tla (C0).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Final, cast

from kraftcheck.reference.core.run import Whole
from kraftcheck.reference.partition.directories.sim.lists import ListsInDirectories
from kraftcheck.reference.partition.directories.types import Constants as DirectoryConstants
from kraftcheck.reference.partition.messages import (
    CONTROLLER,
    DEPOSED,
    AlterPartitionRequest,
    ControllerRequestTimeout,
    Partition,
    SendHeartbeat,
    SendRegistration,
)
from kraftcheck.reference.partition.moving.sim.lists import Lists
from kraftcheck.reference.partition.moving.types import Constants as MovingConstants, is_there
from kraftcheck.reference.partition.reassignment.messages import UnregisterBroker
from kraftcheck.reference.partition.reassignment.types import MovingPartition
from kraftcheck.reference.partition.sim.machine import PartitionMachine, PartitionMemo
from kraftcheck.reference.partition.sim.options import PartitionOptions
from kraftcheck.reference.partition.sim.pace import Pace
from kraftcheck.reference.partition.sim.run import PartitionRun
from kraftcheck.reference.partition.sim.scenario import Paces
from kraftcheck.reference.partition.types import ControllerRow, PartitionConstants
from kraftcheck.reference.sim.choices import Chooser, Stream
from kraftcheck.reference.sim.interning import KnownInput, KnownRow
from kraftcheck.reference.sim.memo import State, Step
from kraftcheck.reference.sim.recorder import Recorder

_COMMON: Final = (SendRegistration, SendHeartbeat)


def is_common(want: KnownInput) -> bool:
    """Whether a broker does this for all its partitions at once."""
    value = want.value
    if isinstance(value, ControllerRequestTimeout):
        return not isinstance(value.request, AlterPartitionRequest)
    return isinstance(value, _COMMON)


class Cluster(Whole, ABC):
    """What a partition needs of the cluster that it is in."""

    @abstractmethod
    def leads(self, node: int, partition: int) -> bool:
        """Whether this partition's clock is the one that a broker's common activities follow."""

    @abstractmethod
    def act(self, node: int, want: KnownInput) -> None:
        """A broker does something for all its partitions."""

    @abstractmethod
    def to_controller(self, node: int, partition: int, message: KnownInput) -> None: ...
    @abstractmethod
    def gave_up(self, node: int, partition: int) -> None:
        """A broker no longer waits for the answer to its AlterPartition."""

    @abstractmethod
    def began(self, node: int) -> None:
        """A broker has started."""

    @abstractmethod
    def unregistered(self, broker: int) -> None:
        """The controller has forgotten a broker."""

    @abstractmethod
    def receive(self, partition: int, message: object) -> None:
        """An answer has reached the clients."""

    @abstractmethod
    def stepped(self, of: Any, step: Step) -> None:
        """A partition's step was taken and followed up."""


class _OwnPace(Pace):
    """The activities of brokers in one partition; common ones only where it leads."""

    def __init__(
        self,
        partition: ClusterPartition,
        paces: Paces,
        options: PartitionOptions,
        clock: Stream,
    ) -> None:
        super().__init__(partition.brokers, paces, options, clock, partition.queue, partition)
        self._partition = partition
        self._own: dict[tuple[KnownInput, ...], tuple[KnownInput, ...]] = {}

    def wants(self, node: int, state: State) -> tuple[KnownInput, ...]:
        if self._partition.leads(node):
            return state.wants
        own = self._own.get(state.wants)
        if own is None:
            own = tuple([want for want in state.wants if not is_common(want)])
            self._own[state.wants] = own
        return own


def _lists_of(constants: PartitionConstants) -> Lists | None:
    """What is promised of lists; None: the replicas do not move."""
    if isinstance(constants, DirectoryConstants):
        return ListsInDirectories(constants)
    return Lists(constants) if isinstance(constants, MovingConstants) else None


class ClusterPartition(PartitionRun):
    """Partition `number` of a cluster, which is component 1 + number."""

    def __init__(
        self,
        number: int,
        cluster: Cluster,
        paces: Paces,
        options: PartitionOptions,
        constants: PartitionConstants | MovingConstants,
        memo: PartitionMemo,
        recorder: Recorder,
        chooser: Chooser,
        linked: tuple[int, ...],
    ) -> None:
        self.number, self.component = number, 1 + number
        self._cluster = self.part_of = cluster
        self._lists = _lists_of(constants)
        super().__init__(paces, options, constants, memo, recorder, chooser, linked)

    def make_clock(self, stream: Stream) -> Pace:
        return _OwnPace(self, self._paces, self._options, stream)

    @property
    def machine(self) -> PartitionMachine:
        machine: PartitionMachine = self._machine
        return machine

    @property
    def replicas(self) -> tuple[int, ...]:
        known: Any = self.controller.partition
        return self.brokers if self._lists is None else known.replicas

    @property
    def moves(self) -> bool:
        """Whether its replicas may move; only such a partition knows of others (R14)."""
        return self._lists is not None

    def is_there(self, known: Partition) -> bool:
        """Whether somebody who knows this of the partition knows one that exists."""
        return self._lists is None or is_there(cast(MovingPartition, known))

    def holds_back(self, known: ControllerRow, broker: int) -> bool:
        """R14. Whether it is for this partition that a broker may not stop yet, by this row."""
        controller: Any = self._machine.controller
        held: bool = controller.holds_back(known, broker)
        return held

    def placements(self, known: ControllerRow, replicas: int) -> list[tuple[int, ...]]:
        """R9. All lists of so many replicas that the placer may choose, by this row."""
        controller: Any = self._machine.controller
        found: list[tuple[int, ...]] = controller.placements(known, replicas)
        return found

    def leads(self, node: int) -> bool:
        return self._cluster.leads(node, self.number)

    def common_want(self, node: int, kind: str) -> KnownInput | None:
        """What a broker's common activity of this kind is here, if it is wanted."""
        for want in self.state(node).wants:
            if want.kind == kind and is_common(want):
                return want
        return None

    # --- What run.py leaves to be decided

    def answer_deposed(self, known: KnownRow, input: KnownInput) -> Step:
        """Answer as a former controller, by the state that this row has.

        It is the controller's own step, which moves nobody.
        """
        step: Step | None = self._machine.step(self._machine.state(DEPOSED, known), input)
        assert step is not None, "what is answered is not disabled"
        self.record(self.now, step)
        return step

    def act(self, node: int, want: KnownInput) -> None:
        if is_common(want):
            self._cluster.act(node, want)
        else:
            self.take(node, want)
            if isinstance(want.value, ControllerRequestTimeout):
                self._cluster.gave_up(node, self.number)

    def travel(self, node: int, sent: tuple[tuple[int, KnownInput], ...]) -> None:
        if node == CONTROLLER:
            return  # The active controller answers.
        others = tuple([one for one in sent if one[0] != CONTROLLER])
        if others:
            self.network.send(self.now, node, others)
        for destination, message in sent:
            if destination == CONTROLLER:
                self._cluster.to_controller(node, self.number, message)

    def clients_receive(self, message: object) -> None:
        self._cluster.receive(self.number, message)

    def follow_controller(self, step: Step) -> None:
        """Sessions and readers are the cluster's. Where replicas move, the lists are looked at."""
        asked = step.input.value
        if isinstance(asked, UnregisterBroker) and not step.ignored and not self.number:
            self._cluster.unregistered(asked.broker)
        if self._lists is None or not self._options.watched:
            return
        if wrong := self._lists.wrong(step):
            self.violated(*wrong)

    def began(self, node: int) -> None:
        self._cluster.began(node)

    def stepped(self, step: Step) -> None:
        self._cluster.stepped(self, step)
