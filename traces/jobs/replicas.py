"""What joins the replicas of a compacted log with the partition that they are of, and with the
coordinator whose log it is (docs/conformance.md, A coordinator whose log is a partition).

Each is judged as if it were alone. That they are those of one log is said here: what a coordinator
appends is a batch of the keys of which its record says something else; what a follower copies is
what another replica has, or what was written; when a cleaner begins, and when a load ends, a
replica is as long as the log of its broker, with the same batches; a cleaner is told no larger high
watermark than its broker has; and a coordinator that was elected has read what the log says.

Law of this file: it looks at rows and inputs alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kraftcheck.reference.compaction.keys import written
from kraftcheck.reference.compaction.messages import (
    AppendBatch,
    CopyBatches,
    ReadBatch,
    StartCleaning,
)
from kraftcheck.reference.compaction.types import (
    Batch,
    CompactedReplica,
    Constants,
    initial_replica,
)
from kraftcheck.reference.partition.types import BrokerRow


class Replicas:
    """Those of one run, step by step."""

    def __init__(
        self,
        constants: Constants,
        said: Callable[[Any], Mapping[str, Any]],
        first: Any,
        records: Mapping[int, Any],
    ) -> None:
        """said: by key, what the log says after a record (CoordinatorLog). first: what is committed
        in the beginning. records: of the coordinator, by value; more come."""
        self._said, self._first, self._records = said, said(first), records
        self._newest: Any = first
        self._keys = {key: number for number, key in enumerate(self._first, 1)}
        self._rows = {n: initial_replica(constants) for n in constants.replicas}
        self._whole: dict[int, Batch] = {}
        """By value, as they were written."""

    def wrong(self, node: int, input: Any, after: CompactedReplica, broker: BrokerRow) -> str:
        """What is wrong with a step, or empty. broker: its row in the partition."""
        before, self._rows[node] = self._rows[node], after
        if isinstance(input, AppendBatch):
            return self._appended(input.batch, broker)
        if isinstance(input, CopyBatches):
            return self._copied(node, before, input)
        if isinstance(input, StartCleaning) and input.high_watermark > broker.high_watermark:
            told, has = input.high_watermark, broker.high_watermark
            return f"broker {node} has the high watermark {has}, and its cleaner is told {told}"
        loaded = isinstance(input, ReadBatch) and after.state == "Loaded"
        same = [each.value for each in after.log] == [each.value for each in broker.log]
        if (loaded or isinstance(input, StartCleaning)) and not same:
            return f"the replica of broker {node} is not its log"
        return ""

    def _appended(self, batch: Batch, broker: BrokerRow) -> str:
        self._whole[batch.value] = batch
        if not broker.log or broker.log[-1].value != batch.value:
            return f"the broker has not appended the batch of {batch.value}"
        before, self._newest = self._newest, self._records[batch.value]
        keys, removed = written(self._said(before), self._said(self._newest), self._keys)
        if (batch.keys, {*batch.removed}) != (keys, removed):
            return f"the batch of {batch.value} has the keys {batch.keys}, and should have {keys}"
        return ""

    def _copied(self, node: int, before: CompactedReplica, input: CopyBatches) -> str:
        first = len(before.log)
        for at, batch in enumerate(input.batches, first):
            others = [row.log[at : at + 1] for n, row in self._rows.items() if n != node]
            if (batch,) not in others and batch != self._whole.get(batch.value):
                return f"broker {node} has copied a batch of {batch.value} that nobody has"
        return ""

    def misread(self, node: int, newest: Any) -> str:
        """What a coordinator that was elected has not read, or empty. newest: what its log says."""
        self._newest = newest
        row, says = self._rows[node], self._said(newest)
        if row.state != "Loaded":
            return f"broker {node} has not read its log"
        loaded = {each.key: each.value for each in row.loaded}
        for key, number in self._keys.items():
            value = loaded.get(number)
            of = self._first if value is None else self._said(self._records[value])
            if of[key] != says[key]:
                return f"broker {node} has read {of[key]} of {key}, and the log says {says[key]}"
        return ""
