"""What is compared of the names of groups."""

from kraftcheck.reference.groups import messages, types
from kraftcheck.reference.groups.client import MemberHandlers
from kraftcheck.reference.groups.coordinator import CoordinatorHandlers
from kraftcheck.reference.groups.migration import MigrationHandlers
from kraftcheck.reference.groups.offsets import OffsetsHandlers
from kraftcheck.reference.groups.properties import PROPERTIES
from kraftcheck.reference.groups.protocol import GROUPS
from kraftcheck.reference.groups.replay import LoaderHandlers
from tests.reference.vocabulary import compared

COMPARED = compared(
    GROUPS,
    modules=("GroupHandlers", "GroupReplay", "GroupOffsets", "GroupMigration", "MembershipClient"),
    handlers=(
        *(CoordinatorHandlers, MemberHandlers, LoaderHandlers, OffsetsHandlers),
        MigrationHandlers,
    ),
    models=("groups-static", "groups-replay", "groups-offsets-deleted", "groups-migration"),
    properties=PROPERTIES,
    rows={
        "NoMember ==": messages.MemberRecord,
        "InitialGroup ==": messages.GroupRecord,
        "InitialCoordinator ==": types.GroupCoordinator,
        "InitialMember ==": types.GroupMember,
        "NoEntries ==": types.ReadMember,
        "InitialLoader ==": types.GroupLoader,
        "InitialOffsets ==": types.GroupOffsets,
        "NotRecorded ==": types.MigratedMember,
        "NoConsumer ==": types.MigratingClient,
        "InitialMigration ==": types.GroupMigration,
    },
    words=(
        *("JoinEpoch", "LeaveEpoch", "Unknown", "AllFields", "Holding", "Retention"),
        *("Own", "OfOthers"),
        "ReleasedEpoch",
    ),
    messages_alone=("AnswerAfterCommit",),
)
