"""What hosted replicas are asked on both sides."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from kraftcheck.reference.partition.hosting.types import NO_IMAGE, HostRow, Log
from kraftcheck.traces.steps.translation import Abstraction
from tests.conformance.judged_states import Plain, Variables
from tests.reference.partition.hosting.plants import FIRST, IMAGE, PLANTED, TWO, failed, leading
from tests.reference.plain import Rows


def variables(rows: Rows) -> Variables:
    """The variables of the spec in this state."""
    return {"host": Abstraction(TWO).row(rows[1])}


LEFT: Final = replace(IMAGE, assigned=False)


def rows() -> Iterator[HostRow]:
    yield FIRST
    for row in (leading(), failed()):
        for topic, assigned, directory in itertools.product((1, 2), (True, False), (0, 1, 2)):
            image = replace(IMAGE, topic_id=topic, assigned=assigned, directory=directory)
            yield from (replace(row, image=image), replace(row, image=image, online=(2,)))
    yield leading(image=replace(IMAGE, partition_epoch=2))
    for directory, level, assigned in itertools.product((1, 2), (True, False), (True, False)):
        believed = replace(IMAGE, directory=directory)
        yield leading(image=believed, future=2, future_caught_up=level, future_assigned=assigned)
    yield from (leading(aborted=epoch) for epoch in (0, 1))


def questions() -> Iterator[tuple[str, tuple[Any, ...]]]:
    """(rule, arguments)."""
    for row in rows():
        for rule in ("IsOfDeletedTopic", "HasLeft", "ClearsPending", "ReadsAborted"):
            yield from ((rule, (row, by_snapshot)) for by_snapshot in (True, False))
        rules = ("ForgetsOffline", "MayCreate", "PromotesFuture", "RecoversFuture")
        for rule in (*rules, "TakesBackAssignment"):
            yield rule, (row,)
    anew = replace(IMAGE, topic_id=2)
    for topic, image in itertools.product((1, 2), (IMAGE, NO_IMAGE, LEFT, anew)):
        yield "IsStray", (Log(1, topic, True), image)


PLAIN: Final = Plain(
    PLANTED,
    "HostingProperties",
    ("ProposalKept",),
    variables,
    questions,
    (TWO,),
    ("Z125", {"HasLeft"}),
)
