"""What the machines steer and how it fails, under the names that the tests use."""

from __future__ import annotations

from reference.quorum.steered.schedule import RATES, Link, Schedule
from reference.steered.failures import NoProgress, PromiseBroken, Violation, script

__all__ = ["RATES", "Link", "NoProgress", "PromiseBroken", "Schedule", "Violation", "script"]
