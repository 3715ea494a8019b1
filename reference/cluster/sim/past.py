"""Keep what was committed of the metadata once.

Controllers that know no more read it, and say what they may (V29).

Law of this file: what may be read is told from the committed records alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from kraftcheck.reference.cluster.sim.partition import ClusterPartition
from kraftcheck.reference.partition.messages import CONTROLLER, MetadataRecord
from kraftcheck.reference.partition.moving.messages import ListReassignments, PartitionRecord
from kraftcheck.reference.partition.types import ControllerRow
from kraftcheck.reference.sim.memo import State

READS_COMMITTED: Final = "ReadsCommitted"
SENTENCE: Final = (
    "What is read from a controller, active or not, the committed log says up to somewhere."
)

_Lists: TypeAlias = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
"""The replicas of a partition, who comes, who goes."""


def _lists(told: Any) -> _Lists:
    return told.replicas, told.adding, told.removing


class Past:
    """Of the partitions of one run, all of which move."""

    def __init__(self, partitions: Sequence[ClusterPartition]) -> None:
        self._partitions = partitions
        self._states: list[list[State]] = []
        """By how much of the quorum's log is committed: the abstract controllers, by partition."""
        self._said: list[set[_Lists]] = [
            {_lists(each.state(CONTROLLER).row.partition)} for each in partitions
        ]

    def keep(self) -> None:
        """One value more of the quorum's log is about to be committed."""
        self._states.append([each.state(CONTROLLER) for each in self._partitions])

    def enter(self, records: Mapping[int, Sequence[MetadataRecord]]) -> None:
        """These are committed now, by partition."""
        for number, said in records.items():
            for record in said:
                if isinstance(record, PartitionRecord):
                    self._said[number].add(_lists(record.partition))

    def read(
        self, partition: ClusterPartition, end: int, known: ControllerRow, ahead: State | None
    ) -> str:
        """Judge the answer of a controller that knows so much of the quorum's log to be committed.

        It is a step of the abstract controller, or of that as it was. known: what its own log says
        up to there. ahead: what it knows besides what is committed, if it is active. Returns what
        is wrong with the answer; empty: nothing.
        """
        number, now = partition.number, partition.state(CONTROLLER)
        stable = self._states[end][number] if end < len(self._states) else now
        rules: Any = partition.machine.brokers.rules
        state = rules.read_from(stable, stable if ahead is None else ahead)
        asked = partition.machine.interner.input(ListReassignments())
        if state is now:
            told = partition.take(CONTROLLER, asked)
            assert told is not None, "a read is never disabled"
        else:
            told = partition.answer_deposed(state.known, asked)
        lists = _lists(told.sent[0][1].value)
        if known.partition != stable.row.partition:
            return f"has another log of partition {number} up to {end}"
        if lists not in self._said[number]:
            return f"says {lists} of partition {number}, and nothing committed does"
        return ""
