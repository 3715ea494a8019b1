"""What voters that come and go are asked on both sides."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from kraftcheck.reference.kit.protocol import HISTORY
from kraftcheck.reference.quorum.voters.types import Heard, VoterRow
from kraftcheck.traces.steps.translation import Abstraction
from tests.conformance.judged_states import Plain, Variables
from tests.reference.plain import Rows
from tests.reference.quorum.voters.plants import (
    ALL,
    LOG,
    PLANTED,
    THREE,
    following,
    leading,
    voters,
)
from tla_utils import function


def variables(rows: Rows) -> Variables:
    """The variables of the spec in this state."""
    form = Abstraction(THREE)
    committed: Any = form.row(replace(rows[1], log=rows[HISTORY]))
    return {
        "rows": function((n, form.row(rows[n])) for n in THREE.nodes),
        "committed": committed["log"],
    }


def rows_of_nodes() -> Iterator[VoterRow]:
    logs = (LOG[:1], LOG, (*LOG, voters(2, 3)), (LOG[0], voters(1)), (voters(1, 2),))
    for log, known in itertools.product(logs, (-1, 0, 1, 2, 3)):
        yield from (leading(log, known), following(log, high_watermark=known))
        yield replace(leading(log, known), change=len(log) - 1)
        yield replace(leading(log, known), caught_up=(3,))
        yield replace(following(log), history_end=1)
        moved = tuple([replace(e, moved=e.voters[:1]) if e.voters else e for e in log])
        for at in (True, False):
            yield replace(following(moved), moved=True, has_updated_leader=at)
        # It has read none of its sets.
        yield replace(following(moved), history=following(LOG[:1]).history)
        yield replace(leading(moved, known), heard=(Heard(2, True), Heard(3, False)))


def questions() -> Iterator[tuple[str, tuple[Any, ...]]]:
    """(rule, arguments)."""
    for row in rows_of_nodes():
        for rule in ("VotersOf", "FlushesAsObserver", "OwnEpochCommitted", "LastSetCommitted"):
            yield rule, (row,)
        yield "WritesBootstrapSet", (row,)
        yield from (("ChangeRefused", (row,)), ("MayReturnEmpty", (row,)))
        yield from (("MovedOf", (row,)), ("KraftVersionOf", (row,)), ("ChangesVoters", (row,)))
        yield from (("MovedAfter", (row, (1, 3), told)) for told in ((), (2,), (3,)))
        yield from (("HistoryAfterTruncation", (row, offset)) for offset in range(4))
        unread = replace(row, history=row.history[:1], history_end=1)
        yield from (("HistoryAfterAppend", (of, of)) for of in (row, unread))
        for n in ALL:
            for rule in ("MayStand", "CountsItself", "CheckQuorumBinds", "LeavesAfterRemoval"):
                yield rule, (n, row)
            for rule in ("JoinsByItself", "UpdatesVoter", "EveryVoterHeard", "UpgradeRefused"):
                yield rule, (n, row)
            for rule in ("IsCaughtUp", "AddRefused", "RemoveRefused", "ChangedVoters"):
                yield rule, (row, n)
            yield "UpdateRefused", (row, n)


PLAIN: Final = Plain(
    PLANTED,
    "VoterProperties",
    ("NoIllegalJoin",),
    variables,
    questions,
    (THREE, replace(THREE, unformatted=(3,)), replace(THREE, kraft_version=0)),
    ("Z114", {"ChangeRefused", "AddRefused", "RemoveRefused", "UpdateRefused"}),
)
