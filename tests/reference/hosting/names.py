"""What is compared of the names of hosted replicas."""

from __future__ import annotations

from pathlib import Path

from reference.hosting.handlers import HostingHandlers
from reference.hosting.properties import PROPERTIES
from reference.hosting.protocol import HOSTING
from reference.hosting.rules import HostingRules
from reference.hosting.types import HostRow
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

WORDS = ("Unassigned", "Undefined")
MODULES = ("Hosting",)


def rule_signatures(specs_dir: Path) -> tuple[list[str], list[str]]:
    return signatures(specs_dir, "HostingRules", HostingRules, WORDS)


def steps(specs_dir: Path) -> tuple[list[str], list[str]]:
    return sorted(steps_of(specs_dir, MODULES)), actions_of(HOSTING)


def methods(specs_dir: Path) -> tuple[list[str], list[str]]:
    return methods_of(HOSTING, (HostingHandlers,))


def properties(specs_dir: Path) -> tuple[list[str], list[str]]:
    return listed(specs_dir, "hosting/models/hosting.cfg"), [each.name for each in PROPERTIES]


def rows(specs_dir: Path) -> tuple[list[str], list[str]]:
    [fields] = records(spec(specs_dir, "Hosting"), "[image |-> NoImage")
    return [snake(field) for field in fields], list(HostRow.__struct_fields__)


COMPARED = Compared(
    "hosting",
    (rule_signatures, steps, methods, properties, rows),
    (
        (rule_signatures, "HostingRules", "MayForget(row) == TRUE", "may_forget(row)"),
        (steps, "Hosting", "Step_HandleNap(n, row, m) == {}", "HandleNap"),
    ),
)
