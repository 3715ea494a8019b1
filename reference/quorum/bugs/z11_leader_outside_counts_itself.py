"""Z11: a leader outside the voter set counts itself.

A leader that removed itself from the voter set still counts itself for the high watermark, so that
less than a majority commits, or for check-quorum, so that it never resigns.
"""

from __future__ import annotations

from reference.bugs.bug import declared

BUG = declared(
    __name__,
    None,
    "MajorityReachedHighWatermark",
    source="KAFKA-16530, KAFKA-16531, PR 16079, PR 16211",
    protocol="quorum",
    scope="needs a leader outside the set of voters, which only the protocol voters has",
)
