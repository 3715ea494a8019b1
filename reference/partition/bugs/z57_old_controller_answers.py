"""Z57: an old controller answers with authority.

A leader asks a controller that has been replaced and gets a final error; the proposal stays pending
for ever.
"""

from __future__ import annotations

from kraftcheck.reference.bugs.bug import declared

BUG = declared(
    __name__,
    None,
    "PendingAlterPartitionResolved",
    source="KAFKA-14154, PR 12499; C12",
    protocol="partition",
    klass="liveness",
    nodes=2,
    boundary="leader_epoch_error, partition_epoch_error at an old controller",
    field="pending (refused)",
    scope="needs two controllers; the abstract one is always the active one",
)
