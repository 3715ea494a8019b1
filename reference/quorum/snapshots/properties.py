"""What snapshots of the metadata log promise.

The twin of specs/quorum/snapshots/SnapshotProperties.tla.

Law of this file: nothing here asks a rule. Those of a log, its leaders and its voters are those of
reference/quorum/voters, of all that a node has, be it in its log or in its snapshot.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from kraftcheck.reference.kit.log import UNDEFINED
from kraftcheck.reference.kit.properties import Declared
from kraftcheck.reference.kit.protocol import Property
from kraftcheck.reference.quorum.snapshots.types import NO_ID, NO_MACHINE, Constants, SnapshotRow
from kraftcheck.reference.quorum.types import is_running
from kraftcheck.reference.quorum.voters import properties as voters
from kraftcheck.reference.quorum.voters.types import VotersLog

Rows: TypeAlias = Mapping[int, SnapshotRow]


def oldest_known(constants: Constants, row: SnapshotRow) -> int:
    """The offset of the set that was in force at the end of what the latest snapshot has."""
    end = max([s.end_offset for s in row.snapshots], default=0)
    sets = voters.sets_of(constants, row.log)
    return max([each.offset for each in sets if each.offset < end or each.offset == UNDEFINED])


_property = Declared("constants", "before", "after", "committed")


# --- Sets, where the oldest are no longer known ---


@_property("state")
def history_sound(constants: Constants, after: Rows) -> str | None:
    """A running node knows exactly the voter sets of its latest snapshot and its log.

    Misses: a log with wrong sets.
    """
    for n, row in after.items():
        oldest = oldest_known(constants, row)
        sets = voters.sets_of(constants, row.log)
        known = tuple([each for each in sets if each.offset >= oldest])
        if is_running(row) and row.history != known:
            return f"node {n} knows the sets {row.history}, not those of what it has"
    return None


@_property("state")
def committed_sets_one_line(constants: Constants, after: Rows, committed: VotersLog) -> str | None:
    """All nodes know the same committed voter sets, from their latest snapshot to their high
    watermark.

    Misses: a committed set that no node knows to be committed.
    """
    line = voters.sets_of(constants, committed)
    for n, row in after.items():
        if not is_running(row):
            continue
        end = max(row.high_watermark, 0)
        settled = range(oldest_known(constants, row), end)
        known, right = (
            [each for each in sets if each.offset in settled] for sets in (row.history, line)
        )
        if known != right:
            return f"node {n} knows other committed sets below its high watermark {end}"
    return None


# --- Snapshots ---


@_property("state")
def snapshot_is_prefix(after: Rows, committed: VotersLog) -> str | None:
    """A snapshot contains exactly the committed records below its end.

    Misses: a truncated snapshot; snapshots are fetched whole.
    """
    for n, row in after.items():
        for s in row.snapshots:
            if not 0 < s.end_offset <= len(committed) or s.records != committed[: s.end_offset]:
                return f"the snapshot of node {n} at {s.end_offset} is not what is committed there"
            if s.epoch != committed[s.end_offset - 1].epoch:
                return f"the snapshot of node {n} at {s.end_offset} is of another epoch"
    return None


@_property("state")
def prefix_keeps_committed(after: Rows) -> str | None:
    """Records that were removed from the beginning of a log are in a snapshot of the node.

    Misses: the content of the snapshot (see SnapshotIsPrefix).
    """
    for n, row in after.items():
        if row.log_start > max([s.end_offset for s in row.snapshots], default=0):
            return f"the log of node {n} begins at {row.log_start}, beyond its snapshots"
    return None


@_property("state")
def log_start_covered(after: Rows) -> str | None:
    """A log begins at the end of a snapshot of its node.

    Misses: a superfluous snapshot.
    """
    for n, row in after.items():
        start = row.log_start
        if start == 0:
            continue
        if start not in [s.end_offset for s in row.snapshots]:
            return f"the log of node {n} begins at {start}, where no snapshot ends"
        if is_running(row) and start > len(row.log):
            return f"the log of node {n} begins at {start}, and ends at {len(row.log)}"
    return None


@_property("state")
def controller_state_is_replay(after: Rows, committed: VotersLog) -> str | None:
    """A controller's state is the one of the committed records that it has read, whether it leads,
    led, or began with a snapshot (V29).

    Misses: runs without `state_machines`, and uncommitted writes of an active controller.
    """
    for n, row in after.items():
        if row.machine is NO_MACHINE:
            continue
        end = row.machine.next
        said = tuple([entry for entry in committed[:end] if entry.value > 0])
        if end > len(committed) or row.machine.records != said:
            return f"the controller of node {n} has read {row.machine.records} up to {end}"
    return None


# --- Safety of single steps ---


@_property("step")
def loads_committed(before: Rows, after: Rows, committed: VotersLog) -> str | None:
    """Only a follower loads a snapshot, and its log is then the committed log up to the snapshot's
    end (V7, V8).

    Misses: a node that needs a snapshot and never loads one.
    """
    for n, row in after.items():
        was, runs = before[n], is_running(row)
        loads = was.download != NO_ID and row.download == NO_ID and row.log_start > was.log_start
        if not runs or not loads or row.snapshots == was.snapshots:
            continue
        if was.role != "Follower":
            return f"node {n} loads a snapshot as {was.role}"
        if row.log != committed[: row.log_start]:
            return f"node {n} has something else than what is committed below {row.log_start}"
    return None


_own: Final = {each.name: each for each in voters.of_runs(_property)}
_inherited: Final = {
    each.name: _own.get(each.name, each)
    for each in voters.PROPERTIES
    if each.name not in voters.OF_OPTIONS
}
PROPERTIES: Final[tuple[Property, ...]] = tuple({**_inherited, **_own}.values())
"""All of them: those of reference/quorum/voters in their order, then those of snapshots."""
