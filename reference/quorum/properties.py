"""What the quorum promises: the twin of QuorumProperties.tla, written as plainly as it is.

Law of this file: every property is computed from whole rows, as the spec says it, with no thought
of speed; invariants.py is the fast one, and both must agree. Nothing here asks a rule (rules.py),
so that replacing a rule never replaces the property that should catch it.

A property is a function of some of these: all rows before a step, all rows after it and the
history, in which the step has already been entered. It answers None, or says briefly what is wrong.
Its docstring is its sentence in reports.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from kraftcheck.reference.kit.log import Log, agree, cache_of, is_prefix_of, prefix
from kraftcheck.reference.kit.properties import Check, Declared, Invariant
from kraftcheck.reference.quorum.types import (
    CONNECTIONS,
    NOBODY,
    ROLES,
    UNDEFINED,
    Constants,
    Row,
    is_running,
)

Rows: TypeAlias = Mapping[int, Row]


class Ballot(NamedTuple):
    """A voter's latest epoch, and the votes that it gave in it (sorted)."""

    epoch: int
    given: tuple[int, ...]


@dataclass(slots=True)
class QuorumHistory:
    """What rows do not remember. Written beside every step and read by no handler (L5)."""

    ballots: dict[int, Ballot]
    committed: Log = ()
    """The longest prefix that any leader's high watermark covered."""
    committed_before: Log = ()
    """`committed` as it was before the latest step."""
    appended: dict[tuple[int, int], tuple[int, ...]] = field(default_factory=dict)
    """By offset and epoch: every value (sorted) that ever stood there in some log."""


def history_init(constants: Constants) -> QuorumHistory:
    return QuorumHistory({v: Ballot(0, ()) for v in constants.nodes})


def committed_after(old_committed: Log, new_rows: Rows) -> Log:
    ahead = [
        row
        for _, row in sorted(new_rows.items())
        if is_leader(row) and row.high_watermark > len(old_committed)
    ]
    return prefix(ahead[0].log, ahead[0].high_watermark) if ahead else old_committed


def ballot_after(ballot: Ballot, row: Row) -> Ballot:
    vote = () if row.voted == NOBODY else (row.voted,)
    if row.epoch > ballot.epoch:
        return Ballot(row.epoch, vote)
    if row.epoch == ballot.epoch:
        return Ballot(ballot.epoch, tuple(sorted({*ballot.given, *vote})))
    return ballot


def appended_after(
    old: Mapping[tuple[int, int], tuple[int, ...]], new_rows: Rows
) -> dict[tuple[int, int], tuple[int, ...]]:
    new = dict(old)
    for row in new_rows.values():
        for offset, entry in enumerate(row.log):
            place = (offset, entry.epoch)
            new[place] = tuple(sorted({*new.get(place, ()), entry.value}))
    return new


def history_next(history: QuorumHistory, new_rows: Rows) -> QuorumHistory:
    """The history after a step to these rows: HistoryNext and TraceAppends."""
    return QuorumHistory(
        ballots={n: ballot_after(ballot, new_rows[n]) for n, ballot in history.ballots.items()},
        committed=committed_after(history.committed, new_rows),
        committed_before=history.committed,
        appended=appended_after(history.appended, new_rows),
    )


_invariant = Declared("before", "after", "history")
OF_ROWS: dict[str, list[Check]] = {"state": [], "step": []}
"""Of properties of each row alone what they ask, by kind: of the node and its row after a step, and
of the nodes there are or the row before it."""


def _row_invariant(kind: Literal["state", "step"]) -> Callable[[Check], Check]:
    """Declares a property of each row alone."""

    def declare(function: Check) -> Check:
        OF_ROWS[kind].append(function)

        def each(before: Rows, after: Rows) -> str | None:
            nodes = frozenset(after)
            for n, row in after.items():
                beside = before[n] if kind == "step" else nodes
                if (wrong := function(n, row, beside)) is not None:
                    return wrong
            return None

        each.__name__, each.__doc__ = function.__name__, function.__doc__
        return _invariant(kind)(each)

    return declare


def is_leader(row: Row) -> bool:
    return row.role == "Leader"


def is_majority(nodes: list[int], rows: Rows) -> bool:
    """Voters are the nodes that have a row."""
    return 2 * len(nodes) > len(rows)


def too_few(holders: list[int], rows: Rows, what: str) -> str:
    """Names the holders of what a majority must have. what: what it is, after `has`."""
    who = f"{', '.join(map(str, holders))} alone has" if holders else "nobody has"
    needed = len(rows) // 2 + 1
    return f"of {len(rows)} voters {who} {what}; a majority is {needed}"


def not_outlived(row: Row, rows: Rows) -> bool:
    """No node is in a later epoch than this one."""
    return all(other.epoch <= row.epoch for other in rows.values())


def first_missing(log: Log, wanted: Log, offset: int) -> str:
    """Name the first record of `wanted` below `offset` where `log` does not agree.

    The log has not got it, or has another one.
    """
    both = min(len(log), len(wanted), offset)
    at = next((i for i in range(both) if log[i] != wanted[i]), both)
    return f"the record at {at}"


# --- Types ---


@_row_invariant("state")
def row_type_inv(n: int, row: Row, nodes: frozenset[int]) -> str | None:
    """Every field of a row has a value of its type.

    Misses: a value of the right type that is wrong in this state.
    """
    for name, right in {
        "role": row.role in ROLES,
        "epoch": row.epoch >= 0,
        "leader": row.leader in nodes or row.leader == NOBODY,
        "voted": row.voted in nodes or row.voted == NOBODY,
        "flushed": 0 <= row.flushed <= len(row.log),
        "high_watermark": UNDEFINED <= row.high_watermark <= len(row.log),
        "granted": nodes.issuperset(row.granted),
        "rejected": nodes.issuperset(row.rejected)
        and not {*row.granted}.intersection(row.rejected),
        "epoch_start": UNDEFINED <= row.epoch_start <= len(row.log),
        "unacked": nodes.issuperset(row.unacked) and n not in row.unacked,
        "fetched_voters": nodes.issuperset(row.fetched_voters) and n not in row.fetched_voters,
        "connections": CONNECTIONS.issuperset(row.connections),
    }.items():
        if not right:
            return f"node {n} has an impossible {name}: {getattr(row, name)!r}"
    return None


@_row_invariant("state")
def valid_roles_and_states(n: int, row: Row, nodes: frozenset[int]) -> str | None:
    """The fields of a row fit its role (V996 StatesMatchRoles).

    Misses: a wrong role whose fields fit it.
    """
    for what, right in {
        "parked fetches": not row.parked or is_leader(row),
        "votes": not (row.granted or row.rejected) or row.role in ("Prospective", "Candidate"),
        "epoch start": (row.epoch_start != UNDEFINED) == is_leader(row),
        "leader": {
            "Leader": row.leader == n,
            "Resigned": row.leader == n,
            "Follower": row.leader in nodes and row.leader != n,
            "Candidate": row.leader == NOBODY and row.voted == n,
        }.get(row.role, True),
        "voters to tell": not row.unacked or row.role == "Resigned",
    }.items():
        if not right:
            return f"node {n} is {row.role}, which does not fit its {what}"
    return None


@_row_invariant("state")
def no_illegal_state(n: int, row: Row, nodes: frozenset[int]) -> str | None:
    """No node has stopped on an impossible message (Q10; V996 NoIllegalState).

    Misses: an impossible message that a node accepts.
    """
    return f"node {n} has stopped in epoch {row.epoch}" if row.role == "Halted" else None


# --- Safety: protocol rules 6.1 ---


@_invariant("state")
def election_safety(after: Rows) -> str | None:
    """Two voters in the same epoch that know a leader know the same leader.

    Misses: two leaders of one epoch, if no state has both in rows of that epoch.
    """
    for a, one in after.items():
        for b, two in after.items():
            if (
                one.epoch == two.epoch
                and NOBODY not in (one.leader, two.leader)
                and one.leader != two.leader
            ):
                return (
                    f"in epoch {one.epoch} node {a} knows leader {one.leader} "
                    f"and node {b} knows leader {two.leader}"
                )
    return None


@_invariant("state")
def vote_once(history: QuorumHistory) -> str | None:
    """A voter gives at most one standard vote in an epoch.

    Misses: a vote that was never in the voter's row, and votes of epochs before its last one.
    """
    for n, ballot in history.ballots.items():
        if len(ballot.given) > 1:
            return f"in epoch {ballot.epoch} node {n} voted for {ballot.given}"
    return None


@_invariant("state")
def log_matching_committed(after: Rows) -> str | None:
    """Two logs agree below the smaller of the two high watermarks.

    Misses: a difference above that offset, even if one node knows the records to be committed.
    """
    for a, one in after.items():
        for b, two in after.items():
            offset = min(one.high_watermark, two.high_watermark)
            if offset > 0 and not agree(one.log, two.log, offset):
                where = first_missing(one.log, two.log, offset)
                return f"nodes {a} and {b} differ in {where}, below high watermark {offset}"
    return None


@_invariant("state")
def log_matching(after: Rows) -> str | None:
    """If two logs have an entry with the same offset and epoch, they agree up to that entry (Raft's
    form).

    Misses: records that are wrong, or were replaced, in all logs alike.
    """
    for a, one in after.items():
        for b, two in after.items():
            for i in range(min(len(one.log), len(two.log))):
                if one.log[i].epoch == two.log[i].epoch and not agree(one.log, two.log, i + 1):
                    return (
                        f"nodes {a} and {b} have epoch {one.log[i].epoch} at offset {i} "
                        "and differ at or below it"
                    )
    return None


@_invariant("state")
def leader_completeness(after: Rows, history: QuorumHistory) -> str | None:
    """The leader of the largest epoch has everything that is committed.

    Misses: a leader that lacks records while some node is in a later epoch.
    """
    for n, row in after.items():
        complete = is_prefix_of(history.committed, row.log)
        if is_leader(row) and not_outlived(row, after) and not complete:
            missing = first_missing(row.log, history.committed, len(history.committed))
            return f"leader {n} of epoch {row.epoch} lacks {missing}, which is committed"
    return None


@_invariant("state")
def majority_reached_high_watermark(after: Rows) -> str | None:
    """A majority has the leader's log, by content, up to the leader's high watermark.

    Misses: a loss after the leader has gone, and copies that are not on disk.
    """
    for n, row in after.items():
        if is_leader(row) and row.high_watermark > 0:
            holders = [
                v
                for v, other in after.items()
                if len(other.log) >= row.high_watermark
                and agree(other.log, row.log, row.high_watermark)
            ]
            if not is_majority(holders, after):
                end = row.high_watermark
                what = f"the records below {end}, which leader {n} calls committed"
                return too_few(holders, after, what)
    return None


@_invariant("state")
def durable_majority(after: Rows) -> str | None:
    """A majority has the leader's log on disk, by content, up to the leader's high watermark.

    Misses: a loss after the leader has gone, which violates CommittedSurvives.
    """
    for n, row in after.items():
        if is_leader(row) and row.high_watermark > 0:
            holders = [
                v
                for v, other in after.items()
                if other.flushed >= row.high_watermark
                and agree(other.log, row.log, row.high_watermark)
            ]
            if not is_majority(holders, after):
                end = row.high_watermark
                what = f"on disk the records below {end}, which leader {n} calls committed"
                return too_few(holders, after, what)
    return None


@_invariant("state")
def committed_survives(after: Rows, history: QuorumHistory) -> str | None:
    """Everything that was ever committed is on the disks of a majority.

    Misses: records acknowledged without a high watermark that covers them.
    """
    holders = [
        v
        for v, row in after.items()
        if row.flushed >= len(history.committed) and is_prefix_of(history.committed, row.log)
    ]
    if not is_majority(holders, after):
        end = len(history.committed)
        return too_few(holders, after, f"on disk the records below {end}, which were committed")
    return None


@_invariant("state")
def unique_entry(history: QuorumHistory) -> str | None:
    """An offset and an epoch determine one value in all logs of all times (KAFKA-10527).

    Misses: one record under two epochs.
    """
    for (offset, epoch), values in history.appended.items():
        if len(values) > 1:
            return f"offset {offset} of epoch {epoch} held values {values}"
    return None


@_row_invariant("state")
def epoch_cache_sound(n: int, row: Row, nodes: frozenset[int]) -> str | None:
    """The epoch cache of a running node is the one that its log implies.

    Misses: a wrong log with the matching cache, and caches of stopped nodes.
    """
    if is_running(row) and row.epoch_cache != cache_of(row.log):
        return f"the epoch cache of node {n} is not that of its log"
    return None


@_row_invariant("state")
def announced_leader_is_caught_up(n: int, row: Row, nodes: frozenset[int]) -> str | None:
    """A state machine is notified of its leadership only after everything before its epoch is
    committed.

    Misses: a leader whose state machine is never notified.
    """
    if row.announced != UNDEFINED and not (
        is_leader(row) and row.announced == row.epoch and row.high_watermark > row.epoch_start
    ):
        return f"node {n} was told that it leads epoch {row.announced}, too soon or wrongly"
    return None


# --- Safety of single steps ---


@_row_invariant("step")
def monotonic_epoch(n: int, row: Row, was: Row) -> str | None:
    """Epochs never decrease, in memory or on disk, and the two are equal while a node runs.

    Misses: an epoch that should have increased.
    """
    if row.epoch < was.epoch:
        return f"node {n} went back to epoch {row.epoch}"
    if row.quorum_state.epoch < was.quorum_state.epoch:
        return f"the quorum state of node {n} went back to epoch {row.quorum_state.epoch}"
    if is_running(row) and row.quorum_state.epoch != row.epoch:
        return f"node {n} is in epoch {row.epoch}, which is not on its disk"
    return None


@_invariant("step")
def monotonic_high_watermark(before: Rows, after: Rows, history: QuorumHistory) -> str | None:
    """The high watermark of a node, and the one from leader to leader, never decreases.

    Misses: a high watermark that never increases, or increases too far (RefinesCommittedLog detects
    what it then covers).
    """
    for n, row in after.items():
        if row.high_watermark == UNDEFINED:
            continue
        if row.high_watermark < before[n].high_watermark:
            return f"the high watermark of node {n} went back to {row.high_watermark}"
        if (
            is_leader(row)
            and not_outlived(row, after)
            and row.high_watermark < len(history.committed_before)
        ):
            return (
                f"leader {n} has high watermark {row.high_watermark}, "
                f"an earlier one had {len(history.committed_before)}"
            )
    return None


@_row_invariant("step")
def no_truncate_below_high_watermark(n: int, row: Row, was: Row) -> str | None:
    """A running node never removes a record below its high watermark.

    Misses: a truncation of committed records above the node's own high watermark, and a loss by a
    crash.
    """
    known = was.high_watermark
    if known <= 0 or not is_running(was) or not is_running(row):
        return None
    if len(row.log) < known or not agree(was.log, row.log, known):
        missing = first_missing(row.log, was.log, known)
        return f"node {n} has lost {missing}, below its high watermark {known}"
    return None


# --- Refinement: the quorum is one committed log (specs/common/CommittedLog.tla) ---


@_invariant("step")
def refines_committed_log(before: Rows, after: Rows, history: QuorumHistory) -> str | None:
    """The quorum implements one committed log that only grows; each node knows a prefix of it.

    Misses: a leader that is the first to call a record committed that no majority has, because its
    high watermark defines the committed log.
    """
    if not is_prefix_of(history.committed_before, history.committed):
        return "what was committed has changed"
    for n, row in after.items():
        known = prefix(row.log, max(row.high_watermark, 0))
        if not is_prefix_of(known, history.committed):
            return f"node {n} believes records committed that are not"
        knew = prefix(before[n].log, max(before[n].high_watermark, 0))
        if known and not is_prefix_of(knew, known):
            return f"node {n} knew other records to be committed"
    return None


INVARIANTS: tuple[Invariant, ...] = tuple(_invariant.all)
"""All of them, in the order of the spec."""
