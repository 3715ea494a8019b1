"""What the parts of a cluster ask of each other, whoever decides what happens next.

Partitions hand what concerns a whole broker to the brokers' processes; brokers ask the controller
that they believe to be active; controllers append to the quorum's log.

Law of this file: it passes on what a part says. When anything happens is decided by
who runs the cluster: the simulator (scheduler.py) by its queues, a schedule
(reference/cluster/steered/schedule.py) by its moves.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import UNSET

from kraftcheck.reference.cluster.sim.brokers import Brokers, Heard
from kraftcheck.reference.cluster.sim.controllers import Controllers
from kraftcheck.reference.cluster.sim.link import Carrier, Request
from kraftcheck.reference.cluster.sim.options import ClusterOptions, constants_of, topics_of
from kraftcheck.reference.cluster.sim.partition import Cluster, ClusterPartition
from kraftcheck.reference.cluster.sim.scenario import ClusterScenario
from kraftcheck.reference.partition.messages import CONTROLLER, METADATA_LOG
from kraftcheck.reference.partition.moving.sim.topics import Catalog
from kraftcheck.reference.partition.sim.machine import PartitionMemo
from kraftcheck.reference.partition.types import UNDEFINED
from kraftcheck.reference.quorum.messages import Append
from kraftcheck.reference.sim.choices import Chooser
from kraftcheck.reference.sim.events import Queue
from kraftcheck.reference.sim.interning import KnownInput
from kraftcheck.reference.sim.memo import Step
from kraftcheck.reference.sim.recorder import Recorder


class Joints(Cluster):
    """The parts, joined."""

    kind_of_partition: type[ClusterPartition] = ClusterPartition
    kind_of_brokers: type[Brokers] = Brokers
    kind_of_controllers: type[Controllers] = Controllers
    partitions: list[Any]

    def __init__(self, options: ClusterOptions, recorder: Recorder) -> None:
        super().__init__(recorder)
        self.options = options
        self.constants = constants_of(options)
        self.now = 0
        self._believed: dict[int, int] = {}
        """By broker: the controller that it talks to."""

    def build(
        self,
        scenario: ClusterScenario,
        memo: PartitionMemo,
        chooser: Chooser,
        carrier: Callable[[], Carrier],
        queue: Queue,
        session: int,
    ) -> None:
        """Make the parts, except the quorum, and join them.

        chooser: of what the network does, and when. session: its length.
        """
        data, shape = self.options.data, self.options.shape
        self.partitions = [
            self.kind_of_partition(
                number=number,
                cluster=self,
                paces=scenario.partition.paces,
                options=data,
                constants=constants,
                memo=memo,
                recorder=self.recorder,
                chooser=chooser,
                linked=self.constants.brokers,
            )
            for number, constants in enumerate(self.constants.partitions)
        ]
        link, clock = carrier(), chooser.stream("clock")
        brokers = self.kind_of_brokers(self.partitions, data, clock, link, queue, self)
        world: Any = self
        controllers = self.kind_of_controllers(
            self.partitions,
            brokers,
            memo.interner,
            session,
            world,
            shape.stale_answers,
            shape.reads is not UNSET,
        )
        self.connect(link, brokers, controllers)
        first = sum([len(topic.assignments) for topic in topics_of(self.options).all])
        self.catalog = Catalog(shape.topics, first, self.partitions)

    def connect(self, link: Carrier, brokers: Brokers, controllers: Controllers) -> None:
        self._carrier: Any = link
        self.brokers = brokers
        self.controllers = controllers

    # --- What partitions say

    def leads(self, node: int, partition: int) -> bool:
        return self.brokers.leads(node, partition)

    def act(self, node: int, want: KnownInput) -> None:
        self.brokers.act(node, want)

    def to_controller(self, node: int, partition: int, message: KnownInput) -> None:
        self.brokers.to_controller(node, partition, message)

    def gave_up(self, node: int, partition: int) -> None:
        self.brokers.gave_up(node, partition)

    # --- What brokers and controllers ask for

    def ask_controller(self, request: Request) -> None:
        node = self._believed.get(request.source, UNDEFINED)
        if not self.controllers.is_active(node):
            active = self.controllers.believed()
            if active is None:
                return
            node = self._believed[request.source] = active

        def arrive(_: int) -> None:
            if self.is_voter_running(node):
                self.controllers.receive(node, request)

        self._carrier.carry(self.now, (request.source, CONTROLLER), request.messages, arrive)

    def forget_controller(self, node: int) -> None:
        self._believed.pop(node, None)

    @property
    def all_brokers(self) -> tuple[int, ...]:
        return self.constants.brokers

    def has_heard(self, broker: int) -> Heard | None:
        """As far as a broker observes the quorum; None: it does not."""
        return None

    @abstractmethod
    def is_voter_running(self, node: int) -> bool:
        """Whether it can hear a broker."""

    def read(self, node: int) -> bool:
        """Somebody asks a controller what is under way. Whether it runs."""
        if not self.is_voter_running(node):
            return False
        self.controllers.read(node)
        return True

    def append(self, node: int, value: int) -> str:
        """A controller appends to the log. Why that was ignored, or empty."""
        return self.give_voter(node, Append(value))

    @abstractmethod
    def give_voter(self, node: int, input: Append) -> str:
        """Has a voter take the step. Why that was ignored, or empty."""

    def decided(self, value: int, steps: Mapping[int, Step]) -> None:
        self.recorder.decided(value, steps, METADATA_LOG)
