"""What runs of controllers should come to now and then (reference/kit/sometimes.py)."""

from __future__ import annotations

from typing import Any

from kraftcheck.reference.controllers.messages import (
    BatchCommitted,
    ElectVoter,
    LeaderAndEpoch,
    ScheduleAppend,
    WriteEvent,
)
from kraftcheck.reference.controllers.types import Controller, MetadataLog
from kraftcheck.reference.kit.sometimes import Conditions

sometimes = Conditions()


@sometimes(WriteEvent)
def request_without_records_waits(before: Controller, input: WriteEvent) -> bool:
    """A request without records waits for the decisions before it."""
    return not input.writes and bool(before.deferred)


@sometimes(BatchCommitted)
def several_are_answered(sent: tuple[Any, ...]) -> bool:
    """One commit answers several requests."""
    return len(sent) > 1


@sometimes(LeaderAndEpoch)
def deferred_requests_fail(sent: tuple[Any, ...]) -> bool:
    """A controller loses the leadership while requests wait."""
    return bool(sent)


@sometimes(ElectVoter)
def uncommitted_records_go(before: MetadataLog, input: ElectVoter) -> bool:
    """A voter is elected that lacks records of the former leader."""
    return input.end < len(before.records)


@sometimes(ElectVoter)
def uncommitted_records_stay(before: MetadataLog, input: ElectVoter) -> bool:
    """A voter is elected that has records which nobody knows to be committed."""
    return input.end > before.committed


@sometimes(ScheduleAppend)
def deposed_controller_appends(before: MetadataLog, input: ScheduleAppend) -> bool:
    """A controller decides that does not know that it is deposed."""
    return input.epoch < before.epoch
