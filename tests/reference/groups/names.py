"""What is compared of the names of groups."""

from __future__ import annotations

from pathlib import Path

from reference.groups import messages, types
from reference.groups.client import MemberHandlers
from reference.groups.coordinator import CoordinatorHandlers
from reference.groups.migration import MigrationHandlers
from reference.groups.offsets import OffsetsHandlers
from reference.groups.properties import PROPERTIES
from reference.groups.protocol import GROUPS
from reference.groups.replay import LoaderHandlers
from reference.groups.rules import GroupRules
from tests.reference.vocabulary import (
    Compared,
    actions_of,
    listed,
    methods_of,
    outer_fields,
    signatures,
    snake,
    spec,
    steps_of,
)

WORDS = ("JoinEpoch", "LeaveEpoch", "Unknown", "AllFields", "Holding", "Retention", "ReleasedEpoch")
MODULES = ("GroupHandlers", "MembershipClient", "GroupReplay", "GroupOffsets", "GroupMigration")
ROWS = {
    "NoMember": messages.MemberRecord,
    "InitialGroup": messages.GroupRecord,
    "InitialCoordinator": types.GroupCoordinator,
    "InitialMember": types.GroupMember,
    "NoEntries": types.ReadMember,
    "InitialLoader": types.GroupLoader,
    "InitialOffsets": types.GroupOffsets,
    "NotRecorded": types.MigratedMember,
    "NoConsumer": types.MigratingClient,
    "InitialMigration": types.GroupMigration,
}


def rule_signatures(specs_dir: Path) -> tuple[list[str], list[str]]:
    return signatures(specs_dir, "GroupRules", GroupRules, WORDS)


def steps(specs_dir: Path) -> tuple[list[str], list[str]]:
    """Every handler of the spec is an action of a node."""
    return sorted(steps_of(specs_dir, MODULES)), actions_of(GROUPS)


def methods(specs_dir: Path) -> tuple[list[str], list[str]]:
    handlers = (CoordinatorHandlers, MemberHandlers, LoaderHandlers, OffsetsHandlers)
    return methods_of(GROUPS, (*handlers, MigrationHandlers))


def properties(specs_dir: Path) -> tuple[list[str], list[str]]:
    """What is asked of messages, TLC asks alone."""
    models = ("groups-two", "groups-replay", "groups-offsets", "groups-migration")
    names = [n for model in models for n in listed(specs_dir, f"groups/models/{model}.cfg")]
    ours = [each.name for each in PROPERTIES]
    return sorted(n for n in names if n != "AnswerAfterCommit"), sorted(ours)


def rows(specs_dir: Path) -> tuple[list[str], list[str]]:
    text = "".join(spec(specs_dir, module) for module in MODULES)
    theirs = [
        f"{name}.{field}"
        for name in ROWS
        for field in map(snake, outer_fields(text[text.index("[", text.index(f"{name} ==")) :]))
    ]
    ours = [f"{name}.{field}" for name, of in ROWS.items() for field in of.__struct_fields__]
    return theirs, ours


COMPARED = Compared(
    "groups",
    (rule_signatures, steps, methods, properties, rows),
    (
        (rule_signatures, "GroupRules", "MayForget(row, m) == TRUE", "may_forget(row, m)"),
        (steps, "MembershipClient", "Step_HandleNap(n, row, m) == {}", "HandleNap"),
    ),
)
