"""What active controllers decide, and what each of them keeps of it (controllers.py)."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

from reference.cluster.sim.link import Request
from reference.partition.messages import METADATA_LOG, MetadataRecord
from reference.sim.memo import State, Step


class Decision:
    """What a controller made of one input, partition by partition."""

    __slots__ = ("done", "end", "epoch", "request", "steps")

    def __init__(
        self, epoch: int, steps: Mapping[int, Step], end: int, request: Request | None
    ) -> None:
        self.epoch = epoch
        """Of the controller."""
        self.steps = steps
        self.end = end
        """It stands when the quorum's log is committed up to here."""
        self.request = request
        """Who waits for it."""
        self.done = False
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
    """A value of the quorum's log: the decision that it stands for, and the ones without records
    that were made since the last."""

    before: tuple[Decision, ...]
    decision: Decision


class Active:
    """One active controller."""

    def __init__(self, node: int, epoch: int, states: dict[int, State], end: int) -> None:
        self.node = node
        self.epoch = epoch
        self.states = states
        """By partition: what it knows, ahead of what is committed."""
        self.end = end
        """Of its log, up to its last decision."""
        self.waiting: deque[Decision] = deque()
        self.unlogged: list[Decision] = []
        """Decisions without records since the last one with."""
        self.sessions: dict[int, int] = {}
        """By broker: when it has been silent for too long."""
