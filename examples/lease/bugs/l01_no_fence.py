"""L01: the resource does not look at the token of a write.

A client whose clock is slow writes after its lease has ended and another has written.
"""

from __future__ import annotations

from lease.protocol import LeaseRules, Server, WriteRequest

from reference.bugs.bug import declared


class L01NoFence(LeaseRules):
    __slots__ = ()

    def may_write(self, row: Server, m: WriteRequest) -> bool:
        return True


BUG = declared(__name__, L01NoFence, "WrittenRises", source="an example", field="written")
