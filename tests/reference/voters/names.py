"""What is compared of the names of changes of the voters."""

from __future__ import annotations

from pathlib import Path

from reference.voters.handlers import VoterHandlers
from reference.voters.properties import PROPERTIES
from reference.voters.protocol import VOTERS
from reference.voters.rules import VoterRules
from reference.voters.types import VoterRow
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

WORDS = ("VotersRecord", "SetsIn", "LastOf")
MODULES = ("VoterChanges",)


def rule_signatures(specs_dir: Path) -> tuple[list[str], list[str]]:
    return signatures(specs_dir, "VoterRules", VoterRules, WORDS)


def steps(specs_dir: Path) -> tuple[list[str], list[str]]:
    """Every handler of the spec is an action of a node, also those of the quorum."""
    return sorted(steps_of(specs_dir, MODULES)), actions_of(VOTERS)


def methods(specs_dir: Path) -> tuple[list[str], list[str]]:
    return methods_of(VOTERS, (VoterHandlers,))


def properties(specs_dir: Path) -> tuple[list[str], list[str]]:
    return listed(specs_dir, "voters/models/voters.cfg"), [each.name for each in PROPERTIES]


def rows(specs_dir: Path) -> tuple[list[str], list[str]]:
    [fields] = records(spec(specs_dir, "VoterChanges"), "[quorum |-> InForce(Nodes)!InitialRow(n)")
    return [snake(field) for field in fields], list(VoterRow.__struct_fields__)


COMPARED = Compared(
    "voters",
    (rule_signatures, steps, methods, properties, rows),
    (
        (rule_signatures, "VoterRules", "MayForget(row) == TRUE", "may_forget(row)"),
        (steps, "VoterChanges", "Step_HandleNap(n, row, m) == {}", "HandleNap"),
    ),
)
