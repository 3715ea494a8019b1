"""What a chaos run says at its end: what it reached, counted; and that it fails where it must.

Under xdist each process has reached something, and one process tells of all.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from tests.stateful import reached
from tests.stateful.cluster_machine import ClusterMachine
from tests.stateful.gifts import SteeredMachine
from tests.stateful.machine import QuorumMachine
from tests.stateful.partition_machine import PartitionMachine

MACHINES: Final[tuple[type[SteeredMachine], ...]] = (
    QuorumMachine,
    PartitionMachine,
    ClusterMachine,
)
ENOUGH: Final = 1000
"""Examples after which a machine must have reached all that it can reach."""


def told() -> str:
    """What this process has reached, for another one."""
    return json.dumps({machine: dict(each) for machine, each in reached.counts.items()})


def heard(text: str) -> None:
    """Adds what another process has reached."""
    for machine, each in json.loads(text).items():
        reached.of(machine).update(each)


def missing(counts: Mapping[str, Counter[str]], enough: int = ENOUGH) -> list[str]:
    """What was never reached by a machine that has searched enough."""
    found = []
    for machine in MACHINES:
        each = counts.get(machine.name, Counter())
        if each["examples"] >= enough:
            names = reached.expected(machine.name, reached.rules_of(machine))
            found += [f"{machine.name}: {name}" for name in names if not each[name]]
    return found


def report(counts: Mapping[str, Counter[str]]) -> Iterator[str]:
    """The statistics, line by line."""
    for machine in MACHINES:
        each = counts.get(machine.name)
        if not each or not each["examples"]:
            continue
        yield f"{machine.name}: {each['examples']:,} examples, {each['moves']:,} moves"
        for kind in ("rule", "action", "role", "error", "decision"):
            names = sorted(name for name in each if name.startswith(f"{kind} "))
            yield f"  {kind}: " + ", ".join(
                f"{name.removeprefix(kind).strip()} {each[name]:,}" for name in names
            )
        names = reached.expected(machine.name, reached.rules_of(machine))
        absent = [name for name in names if not each[name]]
        if absent:
            few = "" if each["examples"] >= ENOUGH else f" (of less than {ENOUGH:,} examples)"
            yield f"  never reached{few}: " + ", ".join(absent)
        for name, why in sorted(reached.UNREACHABLE[machine.name].items()):
            yield f"  cannot be reached: {name}: {why}"
