"""The invariants, checked after every step at the price of what the step changed.

Law of this file: properties.py alone defines the properties; here is only when they
need not be evaluated. A step changes one row, so a property that held before can fail only through
that row or through the history; what properties say of a row alone is remembered. `check_step`
enters the step in the history, asks `_suspicious` whether anything could have broken, and only then
evaluates the properties themselves. So a suspicion may be mistaken, at some cost in time; a missed
violation is a defect, and tests compare both ways of checking on random states and on planted
violations.

`check_step` presumes that every property held before the step: a checker of runs stops at the
first violation.
"""

from __future__ import annotations

from functools import lru_cache

from kraftcheck.reference.kit.log import Log, agree, is_prefix_of, prefix
from kraftcheck.reference.kit.properties import (
    Invariant as Invariant,
)
from kraftcheck.reference.quorum.properties import (
    INVARIANTS as INVARIANTS,
    OF_ROWS,
    Ballot,
    QuorumHistory as QuorumHistory,
    Rows,
    history_init as history_init,
)
from kraftcheck.reference.quorum.types import NOBODY, UNDEFINED, Constants, Row

INVARIANT_NAMES: tuple[str, ...] = tuple(each.name for each in INVARIANTS)
_BY_NAME = {each.name: each for each in INVARIANTS}


def invariant(name: str) -> Invariant:
    return _BY_NAME[name]


def first_violated(rows_before: Rows, rows_after: Rows, history: QuorumHistory) -> Invariant | None:
    """The first property, in the order of the spec, that does not hold; each is evaluated whole."""
    for each in INVARIANTS:
        if each.check(rows_before, rows_after, history) is not None:
            return each
    return None


def check_step(
    constants: Constants, rows_before: Rows, rows_after: Rows, node: int, history: QuorumHistory
) -> Invariant | None:
    """Enters a step of `node` in the history; the first invariant that it violates, or None.

    Only the row of `node` may differ between the two. What is wrong, in words, is
    `violated.check(rows_before, rows_after, history)`.
    """
    before, after = rows_before[node], rows_after[node]
    # Before the step is entered: whether the step before it committed nothing.
    settled = history.committed_before is history.committed
    if settled and (after is before or after == before):
        return None
    enter_step(before, after, node, history)
    if not _suspicious(constants, before, after, rows_after, node, history, settled):
        return None
    return first_violated(rows_before, rows_after, history)


def enter_step(before: Row, after: Row, node: int, history: QuorumHistory) -> None:
    """What `properties.history_next` makes of a step of one node, in place."""
    history.committed_before = history.committed
    if after.role == "Leader" and after.high_watermark > len(history.committed):
        history.committed = prefix(after.log, after.high_watermark)
    if after.voted != before.voted or after.epoch != before.epoch:
        _enter_ballot(after, node, history)
    if after.log is not before.log:
        _enter_appended(before.log, after.log, history)


def _enter_ballot(after: Row, node: int, history: QuorumHistory) -> None:
    ballot = history.ballots[node]
    given = ballot.given if after.epoch == ballot.epoch else ()
    if after.epoch >= ballot.epoch:
        if after.voted != NOBODY and after.voted not in given:
            given = tuple(sorted((*given, after.voted)))
        history.ballots[node] = Ballot(after.epoch, given)


def _enter_appended(before: Log, after: Log, history: QuorumHistory) -> None:
    appended = history.appended
    kept = len(before) if is_prefix_of(before, after) else 0
    for offset in range(kept, len(after)):
        entry = after[offset]
        place = (offset, entry.epoch)
        values = appended.get(place)
        if values is None:
            appended[place] = (entry.value,)
        elif entry.value not in values:
            appended[place] = tuple(sorted((*values, entry.value)))


def _suspicious(
    constants: Constants,
    before: Row,
    after: Row,
    rows: Rows,
    node: int,
    history: QuorumHistory,
    settled: bool,
) -> bool:
    """Whether a property may be violated now. False is a promise that none is."""
    if len(history.ballots[node].given) > 1:
        return True
    if not _row_holds(constants.voters, node, before, after):
        return True
    if (after.epoch, after.leader) != (before.epoch, before.leader) and after.leader != NOBODY:
        for other in rows.values():
            if other.epoch == after.epoch and other.leader not in (NOBODY, after.leader):
                return True
    if (
        not settled
        or history.committed is not history.committed_before
        or after.role != before.role
        or after.epoch != before.epoch
        or after.high_watermark != before.high_watermark
        or after.flushed != before.flushed
        or after.log is not before.log
    ):
        return _log_suspicious(constants, before, after, rows, node, history)
    return False


@lru_cache(maxsize=1 << 15)
def _row_holds(nodes: tuple[int, ...], node: int, before: Row, after: Row) -> bool:
    """The properties of a row alone. Runs come to the same steps again and again."""
    among = frozenset(nodes)
    for check in OF_ROWS["state"]:
        if check(node, after, among) is not None:
            return False
    return all(check(node, after, before) is None for check in OF_ROWS["step"])


def _log_suspicious(
    constants: Constants, before: Row, after: Row, rows: Rows, node: int, history: QuorumHistory
) -> bool:
    """The properties that compare logs, high watermarks and what was committed."""
    changes = after.log is not before.log
    appends = not changes or is_prefix_of(before.log, after.log)
    if _known_suspicious(before, after, history, appends):
        return True
    if changes and _matching_suspicious(before, after, rows, node, history, appends):
        return True
    if _leader_behind(rows, history):
        return True
    # Who holds what is committed: worse only if this node lost something, or more is committed.
    committed_grew = history.committed is not history.committed_before
    loses = not appends or after.flushed < before.flushed
    leads_anew = after.role == "Leader" and (
        before.role != "Leader"
        or after.epoch != before.epoch
        or after.high_watermark != before.high_watermark
    )
    if committed_grew or loses or leads_anew:
        return _holders_suspicious(constants, rows, history)
    return False


def _known_suspicious(before: Row, after: Row, history: QuorumHistory, appends: bool) -> bool:
    """Properties that one node may break under suspicion.

    LogMatchingCommitted, NoTruncateBelowHighWatermark, RefinesCommittedLog, and
    MonotonicHighWatermark on one node.

    The first follows from the third: what two nodes know are prefixes of one committed log.
    """
    knew, known = before.high_watermark, after.high_watermark
    if not is_prefix_of(history.committed_before, history.committed):
        return True
    if known < knew and known != UNDEFINED:
        return True
    learns = known > 0 and (known != knew or not appends)
    if learns and not is_prefix_of(prefix(after.log, known), history.committed):
        return True
    return knew > 0 and not appends and not is_prefix_of(prefix(before.log, knew), after.log)


def _leader_behind(rows: Rows, history: QuorumHistory) -> bool:
    """MonotonicHighWatermark, from one leader to the next."""
    end = len(history.committed_before)
    for row in rows.values():
        behind = row.role == "Leader" and UNDEFINED < row.high_watermark < end
        if behind and all(other.epoch <= row.epoch for other in rows.values()):
            return True
    return False


def _matching_suspicious(
    before: Row, after: Row, rows: Rows, node: int, history: QuorumHistory, appends: bool
) -> bool:
    """LogMatching and UniqueEntry, given that they held of the log before."""
    log = after.log
    if is_prefix_of(log, before.log):
        return False
    first = len(before.log) if appends else 0
    appended = history.appended
    for offset in range(first, len(log)):
        if len(appended[offset, log[offset].epoch]) > 1:
            return True
    for n, other in rows.items():
        if n == node:
            continue
        # Agreement up to the last common (offset, epoch) is agreement up to all of them.
        for i in range(min(len(log), len(other.log)) - 1, first - 1, -1):
            if log[i].epoch == other.log[i].epoch:
                if not agree(log, other.log, i + 1):
                    return True
                break
    return False


def _holders_suspicious(constants: Constants, rows: Rows, history: QuorumHistory) -> bool:
    """LeaderCompleteness, MajorityReachedHighWatermark, DurableMajority, CommittedSurvives."""
    committed = history.committed
    end = len(committed)
    holders = [n for n, row in rows.items() if row.flushed >= end and row.log[:end] == committed]
    if not constants.is_majority(holders):
        return True
    latest = max(row.epoch for row in rows.values())
    for row in rows.values():
        if row.role != "Leader":
            continue
        # The holders hold every prefix of what is committed, so also this leader's.
        if not is_prefix_of(prefix(row.log, max(row.high_watermark, 0)), committed):
            return True
        if row.epoch == latest and not is_prefix_of(committed, row.log):
            return True
    return False
