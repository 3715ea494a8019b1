"""From where did members read on, and is anything that was committed over left unread?

committed(members)   offsets that were told and cannot have been there (offsets.py)
starts(members)      members that began elsewhere
skipped(members)     records that were committed over, and read or processed by nobody
commits(members)     who committed what it did not have

stale-offset           an OffsetFetch told an offset that had been replaced, or several of them
                       told what no order of the commits explains (offset_order.py)
open-offset            whether an order explains it was not found out in time
unknown-offset         it told one that nobody had committed
offset-lost            it told that there is none, after one had been committed
wrong-start            a member began where nothing was committed, and may have left records out
early-start            a member began before all that may have been committed
commit-beyond          a member committed beyond what it had been shown: its own doing
skipped-record         a record lies below what was committed, and was polled by nobody
committed-unprocessed  it was polled, and nobody who polled it processed it
commit-by-non-owner    a commit was accepted from a member that did not have the partition
zombie-commit-offsets  the same, and the member had been told that it lost it to one that has it
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from kraftcheck.reference.clients.promises import Reset
from kraftcheck.traces.checkers.columns import NEVER, UNKNOWN, Flags, Ints, indices
from kraftcheck.traces.checkers.findings import Broken, Evidence
from kraftcheck.traces.checkers.members import NONE, TAKEN, Members
from kraftcheck.traces.checkers.offset_order import Order, unordered
from kraftcheck.traces.checkers.offsets import Justified, Reads, justified


def committed(m: Members) -> Iterator[Broken]:
    """stale-offset, unknown-offset, offset-lost, open-offset."""
    t, found = m.told, alone(m)
    none = t.offset == UNKNOWN
    orders = unordered(m, found.right)
    together = [each for each in orders if each.violated]
    for name, wrong in (
        ("offset-lost", none),
        ("stale-offset", ~none & found.known),
        ("unknown-offset", ~none & ~found.known),
    ):
        rows: list[int | Order] = [*indices(wrong & ~found.right).tolist()]
        rows += together if name == "stale-offset" else []
        yield Broken(name, rows, partial(_told, name, m))
    open_ = [each for each in orders if not each.violated]
    yield Broken("open-offset", open_, partial(_in_no_order, m))


def alone(m: Members) -> Justified:
    """What was told of committed offsets, each answer by itself."""
    t = m.told
    return justified(m, Reads(t.place, t.offset, t.offset, t.invoked, t.completed))


def _in_no_order(m: Members, order: Order) -> Evidence:
    group, key = m.places[order.place]
    told = "nothing is committed" if order.told == UNKNOWN else f"{order.told} is committed"
    said = f"group {group} was told of {key} that {told}"
    why = "and no order of its commits explains that and what else it was told"
    if not order.violated:
        why = "and whether an order of its commits explains all that it was told was not found out"
    return order.operations, f"{said}, {why}", key


def _told(name: str, m: Members, row: int | Order) -> Evidence:
    if isinstance(row, Order):
        return _in_no_order(m, row)
    t = m.told
    group, key = m.places[t.place[row]]
    said = "that nothing is committed" if name == "offset-lost" else f"offset {t.offset[row]}"
    why = "which had been replaced" if name == "stale-offset" else "which nobody had committed"
    operations: tuple[int, ...] = (t.operation[row],)
    if name != "unknown-offset":
        before = _commit_before(m, int(t.place[row]), int(t.invoked[row]))
        operations = (m.commits.operation[before], *operations)
        why = f"after {m.commits.offset[before]} had been"
    return operations, f"group {group} was told {said} of {key}, {why}", key


def _commit_before(m: Members, place: int, time: int) -> int:
    """The last commit that had been answered then."""
    c = m.commits
    rows = indices((c.place == place) & (c.completed < time))
    return int(rows[np.argmax(c.invoked[rows])])


# -- Where members begin


def starts(m: Members, reset: Reset, *, real_time: bool = True) -> Iterator[Broken]:
    """wrong-start, early-start. Without real time, others' commits may have come at any time."""
    rows = _first_polls(m)
    p, spans = m.polled, m.spans
    span = p.span[rows]
    records = _Records(m)
    partition, before = m.partition[p.place[rows]], p.before[rows]
    low = records.after_last(partition, before)
    reads = Reads(p.place[rows], low, before, spans.begin[span], p.completed[rows])
    found = justified(m, reads) if real_time else _each_alone(m, reads, p.process[rows])
    fresh = found.never
    if reset == "earliest":
        fresh = fresh & (low <= records.first(partition))
    wrong = ~found.right & ~fresh
    early = wrong & (before < found.least) & ~found.never
    for name, which in (("wrong-start", wrong & ~early), ("early-start", early)):
        told = (each[which].tolist() for each in (rows, found.least, found.most))
        yield Broken(name, [*zip(*told, strict=True)], partial(_start, m))


def _each_alone(m: Members, reads: Reads, process: Ints) -> Justified:
    """What explains each process' reads, if only the order of its own commits is known."""
    c = m.commits
    first = min(c.invoked.min(initial=0), reads.invoked.min(initial=0)) - 1
    rows, parts = [np.zeros(0, np.int64)], [justified(m, Reads(*(each[:0] for each in reads)))]
    for each in np.unique(process).tolist():
        own = c.process == each
        times = np.where(own, c.invoked, first), np.where(own, c.completed, NEVER)
        known = m._replace(commits=c._replace(invoked=times[0], completed=times[1]))
        rows.append(indices(process == each))
        parts.append(justified(known, Reads(*(column[rows[-1]] for column in reads))))
    order = np.argsort(np.concatenate(rows))
    return Justified(*(np.concatenate(some)[order] for some in zip(*parts, strict=True)))


def _first_polls(m: Members) -> Ints:
    """The first fetch of each span, but for those that may be of an earlier one."""
    p = m.polled
    mine = indices(p.span != NONE)
    mine = mine[np.argsort(p.invoked[mine], kind="stable")]
    rows = mine[np.unique(p.span[mine], return_index=True)[1]]
    return rows[~p.several[rows]]


def _start(m: Members, found: tuple[int, int, int]) -> Evidence:
    (row, low, high), p = found, m.polled
    group, key = m.places[p.place[row]]
    there = "nothing" if low > high else (str(low) if low == high else f"{low} to {high}")
    said = f"process {p.process[row]} of group {group} began to read {key} at {p.before[row]}"
    operations = (m.spans.first[p.span[row]], p.operation[row])
    return operations, f"{said}, where {there} was committed", key


class _Records:
    """Which offsets of a partition hold records."""

    def __init__(self, m: Members) -> None:
        self.partition, self.offset = m.records
        self._width = int(self.offset.max(initial=0)) + 2
        self._keys = self.partition * self._width + self.offset

    def at(self, partition: Ints, offset: Ints) -> Ints:
        """The row of the first record of a partition that is not before an offset."""
        wanted = partition * self._width + np.minimum(offset, self._width - 1)
        found: Ints = np.searchsorted(self._keys, wanted)
        return found

    def after_last(self, partition: Ints, offset: Ints) -> Ints:
        """Behind the last record before an offset; 0: there is none."""
        found = np.zeros(len(partition), np.int64)
        at = self.at(partition, offset) - 1
        there = at >= 0
        there[there] = self.partition[at[there]] == partition[there]
        found[there] = self.offset[at[there]] + 1
        return found

    def first(self, partition: Ints) -> Ints:
        """The first record of a partition."""
        at = np.searchsorted(self.partition, partition)
        inside = at < len(self.partition)
        found = np.full(len(partition), NEVER)
        found[inside] = self.offset[at[inside]]
        return found


# -- What was left out


def skipped(m: Members) -> Iterator[Broken]:
    """commit-beyond, skipped-record, committed-unprocessed."""
    beyond = _beyond(m)
    why = "more than it had been shown"
    yield Broken("commit-beyond", indices(beyond), partial(_commit, m, why))
    c, p = m.commits, m.polled
    final = np.full(len(m.places), UNKNOWN)
    counts = (c.completed != NEVER) & ~beyond
    np.maximum.at(final, c.place[counts], c.offset[counts])
    begun = np.full(len(m.places), NEVER)
    np.minimum.at(begun, p.place, p.before)
    polled = _Ranges(p.place, p.before, p.after)
    done = _done(m)
    told = np.zeros(len(m.places), bool)
    told[m.processed.place] = True
    left: list[tuple[int, int]] = []
    undone: list[tuple[int, int]] = []
    partitions, offsets = m.records
    for place in range(len(m.places)):
        low, high = np.searchsorted(partitions, (m.partition[place], m.partition[place] + 1))
        mine = offsets[low:high]
        mine = mine[(mine >= begun[place]) & (mine < final[place])]
        read = polled.cover(place, mine)
        left += [(place, each) for each in mine[~read].tolist()]
        if told[place]:
            unsaid = read & ~done.cover(place, mine)
            undone += [(place, each) for each in mine[unsaid].tolist()]
    yield Broken("skipped-record", left, partial(_left, m, "nobody was shown it"))
    yield Broken("committed-unprocessed", undone, partial(_left, m, "nobody processed it"))


class _Ranges:
    """Which offsets of each place lie in some range."""

    def __init__(self, place: Ints, begin: Ints, end: Ints) -> None:
        order = np.lexsort((begin, place))
        self._place, self._begin = place[order], begin[order]
        self._end = end[order]

    def cover(self, place: int, offsets: Ints) -> Flags:
        low, high = np.searchsorted(self._place, (place, place + 1))
        if low == high:
            return np.zeros(len(offsets), bool)
        begin, end = self._begin[low:high], np.maximum.accumulate(self._end[low:high])
        at = np.searchsorted(begin, offsets, side="right") - 1
        return (at >= 0) & (end[at] > offsets)


def _done(m: Members) -> _Ranges:
    """What members processed of what they had been shown."""
    p = m.polled
    most = np.full(len(m.spans.place), UNKNOWN)
    said = m.processed.span != NONE
    np.maximum.at(most, m.processed.span[said], m.processed.offset[said])
    within = indices(p.span != NONE)
    end = np.minimum(p.after[within], most[p.span[within]])
    some = end > p.before[within]
    return _Ranges(p.place[within][some], p.before[within][some], end[some])


def _beyond(m: Members) -> Flags:
    """Commits of a member of more than it had been shown of the partition while it has it."""
    c, p = m.commits, m.polled
    furthest = np.full(len(m.spans.place), NEVER)
    some = p.span != NONE
    furthest[p.span[some]] = UNKNOWN
    # Who began to read in a poll that may be of an earlier span may have been shown more there.
    np.maximum.at(furthest, p.span[some], p.after[some])
    have = c.span != NONE
    beyond = np.zeros(len(c.place), bool)
    beyond[have] = c.offset[have] > furthest[c.span[have]]
    return beyond


def _left(m: Members, what: str, found: tuple[int, int]) -> Evidence:
    (place, offset), c = found, m.commits
    rows = indices((c.place == place) & (c.offset > offset) & (c.completed != NEVER))
    commit = int(rows[np.argmin(c.invoked[rows])])
    return _commit(m, f"which goes over the record at {offset}, and {what}", commit)


# -- Who commits


def commits(m: Members) -> Iterator[Broken]:
    """commit-by-non-owner, zombie-commit-offsets."""
    c, spans = m.commits, m.spans
    given = np.zeros(int(max(c.process.max(initial=0), spans.process.max(initial=0))) + 1, bool)
    given[spans.process] = True
    without = indices((c.completed != NEVER) & (c.span == NONE) & given[c.process])
    zombies: list[tuple[int, int]] = []
    for row in without.tolist():
        heir = _heir(m, row)
        if heir != NONE:
            zombies.append((row, heir))
    late = {row for row, _ in zombies}
    others = [row for row in without.tolist() if row not in late]
    yield Broken("zombie-commit-offsets", zombies, partial(_zombie, m))
    yield Broken("commit-by-non-owner", others, partial(_commit, m, "without having it"))


def _heir(m: Members, row: int) -> int:
    """The span of another member that had the place throughout a commit of who had lost it."""
    c, spans = m.commits, m.spans
    there = spans.place == c.place[row]
    mine = there & (spans.process == c.process[row]) & (spans.end <= c.invoked[row])
    before = indices(mine)
    if not len(before) or spans.how[before[np.argmax(spans.end[before])]] != TAKEN:
        return NONE
    found = indices(
        there
        & (spans.process != c.process[row])
        & (spans.given < c.invoked[row])
        & (spans.end > c.completed[row])
    )
    return int(found[0]) if len(found) else NONE


def _zombie(m: Members, found: tuple[int, int]) -> Evidence:
    c, (row, heir) = m.commits, found
    group, key = m.places[c.place[row]]
    said = f"process {c.process[row]} had lost {key} of group {group}, and its commit of"
    whose = f"was accepted while process {m.spans.process[heir]} had it"
    operations = (m.spans.first[heir], c.operation[row])
    return operations, f"{said} {c.offset[row]} {whose}", key


def _commit(m: Members, why: str, row: int) -> Evidence:
    c = m.commits
    group, key = m.places[c.place[row]]
    said = f"process {c.process[row]} committed {c.offset[row]} of {key} for group {group}"
    return (c.operation[row],), f"{said}, {why}", key
