"""What is compared of the names of snapshots of the metadata log."""

from kraftcheck.reference.quorum.snapshots.handlers import SnapshotHandlers
from kraftcheck.reference.quorum.snapshots.properties import PROPERTIES
from kraftcheck.reference.quorum.snapshots.protocol import SNAPSHOTS
from kraftcheck.reference.quorum.snapshots.types import SnapshotRow
from kraftcheck.reference.quorum.voters.types import VoterRow
from tests.reference.vocabulary import compared

COMPARED = compared(
    SNAPSHOTS,
    modules=("Snapshots",),
    handlers=(SnapshotHandlers,),
    models=("snapshots", "snapshots-standby"),
    properties=PROPERTIES,
    rows={"InitialRow(n) ==": SnapshotRow},
    base=VoterRow,
    words=("NoId", "NoSnapshot", "IdOf", "LastEpochOf", "Latest", "Earliest", "Data"),
)
