"""Z54: a record acked by its leader alone is lost.

With acks=1 the producer is told before anybody else has the record. A planned election is enough to
lose it. Nothing else was promised.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared

BUG = declared(
    __name__,
    None,
    "AckedSurvives",
    source="KAFKA-20554; P18",
    protocol="partition",
    nodes=2,
    detectors=("histories",),
    boundary="append / replicate",
    field="log",
    configuration="acks = 1, and any election",
    alone=(
        "the leader alone acknowledged, and nobody promised more: no state is wrong, "
        "only the client misses its record"
    ),
)
