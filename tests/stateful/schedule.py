"""What the machines steer and how it fails, under the names that the tests use."""

from __future__ import annotations

from reference.sim.steered.failures import NoProgress, PromiseBroken, Violation, script
from reference.sim.steered.quorum import RATES, Link, Schedule

__all__ = ["RATES", "Link", "NoProgress", "PromiseBroken", "Schedule", "Violation", "script"]
