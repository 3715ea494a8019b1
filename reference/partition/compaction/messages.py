"""Inputs of a replica of a compacted partition.

They come from the partition, its cleaner, and a coordinator that was elected here.

Law of this file: values only, named as in specs/partition/compaction/Compaction.tla.
"""

from __future__ import annotations

from typing import Any, TypeAlias, get_args

from kraftcheck.reference.kit.messages import Tagged
from kraftcheck.reference.partition.compaction.types import Batch

# --- What the partition does with the replica.


class AppendBatch(Tagged, frozen=True):
    """G2. The coordinator writes."""

    batch: Batch


class CopyBatches(Tagged, frozen=True):
    """A follower fetches, with what its leader has left of them."""

    batches: tuple[Batch, ...]
    covered: int
    """That of the leader."""


class CutReplica(Tagged, frozen=True):
    """P14. What another leader does not have, or a crash has not left, is cut."""

    to: int


class ReplicaCrash(Tagged, frozen=True):
    """The process ends."""


# --- Segments and their cleaner.


class RollSegment(Tagged, frozen=True):
    """Another segment becomes active."""


class StartCleaning(Tagged, frozen=True):
    """The cleaner takes this partition, and reads what is not clean."""

    high_watermark: int


class CleanSegment(Tagged, frozen=True):
    """A segment is written anew."""

    expired: int
    """Up to where the time of tombstones is over."""


# --- A coordinator.


class StartLoading(Tagged, frozen=True):
    """G6. The broker leads."""


class ReadBatch(Tagged, frozen=True):
    """G6. The next batch is read, or there is none."""


class Unload(Tagged, frozen=True):
    """G7. The broker does not lead any more."""


Input: TypeAlias = (
    AppendBatch
    | CopyBatches
    | CutReplica
    | ReplicaCrash
    | RollSegment
    | StartCleaning
    | CleanSegment
    | StartLoading
    | ReadBatch
    | Unload
)
INPUTS: tuple[type[Any], ...] = get_args(Input)
