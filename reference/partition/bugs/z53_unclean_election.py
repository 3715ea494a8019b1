"""Z53: unclean election.

A replica outside the ISR is elected when nobody else is alive, as configured; what was committed
without it is gone.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared

BUG = declared(
    __name__,
    None,
    "PartitionLeaderCompleteness",
    "MonotonicTrueHighWatermark",
    "NoCommittedRecordLost",
    source="C9",
    protocol="partition",
    nodes=2,
    detectors=(
        "invariants",
        "histories",
    ),
    boundary="unclean_choices of the controller",
    field="recovering, isr of the controller",
    configuration="unclean_election = True",
)
