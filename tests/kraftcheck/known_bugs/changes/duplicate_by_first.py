"""Batches of a producer are taken for duplicates by their first sequence number alone.

A client that groups its records anew before it sends them again is told that all of them are in
the log, where the broker has the first of them only.
"""

from __future__ import annotations

from kraftcheck.reference.partition.log import UNDEFINED, state_of
from kraftcheck.reference.partition.messages import ProduceRequest
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.types import BrokerRow


class DuplicateByFirst(PartitionRules):
    def duplicate_offset(self, row: BrokerRow, m: ProduceRequest) -> int:
        state = None if m.producer == UNDEFINED else state_of(row.producers, m.producer)
        if state is not None and state.epoch == m.producer_epoch:
            for batch in state.batches:
                if batch.first == m.sequence:
                    return batch.offset
        return UNDEFINED
