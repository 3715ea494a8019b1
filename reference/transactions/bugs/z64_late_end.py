"""Z64: a late EndTxn ends the next transaction.

Version 1, by contract: one epoch serves all transactions, so a request that comes late looks like
one of the next transaction. What nobody asked for is committed, or half of it.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared

BUG = declared(
    __name__,
    None,
    "CommitWasAsked",
    "TxnAtomic",
    source="X19; Jepsen: Bufstream 0.1.0",
    protocol="transactions",
    year=2024,
    nodes=1,
    detectors=("tlc",),
    boundary="handle_end_txn",
    field="pending of the coordinator",
    configuration="version = 1, and requests that come late",
    alone="in such runs nobody is asked for what version 1 does not promise",
)
