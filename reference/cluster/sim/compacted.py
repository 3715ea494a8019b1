"""Hold the replicas of a coordinator's log in a cluster.

Each is cleaned by its own broker when that likes, and read when the broker is elected.

A replica does what the partition's broker does: batches that a leader appends come to it in the
same step, what a follower has fetched or cut right after it. A follower fetches what its leader has
left of its log. The cleaner of a broker, and whoever loads, take steps in between.

What the cleaner is told is the high watermark of its broker. The time of a tombstone is over when
every replica is past it, and whoever loads: nobody is behind, and no load takes, as long as
delete.retention.ms (24 hours).

Law of this file: it decides when a replica takes a step, and of what; rows are changed by the steps
of the component alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from kraftcheck.reference.cluster.sim.partition import ClusterPartition
from kraftcheck.reference.core.run import Run, Whole
from kraftcheck.reference.core.system import NodeMemo
from kraftcheck.reference.drivers.options import options_of
from kraftcheck.reference.partition.compaction.messages import (
    AppendBatch,
    CleanSegment,
    CopyBatches,
    CutReplica,
    ReadBatch,
    ReplicaCrash,
    RollSegment,
    StartCleaning,
    StartLoading,
    Unload,
)
from kraftcheck.reference.partition.compaction.types import Batch, CompactedReplica
from kraftcheck.reference.sim.choices import Chooser, chance, pick, stream_of_option
from kraftcheck.reference.sim.events import CALL, EventLoop, Queue
from kraftcheck.reference.sim.recorder import Recorder
from kraftcheck.traces.schema import STOPPED

CLEANING_MS: Final = (20, 60, 150)
"""From one look of a cleaner at its log to the next."""
SEGMENT_MS: Final = (1, 5, 20)
"""For a segment to be cleaned."""
READING_MS: Final = (1, 20, 60)
"""For a batch to be read."""
ROLLED: Final = 400
"""Per mille: so often a cleaner finds that another segment became active."""
EXPIRED: Final = 500
"""Per mille: of the segments that are cleaned, so many find the time over of all tombstones for
which it may be."""


class CompactedReplicas(EventLoop, Run):
    """All replicas of the log, with a queue of their own."""

    def __init__(
        self,
        whole: Whole,
        partition: ClusterPartition,
        component: int,
        keys: int,
        chooser: Chooser,
        memo: NodeMemo,
        recorder: Recorder,
        watched: bool,
    ) -> None:
        """keys: so many there are in the log."""
        options = replace(
            options_of(memo.protocol).off,
            replicas=partition.brokers,
            keys=tuple(range(1, 1 + keys)),
            watched=watched,
        )
        super().__init__(options, memo, recorder)
        self._whole, self._partition = whole, partition
        self.part_of, self.component = whole, component
        self._clock = chooser.stream(stream_of_option("cleaned"))
        self.queue = Queue()
        self.closed = self._looking = False
        self._followed: dict[int, Any] = dict.fromkeys(partition.brokers)
        """By broker, its log as the replica has it."""
        self._written: dict[int, Batch] = {}
        """By value."""
        for broker in partition.brokers:
            self._later(CLEANING_MS, self._clean, broker)

    def _later(self, ms: tuple[int, ...], what: Callable[[int], None], broker: int) -> None:
        def unless_closed(broker: int) -> None:
            if not self.closed:
                what(broker)

        due = self.now + 1000 * pick(self._clock, ms)
        self.queue.push(due, CALL, broker, unless_closed)

    def row(self, broker: int) -> CompactedReplica:
        row: CompactedReplica = self.state(broker).row
        return row

    def _do(self, broker: int, input: Any) -> bool:
        """A replica takes a step, if it can. Whether it did, and the run goes on."""
        step = self.step(broker, self.known(input))
        if step is None or self.closed:
            return False
        if not self.make(self.now, step):
            self._stop()
        return not self.closed

    def _stop(self) -> None:
        """Stop where a property is violated.

        Nobody promises any, where more was lost than the partition bears.
        """
        self.closed = True
        self._partition.judge_promise()
        if self._partition.is_promised:
            self._whole.end(STOPPED)
        else:
            self.violations.clear()

    # --- What the partition does

    def append(self, broker: int, value: int, keys: tuple[int, ...], removed: set[int]) -> None:
        """The coordinator has written to its broker's log."""
        offset = len(self.row(broker).log)
        batch = Batch(offset, value, keys, tuple([k for k in keys if k in removed]), keys)
        self._written[value] = batch
        if self._do(broker, AppendBatch(batch)):
            self._followed[broker] = self._partition.row(broker).log

    def look_soon(self) -> None:
        """Look at the logs when the broker has taken the same step for all its partitions.

        The partition has taken a step.
        """
        if not self._looking and not self.closed and self._is_behind():
            self._looking = True
            self.queue.push(self.now, CALL, 0, lambda _: self.follow())

    def _is_behind(self) -> bool:
        return any(
            self._partition.row(broker).log is not log
            if self._partition.is_running(broker)
            else self._is_busy(broker)
            for broker, log in self._followed.items()
        )

    def _is_busy(self, broker: int) -> bool:
        row = self.row(broker)
        return row.state != "Idle" or row.clean_to > 0

    def follow(self) -> None:
        """All replicas are as the brokers' logs are."""
        self._looking = False
        for broker in self._followed:
            self._follow(broker)

    def _follow(self, broker: int) -> None:
        if not self._partition.is_running(broker):
            self._do(broker, ReplicaCrash())
            return  # What has become of its log shows when it starts.
        log = self._partition.row(broker).log
        if log is self._followed[broker]:
            return
        self._followed[broker] = log
        had = self.row(broker).log
        same = _common(had, log)
        if len(had) > same or len(log) > same:
            self._do(broker, Unload())
        if len(had) > same:
            self._do(broker, CutReplica(same))
        if len(log) > same:
            self._copy(broker, [record.value for record in log[same:]])

    def _copy(self, broker: int, values: list[int]) -> None:
        """From whoever leads, or did."""
        first = len(self.row(broker).log)
        leaders = sorted(self._followed, key=lambda b: -self._partition.row(b).leader_epoch)
        leaders.sort(key=lambda b: self._partition.row(b).role != "Leader")
        for leader in leaders:
            of = self.row(leader)
            there = of.log[first : first + len(values)]
            if leader != broker and [batch.value for batch in there] == values:
                self._do(broker, CopyBatches(there, of.covered))
                return
        whole = [self._written[value] for value in values]
        self._do(broker, CopyBatches(tuple(whole), 0))

    # --- Cleaners

    def _clean(self, broker: int) -> None:
        self.follow()
        self._later(CLEANING_MS, self._clean, broker)
        if not self._partition.is_running(broker) or self.closed:
            return
        if chance(self._clock, ROLLED):
            self._do(broker, RollSegment())
        known = min(self._partition.row(broker).high_watermark, len(self.row(broker).log))
        if self._do(broker, StartCleaning(known)):
            self._later(SEGMENT_MS, self._clean_segment, broker)

    def _clean_segment(self, broker: int) -> None:
        self.follow()
        if not self.row(broker).clean_to:
            return  # It was given up.
        expired = self._passed(broker) if chance(self._clock, EXPIRED) else 0
        if self._do(broker, CleanSegment(expired)) and self.row(broker).clean_to:
            self._later(SEGMENT_MS, self._clean_segment, broker)

    def _passed(self, broker: int) -> int:
        """Up to here all replicas have the log of this one, and all who load have read it."""
        log = self.row(broker).log
        rows = [self.row(each) for each in self._followed]
        read = [row.position for row in rows if row.state == "Loading"]
        return min(read + [_common(row.log, log) for row in rows])

    # --- Coordinators

    def load(self, broker: int, then: Callable[[], None]) -> None:
        """A broker was elected: it reads the log.

        What it was about to do then is dropped, if it crashes or another one is elected before.
        """
        self.follow()
        for each in self._followed:
            self._do(each, Unload())
        epoch = self._partition.row(broker).leader_epoch

        def read(_: int) -> None:
            self.follow()
            is_so = self._partition.row(broker).leader_epoch == epoch
            if not is_so or self.row(broker).state != "Loading":
                return
            if self._do(broker, ReadBatch()):
                if self.row(broker).state == "Loaded":
                    then()
                else:
                    self._later(READING_MS, read, broker)

        if self._do(broker, StartLoading()):
            read(broker)


def _common(one: Any, other: Any) -> int:
    """So many records are the same, by value, from the beginning on."""
    pairs = zip(one, other, strict=False)
    return next(
        (at for at, (a, b) in enumerate(pairs) if a.value != b.value), min(len(one), len(other))
    )
