"""The share partition as functions of its row: the twin of ShareHandlers.tla's first part.

Law of this file: every decision is asked of the rules; nothing changes its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from msgspec.structs import replace

from kraftcheck.reference.kit.fields import NOBODY
from kraftcheck.reference.shares.messages import (
    COORDINATOR,
    LEADER,
    ReadShareGroupStateResponse,
    WriteShareGroupState,
    WrittenCell,
)
from kraftcheck.reference.shares.rules import ShareRules
from kraftcheck.reference.shares.types import NO_CELL, Cell, Constants, ShareLeader


def changed(
    cells: tuple[Cell, ...], offsets: Collection[int], change: Callable[[int, Cell], Cell]
) -> tuple[Cell, ...]:
    """The cells, those of some offsets changed."""
    return tuple([change(o, c) if o in offsets else c for o, c in enumerate(cells, 1)])


def window_is_active(row: ShareLeader) -> bool:
    return row.gap != 0 and row.gap_end == row.end


def fresh(constants: Constants, row: ShareLeader) -> ShareLeader:
    """A new object, which has loaded nothing (SH1)."""
    return replace(
        row,
        incarnation=row.incarnation + 1,
        state_epoch=0,
        phase="Empty",
        start=1,
        end=1,
        cells=(NO_CELL,) * constants.records,
        gap=0,
        gap_end=0,
    )


def next_fetch(row: ShareLeader) -> int:
    """The offset that the next fetch reads from (SH5, SH6)."""
    in_window = window_is_active(row)
    for offset in range(1, row.end):
        cell = row.cells[offset - 1]
        if cell.state == "None" and in_window and row.gap <= offset:
            return offset
        if cell.state == "Available" and not cell.moving and row.start <= offset:
            return offset
    return row.end


def advanced(rules: ShareRules, row: ShareLeader) -> ShareLeader:
    """The start offset passes the cells that are done, one after the other (SH25)."""
    if row.start >= row.end or row.cells[row.start - 1].state == "None":
        return row
    passed, last = row.start, row.gap if window_is_active(row) else row.end
    while passed < min(last, row.end):
        cell = row.cells[passed - 1]
        if cell.state != "None" and not rules.may_pass(cell):
            break
        passed += 1
    to = rules.advanced_start(row, passed)
    return replace(row, start=to, cells=(NO_CELL,) * (to - 1) + row.cells[to - 1 :])


def moved_start(rules: ShareRules, row: ShareLeader) -> ShareLeader:
    """A read was before the log's start (SH7)."""
    start = row.log_start
    if start <= row.start:
        return row
    kept = window_is_active(row) and row.end > start

    def archived(offset: int, cell: Cell) -> Cell:
        is_free = cell.state == "Available"
        return replace(cell, state="Archived", final=True) if is_free else cell

    return replace(
        row,
        start=start,
        end=max(row.end, start),
        gap=rules.moved_gap(row, start) if kept else 0,
        gap_end=row.gap_end if kept else 0,
        cells=changed(row.cells, range(1, start), archived),
    )


def acquirable(rules: ShareRules, row: ShareLeader, offset: int) -> tuple[int, ...]:
    """What may be acquired of the batch that has an offset (SH8, SH9)."""
    constants = rules.constants
    base = constants.base_of(offset)
    found = []
    for o in range(rules.acquirable_from(row, base), constants.end_of_batch(base) + 1):
        cell = row.cells[o - 1]
        is_free = cell.state == "None" or (cell.state == "Available" and not cell.moving)
        if is_free and rules.may_acquire(row, o):
            found.append(o)
    return tuple(found)


def acquired(row: ShareLeader, offsets: Collection[int], member: int) -> ShareLeader:
    last = max(offsets)
    beyond = last >= row.end
    kept = window_is_active(row) and not beyond

    def of_member(_: int, cell: Cell) -> Cell:
        return replace(NO_CELL, state="Acquired", count=cell.count + 1, member=member)

    return replace(
        row,
        cells=changed(row.cells, offsets, of_member),
        end=last + 1 if beyond else row.end,
        gap=last + 1 if kept else 0,
        gap_end=row.gap_end if kept else 0,
    )


def write_of(row: ShareLeader, changes: Collection[int], of: ShareLeader) -> WriteShareGroupState:
    """What is written of the cells of another row (SH26)."""
    cells = [(o, of.cells[o - 1]) for o in sorted(changes)]
    return WriteShareGroupState(
        LEADER,
        COORDINATOR,
        row.leader_epoch,
        row.incarnation,
        row.state_epoch,
        row.start,
        tuple([WrittenCell(o, cell.state, cell.count) for o, cell in cells]),
    )


def settled(rules: ShareRules, cell: Cell, ok: bool) -> Cell:
    """A cell after its write (SH20, SH21)."""
    still = replace(cell, moving=False, previous=NOBODY, expired=False)
    if ok or rules.final_stays(cell):
        return still
    if rules.releases_expired(cell):
        return replace(still, state=rules.rolled_back(cell.count))
    return replace(still, state="Acquired", member=cell.previous, expired=cell.expired)


def completed(
    rules: ShareRules, row: ShareLeader, write: WriteShareGroupState, ok: bool
) -> ShareLeader:
    def of_write(_: int, cell: Cell) -> Cell:
        return settled(rules, cell, ok) if cell.moving else cell

    written = {cell.offset for cell in write.cells}
    return replace(row, cells=changed(row.cells, written, of_write))


def loaded_row(
    rules: ShareRules, row: ShareLeader, m: ReadShareGroupStateResponse, start: int
) -> ShareLeader:
    """What a load makes of the stored state (SH3)."""
    known = {o for o, cell in enumerate(m.cells, 1) if o >= start and cell.state != "None"}
    end = max(known, default=start - 1) + 1
    gap = rules.loaded_gap(row, [o for o in range(start, end) if o not in known])

    def loaded(offset: int, _: Cell) -> Cell:
        stored = m.cells[offset - 1]
        return replace(NO_CELL, state=stored.state, count=stored.count)

    cells = changed((NO_CELL,) * len(row.cells), known, loaded)
    after = replace(
        row,
        state_epoch=m.state_epoch,
        phase="Active",
        start=start,
        end=end,
        cells=cells,
        gap=gap,
        gap_end=end if gap else 0,
    )
    return advanced(rules, after)
