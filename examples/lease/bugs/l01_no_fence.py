"""L01: the resource does not look at the token of a write.

A client whose clock is slow writes after its lease has ended and another has written.
"""

from __future__ import annotations

from lease.protocol import LeaseRules, Server, WriteRequest

from kraftcheck.reference.bugs.bug import NO_CLIENT, declared


class L01NoFence(LeaseRules):
    def may_write(self, row: Server, m: WriteRequest) -> bool:
        return True


BUG = declared(__name__, L01NoFence, "WrittenRises", source="an example", detectors=NO_CLIENT)
