"""Every family of runs by the name of its scenario: of each protocol one, and of compositions."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Final

from kraftcheck.reference.cluster.sim import coordinated_family
from kraftcheck.reference.cluster.sim.family import FAMILY as CLUSTER
from kraftcheck.reference.drivers import composed
from kraftcheck.reference.drivers.chance import family_of
from kraftcheck.reference.kit.protocol import Protocol
from kraftcheck.reference.partition.directories.protocol import DIRECTORIES
from kraftcheck.reference.partition.directories.sim.telling import MANNER as IN_DIRECTORIES
from kraftcheck.reference.partition.moving.protocol import MOVING
from kraftcheck.reference.partition.moving.sim.telling import MANNER as MOVES
from kraftcheck.reference.partition.sim.family import FAMILY as PARTITION
from kraftcheck.reference.protocols import (
    COMPOSITIONS,
    COORDINATED,
    PROTOCOLS,
    extended_by,
    parts_of,
)
from kraftcheck.reference.quorum.snapshots.sim.family import FAMILY as QUORUM
from kraftcheck.reference.sim.family import Family, Manner

FAMILIES: Final[dict[str, Family]] = {
    each.scenario.name: each
    for each in (
        *(QUORUM, PARTITION, CLUSTER),
        *(family_of(protocol) for protocol in PROTOCOLS if protocol.by_chance),
        *map(coordinated_family.family_of, COORDINATED.values()),
        *map(composed.family_of, COMPOSITIONS),
    )
}
MANNERS: Final[dict[str, Manner]] = {
    **{name: each.manner for name, each in FAMILIES.items()},
    MOVING.name: MOVES,
    DIRECTORIES.name: IN_DIRECTORIES,
}
"""By protocol, how its steps are told."""
SCENARIOS: Final[dict[str, Any]] = {name: each.scenario for name, each in FAMILIES.items()}


def family(name: str) -> Family:
    """The family of this scenario. Raises ValueError, naming those there are."""
    found = FAMILIES.get(name)
    if found is None:
        near = get_close_matches(name, FAMILIES, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(FAMILIES)}"
        if not near:
            hint += ", and those of --protocol"
        raise ValueError(f"no scenario {name!r}; {hint}")
    return found


def protocols_under(name: str, options: Mapping[str, Any]) -> tuple[Protocol, ...]:
    """Those by whose rules runs of this scenario are taken for which these options are requested.

    Raises ValueError as `family`.
    """
    parts, taken_by = parts_of(name), family(name).taken_by
    if taken_by is None:
        return parts
    for name in taken_by(options):
        (own,) = parts_of(name)
        extended = extended_by(own)
        parts = tuple([own if each.name in extended else each for each in parts])
    return tuple(dict.fromkeys(parts))


def scenario(name: str) -> Any:
    """The scenario of this name. Raises ValueError as `family`."""
    return family(name).scenario
