"""Z75: a marker that comes again ends the next transaction.

Version 1, by contract: the marker of an earlier transaction has the next one's epoch.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared

BUG = declared(
    __name__,
    None,
    "AckedCommit",
    "TxnAtomic",
    source="X14, KIP-1228",
    protocol="transactions",
    year=2025,
    nodes=1,
    detectors=("tlc",),
    boundary="handle_write_txn_markers",
    field="producer of a partition",
    configuration="version = 1, and requests that come late",
    alone="in such runs nobody is asked for what version 1 does not promise",
)
