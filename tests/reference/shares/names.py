"""What is compared of the names of share partitions."""

from kraftcheck.reference.shares.consumer import ShareConsumerHandlers
from kraftcheck.reference.shares.coordinator import ShareCoordinatorHandlers
from kraftcheck.reference.shares.leader import ShareLeaderHandlers
from kraftcheck.reference.shares.messages import StoredState
from kraftcheck.reference.shares.properties import PROPERTIES
from kraftcheck.reference.shares.protocol import SHARES
from kraftcheck.reference.shares.types import Cell, ShareConsumer, ShareCoordinator, ShareLeader
from tests.reference.vocabulary import compared

COMPARED = compared(
    SHARES,
    modules=("ShareHandlers",),
    handlers=(ShareCoordinatorHandlers, ShareLeaderHandlers, ShareConsumerHandlers),
    models=("shares-two",),
    properties=PROPERTIES,
    rows={
        "NoCell ==": Cell,
        "InitialStored ==": StoredState,
        "InitialShareCoordinator ==": ShareCoordinator,
        "InitialLeader ==": ShareLeader,
        "InitialConsumer ==": ShareConsumer,
    },
    words=("Nobody", "Terminal", "Rank", "LargerOf"),
)
