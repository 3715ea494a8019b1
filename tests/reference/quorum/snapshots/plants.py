"""A violation of each property of snapshots: what changes in a state in order. Those of where
voters change are the same, of rows that have one of theirs.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from kraftcheck.reference.kit.protocol import HISTORY
from kraftcheck.reference.quorum.snapshots.protocol import SNAPSHOTS
from kraftcheck.reference.quorum.snapshots.types import (
    NO_ID,
    Constants,
    Machine,
    Snapshot,
    SnapshotId,
    SnapshotRow,
    Stable,
)
from kraftcheck.reference.quorum.voters.properties import OF_OPTIONS, committed_next
from kraftcheck.reference.quorum.voters.types import VoterRow, VotersEntry
from tests.reference.plain import Plant, Planted, Rows, initial_rows
from tests.reference.quorum.voters import plants as of_voters
from tests.reference.quorum.voters.plants import ALL, LOG, OPENED, following, leading

THREE: Final = Constants((1, 2, 3), (1, 2), 2)
ONE: Final = Snapshot(1, 1, LOG[:1])
BOTH: Final = Snapshot(2, 1, LOG)
TOLD: Final = VotersEntry(1, 7)


def first_rows() -> Rows:
    return {**initial_rows(SNAPSHOTS, THREE), HISTORY: ()}


def with_voter(voter: VoterRow, **fields: Any) -> SnapshotRow:
    """The row of a node of which this is known."""
    row: SnapshotRow = first_rows()[1]
    known = {field: getattr(voter, field) for field in VoterRow.__struct_fields__}
    return replace(row, **known, **fields)


def loaded(voter: VoterRow, snapshot: Snapshot = BOTH) -> SnapshotRow:
    """The row of a node whose log begins where its only snapshot ends."""
    known = [s for s in voter.history if s.offset >= snapshot.end_offset - 1]
    trimmed = replace(voter, history=tuple(known) or voter.history)
    return with_voter(trimmed, log_start=snapshot.end_offset, snapshots=(snapshot,))


def of_rows(rows: Rows) -> Rows:
    return {n: row if n == HISTORY else with_voter(row) for n, row in rows.items()}


def settled() -> Rows:
    """Node 3 has joined, and all know it; node 2 has a snapshot of it."""
    rows = of_rows(of_voters.settled())
    return {**rows, 2: loaded(rows[2])}


def state(rows: Rows, before: Rows) -> Rows:
    """With the past, as it is after it was that of the rows before."""
    return {**rows, HISTORY: committed_next(THREE, before, rows)}


def plants() -> tuple[Plant, ...]:
    before = settled()
    forgets = replace(following(), history=following().history[:1])
    changed = {
        "HistorySound": {3: with_voter(forgets)},
        "CommittedSetsOneLine": {
            3: with_voter(replace(following(high_watermark=2), history=forgets.history))
        },
        "SnapshotIsPrefix": {3: with_voter(following(), snapshots=(Snapshot(1, 1, LOG),))},
        "PrefixKeepsCommitted": {3: with_voter(following(), log_start=1)},
        "LogStartCovered": {3: with_voter(following(), log_start=1, snapshots=(BOTH,))},
        "ControllerStateIsReplay": {
            3: with_voter(following(high_watermark=2), machine=Machine(2, (TOLD,), Stable(0, ())))
        },
    }
    found = [
        Plant(name, before, state({**before, **rows}, before)) for name, rows in changed.items()
    ]
    asks = {**before, 3: with_voter(following(), download=SnapshotId(2, 1))}
    other = replace(leading((OPENED, VotersEntry(1, 7)), -1), history=leading().history)
    loads = [
        # As a leader, and something else than what is committed.
        Plant("LoadsCommitted", was, state({**was, 3: after}, was))
        for was, after in (
            ({**asks, 3: with_voter(leading(), download=SnapshotId(2, 1))}, loaded(following())),
            (asks, replace(loaded(other), download=NO_ID)),
        )
    ]
    own = {*changed, "LoadsCommitted", *OF_OPTIONS}
    others = [
        Plant(plant.violates, of_rows(plant.before), of_rows(plant.after))
        for plant in of_voters.plants()
        if plant.violates not in own
    ]
    return (*others, *found, *loads)


def reads(*records: Any, end: int) -> Rows:
    """The controller of node 3 has these records of all below the end."""
    machine = Machine(end, records, Stable(0, ()))
    return state(
        {**settled(), 3: with_voter(following(high_watermark=2), machine=machine)}, settled()
    )


TWINS: Final = (Plant("ControllerStateIsReplay", settled(), reads(end=2)),)
PLANTED: Final = Planted(SNAPSHOTS, THREE, first_rows(), settled(), plants(), TWINS)
NODES: Final = ALL
