"""Check consumer groups against their guarantee: owners of partitions, commits and positions."""

from __future__ import annotations

from typing import Final

from kraftcheck.reference.clients.promises import Level, Promise, Reset
from kraftcheck.traces.checkers.coordinated import (
    GroupLog,
    altered,
    fenced,
    idle,
    known,
    server_owners,
    ungiven,
    unwritten,
)
from kraftcheck.traces.checkers.findings import Across, Broken, anomaly_of, gravest_first
from kraftcheck.traces.checkers.members import Members
from kraftcheck.traces.checkers.ownership import overlaps, stuck, unowned
from kraftcheck.traces.checkers.progress import commits, committed, skipped, starts
from kraftcheck.traces.checkers.verdict import HOLDS, UNKNOWN, VIOLATED

GROUPS: Final[dict[str, str]] = {
    "skipped-record": "a group committed beyond a record that none of its members was shown",
    "committed-unprocessed": "a group committed beyond a record that no member had processed",
    "offset-lost": "a group received no committed offset, although one had been committed",
    "stale-offset": "a group received a committed offset that another had replaced",
    "unknown-offset": "a group received a committed offset that nobody had committed",
    "altered-commit": "a group's log has another offset than a commit asked for",
    "unwritten-commit": "a commit was acknowledged, and the group's log has no such record",
    "unwritten-assignment": "a member was assigned a partition, and its group's log says otherwise",
    "server-double-owner": "a group's log assigns a partition to two members at once",
    "double-ownership": "a member was assigned a partition before another had given it up",
    "unowned-poll": "a member was shown records of a partition that it did not own",
    "wrong-start": "a member began to read where nothing was committed",
    "early-start": "a member began to read before every offset that may have been committed",
    "stuck-partition": "no member owned a partition for longer than a rebalance may take",
    "fenced-commit": "a group's log has a commit of a member that had been removed",
    "zombie-commit-offsets": "a commit was accepted from a member that had lost the partition",
    "commit-by-non-owner": "a commit was accepted from a member without the partition",
    "commit-beyond": "a member committed more than it had been shown",
    "overlap": "as double-ownership, unless the first member had been removed; not known",
    "open-offset": "as stale-offset, unless some order of the commits explains it; undecided",
    "idle-rebalance": "a group's log begins an epoch for which it has no reason",
    "zombie-overlap": "a removed or dead member still owned a partition that another was assigned",
}
"""Anomalies of the members of a group, the most severe first."""

_UNDECIDED: Final = {
    "overlap": "two members owned a partition; whether one had been removed, their clients do not"
    " know",
    "open-offset": "the search for an order of a group's commits took too long",
}
"""Anomalies that may have a harmless explanation, each with the reason for the verdict
`unknown`."""
_UNREAD: Final = ("skipped-record", "committed-unprocessed", "wrong-start")


def broken(
    m: Members,
    reset: Reset,
    within: int | None = None,
    log: GroupLog | None = None,
    *,
    real_time: bool = True,
) -> list[Broken]:
    """Return the anomalies of a history, the most severe first.

    Args:
        m: the members of all groups.
        reset: where a group begins that has committed nothing.
        within: the longest time of a rebalance, in the history's unit; None if unknown.
        log: the log of the groups' coordinators, if known.
        real_time: whether times say which of two members was first. Otherwise the checks that need
            this order are left out.
    """
    found = []
    if log is not None:
        found = [
            *(server_owners(log), fenced(log, m), altered(log, m), unwritten(log, m)),
            *(ungiven(log, m), idle(log)),
        ]
    m = m if log is None else known(log, m)
    if real_time:
        found += [*overlaps(m, log), *([] if within is None else [stuck(m, within)])]
        found += [*committed(m), *commits(m)]
    found += [unowned(m), *starts(m, reset, real_time=real_time), *skipped(m)]
    return gravest_first(found, GROUPS)


def judged(
    m: Members,
    promise: Promise,
    *,
    level: Level | None = None,
    reset: Reset,
    within: int | None = None,
    log: GroupLog | None = None,
    replaced: bool = False,
    real_time: bool = True,
) -> Across:
    """Check a history against its guarantee.

    Args:
        m: the members of all groups.
        promise: the guarantee.
        level: if given, anomalies are reported and none is forbidden by the guarantee.
        reset: where a group begins that has committed nothing.
        within: the longest time of a rebalance, in the history's unit; None if unknown.
        log: the log of the groups' coordinators, if known.
        replaced: whether later records may have replaced records (a compacted topic). Then unread
            records are not reported.
        real_time: whether times say which of two members was first. Otherwise the checks that need
            this order are left out.
    """
    found = broken(m, reset, within, log, real_time=real_time)
    found = [each for each in found if not (replaced and each.name in _UNREAD)]
    anomalies = tuple(anomaly_of(each, GROUPS, promise, level) for each in found)
    verdict, reason = HOLDS, None
    forbidden = {each.name for each in anomalies if not each.allowed}
    if forbidden - {*_UNDECIDED}:
        verdict = VIOLATED
    elif forbidden:
        verdict = UNKNOWN
        reason = next(why for name, why in _UNDECIDED.items() if name in forbidden)
    return Across(verdict, anomalies, reason)
