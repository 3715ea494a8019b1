"""Every scenario by name: of each protocol one, and of the cluster."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TypeAlias

from reference.cluster.sim.scenario import CLUSTER, ClusterScenario
from reference.partition.sim.scenario import PARTITION, PartitionScenario
from reference.protocols import PROTOCOLS
from reference.quorum.sim.scenario import QUORUM, Scenario
from reference.sim.plain import PlainScenario
from reference.sim.plain import scenario_of as plain_scenario

AnyScenario: TypeAlias = Scenario | PartitionScenario | ClusterScenario | PlainScenario

SCENARIOS: dict[str, AnyScenario] = {each.name: each for each in (QUORUM, PARTITION, CLUSTER)} | {
    protocol.name: plain_scenario(protocol) for protocol in PROTOCOLS if protocol.world
}


def scenario(name: str) -> AnyScenario:
    """The scenario of this name. Raises ValueError, naming those there are."""
    found = SCENARIOS.get(name)
    if found is None:
        near = get_close_matches(name, SCENARIOS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(SCENARIOS)}"
        if not near:
            hint += ", and those of --protocol"
        raise ValueError(f"no scenario {name!r}; {hint}")
    return found
