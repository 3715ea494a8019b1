"""Z40: the last replica standing.

The ISR shrinks to one broker, which loses part of its log in a crash. Without eligible leader
replicas it stays in the ISR, is elected again, and the others truncate what was committed.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared

BUG = declared(
    __name__,
    None,
    "PartitionLeaderCompleteness",
    "LeaderCandidateCompleteness",
    "NoCommittedRecordLost",
    source="KIP-966",
    protocol="partition",
    lossy=True,
    detectors=(
        "tlc",
        "invariants",
        "histories",
    ),
    boundary="isr_when_emptied; a crash that loses what was not flushed",
    field="isr, elr of the controller",
    configuration="elr_enabled = False, and one crash that loses records",
)
