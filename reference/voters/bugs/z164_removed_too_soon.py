"""Z164: of two voters the leader is removed, and stops before the other has heard of it.

By its own log the one that was removed is no voter and does not stand; its log is the longer one,
so that it refuses its vote to the other, which needs it. Ongaro's thesis (4.2.2) has a server stand
that is not in its own last set, for this case; or a leader hands over first, and is removed by
another. Apache Kafka 4.3.1 does neither (RemoveVoterHandler, QuorumState.isVoter).
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared

BUG = declared(
    __name__,
    None,
    "ChangeResolved",
    source="V13, V16; Ongaro 2014, 4.2.2; Apache Kafka 4.3.1, RemoveVoterHandler",
    protocol="voters",
    klass="liveness",
    nodes=2,
    detectors=("tlc",),
    boundary="remove_refused",
    field="history",
    configuration="a leader is removed and stops before another has the record",
    alone="what must happen in the end is asked of no run of voters",
)
