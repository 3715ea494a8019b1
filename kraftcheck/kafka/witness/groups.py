"""A consumer group whose coordinators are Kafka's, one after the other, and members are not.

What is left out is in docs/reference/witness-classes.md.

Law of this file: a step of Kafka's is taken as it stands; the schedule chooses among moves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from kraftcheck.kafka.live.witness.host import Host
from kraftcheck.kafka.witness import covering, histories
from kraftcheck.kafka.witness.coordinator_graphs import Walk
from kraftcheck.kafka.witness.following import if_any
from kraftcheck.kafka.witness.kafka import Kafka
from kraftcheck.kafka.witness.speech import Outcome
from kraftcheck.kafka.witness.steered import Declared, KafkaSteered, again, deliver, some
from kraftcheck.reference.drivers.options import options_of
from kraftcheck.reference.groups.coordinator import CoordinatorHandlers
from kraftcheck.reference.groups.log import newest
from kraftcheck.reference.groups.messages import (
    COORDINATOR,
    RELEASED_EPOCH,
    CompleteReconciliation,
    GroupCommit,
    GroupRecord,
    GroupSessionTimeout,
    HeartbeatTimeout,
    MoveCoordinator,
    RebalanceTimeout,
    SendGroupHeartbeat,
    StartReconciliation,
    Subscribe,
    Unsubscribe,
)
from kraftcheck.reference.groups.protocol import (
    COORDINATOR_KIND,
    GROUPS,
    LOADER_KIND,
    MIGRATION_KIND,
    OFFSETS_KIND,
)
from kraftcheck.reference.groups.rules import GroupRules
from kraftcheck.reference.sim.choices import Stream, pick
from kraftcheck.reference.sim.interning import KnownInput

UNKEPT: Final = ("EpochsBounded", "GroupTypeInv")
"""By leaves-as-it-was: an epoch before -2, and nothing to revoke in the state of who has to."""

QUIET: Final = {
    LOADER_KIND.name: "a log that is compacted while it is read is not driven",
    OFFSETS_KIND.name: "a consumer that commits, in transactions too, is not driven",
    MIGRATION_KIND.name: "classic members and what brings them over are not driven",
}
"""The kinds of nodes of which Kafka takes no step here, and why."""

PARTITIONS: Final = (1, 2, 3)
STATIC: Final = ((1, 2),)
"""Two members have one instance id, so that one is replaced by the other; the others have none."""
MOST: Final = 1000
"""Of leader epochs, and of numbers of heartbeats."""


class _Follows(CoordinatorHandlers):
    """The reference's coordinator with a target that another one has chosen, if it may."""

    __slots__ = ("chosen",)
    chosen: dict[int, int]
    """The owner of each partition."""

    def assigned(self, group: GroupRecord, wanted: tuple[int, ...]) -> dict[int, int]:
        if {*self.chosen} == {*wanted} and self.rules.is_target(group, self.chosen):
            return self.chosen
        return super().assigned(group, wanted)


class KafkaGroup(KafkaSteered):
    """A group under a schedule."""

    protocol = GROUPS
    kafkas = (COORDINATOR_KIND.name,)
    quiet = QUIET
    departs_from = UNKEPT

    def __init__(self, options: Any, host: Host, compares: bool = False) -> None:
        super().__init__(options, host, compares)
        self._follows = _Follows(GroupRules(self.constants))

    def reference(self, node: int, row: Any, input: Any, kafka: Outcome) -> Sequence[Any]:
        members = zip(self.constants.members, newest(kafka.row.log).members, strict=True)
        self._follows.chosen = {p: n for n, member in members for p in member.target}
        return if_any(self._follows.step(row, input))

    def act(self, node: int, input: KnownInput, lost: bool = False) -> bool:
        """Act as a member that has left for a while, and does not leave again before it is back.

        Kafka records that once more, and answers when it is committed, where the specs answer at
        once.
        """
        if isinstance(input.value, Unsubscribe):
            members = newest(self.row(COORDINATOR).log).members
            known = members[self.constants.members.index(node)]
            if known.epoch == RELEASED_EPOCH:
                return False
        return super().act(node, input, lost)


# -- Moves by chance


def _speak(schedule: KafkaGroup, stream: Stream) -> bool:
    """A heartbeat of a member that has something to say."""
    there = [
        (n, heartbeat)
        for n, heartbeat in schedule.given(SendGroupHeartbeat)
        if schedule.row(n).unsent or schedule.row(n).state in ("Joining", "Acknowledging")
    ]
    return bool(there) and schedule.act(*pick(stream, there))


MOVES: Final[dict[Callable[[KafkaGroup, Stream], bool], tuple[int, ...]]] = {
    deliver(600): (30, 60),
    _speak: (30, 60),
    some(SendGroupHeartbeat): (2, 6),
    some(StartReconciliation, CompleteReconciliation): (15, 40),
    some(GroupCommit): (5, 20, 40),
    some(Subscribe): (6, 12),
    again: (0, 5),
    some(SendGroupHeartbeat, lost=True): (0, 3, 8),
    some(GroupCommit, lost=True): (0, 2, 5),
    some(HeartbeatTimeout): (0, 8, 20),
    some(Unsubscribe): (2, 4, 8),
    some(GroupSessionTimeout): (0, 2, 5),
    some(RebalanceTimeout): (0, 3, 8),
    some(MoveCoordinator): (0, 3, 8),
}
"""How often each kind may be taken, of which a run draws one."""


class _Coordinators(Declared):
    """See chance.Component."""

    protocol = GROUPS
    kinds = MOVES
    schedule = KafkaGroup

    def settings(self, nodes: int, seed: int) -> Any:
        members = tuple(range(1, nodes + 1))
        return options_of(GROUPS).of(
            members=members,
            partitions=PARTITIONS,
            max_coordinators=MOST,
            max_correlation=MOST,
            static=STATIC,
        )

    def problem(self, setting: Any) -> str:
        return "growing: topics that come and go are not driven" if setting.growing else ""


GROUP_COORDINATORS: Final = _Coordinators()


def component(kafka: Kafka) -> _Coordinators:
    """Those of all versions are driven alike."""
    return GROUP_COORDINATORS


cover = partial(covering.cover, partial(Walk, KafkaGroup.kafkas), histories.drive, GROUPS.name)
