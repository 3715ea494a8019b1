"""One vocabulary: the names in specs/groups and those in reference/groups.

The specs are read as text and never run, and each comparison is shown to report one name too many
on either side.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from reference.groups import messages, types
from reference.groups.client import MemberHandlers
from reference.groups.coordinator import CoordinatorHandlers
from reference.groups.properties import PROPERTIES
from reference.groups.protocol import GROUPS
from reference.groups.rules import GroupRules
from reference.kit.dispatch import action_name, handler_name
from tests.reference.quorum.test_vocabulary import (
    differences,
    operators,
    outer_fields,
    snake,
    spec,
)

WORDS = {"JoinEpoch", "LeaveEpoch", "Unknown", "AllFields", "Holding"}
HANDLERS = (CoordinatorHandlers, MemberHandlers)
ROWS = {
    "NoMember": messages.MemberRecord,
    "InitialGroup": messages.GroupRecord,
    "InitialCoordinator": types.GroupCoordinator,
    "InitialMember": types.GroupMember,
}


def rule_signatures(specs_dir: Path) -> tuple[list[str], list[str]]:
    theirs = [
        f"{snake(name)}({', '.join(map(snake, parameters))})"
        for name, parameters in operators(spec(specs_dir, "GroupRules")).items()
        if name not in WORDS
    ]
    ours = []
    for name, member in vars(GroupRules).items():
        if inspect.isfunction(member) and not name.startswith("_"):
            parameters = list(inspect.signature(member).parameters)[1:]
            ours.append(f"{name}({', '.join(parameters)})")
    return theirs, ours


def steps(specs_dir: Path) -> tuple[list[str], list[str]]:
    """Every handler of the spec is an action of a node."""
    modules = ("GroupHandlers", "MembershipClient")
    found = [n for m in modules for n in operators(spec(specs_dir, m)) if n.startswith("Step_")]
    ours = sorted(action_name(of) for kind in GROUPS.kinds for of in kind.inputs)
    return sorted(name.removeprefix("Step_") for name in found), ours


def methods(specs_dir: Path) -> tuple[list[str], list[str]]:
    theirs = sorted(handler_name(action) for action in steps(specs_dir)[0])
    return theirs, sorted(n for of in HANDLERS for n in vars(of) if n.startswith("handle_"))


def properties(specs_dir: Path) -> tuple[list[str], list[str]]:
    """What is asked of messages, TLC asks alone."""
    text = (specs_dir / "groups/models/groups-two.cfg").read_text("utf-8")
    listed = text.partition("INVARIANTS\n")[2].replace("PROPERTIES\n", "")
    names = [name for name in re.findall(r"\w+", listed) if name != "AnswerAfterCommit"]
    return names, [each.name for each in PROPERTIES]


def rows(specs_dir: Path) -> tuple[list[str], list[str]]:
    text = spec(specs_dir, "GroupHandlers") + spec(specs_dir, "MembershipClient")
    theirs = [
        f"{name}.{field}"
        for name in ROWS
        for field in map(snake, outer_fields(text[text.index("[", text.index(f"{name} ==")) :]))
    ]
    return theirs, [
        f"{name}.{field}" for name, of in ROWS.items() for field in of.__struct_fields__
    ]


Compared = Callable[[Path], tuple[list[str], list[str]]]
COMPARED: tuple[Compared, ...] = (rule_signatures, steps, methods, properties, rows)


@pytest.mark.parametrize("compared", COMPARED, ids=lambda each: each.__name__)
def test_both_sides_have_the_same_names(compared: Compared, specs_dir: Path) -> None:
    theirs, ours = compared(specs_dir)
    assert theirs and differences(theirs, ours) == []


@pytest.mark.parametrize("compared", COMPARED, ids=lambda each: each.__name__)
def test_a_name_on_one_side_only_is_told(compared: Compared, specs_dir: Path) -> None:
    theirs, ours = compared(specs_dir)
    assert differences([*theirs, "Strange"], ours) == ["only in specs: Strange"]
    assert differences(theirs, [*ours, "strange"]) == ["only in reference: strange"]
