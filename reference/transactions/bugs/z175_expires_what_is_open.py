"""Z175: an id is forgotten by its age alone, whatever is under way.

Nobody ends its transaction any more, and readers of committed records wait for ever.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.transactions.rules import TransactionRules
from kraftcheck.reference.transactions.types import Coordinator


class Z175ExpiresWhatIsOpen(TransactionRules):
    def may_expire(self, row: Coordinator) -> bool:
        rests = row.pending.state == "None" and row.txn.state != "Dead"
        return self.constants.ids_expire and rests


BUG = declared(
    __name__,
    Z175ExpiresWhatIsOpen,
    "NoHanging",
    "LogMatchesMarkers",
    source="X27",
    nodes=1,
    detectors=NO_CLIENT,
    field="state of the coordinator",
)
