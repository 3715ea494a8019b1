"""A broker's replica of a compacted partition: the twin of Compaction.tla.

Law of this file: a handler sees the replica's row and one input, and answers with the one outcome
that the spec allows, or with None where the spec allows none (the input is disabled). Every
decision is asked of `rules`.

What the partition does with the replica are inputs: its rules ask of a record for its offset and
its epoch alone, and know nothing of a cleaning. A batch without a key in `kept` is a hole.

Left out: which epochs a follower learns of that fetches over a hole (docs/reference/joins.md), the
limit of what is cleaned by age (min.compaction.lag.ms), transactions' markers in the log.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from kraftcheck.reference.kit.dispatch import handlers_of
from kraftcheck.reference.kit.protocol import Outcome
from kraftcheck.reference.partition.compaction.messages import (
    INPUTS,
    AppendBatch,
    CleanSegment,
    CopyBatches,
    CutReplica,
    Input,
    ReadBatch,
    ReplicaCrash,
    RollSegment,
    StartCleaning,
    StartLoading,
    Unload,
)
from kraftcheck.reference.partition.compaction.rules import CompactionRules
from kraftcheck.reference.partition.compaction.types import (
    Batch,
    CompactedReplica,
    Constants,
    LoadedKey,
)


def not_cleaning(row: CompactedReplica) -> CompactedReplica:
    return replace(row, clean_to=0, clean_next=0)


def not_read(row: CompactedReplica) -> CompactedReplica:
    return replace(row, state="Idle", position=0, loaded=())


def replayed(known: tuple[LoadedKey, ...], batch: Batch) -> tuple[LoadedKey, ...]:
    rest = [each for each in known if each.key not in batch.kept]
    new = [LoadedKey(key, batch.value) for key in batch.kept if key not in batch.removed]
    return tuple(sorted((*rest, *new)))


def end_of_segment(row: CompactedReplica, begin: int) -> int:
    """Where the segment ends that begins here."""
    return next((each for each in row.segments if each > begin), len(row.log))


class CompactionHandlers:
    """The handlers, for one set of constants and one set of rules."""

    def __init__(self, constants: Constants, rules: CompactionRules | None = None) -> None:
        self.constants = constants
        self.rules = CompactionRules(constants) if rules is None else rules
        self._handlers: dict[type, Callable[[CompactedReplica, Any], CompactedReplica | None]] = (
            handlers_of(self, INPUTS)
        )

    def step(self, row: CompactedReplica, input: Input) -> Outcome | None:
        """One step of a replica, or None where the input is disabled."""
        after = self._handlers[type(input)](row, input)
        return None if after is None else Outcome(after)

    def is_batch(self, batch: Batch) -> bool:
        keys = {*batch.keys}
        within = keys <= {*self.constants.keys} and {*batch.removed, *batch.kept} <= keys
        return bool(keys) and within

    # --- What the partition does with the replica.

    def handle_append_batch(
        self, row: CompactedReplica, input: AppendBatch
    ) -> CompactedReplica | None:
        """The batch is appended, and replayed (G2)."""
        batch = input.batch
        whole = self.is_batch(batch) and batch.kept == batch.keys
        if row.state != "Loaded" or not whole or batch.offset != len(row.log):
            return None
        return replace(
            row,
            log=(*row.log, batch),
            position=row.position + 1,
            loaded=replayed(row.loaded, batch),
        )

    def handle_copy_batches(
        self, row: CompactedReplica, input: CopyBatches
    ) -> CompactedReplica | None:
        if row.state != "Idle":
            return None
        for offset, batch in enumerate(input.batches, len(row.log)):
            if batch.offset != offset or not self.is_batch(batch):
                return None
        return replace(
            row,
            log=(*row.log, *self.rules.copied_batches(input.batches)),
            covered=max(row.covered, input.covered),
        )

    def handle_cut_replica(
        self, row: CompactedReplica, input: CutReplica
    ) -> CompactedReplica | None:
        """A cleaning is given up for it (LogManager.truncateTo)."""
        to = input.to
        if row.state != "Idle" or not 0 <= to < len(row.log):
            return None
        return replace(
            not_cleaning(row),
            log=row.log[:to],
            aged=tuple([at for at in row.aged if at <= to]),
            segments=tuple([each for each in row.segments if each == 0 or each < to]),
            cleaned=min(row.cleaned, to),
        )

    def handle_replica_crash(
        self, row: CompactedReplica, input: ReplicaCrash
    ) -> CompactedReplica | None:
        if row.state == "Idle" and not row.clean_to:
            return None
        return not_read(not_cleaning(row))

    # --- Segments and their cleaner.

    def handle_roll_segment(
        self, row: CompactedReplica, input: RollSegment
    ) -> CompactedReplica | None:
        end = len(row.log)
        return replace(row, segments=(*row.segments, end)) if row.segments[-1] < end else None

    def handle_start_cleaning(
        self, row: CompactedReplica, input: StartCleaning
    ) -> CompactedReplica | None:
        to = self.rules.cleanable_end(row, input.high_watermark)
        if row.clean_to or input.high_watermark > len(row.log) or to <= row.cleaned:
            return None
        told = max(row.high_watermark, input.high_watermark)
        return replace(row, clean_to=to, clean_next=0, high_watermark=told)

    def handle_clean_segment(
        self, row: CompactedReplica, input: CleanSegment
    ) -> CompactedReplica | None:
        """It takes the place of the old one."""
        if not row.clean_to:
            return None
        end = min(end_of_segment(row, row.clean_next), row.clean_to)
        within = range(row.clean_next + 1, end + 1)
        written = [self._cleaned(row, at, input.expired) for at in within]
        aged = {*row.aged, *[at for at in within if row.log[at - 1].removed]}
        after = replace(
            row,
            log=(*row.log[: row.clean_next], *written, *row.log[end:]),
            aged=tuple(sorted(aged)),
            covered=max(row.covered, row.clean_to),
            clean_next=end,
        )
        return replace(not_cleaning(after), cleaned=end) if end == row.clean_to else after

    def _cleaned(self, row: CompactedReplica, at: int, expired: int) -> Batch:
        rules, batch = self.rules, row.log[at - 1]
        kept = [
            key
            for key in batch.kept
            if not rules.is_superseded(row, at, key)
            and not (key in batch.removed and rules.may_drop_tombstone(row, at, expired))
        ]
        return replace(batch, kept=tuple(kept))

    # --- A coordinator loads the log (G6).

    def handle_start_loading(
        self, row: CompactedReplica, input: StartLoading
    ) -> CompactedReplica | None:
        return replace(row, state="Loading") if row.state == "Idle" else None

    def handle_read_batch(self, row: CompactedReplica, input: ReadBatch) -> CompactedReplica | None:
        if row.state != "Loading":
            return None
        at = self.rules.next_to_read(row)
        if not at:
            return replace(row, state="Loaded", position=len(row.log))
        loaded = replayed(row.loaded, row.log[at - 1])
        return replace(row, position=at, loaded=loaded)

    def handle_unload(self, row: CompactedReplica, input: Unload) -> CompactedReplica | None:
        return None if row.state == "Idle" else not_read(row)
