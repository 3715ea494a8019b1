"""Known bugs of lease, by the numbers of bugs.toml."""

from __future__ import annotations

from lease.protocol import LeaseRules, Server, WriteRequest


class L01NoFence(LeaseRules):
    def may_write(self, row: Server, m: WriteRequest) -> bool:
        return True
