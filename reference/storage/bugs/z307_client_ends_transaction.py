"""Z307: a client may write control records.

A batch of a client looks like the marker of a coordinator, and the leader appends it: the open
transaction of that producer ends, whatever its coordinator decides.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared
from kraftcheck.reference.storage.batches import Batch
from kraftcheck.reference.storage.rules import StorageRules


class Z307ClientEndsTransaction(StorageRules):
    def client_batch_refused(self, batch: Batch) -> str:
        return ""


BUG = declared(
    __name__,
    Z307ClientEndsTransaction,
    "ClientsWriteData",
    source="D1; LogValidator.validateBatch",
    nodes=1,
    detectors=("crashes",),
)
