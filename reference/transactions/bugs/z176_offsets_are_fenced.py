"""Z176: what a group refuses of offsets ends the use of their producer.

It could abort, and go on: another member has the partitions, and nobody has its id (KIP-447).
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared
from kraftcheck.reference.transactions.rules import TransactionRules

OF_MEMBERS = ("ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID")


class Z176OffsetsAreFenced(TransactionRules):
    def after_offsets_error(self, error: str) -> str:
        return "Fenced" if error in OF_MEMBERS else super().after_offsets_error(error)


BUG = declared(
    __name__,
    Z176OffsetsAreFenced,
    "FencedByOthers",
    source="X29, X36; KIP-447",
    nodes=1,
    detectors=NO_CLIENT,
    field="status of a producer",
)
