"""A violation for each clause of each invariant of the quorum: one row of one in order changes.

Tests judge them plainly and cheaply, and hold the specification against them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kraftcheck.reference.kit.log import CacheEntry, Entry, cache_of
from kraftcheck.reference.quorum.properties import QuorumHistory, Rows, history_init, history_next
from kraftcheck.reference.quorum.types import NOBODY, UNDEFINED, QuorumStateFile, Row
from tests.reference.quorum.builders import THREE, fetch_request, leader_of, log_of, row_of

# --- A quorum in order: leader 1 of epoch 1 committed two records, and everybody has heard of it.

LOG = log_of(1, 1)
LONGER = (*LOG, Entry(1, 2))
OTHER = (*LOG, Entry(1, 9))


def follower(log: Any = LOG, **more: Any) -> Row:
    more = {"voted": 1, "high_watermark": 2, "has_fetched": True, **more}
    return row_of("Follower", 1, leader=1, log=log, **more)


def leading(log: Any = LOG, **more: Any) -> Row:
    return leader_of(1, 1, log, **{"high_watermark": 2, "end_offsets": (-1, 2, 2), **more})


def alone(role: Any, epoch: int, **more: Any) -> dict[str, Any]:
    """What a node changes to that takes this role in this epoch, for itself."""
    change = {"leader": NOBODY, "voted": NOBODY, "high_watermark": UNDEFINED, **more}
    file = QuorumStateFile(epoch, change["leader"], change["voted"])
    return {"role": role, "epoch": epoch, "quorum_state": file, **change}


QUORUM: Rows = {1: leading(), 2: follower(), 3: follower()}
UNHEARD = follower(high_watermark=UNDEFINED)
NO_LEADER: Rows = {
    1: row_of("Resigned", 1, 1, 1, LOG),
    2: UNHEARD,
    3: follower(log_of(1), high_watermark=UNDEFINED),
}
SHORT: Rows = {
    1: leading(end_offsets=(-1, 2, 1)),
    2: follower(),
    3: follower(log_of(1), high_watermark=1),
}
FIRST: Rows = {
    1: leading(log_of(1), high_watermark=UNDEFINED),
    2: follower((), high_watermark=UNDEFINED),
    3: follower((), high_watermark=UNDEFINED),
}
"""The leader alone has the first record."""
UNFLUSHED: Rows = {
    n: row if n == 1 else follower(log_of(1), flushed=0, high_watermark=UNDEFINED)
    for n, row in FIRST.items()
}
WRITTEN: Rows = {**QUORUM, 1: leading(LONGER)}
NEXT_LOG = (*LOG, Entry(2, 0))
NEXT: Rows = {
    1: leading(),
    2: row_of("Follower", 2, 3, 3, NEXT_LOG),
    3: leader_of(3, 2, NEXT_LOG, high_watermark=UNDEFINED),
}
"""Node 3 leads epoch 2, and has committed nothing in it."""
IN_DOUBT: Rows = {**QUORUM, 2: row_of("Unattached", 1, voted=1, log=LOG)}
"""Node 2 came back and knows of no high watermark."""


class Plant(NamedTuple):
    """A violation: a quorum in order, and what the row of one of its nodes changes to.

    said: words of what is wrong. first: the property that is violated before this one, if any is.
    """

    name: str
    said: str
    node: int
    change: dict[str, Any]
    before: Rows = QUORUM
    earlier: tuple[Rows, ...] = ()
    first: str = ""


def history_of(*rows: Rows) -> QuorumHistory:
    """The history of a run through these states, and two steps on in the last."""
    history = history_init(THREE)
    for each in (*rows, rows[-1], rows[-1]):
        history = history_next(history, each)
    return history


def _typed(field: str, node: int, *values: Any) -> list[Plant]:
    return [Plant("RowTypeInv", f"impossible {field}", node, {field: value}) for value in values]


def _fits(what: str, node: int, change: dict[str, Any], before: Rows = QUORUM) -> Plant:
    return Plant("ValidRolesAndStates", f"not fit its {what}", node, change, before)


def _two_leaders(change: dict[str, Any], before: Rows = QUORUM) -> Plant:
    return Plant("ElectionSafety", "knows leader", 2, change, before)


PLANTS = [
    *_typed("role", 2, "Busy"),
    *_typed("epoch", 2, -1),
    *_typed("leader", 2, 7, -2),
    *_typed("voted", 2, 7, -2),
    *_typed("flushed", 2, 3, -1),
    *_typed("high_watermark", 2, 3, -2),
    *_typed("granted", 2, (7,)),
    *_typed("rejected", 2, (7,)),
    Plant("RowTypeInv", "impossible rejected", 2, {"granted": (3,), "rejected": (3,)}),
    *_typed("epoch_start", 1, 3, -2),
    *_typed("unacked", 2, (2,), (7,)),
    *_typed("fetched_voters", 1, (1,), (7,)),
    *_typed("connections", 2, ("Ready", "Ready", "Busy")),
    _fits("parked fetches", 2, {"parked": (fetch_request(),)}),
    _fits("votes", 2, {"granted": (2,)}),
    _fits("votes", 2, {"rejected": (3,)}),
    _fits("votes", 1, {"granted": (1, 2)}),
    _fits("epoch start", 2, {"epoch_start": 1}),
    _fits("epoch start", 1, {"epoch_start": UNDEFINED}),
    _fits("leader", 1, {"leader": 2}),
    _fits("leader", 1, {"leader": 2}, NO_LEADER),
    _fits("leader", 2, {"leader": NOBODY}),
    _fits("leader", 2, {"leader": 2}),
    _fits("leader", 2, alone("Candidate", 2, voted=2, leader=3)),
    _fits("leader", 2, alone("Candidate", 2, voted=3)),
    _fits("voters to tell", 2, {"unacked": (1,)}),
    _fits("voters to tell", 1, {"unacked": (2,)}),
    Plant("NoIllegalState", "stopped in epoch 1", 2, {"role": "Halted"}),
    _two_leaders({"leader": 3}),
    _two_leaders(alone("Resigned", 1, leader=2)),
    _two_leaders(alone("Leader", 1, leader=2, epoch_start=0)),
    _two_leaders(alone("Unattached", 1, leader=3)),
    _two_leaders(alone("Prospective", 1, leader=3)),
    _two_leaders(alone("Down", 1, leader=3)),
    _two_leaders({"leader": 3}, NO_LEADER),
    Plant("VoteOnce", "in epoch 1 node 2 voted for (1, 3)", 2, {"voted": 3}),
    Plant("LogMatchingCommitted", "differ", 2, {"log": (LOG[0], Entry(1, 9))}),
    Plant("LogMatchingCommitted", "high watermark 1", 3, {"log": (Entry(1, 9),)}, SHORT),
    Plant("LogMatching", "offset 2", 2, {"log": OTHER}, WRITTEN),
    Plant("LogMatching", "offset 1", 2, {"log": (Entry(0, 9), LOG[1])}, IN_DOUBT),
    Plant(
        "LeaderCompleteness",
        "leader 3 of epoch 2 lacks",
        3,
        {
            **alone("Leader", 2, leader=3, voted=3, epoch_start=1),
            "log": log_of(1, 2),
            "epoch_cache": cache_of(log_of(1, 2)),
        },
        SHORT,
    ),
    Plant("MajorityReachedHighWatermark", "voters 1 alone has", 1, {"high_watermark": 3}, WRITTEN),
    Plant(
        "MajorityReachedHighWatermark",
        "voters 1 alone has",
        1,
        {"high_watermark": 3},
        {**QUORUM, 1: leading(LONGER), 2: follower((*LOG, Entry(2, 0)))},
    ),
    Plant(
        "DurableMajority",
        "voters 1 alone has",
        1,
        {"high_watermark": 3},
        {**WRITTEN, 2: follower(LONGER, flushed=2)},
    ),
    Plant(
        "DurableMajority",
        "voters 1 alone has",
        1,
        {"high_watermark": 3},
        {**WRITTEN, 2: follower((*LOG, Entry(2, 0)))},
        first="MajorityReachedHighWatermark",
    ),
    Plant("MajorityReachedHighWatermark", "voters 1 alone has", 1, {"high_watermark": 1}, FIRST),
    Plant("DurableMajority", "voters 1 alone has", 1, {"high_watermark": 1}, UNFLUSHED),
    Plant("CommittedSurvives", "voters 1 alone has", 2, {"flushed": 1}, NO_LEADER, (QUORUM,)),
    Plant(
        "CommittedSurvives",
        "voters 1 alone has",
        2,
        {"log": log_of(1), "flushed": 1},
        NO_LEADER,
        (QUORUM,),
    ),
    Plant(
        "CommittedSurvives",
        "voters 1 alone has",
        2,
        {"log": log_of(1, 2), "epoch_cache": cache_of(log_of(1, 2))},
        NO_LEADER,
        (QUORUM,),
    ),
    Plant("UniqueEntry", "values (2, 9)", 2, {"log": OTHER, "flushed": 3}, earlier=(WRITTEN,)),
    Plant("EpochCacheSound", "node 2", 2, {"epoch_cache": ()}),
    Plant("EpochCacheSound", "node 2", 2, {"epoch_cache": (CacheEntry(1, 0), CacheEntry(2, 2))}),
    Plant("AnnouncedLeaderIsCaughtUp", "epoch 1", 2, {"announced": 1}),
    Plant("AnnouncedLeaderIsCaughtUp", "epoch 2", 1, {"announced": 2}),
    Plant("AnnouncedLeaderIsCaughtUp", "epoch 2", 3, {"announced": 2}, NEXT),
    Plant(
        "AnnouncedLeaderIsCaughtUp",
        "epoch 2",
        3,
        {"announced": 2, "high_watermark": 2},
        NEXT,
    ),
    Plant("MonotonicEpoch", "node 2 went back to epoch 0", 2, alone("Unattached", 0)),
    Plant("MonotonicEpoch", "node 2 went back to epoch 0", 2, {"role": "Down", "epoch": 0}),
    Plant(
        "MonotonicEpoch",
        "quorum state of node 2 went back",
        2,
        {"role": "Down", "quorum_state": QuorumStateFile(0, NOBODY, NOBODY)},
    ),
    Plant(
        "MonotonicEpoch", "not on its disk", 2, {"quorum_state": QuorumStateFile(2, NOBODY, NOBODY)}
    ),
    Plant("MonotonicEpoch", "not on its disk", 2, {"epoch": 2}),
    Plant("MonotonicHighWatermark", "node 2 went back to 1", 2, {"high_watermark": 1}),
    Plant("MonotonicHighWatermark", "node 1 went back to 1", 1, {"high_watermark": 1}),
    Plant(
        "MonotonicHighWatermark",
        "leader 3 has high watermark 1, an earlier one had 2",
        3,
        {"high_watermark": 1},
        NEXT,
    ),
    Plant(
        "NoTruncateBelowHighWatermark",
        "below its high watermark 2",
        2,
        {"log": log_of(1), "flushed": 1, "high_watermark": UNDEFINED},
    ),
    Plant(
        "NoTruncateBelowHighWatermark",
        "below its high watermark 2",
        2,
        {
            "log": log_of(1, 2),
            "epoch_cache": cache_of(log_of(1, 2)),
            "high_watermark": UNDEFINED,
        },
    ),
    Plant(
        "NoTruncateBelowHighWatermark",
        "below its high watermark 1",
        3,
        {"log": (), "flushed": 0, "epoch_cache": (), "high_watermark": UNDEFINED},
        SHORT,
    ),
    Plant(
        "RefinesCommittedLog",
        "node 2 believes",
        2,
        {"high_watermark": 3},
        {**WRITTEN, 2: follower(LONGER)},
    ),
    Plant(
        "RefinesCommittedLog",
        "node 2 knew other records",
        2,
        {"high_watermark": 1},
        first="MonotonicHighWatermark",
    ),
    Plant(
        "RefinesCommittedLog",
        "what was committed has changed",
        1,
        {"log": (LOG[0], Entry(1, 9), Entry(1, 2)), "flushed": 3, "high_watermark": 3},
        {1: leading(), 2: UNHEARD, 3: UNHEARD},
        first="LogMatching",
    ),
]


def _fine(name: str, node: int, change: dict[str, Any], *states: Rows) -> Plant:
    """Close to a violation and none. states: the one before, and what came before that."""
    before, *earlier = states or (QUORUM,)
    return Plant(name, "", node, change, before, tuple(earlier))


BEHIND: Rows = {**NEXT, 1: leading(high_watermark=1)}
"""Leader 1 of epoch 1 is outlived."""
DOWN: Rows = {**QUORUM, 2: row_of("Down", 1, 1, 1, LOG, high_watermark=2)}
EMPTY = {"log": (), "flushed": 0, "epoch_cache": (), "high_watermark": UNDEFINED}
ASTRAY: Rows = {
    1: leading(log_of(1), high_watermark=1),
    2: follower((Entry(0, 9),), high_watermark=UNDEFINED),
    3: follower(log_of(1), high_watermark=1),
}
"""Node 2 has another record than the one that is committed, and does not know."""

TWINS = [
    _fine("RowTypeInv", 2, {"granted": (1, 2, 3)}),
    _fine("RowTypeInv", 2, {"granted": (2,), "rejected": (1, 3)}),
    _fine("RowTypeInv", 2, {"leader": NOBODY, "voted": NOBODY, "high_watermark": UNDEFINED}),
    _fine("RowTypeInv", 2, {"flushed": 0, "unacked": (1, 3)}),
    _fine("RowTypeInv", 1, {"epoch_start": 2, "fetched_voters": (2, 3)}),
    _fine("RowTypeInv", 2, {"connections": ("Ready", "Awaiting", "BackingOff")}),
    _fine("ValidRolesAndStates", 2, alone("Prospective", 1, granted=(2,), rejected=(3,))),
    _fine("ValidRolesAndStates", 2, alone("Prospective", 1, leader=1)),
    _fine("ValidRolesAndStates", 2, alone("Candidate", 2, voted=2, granted=(2,), rejected=(3,))),
    _fine("ValidRolesAndStates", 1, {"parked": (fetch_request(),)}),
    _fine("ValidRolesAndStates", 1, {"unacked": (2,)}, NO_LEADER),
    _fine("ElectionSafety", 2, alone("Follower", 2, leader=3)),
    _fine("ElectionSafety", 2, {"leader": NOBODY}),
    _fine("VoteOnce", 2, alone("Unattached", 2, voted=3)),
    _fine("LogMatchingCommitted", 2, {"log": (LOG[0], Entry(1, 9)), "high_watermark": 1}),
    _fine("LogMatchingCommitted", 2, {"log": (Entry(1, 9),), "high_watermark": 0}),
    _fine("LogMatching", 2, {"log": (LOG[0], Entry(2, 9))}),
    _fine("LogMatching", 2, {"log": LONGER}),
    _fine("LeaderCompleteness", 1, {"log": log_of(1), "high_watermark": 1}, NEXT, QUORUM),
    _fine("LeaderCompleteness", 2, {"log": ()}),
    _fine("MajorityReachedHighWatermark", 2, {"log": LONGER, "high_watermark": 3}),
    _fine("MajorityReachedHighWatermark", 3, {"log": ()}),
    _fine("DurableMajority", 2, {"log": LONGER, "high_watermark": 3}),
    _fine("DurableMajority", 3, {"flushed": 1}),
    _fine("CommittedSurvives", 3, {"log": (), "flushed": 0}),
    _fine("UniqueEntry", 2, {"log": (*LOG, Entry(2, 9))}, QUORUM, WRITTEN),
    _fine("EpochCacheSound", 2, {"role": "Down", "epoch_cache": ()}),
    _fine("AnnouncedLeaderIsCaughtUp", 3, {"announced": 2, "high_watermark": 3}, NEXT),
    _fine("MonotonicEpoch", 2, {"role": "Down", "quorum_state": QuorumStateFile(2, 2, 2)}),
    _fine("MonotonicHighWatermark", 2, {"high_watermark": UNDEFINED}),
    _fine("MonotonicHighWatermark", 1, {"fetched_voters": (2,)}, BEHIND, QUORUM),
    _fine("NoTruncateBelowHighWatermark", 2, {**EMPTY, "role": "Down"}),
    _fine("NoTruncateBelowHighWatermark", 2, {**EMPTY, "role": "Unattached"}, DOWN),
    _fine("NoTruncateBelowHighWatermark", 2, {"log": LONGER}),
    _fine("RefinesCommittedLog", 2, {"log": (), "high_watermark": UNDEFINED}),
    _fine("RefinesCommittedLog", 2, {"log": LONGER}),
    _fine("RefinesCommittedLog", 2, {"log": (Entry(1, 9),)}, UNFLUSHED),
    _fine("RefinesCommittedLog", 2, {"log": log_of(1), "high_watermark": 1}, ASTRAY),
]
