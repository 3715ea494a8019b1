"""What the machines steer and how it fails, under the names that the tests use."""

from __future__ import annotations

from kraftcheck.reference.quorum.steered.schedule import RATES, Link, Schedule
from kraftcheck.reference.steered.failures import NoProgress, PromiseBroken, Violation, script

__all__ = ["RATES", "Link", "NoProgress", "PromiseBroken", "Schedule", "Violation", "script"]
