"""What is compared of the names of a partition whose replicas move."""

from __future__ import annotations

from pathlib import Path

from kraftcheck.reference.kit.dispatch import action_name
from kraftcheck.reference.partition.messages import CONTROLLER_INPUTS as OF_PARTITIONS
from kraftcheck.reference.partition.moving.messages import CONTROLLER_INPUTS
from kraftcheck.reference.partition.moving.properties import PROPERTIES
from kraftcheck.reference.partition.moving.rules import MovingRules
from kraftcheck.reference.partition.moving.types import MovingBrokerRow
from kraftcheck.reference.partition.reassignment.types import MovingPartition
from tests.reference.vocabulary import Compared, listed, outer_fields, signatures, spec, steps_of

MODULES = ("MovingPartition",)


def rule_signatures(specs_dir: Path) -> tuple[list[str], list[str]]:
    """Some stand in the place of a partition's, under the names of those as well."""
    theirs, ours = signatures(specs_dir, "MovingRules", MovingRules, ("RangeOf",))
    twice = ("_epoch_error(", "is_unclean_restart(", "deletion_awaits(")
    return theirs, [each for each in ours if not any(of in each for of in twice)]


def steps(specs_dir: Path) -> tuple[list[str], list[str]]:
    own = [action_name(of) for of in CONTROLLER_INPUTS if of not in OF_PARTITIONS]
    return steps_of(specs_dir, MODULES), own


def promised(specs_dir: Path) -> tuple[list[str], list[str]]:
    """What a model asks, the runs ask."""
    theirs = listed(specs_dir, "moving")
    return theirs, [name for name in theirs if name in {each.name for each in PROPERTIES}]


def row_fields(specs_dir: Path) -> tuple[list[str], list[str]]:
    text = "".join(spec(specs_dir, each) for each in MODULES)
    theirs, ours = [], []
    for start, of in (
        ("InitialMovingPartition ==", MovingPartition),
        ("InitialMovingRow(n) ==", MovingBrokerRow),
    ):
        fields = outer_fields(text[text.index("[", text.index(start)) :])
        theirs += [f"{of.__name__}.{_snake(each)}" for each in fields]
        ours += [f"{of.__name__}.{each}" for each in of.__struct_fields__]
    return theirs, ours


def _snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name)


COMPARED = Compared(
    "moving",
    (rule_signatures, steps, promised, row_fields),
    (
        (rule_signatures, "MovingRules", "MayForget(row) == TRUE", "may_forget(row)"),
        (steps, MODULES[-1], "Step_HandleNap(n, row, m) == {}", "HandleNap"),
    ),
)
