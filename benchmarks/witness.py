"""Apache Kafka's own classes as a witness: start, steps a second, judged or not, memory.

One line for each of them. Seconds are of the processor: ours, the JVM's with Kafka's classes, and
TLC's. They depend little on who else wants the machine; wall time is beside them. Of graphs it is
`graphs` that measures.

    python -m benchmarks witness                 about five minutes; needs Maven and a JDK
"""

from __future__ import annotations

import resource
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from kraftcheck.kafka.live.witness.jars import DEFAULT, class_path
from kraftcheck.kafka.witness import kafka
from kraftcheck.kafka.witness.chance import Component
from kraftcheck.kafka.witness.driving import Driven, all_judged, drive, host_of
from kraftcheck.kafka.witness.partition import BROKERS
from kraftcheck.kafka.witness.quorum import VOTERS
from kraftcheck.osutil.children import processor_seconds
from kraftcheck.traces.foreign.profiles import read_profile

KAFKA = kafka.Kafka(DEFAULT, None, "", files=True)
RUNS: dict[str, tuple[Component, int]] = {"quorum": (VOTERS, 30), "partition": (BROKERS, 15)}
"""How many runs of 200 moves."""
STARTS = 5


class Spent(NamedTuple):
    """What some work took, in seconds."""

    processor: float
    wall: float


def spent(work: Callable[[], Any]) -> tuple[Any, Spent]:
    begin, wall = processor_seconds(), monotonic()
    found = work()
    return found, Spent(processor_seconds() - begin, monotonic() - wall)


def start() -> None:
    """JVMs with three voters that have begun, one after another."""
    constants = VOTERS.constants(VOTERS.settings(3, 0))
    for _ in range(STARTS):
        with host_of(KAFKA, VOTERS.protocol, constants) as host:
            host.ask(["new"])


def runs(component: Component, count: int, folder: Path, compares: bool = False) -> Driven:
    path = folder / "trace.jsonl"
    return drive(path, KAFKA, component, 3, runs=count, seed=7, moves=200, compares=compares)


def judging(component: Component, folder: Path, driven: Driven | None = None) -> None:
    """driven: of which TLC is asked what differs from the reference; None: of all."""
    differing = [part.differing for part in driven.parts] if driven else None
    trace, profile = folder / "trace.jsonl", read_profile("kafka-4.3")
    for found in all_judged(component, trace, profile, differing=differing):
        assert not found.found.rejections


def line(what: str, steps: int, took: Spent) -> None:
    print(
        f"{what:<34} {steps:>8,} steps {took.processor:8.1f} s of processor,"
        f" {took.wall:8.1f} s by the clock: {steps / took.processor:9,.0f} a second",
        flush=True,
    )


def of_runs() -> None:
    for component, _ in RUNS.values():
        class_path(of=component.protocol.name)  # fetched and compiled, if they were not
    _, took = spent(start)
    each = Spent(took.processor / STARTS, took.wall / STARTS)
    print(f"start: {each.processor:.2f} s of processor, {each.wall:.2f} s by the clock")
    for name, (component, count) in RUNS.items():
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            driven, took = spent(lambda: runs(component, count, folder))  # noqa: B023
            steps = len(driven.places)
            line(f"{name}: driven", steps, took)
            _, judge = spent(lambda: judging(component, folder))  # noqa: B023
            line(f"{name}: judged, with entries", steps, judge)
            driven, took = spent(lambda: runs(component, count, folder, True))  # noqa: B023
            _, judge = spent(lambda: judging(component, folder, driven))  # noqa: B023
            both = Spent(took.processor + judge.processor, took.wall + judge.wall)
            line(f"{name}: beside the reference", steps, both)


def main(_arguments: Sequence[str]) -> None:
    of_runs()
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
    print(f"memory: {own} MB here, {largest} MB in the largest JVM")
