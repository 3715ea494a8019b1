"""What is compared of the names of snapshots of the metadata log."""

from reference.snapshots.handlers import SnapshotHandlers
from reference.snapshots.properties import PROPERTIES
from reference.snapshots.protocol import SNAPSHOTS
from reference.snapshots.types import SnapshotRow
from tests.reference.vocabulary import compared

COMPARED = compared(
    SNAPSHOTS,
    modules=("Snapshots",),
    handlers=(SnapshotHandlers,),
    models=("snapshots", "snapshots-standby"),
    properties=PROPERTIES,
    rows={"InitialRow(n) ==": SnapshotRow},
    words=("NoId", "NoSnapshot", "IdOf", "LogOfRow", "LastEpochOf", "Latest", "Earliest", "Data"),
)
