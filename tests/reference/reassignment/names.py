"""What is compared of the names of reassignments."""

from __future__ import annotations

from pathlib import Path

from reference.reassignment.handlers import ReassignmentHandlers
from reference.reassignment.properties import PROPERTIES
from reference.reassignment.protocol import REASSIGNMENT
from reference.reassignment.rules import ReassignmentRules
from reference.reassignment.types import TopicRow
from tests.reference.vocabulary import (
    Compared,
    actions_of,
    listed,
    methods_of,
    records,
    signatures,
    snake,
    spec,
    steps_of,
)

WORDS = ("Nobody", "Unassigned", "RangeOf", "Without")
MODULES = ("Reassignments",)


def rule_signatures(specs_dir: Path) -> tuple[list[str], list[str]]:
    return signatures(specs_dir, "ReassignmentRules", ReassignmentRules, WORDS)


def steps(specs_dir: Path) -> tuple[list[str], list[str]]:
    return sorted(steps_of(specs_dir, MODULES)), actions_of(REASSIGNMENT)


def methods(specs_dir: Path) -> tuple[list[str], list[str]]:
    return methods_of(REASSIGNMENT, (ReassignmentHandlers,))


def properties(specs_dir: Path) -> tuple[list[str], list[str]]:
    found = listed(specs_dir, "reassignment/models/reassignment.cfg")
    return found, [each.name for each in PROPERTIES]


def rows(specs_dir: Path) -> tuple[list[str], list[str]]:
    [fields] = records(spec(specs_dir, "Reassignments"), "[registrations |-> brokers, topicId")
    return [snake(field) for field in fields], list(TopicRow.__struct_fields__)


COMPARED = Compared(
    "reassignment",
    (rule_signatures, steps, methods, properties, rows),
    (
        (rule_signatures, "ReassignmentRules", "MayForget(row) == TRUE", "may_forget(row)"),
        (steps, "Reassignments", "Step_HandleNap(n, row, m) == {}", "HandleNap"),
    ),
)
