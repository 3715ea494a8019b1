"""What runs of share groups' state should come to now and then (reference/kit/sometimes.py)."""

from __future__ import annotations

from typing import Any

from kraftcheck.reference.kit.sometimes import Conditions
from kraftcheck.reference.shares.sharegroup.messages import (
    AlterOffsets,
    DeleteState,
    InitializeState,
    ReadState,
    SubscribeTopic,
    WriteState,
)
from kraftcheck.reference.shares.sharegroup.types import ShareGroup, ShareStore

sometimes = Conditions()


@sometimes(InitializeState)
def late_initialization_is_fenced(sent: tuple[Any, ...]) -> bool:
    """A request to initialize arrives after a later one, or after the deletion."""
    return any(each.error == "FENCED_STATE_EPOCH" for each in sent)


@sometimes(InitializeState)
def initialization_arrives_again(before: ShareStore, input: InitializeState) -> bool:
    """A request to initialize arrives after records were acknowledged."""
    return before.state_epoch == input.epoch and before.written != 0


@sometimes(DeleteState)
def deletion_arrives_late(before: ShareStore, after: ShareStore) -> bool:
    """A request to delete arrives after the group was made again."""
    return before.known and after.known


@sometimes(WriteState)
def write_of_an_older_state_is_fenced(sent: tuple[Any, ...]) -> bool:
    """A leader writes after offsets were altered."""
    return any(each.error == "FENCED_STATE_EPOCH" for each in sent)


@sometimes(ReadState)
def leader_reads_before_initialization(sent: tuple[Any, ...]) -> bool:
    """A leader loads a key that is not initialized."""
    return any(each.error == "INVALID_REQUEST" for each in sent)


@sometimes(SubscribeTopic)
def group_is_made_again(before: ShareGroup) -> bool:
    """A group is made again after its deletion."""
    return before.intent > 0


@sometimes(AlterOffsets)
def offsets_are_altered_again(before: ShareGroup) -> bool:
    """Offsets are altered a second time."""
    return before.altered
