"""What is compared of the names of a share group's state."""

from kraftcheck.reference.shares.sharegroup.group import ShareGroupHandlers
from kraftcheck.reference.shares.sharegroup.leader import StateLeaderHandlers
from kraftcheck.reference.shares.sharegroup.properties import PROPERTIES
from kraftcheck.reference.shares.sharegroup.protocol import SHAREGROUP
from kraftcheck.reference.shares.sharegroup.store import ShareStoreHandlers
from kraftcheck.reference.shares.sharegroup.types import ShareGroup, ShareStore, StateLeader
from tests.reference.vocabulary import compared

COMPARED = compared(
    SHAREGROUP,
    modules=("ShareGroupHandlers",),
    handlers=(ShareGroupHandlers, ShareStoreHandlers, StateLeaderHandlers),
    models=("sharegroup-altered",),
    properties=PROPERTIES,
    rows={
        "InitialShareGroup ==": ShareGroup,
        "InitialShareStore ==": ShareStore,
        "InitialStateLeader ==": StateLeader,
    },
)
