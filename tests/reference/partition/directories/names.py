"""What is compared of the names of a partition whose replicas are in directories that fail."""

from __future__ import annotations

from pathlib import Path

from kraftcheck.reference.kit.dispatch import action_name
from kraftcheck.reference.partition.directories.messages import BROKER_INPUTS, CONTROLLER_INPUTS
from kraftcheck.reference.partition.directories.properties import PROPERTIES
from kraftcheck.reference.partition.directories.types import (
    DirectoryBrokerRow,
    DirectoryControllerRow,
)
from kraftcheck.reference.partition.moving import messages as of_moving
from kraftcheck.reference.partition.moving.types import MovingBrokerRow, MovingControllerRow
from tests.reference.vocabulary import Compared, listed, outer_fields, snake, spec, steps_of

MODULE = "DirectoryPartition"


def steps(specs_dir: Path) -> tuple[list[str], list[str]]:
    """Those that a partition whose replicas move does not have."""
    theirs = {of.__name__ for of in (*of_moving.BROKER_INPUTS, *of_moving.CONTROLLER_INPUTS)}
    own = [of for of in (*BROKER_INPUTS, *CONTROLLER_INPUTS) if of.__name__ not in theirs]
    return steps_of(specs_dir, (MODULE,)), [action_name(of) for of in own]


def promised(specs_dir: Path) -> tuple[list[str], list[str]]:
    """What a model asks, the runs ask."""
    theirs = listed(specs_dir, "directories-still")
    return theirs, [name for name in theirs if name in {each.name for each in PROPERTIES}]


def row_fields(specs_dir: Path) -> tuple[list[str], list[str]]:
    """Those that are new."""
    text = spec(specs_dir, MODULE)
    theirs, ours = [], []
    for start, of, base in (
        ("InitialDirectoryRow(n) ==", DirectoryBrokerRow, MovingBrokerRow),
        ("InitialDirectoryController ==", DirectoryControllerRow, MovingControllerRow),
    ):
        fields = outer_fields(text[text.index("[", text.index(start)) :])
        theirs += [f"{of.__name__}.{snake(each)}" for each in fields]
        known = base.__struct_fields__
        ours += [f"{of.__name__}.{each}" for each in of.__struct_fields__ if each not in known]
    return theirs, ours


COMPARED = Compared(
    "directories",
    (steps, promised, row_fields),
    ((steps, MODULE, "Step_HandleNap(n, row, m) == {}", "HandleNap"),),
)
