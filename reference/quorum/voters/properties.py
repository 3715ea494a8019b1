"""What changes of the voters promise: the twin of specs/quorum/voters/VoterProperties.tla.

Law of this file: nothing here asks a rule, so the sets are read from logs by functions of this
file. Those of a log and its leaders are the quorum's own, of all nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any, Final, NamedTuple, TypeAlias

from kraftcheck.reference.kit.log import LEADER_CHANGE, UNDEFINED, is_prefix_of
from kraftcheck.reference.kit.properties import Declared, Invariant, View
from kraftcheck.reference.kit.protocol import HISTORY, Property
from kraftcheck.reference.quorum import properties as quorum
from kraftcheck.reference.quorum.types import is_running
from kraftcheck.reference.quorum.voters.types import (
    VOTERS_RECORD,
    Constants,
    History,
    VoterRow,
    VotersAt,
    VotersLog,
)

Rows: TypeAlias = Mapping[int, VoterRow]
Voters: TypeAlias = tuple[int, ...]


def committed_next(
    constants: Constants, before: Mapping[int, Any], after: Mapping[int, Any]
) -> VotersLog:
    """Give the longest prefix that any leader's high watermark covered.

    A leader may resign with what it has just committed (V20).
    """
    known: VotersLog = before[HISTORY] or ()
    for n in constants.nodes:
        row = after[n]
        if row.role in ("Leader", "Resigned") and row.high_watermark > len(known):
            known = row.log[: row.high_watermark]
    return known


def sets_of(constants: Constants, log: VotersLog) -> History:
    """The sets of a log: the bootstrap set, then those of its records."""
    found = [VotersAt(UNDEFINED, constants.first_voters)]
    for offset, entry in enumerate(log):
        if entry.value == VOTERS_RECORD:
            found.append(VotersAt(offset, entry.voters))
    return tuple(found)


def last_voters(constants: Constants, log: VotersLog) -> Voters:
    return sets_of(constants, log)[-1].voters


def is_majority_of(nodes: list[int], voters: Voters) -> bool:
    return 2 * len({*nodes} & {*voters}) > len(voters)


def epoch_of(log: VotersLog) -> int:
    return log[-1].epoch if log else 0


def at_least_as_long(a: VotersLog, b: VotersLog) -> bool:
    return (epoch_of(a), len(a)) >= (epoch_of(b), len(b))


def known_voters(row: VoterRow) -> Voters:
    return row.history[-1].voters


def supporters(rows: Rows, m: int) -> set[int]:
    """Who could vote for m: voters of m's set whose logs are no longer."""
    log = rows[m].log
    return {q for q in known_voters(rows[m]) if at_least_as_long(log, rows[q].log)}


def leaders(rows: Rows) -> Iterator[tuple[int, VoterRow]]:
    return ((n, row) for n, row in rows.items() if row.role == "Leader")


_property = Declared("constants", "before", "after", "committed")


# --- The quorum's own ---


def _of_quorum(check: Callable[..., str | None]) -> None:
    """Declares a property of the quorum's as one of this protocol."""
    own = next(each for each in quorum.INVARIANTS if each.check is check)

    def checked(before: Rows, after: Rows, committed: VotersLog) -> str | None:
        history = quorum.QuorumHistory({}, committed)
        return own.check(before, after, history)

    checked.__name__, checked.__doc__ = check.__name__, check.__doc__
    _property(own.kind)(checked)


_of_quorum(quorum.no_illegal_state)
_of_quorum(quorum.election_safety)
_of_quorum(quorum.log_matching)
_of_quorum(quorum.log_matching_committed)
_of_quorum(quorum.leader_completeness)
_of_quorum(quorum.epoch_cache_sound)


# --- Sets ---


@_property("state")
def adjacent_sets(constants: Constants, after: Rows) -> str | None:
    """Consecutive voter sets of a log differ by at most one voter.

    The set that comes with kraft.version 1 equals the bootstrap set.

    Misses: the wrong voter, and a change without a record.
    """
    for n, row in after.items():
        sets = sets_of(constants, row.log)
        for one, two in pairwise(sets):
            if len({*one.voters} ^ {*two.voters}) > 1:
                return f"the log of node {n} goes from voters {one.voters} to {two.voters}"
        if constants.kraft_version == 0 and len(sets) > 1 and sets[1].voters != sets[0].voters:
            return f"the log of node {n} changes voters to {sets[1].voters} under kraft.version 0"
    return None


@_property("state")
def one_change_at_a_time(after: Rows, committed: VotersLog) -> str | None:
    """A leader's log has at most one uncommitted voter set.

    Misses: logs of nodes that do not lead, and changes that are each committed but too fast.
    """
    for n, row in leaders(after):
        above = row.log[max(len(committed), row.high_watermark) :]
        if sum(entry.value == VOTERS_RECORD for entry in above) > 1:
            return f"leader {n} has two sets that are not committed"
    return None


def known_to(constants: Constants, n: int, sets: History) -> History:
    """Who was formatted without the bootstrap snapshot does not know its set."""
    if n in constants.unformatted and sets and sets[0].offset == UNDEFINED:
        return (VotersAt(UNDEFINED, ()), *sets[1:])
    return sets


@_property("state")
def history_sound(constants: Constants, after: Rows) -> str | None:
    """A running node knows exactly the voter sets of its log.

    Misses: a log with wrong sets.
    """
    for n, row in after.items():
        read = known_to(constants, n, sets_of(constants, row.log))
        if is_running(row) and row.history != read:
            return f"node {n} takes {known_voters(row)} for its voters, not those of its log"
    return None


@_property("state")
def voters_are_known(after: Rows) -> str | None:
    """A node whose log has more than the first records of leaders knows a voter set (V22).

    Misses: a set that is not the one of the bootstrap snapshot.
    """
    for n, row in after.items():
        told = any(entry.value != LEADER_CHANGE for entry in row.log)
        if is_running(row) and told and not known_voters(row):
            return f"node {n} has records, and knows no voters"
    return None


@_property("state")
def committed_sets_one_line(constants: Constants, after: Rows, committed: VotersLog) -> str | None:
    """All nodes know the same committed voter sets, up to their high watermarks.

    Misses: sets above the high watermarks, and stopped nodes.
    """
    line = sets_of(constants, committed)
    for n, row in after.items():
        end = max(row.high_watermark, 0)
        known = tuple([each for each in row.history if each.offset < end])
        settled = tuple([each for each in line if each.offset < end])
        if is_running(row) and known != known_to(constants, n, settled):
            return f"node {n} knows other committed sets below its high watermark {end}"
    return None


@_property("state")
def no_disjoint_majorities(after: Rows) -> str | None:
    """No two nodes could win elections with disjoint majorities.

    (Each needs a majority of supporters, and both together need the sum.)

    Misses: majorities that share a node that has forgotten its vote; possible votes are checked,
    not actual ones.
    """
    able = [n for n, row in after.items() if is_running(row) and n in known_voters(row)]
    for m in able:
        for n in able:
            ours, theirs = supporters(after, m), supporters(after, n)
            needed = [len(known_voters(after[k])) // 2 + 1 for k in (m, n)]
            won = len(ours) >= needed[0] and len(theirs) >= needed[1]
            if won and len(ours | theirs) >= sum(needed):
                return f"nodes {m} and {n} may both win elections, by {ours} and {theirs}"
    return None


@_property("state")
def committed_survives(constants: Constants, after: Rows, committed: VotersLog) -> str | None:
    """Everything committed is on the disks of a majority of the last committed set, or of a set
    that some log has after it.

    Misses: records acknowledged without a high watermark, and the majority that a future leader
    will need.
    """
    holders = [
        n
        for n, row in after.items()
        if row.flushed >= len(committed) and is_prefix_of(committed, row.log)
    ]
    logs = [row.log for row in after.values() if is_prefix_of(committed, row.log)]
    if any(is_majority_of(holders, last_voters(constants, log)) for log in (committed, *logs)):
        return None
    end = len(committed)
    who = ", ".join(map(str, holders)) or "nobody"
    return f"on disk the records below {end}, which were committed, has {who}: no majority of a set"


@_property("state")
def would_be_voter_flushed(constants: Constants, after: Rows) -> str | None:
    """A node has on disk everything for which a leader counts it.

    Misses: a node in a later epoch than the leader.
    """
    for leader, row in leaders(after):
        for n, offset in zip(constants.nodes, row.end_offsets, strict=True):
            other = after[n]
            if other.epoch <= row.epoch and offset > other.flushed:
                return f"leader {leader} counts node {n} at {offset}, which flushed {other.flushed}"
    return None


@_property("state")
def removed_leader_resigns(constants: Constants, after: Rows) -> str | None:
    """A leader is in the last voter set that it knows to be committed, or in the last set of its
    log.

    Misses: a leader that resigns too early, or has committed nothing.
    """
    for n, row in leaders(after):
        log, end = row.log, row.high_watermark
        known = last_voters(constants, log), last_voters(constants, log[: max(end, 0)])
        if end > 0 and not any(n in voters for voters in known):
            return f"node {n} leads, and is none of the committed voters {known[1]}"
    return None


@_property("state")
def updates_stay(constants: Constants, after: Rows) -> str | None:
    """Listeners that a voter has reported in a set stay in the later sets while it is a voter.

    Misses: a voter that never reports, or leaves and comes back.
    """
    if not constants.listeners_change:
        return None
    for n, row in after.items():
        sets = [entry for entry in row.log if entry.value == VOTERS_RECORD]
        for one, two in pairwise(sets):
            if lost := {*one.moved} & {*two.voters} - {*two.moved}:
                return f"the log of node {n} forgets the listeners of voters {sorted(lost)}"
    return None


@_property("state")
def removed_stays_out(constants: Constants, after: Rows) -> str | None:
    """A node that requests by itself to be a voter was not a voter before.

    Misses: a late request, and one of an administrator.
    """
    for n, row in after.items():
        if row.asks == "AddVoter":
            sets = sets_of(constants, row.log)
            if any(n in each.voters for each in sets):
                return f"node {n} was removed, and asks to be a voter"
    return None


# --- Safety of single steps ---


@_property("step")
def no_illegal_join(constants: Constants, before: Rows, after: Rows) -> str | None:
    """A leader begins a change only after all sets and a record of its epoch are committed.

    The node to add was at the end of the leader's log. The leader has a report of every voter of
    the set that comes with kraft.version 1.

    Misses: a voter that lags right after, and a change that is wrongly refused.
    """
    for n, row in leaders(after):
        was, log = before[n], row.log
        leads_on = was.role == "Leader" and len(log) > len(was.log)
        if not leads_on or log[-1].value != VOTERS_RECORD:
            continue
        [*_, last] = sets = sets_of(constants, was.log)
        known = was.high_watermark
        if constants.kraft_version == 0 and len(sets) == 1:
            unheard = {*last.voters} - {n, *[each.node for each in was.heard]}
            if unheard:
                return f"leader {n} upgrades, and has not heard of {sorted(unheard)}"
        if log[-1].voters == last.voters:
            continue
        if not was.epoch_start < known > last.offset:
            return f"leader {n} changes the voters before it has committed what it must"
        if not {*log[-1].voters} - {*last.voters} <= {*was.caught_up}:
            return f"leader {n} adds a voter that was not at the end of its log"
    return None


class _Seen(NamedTuple):
    """What properties look at in one state of a run."""

    constants: Constants
    rows: Rows
    committed: VotersLog


def _seen(constants: Constants, rows: Mapping[int, Any]) -> _Seen:
    return _Seen(constants, {n: rows[n] for n in constants.nodes}, rows.get(HISTORY) or ())


def of_runs(declared: Declared) -> tuple[Property, ...]:
    """Properties of rows and of what was committed, as those of runs."""
    view = View(_seen)

    def property_of(each: Invariant) -> Property:
        def of_states(old: _Seen, new: _Seen) -> str | None:
            return each.check(new.constants, old.rows, new.rows, new.committed)

        def checked(
            constants: Constants, before: Mapping[int, Any], after: Mapping[int, Any]
        ) -> str | None:
            return of_states(_seen(constants, before), _seen(constants, after))

        return Property(each.name, each.sentence, checked, each.misses, view, of_states)

    return tuple([property_of(each) for each in declared.all])


PROPERTIES: Final[tuple[Property, ...]] = of_runs(_property)
"""All of them, in the order of the spec."""
OF_OPTIONS: Final = frozenset({"UpdatesStay", "RemovedStaysOut", "VotersAreKnown"})
"""Those of what comes only where listeners change, voters join by themselves, or a node was
formatted without a set.
"""
