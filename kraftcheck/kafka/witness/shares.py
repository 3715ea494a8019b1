"""A share partition whose leaders and coordinators are Kafka's; all else is the reference's.

What is left out is in docs/reference/witness-classes.md.

Law of this file: a step of Kafka's is taken as it stands; the schedule chooses among moves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kraftcheck.kafka.witness.following import Impossible
from kraftcheck.kafka.witness.kafka import Kafka
from kraftcheck.kafka.witness.steered import Declared, KafkaSteered, again, deliver, some
from kraftcheck.reference.core.system import Move
from kraftcheck.reference.drivers.options import options_of
from kraftcheck.reference.shares.messages import (
    AcknowledgeRecords,
    AcknowledgeTimeout,
    ForgetRecord,
    GiveUpWrite,
    LockTimeout,
    MoveLeader,
    MoveLogStart,
    MoveShareCoordinator,
    PollRecords,
    Recreate,
    RetryPersister,
    SessionEnd,
    StateCommit,
)
from kraftcheck.reference.shares.protocol import COORDINATOR_KIND, LEADER_KIND, SHARES
from kraftcheck.reference.sim.choices import Stream

RECORDS: Final = 5
MOST: Final = 1000
"""Of leader epochs, of incarnations, and of epochs of the coordinator's log."""


class KafkaShares(KafkaSteered):
    """A share partition under a schedule."""

    protocol = SHARES
    kafkas = (LEADER_KIND.name, COORDINATOR_KIND.name)

    def _arrive(self, move: Move) -> None:
        """A message waits if the persister sends or hands on others first."""
        before = self.at
        try:
            super()._arrive(move)
        except Impossible:
            self.at = before


MOVES: Final[dict[Callable[[KafkaShares, Stream], bool], tuple[int, ...]]] = {
    deliver(500): (60, 120),
    some(PollRecords): (20, 40),
    some(AcknowledgeRecords): (20, 40),
    some(StateCommit): (20, 40),
    some(PollRecords, AcknowledgeRecords, lost=True): (0, 4),
    again: (0, 5),
    some(LockTimeout): (0, 10, 25),
    some(SessionEnd): (0, 3, 8),
    some(ForgetRecord, AcknowledgeTimeout): (0, 5),
    some(RetryPersister): (2, 6),
    some(GiveUpWrite): (0, 4, 10),
    some(MoveLeader): (0, 2, 5),
    some(Recreate): (0, 1, 3),
    some(MoveShareCoordinator): (0, 2, 5),
    some(MoveLogStart): (0, 1, 3),
}
"""How often each kind may be taken, of which a run draws one."""


class _Leaders(Declared):
    """See chance.Component."""

    protocol = SHARES
    kinds = MOVES
    schedule = KafkaShares

    def settings(self, nodes: int, seed: int) -> Any:
        """Each record is a batch of its own, so that a lock is one record's."""
        return options_of(SHARES).of(
            members=tuple(range(1, nodes + 1)),
            records=RECORDS,
            bases=tuple(range(1, RECORDS + 1)),
            max_delivery=2,
            max_in_flight=4,
            latest=False,
            max_leaders=MOST,
            max_incarnations=MOST,
            max_coordinators=MOST,
        )

    def problem(self, setting: Any) -> str:
        if len(setting.bases) != setting.records:
            return "bases: batches of several records, whose lock is one, are not driven"
        return "latest: where a share partition begins is not driven" if setting.latest else ""


SHARE_LEADERS: Final = _Leaders()


def component(kafka: Kafka) -> _Leaders:
    """Those of all versions are driven alike."""
    return SHARE_LEADERS
