"""Rows and steps of a voter in words, as partition_words.py has them for partitions."""

from __future__ import annotations

from kraftcheck.reference.quorum.messages import Input
from kraftcheck.reference.quorum.sim.words import message_words, move_words, value_words
from kraftcheck.reference.quorum.types import Constants, Outcome, Row


def row_words(constants: Constants, row: Row) -> list[str]:
    """A row field by field."""
    return [
        f"{name}: {value_words(constants, name, getattr(row, name))}"
        for name in row.__struct_fields__
    ]


def changes_words(constants: Constants, before: Row, after: Row) -> list[str]:
    """What differs between two rows, field by field."""
    changes = []
    for name in before.__struct_fields__:
        old, new = getattr(before, name), getattr(after, name)
        if old != new:
            was, now = value_words(constants, name, old), value_words(constants, name, new)
            changes.append(f"{name}: {was} => {now}")
    return changes


def step_words(
    constants: Constants, node: int, input: Input, before: Row, outcome: Outcome
) -> list[str]:
    """A step: what came, what it changed, what was sent; or why nothing happened."""
    lines = [move_words(constants, node, input)]
    if outcome.ignored:
        return [*lines, f"  ignored: {outcome.ignored}"]
    lines += [f"  {line}" for line in changes_words(constants, before, outcome.row)]
    lines += [f"  sends {message_words(constants, m)}" for m in outcome.sent]
    return lines if len(lines) > 1 else [*lines, "  nothing changes"]
