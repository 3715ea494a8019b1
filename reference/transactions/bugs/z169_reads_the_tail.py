"""Z169: read_uncommitted is taken for all that the leader has.

Its readers are shown what is above the high watermark, which another leader may not have.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.transactions.messages import Isolation
from kraftcheck.reference.transactions.rules import TransactionRules
from kraftcheck.reference.transactions.types import PartitionLeader


class Z169ReadsTheTail(TransactionRules):
    def read_up_to(self, row: PartitionLeader, isolation: Isolation) -> int:
        committed_only = isolation == "read_committed"
        return self.last_stable_offset(row) if committed_only else len(row.log)


BUG = declared(
    __name__,
    Z169ReadsTheTail,
    "ReadersSeeAll",
    source="X17, X18; KIP-101",
    nodes=1,
    detectors=NO_CLIENT,
    field="position of a reader",
)
