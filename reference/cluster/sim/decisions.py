"""What active controllers decide, and what each of them keeps of it (controllers.py)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from kraftcheck.reference.cluster.sim.link import Request
from kraftcheck.reference.controllers.types import Controller
from kraftcheck.reference.partition.messages import METADATA_LOG, MetadataRecord
from kraftcheck.reference.sim.memo import State, Step


class Decision(msgspec.Struct, eq=False):
    """What a controller made of one input, partition by partition."""

    epoch: int
    """Of the controller."""
    steps: Mapping[int, Step]
    request: Request | None
    """Who waits for it."""
    done: bool = False
    """Whether the abstract controllers have taken it."""

    def records(self) -> dict[int, tuple[MetadataRecord, ...]]:
        """What it says, for each partition of which it says something."""
        said = {}
        for partition, step in self.steps.items():
            for destination, message in step.sent:
                if destination == METADATA_LOG:
                    said[partition] = message.value.records
        return said


class Batch(NamedTuple):
    """A value of the quorum's log.

    The decision that it stands for, and the ones without records that were made since the last.
    """

    before: tuple[Decision, ...]
    decision: Decision


class Active(msgspec.Struct, eq=False):
    """One active controller."""

    node: int
    row: Controller
    states: dict[int, State]
    """By partition: what it knows, ahead of what is committed."""
    deferred: dict[int, Decision] = {}
    """What waits, by the row's number of the request."""
    unlogged: list[Decision] = []
    """Decisions without records since the last one with."""
    sessions: dict[int, int] = {}
    """By broker: when it has been silent for too long."""

    @property
    def epoch(self) -> int:
        return self.row.epoch
