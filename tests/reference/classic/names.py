"""What is compared of the names of groups of the classic protocol."""

from __future__ import annotations

from pathlib import Path

from reference.classic import types
from reference.classic.coordinator import CoordinatorHandlers
from reference.classic.member import MemberHandlers
from reference.classic.properties import PROPERTIES
from reference.classic.protocol import CLASSIC
from reference.classic.rules import ClassicRules
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

WORDS = ("Nobody", "NoGeneration", "ClaimsOf")
MODULES = ("ClassicHandlers", "ClassicMember")
ROWS = {
    "NoMember": types.ClassicRecord,
    "NoGroup": types.ClassicImage,
    "InitialCoordinator": types.ClassicCoordinator,
    "InitialMember": types.ClassicMember,
}


def rule_signatures(specs_dir: Path) -> tuple[list[str], list[str]]:
    return signatures(specs_dir, "ClassicRules", ClassicRules, WORDS)


def steps(specs_dir: Path) -> tuple[list[str], list[str]]:
    """Every handler of the spec is an action of a node."""
    return sorted(steps_of(specs_dir, MODULES)), actions_of(CLASSIC)


def methods(specs_dir: Path) -> tuple[list[str], list[str]]:
    return methods_of(CLASSIC, (CoordinatorHandlers, MemberHandlers))


def properties(specs_dir: Path) -> tuple[list[str], list[str]]:
    names = listed(specs_dir, "classic/models/classic-two.cfg")
    return sorted(names), sorted(each.name for each in PROPERTIES)


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
    "classic",
    (rule_signatures, steps, methods, properties, rows),
    (
        (rule_signatures, "ClassicRules", "MayForget(row, m) == TRUE", "may_forget(row, m)"),
        (steps, "ClassicMember", "Step_HandleNap(n, row, m) == {}", "HandleNap"),
    ),
)
