"""Z59: fewer batches are remembered than may be in flight.

With five batches in flight and one remembered, the retry of an earlier one is refused as out of
order although its records are in the log (KAFKA-5494).
"""

from __future__ import annotations

from reference.core.partition_rules import PartitionRules


class Z59OneBatchKept(PartitionRules):
    __slots__ = ()

    def batches_kept(self) -> int:
        return 1
