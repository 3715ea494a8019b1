"""R9: the placer's rule, held against StripedReplicaPlacer of Apache Kafka."""

from __future__ import annotations

import random
import subprocess
from itertools import permutations
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from msgspec.structs import replace

from kraftcheck.kafka.live.witness.jars import class_path
from kraftcheck.reference.partition.reassignment.handlers import initial_topic_row
from kraftcheck.reference.partition.reassignment.rules import ReassignmentRules
from kraftcheck.reference.partition.reassignment.types import (
    BrokerRegistration,
    Constants,
    State,
    TopicRow,
)
from tla_utils import find_java

pytestmark = [pytest.mark.slow, pytest.mark.kafka, pytest.mark.xdist_group("by-classes")]

HERE: Final = Path(__file__).parent / "data" / "Placer.java"
DRAWN: Final = 60
STATES: Final[tuple[State, ...]] = ("Active", "Active", "Active", "Fenced", "Stopping")


class Case(NamedTuple):
    """Brokers 1 to n with their states, those in the second rack, and how many replicas."""

    states: tuple[State, ...]
    second: tuple[int, ...]
    factor: int

    @property
    def line(self) -> str:
        """What the placer is asked; who is stopping is not usable (ClusterControlManager)."""
        brokers = [
            f"{b}:{'second' if b in self.second else 'first'}:{state.lower()}"
            for b, state in enumerate(self.states, 1)
            if state != "Stopping"
        ]
        return " ".join([str(self.factor), *brokers])


class IgnoresRacks(ReassignmentRules):
    """A fault: as Z193."""

    __slots__ = ()

    def takes_turns(
        self, active: tuple[int, ...], usable: tuple[int, ...], taken: tuple[int, ...], b: int
    ) -> bool:
        return True


class OnlyEven(ReassignmentRules):
    """A fault: of two racks none has two replicas more than the other, in whatever order."""

    __slots__ = ()

    def takes_turns(
        self, active: tuple[int, ...], usable: tuple[int, ...], taken: tuple[int, ...], b: int
    ) -> bool:
        second = self.constants.second_rack
        mine = {o for o in usable if (o in second) == (b in second)}
        others = {*usable} - mine
        return len({*taken} & mine) <= len({*taken} & others) or others <= {*taken}


class StaysInRack(ReassignmentRules):
    """A fault: the next one is of the rack of the first."""

    __slots__ = ()

    def takes_turns(
        self, active: tuple[int, ...], usable: tuple[int, ...], taken: tuple[int, ...], b: int
    ) -> bool:
        second = self.constants.second_rack
        return (b in second) == (taken[0] in second)


class IgnoresFenced(ReassignmentRules):
    """A fault: who is fenced counts as active."""

    __slots__ = ()

    def placer_chooses(self, row: TopicRow, replicas: tuple[int, ...]) -> bool:
        known = [
            replace(each, state="Active") if each.state == "Fenced" else each
            for each in row.registrations
        ]
        return super().placer_chooses(replace(row, registrations=tuple(known)), replicas)


def drawn() -> list[Case]:
    draw = random.Random(9)
    found = []
    for _ in range(DRAWN):
        brokers = range(1, draw.randint(1, 5) + 1)
        states = tuple([draw.choice(STATES) for _ in brokers])
        second = tuple([b for b in brokers if draw.random() < 0.5])
        found.append(Case(states, second, draw.randint(1, 3)))
    return found


def allowed(case: Case, rules: type[ReassignmentRules]) -> set[str]:
    """What the rule lets the placer choose."""
    brokers = tuple(range(1, len(case.states) + 1))
    constants = Constants(brokers, brokers[:1], second_rack=case.second)
    known = tuple([BrokerRegistration(state, (1,)) for state in case.states])
    row = replace(initial_topic_row(constants), registrations=known)
    listed = permutations(brokers, min(case.factor, len(brokers)))
    found = {
        ",".join(map(str, replicas))
        for replicas in listed
        if len(replicas) == case.factor and rules(constants).placer_chooses(row, replicas)
    }
    return found or {"refused"}


@pytest.fixture(scope="module")
def kafkas() -> dict[Case, set[str]]:
    cases = drawn()
    entries = ":".join(class_path(of="reassignment").entries)
    said = subprocess.run(
        [str(find_java().path), "-cp", entries, str(HERE)],
        input="".join([f"{case.line}\n" for case in cases]),
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert len(said) == len(cases)
    return {case: set(line.split()) for case, line in zip(cases, said, strict=True)}


def otherwise(
    kafkas: dict[Case, set[str]], rules: type[ReassignmentRules]
) -> tuple[list[Case], list[Case]]:
    """Where Kafka chooses what the rule forbids, and where the rule allows more than Kafka does."""
    told = {case: allowed(case, rules) for case in kafkas}
    return (
        [case for case, found in kafkas.items() if found - told[case]],
        [case for case, found in kafkas.items() if told[case] - found],
    )


def test_the_placer_chooses_what_the_rule_allows(kafkas: dict[Case, set[str]]) -> None:
    """And all of it, of so small clusters (docs/reference/reconfiguration.md)."""
    assert otherwise(kafkas, ReassignmentRules) == ([], [])
    assert sum(len(found) > 1 for found in kafkas.values()) > DRAWN // 3
    assert {"refused"} in kafkas.values()


def test_a_rule_that_is_another_is_seen(kafkas: dict[Case, set[str]]) -> None:
    assert otherwise(kafkas, StaysInRack)[0]
    assert otherwise(kafkas, IgnoresFenced)[0]
    assert otherwise(kafkas, IgnoresRacks)[1] and otherwise(kafkas, OnlyEven)[1]
