"""Z173: a transaction is committed of which a batch was given up, or refused.

Its producer heard of an error after which it can only abort (KIP-1050 names them), and commits what
is there.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.transactions.rules import TransactionRules
from kraftcheck.reference.transactions.types import Client


class Z173CommitsAfterAnError(TransactionRules):
    def may_commit(self, client: Client) -> bool:
        goes_on = client.status == "Abortable" and bool(client.acked)
        return super().may_commit(client) or goes_on


BUG = declared(
    __name__,
    Z173CommitsAfterAnError,
    "CommitIsWhole",
    source="X32, X36; KIP-1050",
    nodes=1,
    detectors=NO_CLIENT,
    field="status of a producer",
)
