"""What snapshots of the metadata log are asked on both sides."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from kraftcheck.reference.kit.protocol import HISTORY
from kraftcheck.reference.quorum.messages import FetchRequest
from kraftcheck.reference.quorum.snapshots.types import Snapshot, SnapshotId, SnapshotRow
from kraftcheck.traces.steps.translation import Abstraction
from tests.conformance.judged_states import Plain, Variables
from tests.reference.plain import Rows
from tests.reference.quorum.snapshots.plants import BOTH, ONE, PLANTED, THREE, with_voter
from tests.reference.quorum.voters.plants import LOG, following, leading, voters
from tla_utils import function

LONG: Final = (*LOG, voters(1, 2, epoch=2))
ALL_OF_IT: Final = Snapshot(3, 2, LONG)


def variables(rows: Rows) -> Variables:
    """The variables of the spec in this state."""
    form = Abstraction(THREE)
    committed: Any = form.row(replace(rows[1], log=rows[HISTORY]))
    return {
        "rows": function((n, form.row(rows[n])) for n in THREE.nodes),
        "committed": committed["log"],
    }


def rows_of_nodes() -> Iterator[SnapshotRow]:
    logs = (LOG[:1], LOG, LONG)
    several: tuple[tuple[Snapshot, ...], ...] = (
        *((), (ONE,), (ONE, BOTH), (BOTH,)),
        *((ALL_OF_IT,), (ONE, ALL_OF_IT)),
    )
    for log, snapshots, start in itertools.product(logs, several, (0, 1, 2)):
        known = [leading(log, end) for end in (-1, 1, 2)]
        for voter in (*known, following(log, high_watermark=3)):
            yield with_voter(voter, snapshots=snapshots, log_start=start)


def questions() -> Iterator[tuple[str, tuple[Any, ...]]]:
    """(rule, arguments)."""
    for end in range(4):
        yield "HistoryAfterSnapshot", (following(LONG).history, end)
        yield "StableAfterSnapshot", (end,)
    for row in rows_of_nodes():
        yield "MayStart", (row,)
        yield "IsActive", (row,)
        yield from (("BeginsWithSnapshot", (row, next)) for next in range(4))
        yield from (("SnapshotAllowed", (row, end)) for end in range(4))
        yield from (("PrefixDeletable", (row, offset)) for offset in range(4))
        log = row.log
        yield from (("SnapshotTaken", (row, end)) for end in range(1, len(log) + 1))
        for id in (SnapshotId(1, 1), SnapshotId(2, 1), SnapshotId(2, 2)):
            yield "IsServed", (row, id)
        for offset, epoch in itertools.product((0, 1, 2, 3), (0, 1, 2)):
            yield "FetchNeedsSnapshot", (row, FetchRequest(2, 1, 2, offset, epoch))
        for snapshot in (ONE, BOTH, ALL_OF_IT):
            for rule in ("ReplacesLog", "LogAfterSnapshot", "SnapshotIsAhead"):
                yield rule, (row, snapshot)


PLAIN: Final = Plain(
    PLANTED,
    "SnapshotProperties",
    ("NoIllegalJoin", "LoadsCommitted"),
    variables,
    questions,
    (THREE,),
    ("Z111", {"HistoryAfterSnapshot"}),
)
