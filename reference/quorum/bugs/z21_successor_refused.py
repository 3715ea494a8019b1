"""Z21: followers that have fetched refuse the successor that their leader named.

A leader resigns and names its preferred successors. Followers that have fetched from it go on to
refuse pre-votes, so that with four voters or more the first successor loses a round; a later round
is won.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared

BUG = declared(
    __name__,
    None,
    "EventuallyLeaderElected",
    source="KAFKA-20895, PR 23168",
    protocol="quorum",
    klass="liveness",
    nodes=4,
    scope=(
        "delays an election by a round and breaks no property of the kit; it takes "
        "four voters, and the models have three"
    ),
)
