"""What a chaos run says at its end: what it reached, counted; and that it fails where it must.

Under xdist each process has reached something, and one process tells of all.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, TypeAlias

from tests.stateful import reached
from tests.stateful.cluster_machine import ChangingClusterMachine, ClusterMachine
from tests.stateful.gifts import SteeredMachine
from tests.stateful.machine import QuorumMachine
from tests.stateful.partition_machine import PartitionMachine

Counts: TypeAlias = Mapping[str, Counter[str]]
MACHINES: Final[tuple[type[SteeredMachine], ...]] = (
    QuorumMachine,
    PartitionMachine,
    ClusterMachine,
    ChangingClusterMachine,
)
ENOUGH: Final = 1000
"""Examples of searches that ended after which a machine must have carried out all its rules."""
LISTED: Final = 5
"""So many of what was not reached are named on a screen."""
REACHED: Final = "reached.txt"
ALL: Final = 5000
"""When every machine has tried so many, they must have reached together all that can be reached.
Some of it takes a rare meeting of faults, which a short search does not owe.
"""


def told() -> str:
    """What this process has reached, for another one."""
    return json.dumps({machine: dict(each) for machine, each in reached.counts.items()})


def heard(text: str) -> None:
    """Adds what another process has reached."""
    for machine, each in json.loads(text).items():
        reached.of(machine).update(each)


def absent(counts: Counts) -> list[str]:
    """What was not reached so far."""
    found = []
    for machine in MACHINES:
        own = counts.get(machine.name, Counter())
        rules = [f"rule {name}" for name in reached.rules_of(machine)]
        found += [f"{machine.name}: {rule}" for rule in rules if own["examples"] and not own[rule]]
    return found + [name for name in reached.expected() if not _together(counts)[name]]


def missing(counts: Counts) -> list[str]:
    """What is wrong after searches that were long enough and ended without a find: what was never
    reached. And what was reached although it is said that it cannot be.
    """
    seen = _together(counts)
    lies = [name for name in reached.UNREACHABLE if seen[name]]
    found = [f"{name} cannot be reached, it is said, and was" for name in sorted(lies)]
    tried = {m.name: counts.get(m.name, Counter())["finished"] for m in MACHINES}
    for name in absent(counts):
        machine, _, rule = name.partition(": rule ")
        owed = tried[machine] >= ENOUGH if rule else min(tried.values()) >= ALL
        if owed and name not in reached.BY_HAND:
            found.append(f"{name} was never reached")
    return found


def _together(counts: Counts) -> Counter[str]:
    """By the machines of MACHINES: what cannot be reached in them can be in a plain one."""
    return sum((counts.get(each.name, Counter()) for each in MACHINES), Counter())


def _judged(each: Counter[str]) -> str:
    """What TLC said of a machine's steps."""
    judged, left = each["classes"], each["classes not judged"]
    said = f"{judged:,} classes of steps, all allowed by the spec"
    if left:
        missed = f"{left:,} classes of steps NOT judged by TLC: the time was over"
        return f"{said}; {missed}" if judged else missed
    return said


def summary(counts: Counts, folder: Path) -> Iterator[str]:
    """The statistics on one screen; all of them are written to a file in this folder."""
    named = {machine.name for machine in MACHINES}
    others = [name for name in counts if name not in named]
    for name in [*(machine.name for machine in MACHINES), *others]:
        each = counts.get(name, Counter())
        if each["examples"]:
            yield f"{name}: {each['examples']:,} examples, {each['moves']:,} moves, {_judged(each)}"
        else:
            yield f"{name}: NOT searched"
    path = folder / REACHED
    left = absent(counts)
    more = f" and {len(left) - LISTED:,} more" if len(left) > LISTED else ""
    if left:
        yield f"not reached: {', '.join(left[:LISTED])}{more}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in report(counts)), encoding="utf-8")
    except OSError as error:
        yield f"{path}: {error.strerror}"
    else:
        yield f"all that was reached: {path}"


def report(counts: Counts) -> Iterator[str]:
    """The statistics, line by line."""
    for machine in MACHINES:
        each = counts.get(machine.name, Counter())
        if each["examples"]:
            yield (
                f"{machine.name}: {each['examples']:,} examples, {each['moves']:,} moves, "
                + _judged(each)
            )
            for kind in ("rule", "action", "role", "error", "decision"):
                names = sorted(name for name in each if name.startswith(f"{kind} "))
                listed = [f"{name.removeprefix(kind).strip()} {each[name]:,}" for name in names]
                yield f"  {kind}: {', '.join(listed) or 'none'}"
    yield f"not reached: {', '.join(absent(counts)) or 'nothing'}"
    for machine in MACHINES:
        done = counts.get(machine.name, Counter())["finished"]
        if done < ALL:
            yield f"too early to judge: {machine.name} has finished {done:,} of {ALL:,} examples"
    for name, why in sorted(reached.BY_HAND.items()):
        yield f"not owed, made by hand: {name}: {why}"
    for name, why in sorted(reached.UNREACHABLE.items()):
        yield f"cannot be reached: {name}: {why}"
