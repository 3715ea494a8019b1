"""Runs of the quorum, as a family: those in which more than the leader changes included."""

from __future__ import annotations

from typing import Any, Final

from kraftcheck.reference.quorum.sim.family import FAMILY as OF_QUORUM
from kraftcheck.reference.quorum.sim.faults import Options
from kraftcheck.reference.quorum.sim.scenario import QUORUM, Scenario
from kraftcheck.reference.quorum.sim.scheduler import Simulation
from kraftcheck.reference.quorum.snapshots.sim.changes import changes, taken_by
from kraftcheck.reference.quorum.snapshots.sim.machine import ChangingMemo
from kraftcheck.reference.quorum.snapshots.sim.scheduler import ChangingSimulation
from kraftcheck.reference.sim.family import Family


def _simulation(scenario: Scenario, options: Options, *given: Any) -> Simulation:
    kind = ChangingSimulation if changes(options) else Simulation
    return kind(scenario, options, *given)


FAMILY: Final[Family] = OF_QUORUM._replace(
    memo=lambda bug, enabled: ChangingMemo(QUORUM.timeouts, bug, enabled),
    simulation=_simulation,
    taken_by=lambda requested: (taken_by(requested),),
)
