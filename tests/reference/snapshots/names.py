"""What is compared of the names of snapshots of the metadata log."""

from kraftcheck.reference.snapshots.handlers import SnapshotHandlers
from kraftcheck.reference.snapshots.properties import PROPERTIES
from kraftcheck.reference.snapshots.protocol import SNAPSHOTS
from kraftcheck.reference.snapshots.types import SnapshotRow
from kraftcheck.reference.voters.types import VoterRow
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
