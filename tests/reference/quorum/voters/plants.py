"""A violation of each property of voters that come and go: what changes in a state in order."""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from kraftcheck.reference.kit.log import LEADER_CHANGE, UNDEFINED, CacheEntry, cache_of
from kraftcheck.reference.kit.protocol import HISTORY
from kraftcheck.reference.quorum.types import QuorumStateFile
from kraftcheck.reference.quorum.voters.properties import committed_next
from kraftcheck.reference.quorum.voters.protocol import VOTERS
from kraftcheck.reference.quorum.voters.types import (
    VOTERS_RECORD,
    Constants,
    VoterRow,
    VotersAt,
    VotersEntry,
    VotersLog,
)
from tests.reference.plain import Plant, Planted, Rows, initial_rows

THREE: Final = Constants((1, 2, 3), (1, 2), 2, auto_join=True, listeners_change=True)
ALL: Final = (1, 2, 3)
OPENED: Final = VotersEntry(1, LEADER_CHANGE)


def voters(*nodes: int, epoch: int = 1) -> VotersEntry:
    return VotersEntry(epoch, VOTERS_RECORD, nodes)


LOG: Final = (OPENED, voters(*ALL))


def first_rows() -> Rows:
    return {**initial_rows(VOTERS, THREE), HISTORY: ()}


def with_log(row: VoterRow, log: VotersLog, **fields: Any) -> VoterRow:
    """The row with this log, flushed, and all that follows from it; and fields of the quorum's."""
    sets = [VotersAt(at, entry.voters) for at, entry in enumerate(log) if entry.voters]
    known = {"log": log, "flushed": len(log), "epoch_cache": cache_of(log), **fields}
    history = (VotersAt(UNDEFINED, THREE.first_voters), *sets)
    return replace(row, **known, history=history, history_end=len(log))


def following(log: VotersLog = LOG, **fields: Any) -> VoterRow:
    """A node that follows leader 1 in epoch 1, without a high watermark."""
    row: VoterRow = first_rows()[2]
    own = {"role": "Follower", "epoch": 1, "leader": 1, "quorum_state": QuorumStateFile(1, 1, -1)}
    return with_log(row, log, **{**own, **fields})


def leading(log: VotersLog = LOG, known: int = 2, **fields: Any) -> VoterRow:
    """Node 1 as leader of epoch 1, with this high watermark."""
    own = {"role": "Leader", "epoch_start": 0, "high_watermark": known, "announced": 1}
    return following(log, **{**own, **fields})


def settled() -> Rows:
    """Node 3 has joined, and all know it."""
    return state({1: leading(end_offsets=(-1, 2, 2)), 2: following(), 3: following()})


def state(rows: Rows, before: Rows | None = None) -> Rows:
    """With the past, as it is after it was that of the rows before."""
    past = {HISTORY: ()} if before is None else before
    return {**rows, HISTORY: committed_next(THREE, past, rows)}


def plants() -> tuple[Plant, ...]:
    before = settled()
    ours = (*LOG, voters(1, 3))
    short = LOG[:1]
    second = {"epoch": 2, "quorum_state": QuorumStateFile(2, 2, -1)}
    changed = {
        "NoIllegalState": {2: following(role="Halted")},
        "ElectionSafety": {3: following(leader=2)},
        "LogMatching": {3: following((VotersEntry(1, 7), voters(*ALL)))},
        "LogMatchingCommitted": {
            2: following((OPENED, voters(*ALL, epoch=2)), high_watermark=2),
        },
        "LeaderCompleteness": {
            2: following(
                (OPENED, VotersEntry(2, LEADER_CHANGE)),
                **{**second, "role": "Leader", "leader": 2, "epoch_start": 1},
            ),
        },
        "EpochCacheSound": {3: following(epoch_cache=(CacheEntry(1, 1),))},
        "AdjacentSets": {3: following((*LOG, voters(1)))},
        "OneChangeAtATime": {1: leading((*ours, voters(1, 2, 3)))},
        "VotersAreKnown": {3: replace(following(), history=(VotersAt(-1, ()),))},
        "HistorySound": {3: replace(following(), history=before[3].history[:1])},
        "CommittedSetsOneLine": {
            3: replace(following(high_watermark=2), history=before[3].history[:1])
        },
        "NoDisjointMajorities": {
            1: leading((OPENED, voters(1)), 1),
            2: following((OPENED, voters(2))),
        },
        "CommittedSurvives": {2: following(short), 3: following(short)},
        "WouldBeVoterFlushed": {3: following(flushed=1)},
        "RemovedLeaderResigns": {
            n: (leading((*LOG, voters(2, 3)), 3) if n == 1 else following((*LOG, voters(2, 3))))
            for n in ALL
        },
    }
    moved = replace(LOG[1], moved=(2,))
    changed |= {
        "UpdatesStay": {3: following((OPENED, moved, voters(1, 2)))},
        "RemovedStaysOut": {2: replace(following((*LOG, voters(1, 3))), asks="AddVoter")},
    }
    found = [
        Plant(name, before, state({**before, **rows}, before)) for name, rows in changed.items()
    ]
    uncaught = {**before, 1: leading((*LOG, voters(1, 2)), 2)}
    alone = {**before, 1: leading(LOG[:1], 1)}
    joins = [
        # Before the last set is committed, before a record of its epoch is, and one who lags.
        Plant("NoIllegalJoin", was, state({**was, 1: leading(log, known)}, was))
        for was, log, known in (
            (uncaught, (*uncaught[1].log, voters(1, 2, 3)), 2),
            ({**before, 1: leading(known=-1)}, (*LOG, voters(1, 2)), -1),
            (alone, LOG, 1),
        )
    ]
    return (*found, *joins)


PLANTED: Final = Planted(VOTERS, THREE, first_rows(), settled(), plants())
