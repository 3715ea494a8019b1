"""Is what a group was told of a committed offset explained by one order of its commits?

Each answer of an OffsetFetch may have a commit that explains it (offsets.py), and all of them
together may not: of two commits under way at once, of 4 and of 5, one comes last, so that 5, 4 and
5 again cannot be told one after the other. A committed offset is a register, and is judged as one:
by zones or by search (search.py).

    unordered(members, reads)   the places whose reads no order explains, and those not decided

Most commits matter to no read, and are left out: one that was over before another was asked for,
while no read was under way from the beginning of the first to the end of the second. Whatever order
explains the rest, the first can stand right before the second, where nobody looks. Likewise a
commit without an answer whose offset nobody was told later: it may never have taken effect.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from kraftcheck.traces.checkers.columns import NEVER, UNKNOWN, Flags, Ints, indices
from kraftcheck.traces.checkers.members import Members
from kraftcheck.traces.checkers.models import Register
from kraftcheck.traces.checkers.search import Limits, check_object
from kraftcheck.traces.checkers.verdict import HOLDS, VIOLATED
from kraftcheck.traces.history import INDETERMINATE, OK, Operation

LIMITS: Final = Limits(seconds=10.0, configurations=20_000)


class Order(NamedTuple):
    """A place whose reads were judged together."""

    place: int
    violated: bool
    """No order explains them; else that is open."""
    operations: tuple[int, ...]
    """The evidence, of the history, the victim last."""
    told: int
    """What the victim was told, or UNKNOWN."""


def unordered(m: Members, judged: Flags) -> list[Order]:
    """judged: the rows of `Members.told` that a commit explains, each by itself.

    Places with any other row are violated already, and are not looked at.
    """
    t = m.told
    bad = np.unique(t.place[~judged])
    places, counts = np.unique(t.place[judged], return_counts=True)
    # One read alone is explained by its own commit.
    places = np.setdiff1d(places[counts > 1], bad)
    found = []
    by_place = np.argsort(m.commits.place, kind="stable")
    ordered = m.commits.place[by_place]
    for place in places.tolist():
        low, high = np.searchsorted(ordered, (place, place + 1))
        reads = indices(t.place == place)
        order = _judged(m, place, np.sort(by_place[low:high]), reads)
        if order is not None:
            found.append(order)
    return found


def _judged(m: Members, place: int, commits: Ints, reads: Ints) -> Order | None:
    """None: some order explains the reads."""
    c, t = m.commits, m.told
    commits = commits[_matters(m, commits, reads)]
    rows = [
        *((int(c.invoked[row]), row, True) for row in commits.tolist()),
        *((int(t.invoked[row]), row, False) for row in reads.tolist()),
    ]
    operations, named, told = [], [], []
    for at, (invoked, row, is_commit) in enumerate(sorted(rows)):
        completed = int((c if is_commit else t).completed[row])
        offset = int((c if is_commit else t).offset[row])
        value = None if offset == UNKNOWN else offset
        operations.append(
            Operation(
                index=at,
                process=at,
                group=at,
                f="write" if is_commit else "read",
                argument=value if is_commit else None,
                result=None if is_commit else value,
                invoked=invoked,
                completed=None if completed == NEVER else completed,
                outcome=INDETERMINATE if completed == NEVER else OK,
            )
        )
        named.append(int((c if is_commit else t).operation[row]))
        told.append(offset)
    verdict = check_object(operations, Register(), LIMITS)
    if verdict.verdict == HOLDS:
        return None
    if verdict.verdict != VIOLATED or verdict.certificate is None:
        return Order(place, False, (named[-1],), told[-1])
    among = verdict.certificate.operations
    return Order(place, True, tuple(named[at] for at in among), told[among[-1]])


def _matters(m: Members, commits: Ints, reads: Ints) -> Flags:
    """Which commits may matter to some read."""
    c, t = m.commits, m.told
    invoked, completed = c.invoked[commits], c.completed[commits]
    sure = completed != NEVER
    # Of all that were asked for at some time or later, which was over first.
    order = np.argsort(invoked[sure], kind="stable")
    asked = invoked[sure][order]
    over = np.minimum.accumulate(completed[sure][order][::-1])[::-1]
    over = np.append(over, NEVER)
    next_over = over[np.searchsorted(asked, completed, side="right")]
    begun = np.searchsorted(np.sort(t.invoked[reads]), next_over, side="right")
    ended = np.searchsorted(np.sort(t.completed[reads]), invoked, side="left")
    looked_at: Flags = (begun > ended) | (next_over == NEVER)
    # Without an answer: whether its offset was told to somebody who was not done before.
    offset = t.offset[reads]
    values, of = np.unique(offset, return_inverse=True)
    latest = np.full(len(values) + 1, -1)
    np.maximum.at(latest, of, t.completed[reads])
    at = np.searchsorted(values, c.offset[commits])
    at = np.where(np.append(values, NEVER)[at] == c.offset[commits], at, len(values))
    return np.where(sure, looked_at, latest[at] >= invoked)
