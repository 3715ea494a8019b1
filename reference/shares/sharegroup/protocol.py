"""A share group's state, as one protocol."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kraftcheck.reference.kit.protocol import (
    ByNode,
    Calm,
    Handlers,
    NodeKind,
    Protocol,
    Substitution,
    World,
)
from kraftcheck.reference.shares.sharegroup.group import ShareGroupHandlers
from kraftcheck.reference.shares.sharegroup.leader import StateLeaderHandlers
from kraftcheck.reference.shares.sharegroup.messages import (
    GROUP,
    GROUP_INPUTS,
    LEADER,
    LEADER_INPUTS,
    MESSAGES,
    STORE,
    STORE_INPUTS,
    AcknowledgeNext,
    AlterOffsets,
    DeleteOffsets,
    LoadState,
    MoveStateLeader,
    ProduceRecord,
    RetryGroup,
    RetryState,
    SubscribeTopic,
)
from kraftcheck.reference.shares.sharegroup.properties import PROPERTIES
from kraftcheck.reference.shares.sharegroup.rules import ShareGroupRules
from kraftcheck.reference.shares.sharegroup.sometimes import sometimes
from kraftcheck.reference.shares.sharegroup.store import ShareStoreHandlers
from kraftcheck.reference.shares.sharegroup.types import (
    INITIAL_GROUP,
    INITIAL_STORE,
    Constants,
    ShareGroup,
    ShareStore,
    StateLeader,
    initial_leader,
)

GROUP_KIND: Final = NodeKind(
    name="share-group",
    module="ShareGroupHandlers",
    row=ShareGroup,
    inputs=GROUP_INPUTS,
    initial=lambda constants: INITIAL_GROUP,
    first_row="InitialShareGroup",
    role=lambda row: row.state,
)
STORE_KIND: Final = NodeKind(
    name="share-store",
    module="ShareGroupHandlers",
    row=ShareStore,
    inputs=STORE_INPUTS,
    initial=lambda constants: INITIAL_STORE,
    first_row="InitialShareStore",
    role=lambda row: "Stored" if row.known else "Unknown",
)
LEADER_KIND: Final = NodeKind(
    name="state-leader",
    module="ShareGroupHandlers",
    row=StateLeader,
    inputs=LEADER_INPUTS,
    initial=initial_leader,
    first_row="InitialStateLeader",
    role=lambda row: row.phase,
)
KINDS: Final = {STORE: STORE_KIND, LEADER: LEADER_KIND, GROUP: GROUP_KIND}


def _handlers(constants: Constants, of: Substitution) -> Handlers:
    rules: ShareGroupRules = of(ShareGroupRules)(constants)
    alone: dict[int, Any] = {
        STORE: of(ShareStoreHandlers)(rules),
        LEADER: of(StateLeaderHandlers)(rules),
        GROUP: of(ShareGroupHandlers)(rules),
    }
    return ByNode(alone, None)


def _local(constants: Constants, node: int, row: Any) -> Iterator[Any]:
    if node == GROUP:
        yield from (SubscribeTopic(), RetryGroup(), DeleteOffsets())
        yield from map(AlterOffsets, range(1, constants.records + 1))
    elif node == LEADER:
        yield from (LoadState(), AcknowledgeNext(), RetryState(), ProduceRecord())
        yield MoveStateLeader()


def _missing(constants: Constants, rows: Mapping[int, Any]) -> str:
    state = rows[GROUP].state
    ends = state not in ("Initializing", "Deleting")
    return "" if ends else f"the group's state is {state}, and nothing ends that"


SHAREGROUP: Final = Protocol(
    name="sharegroup",
    sentence="a share group's state is initialized, altered and deleted while leaders write it",
    constants=Constants,
    kinds=(STORE_KIND, LEADER_KIND, GROUP_KIND),
    messages=MESSAGES,
    peers=lambda constants: (),
    nodes=lambda constants: tuple(KINDS),
    kind_of=lambda constants, node: KINDS[node],
    handlers=_handlers,
    rules=(ShareGroupRules,),
    handler_classes=(ShareGroupHandlers, ShareStoreHandlers, StateLeaderHandlers),
    sometimes=tuple(sometimes.all),
    world=World(
        constants={
            "records": (6, 3, 10),
            "added": (False, True),
            "max_intents": (6, 3, 12),
            "max_leaders": (6, 2, 12),
        },
        local=_local,
        properties=PROPERTIES,
        moves=(200, 400),
        disturbances={
            RetryGroup: (300, 1000),
            AlterOffsets: (50, 200),
            DeleteOffsets: (20, 100),
            RetryState: (300, 1000),
            MoveStateLeader: (0, 20, 100),
        },
        calm=Calm(inputs=(RetryGroup,), missing=_missing),
    ),
)
PROTOCOL: Final = SHAREGROUP
