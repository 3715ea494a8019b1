"""A partition that is steered, and the verdict on what its clients saw."""

from __future__ import annotations

from kraftcheck.reference.partition.steered.schedule import PartitionSchedule, memos
from kraftcheck.reference.partition.steered.told import DISK, FAILED, LATE, PROMPT
from kraftcheck.reference.steered.failures import PromiseBroken
from kraftcheck.traces.jobs.steered import broken_promise

__all__ = ["DISK", "FAILED", "LATE", "PROMPT", "PartitionSchedule", "PromiseBroken", "memos"]
__all__ += ["judge_history"]


def judge_history(schedule: PartitionSchedule) -> str:
    """Empty if the history is as consistent as promised, or what is missing."""
    return broken_promise([schedule])
