"""What is compared of the names of cleaned replicas."""

from reference.compaction.handlers import CompactionHandlers
from reference.compaction.properties import PROPERTIES
from reference.compaction.protocol import COMPACTION
from reference.compaction.types import CompactedReplica
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
