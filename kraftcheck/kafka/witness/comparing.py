"""A step of Kafka's beside the reference's: the same row and input, and what each makes of them.

That is much cheaper than to ask TLC, and says the same of a step in which both agree, since the
reference's steps are those of the specs (docs/conformance.md, `kraftcheck cover`). Where they do
not agree it says which field, and TLC has to say whether the specs allow Kafka's.

Law of this file: nothing is allowed or excused here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kraftcheck.reference.kit.fields import spec_name
from kraftcheck.reference.runner.narrate import render_input

DISABLED = "no step: disabled"


class Difference(NamedTuple):
    """Where the two part."""

    field: str
    """Of the row, `sent` or `ignored`, by its name in the spec."""
    kafka: str
    reference: str

    def __str__(self) -> str:
        return f"{self.field}: Kafka {self.kafka}, the reference {self.reference}"


class Differing(NamedTuple):
    """The differences of a step."""

    line: int
    """Where it stands in the trace."""
    action: str
    differences: tuple[Difference, ...]

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(each.field for each in self.differences)


def compared(kafka: Any, reference: Iterable[Any]) -> tuple[Difference, ...]:
    """Say how Kafka's outcome differs from the nearest of the reference's.

    It does not, if it is one of them.
    """
    nearest: tuple[Difference, ...] | None = None
    for outcome in reference:
        found = _between(kafka, outcome)
        if not found:
            return ()
        if nearest is None or len(found) < len(nearest):
            nearest = found
    return nearest or (Difference("row", "takes a step", DISABLED),)


def _between(kafka: Any, reference: Any) -> tuple[Difference, ...]:
    row, other = kafka.row, reference.row
    found = []
    if row != other:
        for name in row.__struct_fields__:
            one, two = getattr(row, name), getattr(other, name)
            if one != two:
                found.append(Difference(spec_name(name), repr(one), repr(two)))
    sent, said = {*kafka.sent}, {*reference.sent}
    if sent != said:
        found.append(Difference("sent", _told(sent - said), _told(said - sent)))
    if kafka.ignored != reference.ignored:
        found.append(Difference("ignored", repr(kafka.ignored), repr(reference.ignored)))
    return tuple(found)


def _told(messages: Iterable[Any]) -> str:
    return "; ".join(sorted(map(render_input, messages))) or "nothing more"


def difference_lines(
    differing: Sequence[Differing], methods: Mapping[str, str], most: int
) -> list[str]:
    """Tell the differences in words.

    Each action and its fields with how many steps, the most frequent first, and the first such
    step.
    """
    kinds = Counter((each.action, each.fields) for each in differing)
    lines = []
    for (action, fields), count in kinds.most_common(most):
        first = next(e for e in differing if (e.action, e.fields) == (action, fields))
        where = f"{action} ({methods.get(action, 'Kafka')})"
        lines.append(f"{count:,} differ at {where}, first line {first.line}")
        lines += [f"    {each}" for each in first.differences]
    return lines
