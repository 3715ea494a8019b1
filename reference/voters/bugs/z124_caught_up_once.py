"""Z124: who was at the end of the log once is added, and fetches no more.

A sole voter adds a controller that was at the end of its log in this epoch, an hour ago at most,
and that hears nothing any more. The new set has two voters, so nothing is committed, and no other
change is possible. No rule that a leader can ask keeps this away, since whoever stops right after
the change does the same: Kafka's hour says how old the sign of life may be.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared

BUG = declared(
    __name__,
    None,
    "ChangeResolved",
    source="V15; named as KAFKA-19933 in PR 20859, its text was not seen",
    protocol="voters",
    klass="liveness",
    nodes=2,
    detectors=("tlc",),
    boundary="is_caught_up",
    field="caughtUp",
    configuration="a controller stops before it is added",
    alone="what must happen in the end is asked of no run of voters",
)
