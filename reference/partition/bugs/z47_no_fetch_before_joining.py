"""Z47: no fetch is needed in this epoch before joining.

A replica is removed and added again in one metadata update; the leader reuses what it knew of the
replica, whose log was wiped.
"""

from __future__ import annotations

from reference.bugs.bug import declared

BUG = declared(
    __name__,
    None,
    "LeaderCandidateCompleteness",
    source="KIP-966",
    protocol="partition",
    boundary="keeps_end_offsets, for a replica that was removed and added",
    field="remotes",
    scope=(
        "needs reassignment (C14) and what a leader knows of fetches in one row: the replicas of "
        "partition are a constant, and to reassignment and hosting who has copied all is an input"
    ),
)
