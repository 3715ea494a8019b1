"""What groups whose members commit offsets are asked on both sides: beside the rules of groups."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from kraftcheck.reference.groups.messages import COORDINATOR
from kraftcheck.traces.steps.translation import Abstraction
from tests.conformance.judged_states import Plain, Variables
from tests.reference.groups.commits.plants import COMMITTED, PLANTED, THREE, coordinator
from tests.reference.groups.plants import record
from tests.reference.plain import Rows
from tla_utils import function


def variables(rows: Rows) -> Variables:
    """The variables of the spec in this state."""
    form = Abstraction(THREE).row
    return {
        "coordinator": form(rows[COORDINATOR]),
        "clients": function((n, form(rows[n])) for n in THREE.members),
        "network": frozenset(),
    }


def questions() -> Iterator[tuple[str, tuple[Any, ...]]]:
    """(rule, arguments)."""
    for p, epoch, since in itertools.product((1, 2), (1, 2, 3, 4), (0, 2, 3)):
        group = replace(COMMITTED, since=since)
        for pending in ((), (3 - p,)):
            member = replace(record(p), pending=pending)
            yield "AcceptsCommit", (group, member, epoch)
            yield "TellsOffset", (member, epoch)
        yield "TellsOffset", (replace(record(p), state="None"), epoch)
        yield "Beginning", (replace(COMMITTED, offset=epoch),)
    for row in (coordinator(COMMITTED), coordinator(replace(COMMITTED, offset=4))):
        yield "IsAnswered", (row,)
        yield "IsAnswered", (replace(row, log=replace(row.log, leader=(COMMITTED,))),)


PLAIN: Final = Plain(
    PLANTED,
    "GroupCommitsProperties",
    ("EpochsMonotonic", "Withheld", "CommitByOwner", "HandoverNoRegress", "StartAtCommitted"),
    variables,
    questions,
    (THREE,),
    ("Z182", {"AcceptsCommit"}),
)
