"""Z17: a disk is replaced under the same node id.

A voter returns empty under its old id and helps to elect a node without committed entries.
Directory ids make it a new replica, which does not vote.
"""

from __future__ import annotations

from reference.bugs.bug import declared

BUG = declared(
    __name__,
    None,
    "LeaderCompleteness",
    source="KIP-853, PR 10309",
    protocol="quorum",
    scope=(
        "needs directory ids and dynamic voters (Q20): here a voter is its id; a node of the "
        "protocol voters is a voter's key, so that an empty disk is a node more, which observes"
    ),
)
