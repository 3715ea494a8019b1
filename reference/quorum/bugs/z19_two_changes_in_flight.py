"""Z19: two voter changes in flight.

A second change is appended before the first commits, and their majorities are disjoint.
"""

from __future__ import annotations

from reference.bugs.bug import declared

BUG = declared(
    __name__,
    None,
    "ElectionSafety",
    source="KIP-853",
    protocol="quorum",
    scope="needs voter changes (Q20); the voter set is a constant",
)
