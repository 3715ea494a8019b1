"""The partition's relation is the one of TLC's graph, and a rule that is changed changes it."""

from __future__ import annotations

import pytest

from kraftcheck.reference.partition.proof.actions import ACTIONS
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.types import BrokerRow, PartitionConstants
from tests.reference.partition.proof.drift import PartitionRelation
from tests.reference.proofs.graphs import local_steps
from tests.reference.proofs.local_steps import Compared, LocalStep, differences
from tests.traces.cover.graphs import matched

pytestmark = [pytest.mark.tlc, pytest.mark.xdist_group("cover")]


def steps(every: int) -> list[LocalStep]:
    """A sample; `python -m tests.reference.proofs.graphs` compares all steps of 12,888 states."""
    return [step for step in local_steps(matched("partition-isr")) if step.action in ACTIONS][
        ::every
    ]


def constants() -> PartitionConstants:
    found = matched("partition-isr").book.constants
    assert isinstance(found, PartitionConstants), "a graph of a partition"
    return found


@pytest.mark.slow
def test_edges_are_solutions_and_solutions_are_edges() -> None:
    given = steps(3)
    assert (
        differences(PartitionRelation(constants()), given) == Compared(len(given), 0, [], [])
        and len(given) > 30
    )


class _NobodyJoins(PartitionRules):
    """The planted fault: nobody may join the ISR."""

    __slots__ = ()

    def is_isr_eligible(self, row: BrokerRow, r: int) -> bool:
        return False


@pytest.mark.slow
def test_a_relation_that_drifts_is_told() -> None:
    asked = [step for step in steps(1) if step.action == "HandleReplicaFetchRequest"]
    compared = differences(PartitionRelation(constants(), _NobodyJoins), asked)
    assert 0 < len(compared.missing) < compared.steps and compared.spare
