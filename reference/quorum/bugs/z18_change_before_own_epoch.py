"""Z18: a voter change before the leader's own epoch has committed.

Two leaders in turn append voter changes from different uncommitted bases, and the majorities of the
two sets do not meet.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared

BUG = declared(
    __name__,
    None,
    "ElectionSafety",
    source="KIP-853; raft-dev, single-server membership changes",
    protocol="quorum",
    nodes=4,
    scope="is told and replayed in its smallest form, as Z114 of voters",
)
