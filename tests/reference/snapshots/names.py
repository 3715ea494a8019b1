"""What is compared of the names of snapshots of the metadata log."""

from __future__ import annotations

from pathlib import Path

from reference.snapshots.handlers import SnapshotHandlers
from reference.snapshots.properties import PROPERTIES
from reference.snapshots.protocol import SNAPSHOTS
from reference.snapshots.rules import SnapshotRules
from reference.snapshots.types import SnapshotRow
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

WORDS = ("NoId", "NoSnapshot", "IdOf", "LogOfRow", "LastEpochOf", "Latest", "Earliest")
MODULES = ("Snapshots",)


def rule_signatures(specs_dir: Path) -> tuple[list[str], list[str]]:
    return signatures(specs_dir, "SnapshotRules", SnapshotRules, WORDS)


def steps(specs_dir: Path) -> tuple[list[str], list[str]]:
    """Every handler of the spec is an action of a node, also those of where voters change."""
    return sorted(steps_of(specs_dir, MODULES)), actions_of(SNAPSHOTS)


def methods(specs_dir: Path) -> tuple[list[str], list[str]]:
    return methods_of(SNAPSHOTS, (SnapshotHandlers,))


def properties(specs_dir: Path) -> tuple[list[str], list[str]]:
    named = listed(specs_dir, "snapshots/models/snapshots.cfg")
    return sorted(named), sorted([each.name for each in PROPERTIES])


def rows(specs_dir: Path) -> tuple[list[str], list[str]]:
    [fields] = records(spec(specs_dir, "Snapshots"), "[voter |-> V!InitialRow(n)")
    return [snake(field) for field in fields], list(SnapshotRow.__struct_fields__)


COMPARED = Compared(
    "snapshots",
    (rule_signatures, steps, methods, properties, rows),
    (
        (rule_signatures, "SnapshotRules", "MayForget(row) == TRUE", "may_forget(row)"),
        (steps, "Snapshots", "Step_HandleNap(n, row, m) == {}", "HandleNap"),
    ),
)
