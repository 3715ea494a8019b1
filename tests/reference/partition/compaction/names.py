"""What is compared of the names of cleaned replicas."""

from kraftcheck.reference.partition.compaction.handlers import CompactionHandlers
from kraftcheck.reference.partition.compaction.properties import PROPERTIES
from kraftcheck.reference.partition.compaction.protocol import COMPACTION
from kraftcheck.reference.partition.compaction.types import CompactedReplica
from tests.reference.vocabulary import compared

COMPARED = compared(
    COMPACTION,
    modules=("Compaction",),
    handlers=(CompactionHandlers,),
    models=("compaction",),
    properties=PROPERTIES,
    rows={"InitialRow(n) ==": CompactedReplica},
    words=("ActiveSegment",),
)
