"""Z185 on a real cluster: a member is told an assignment that is not committed.

See README.md for the story, the settings and the control.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Self

from kafka.coordinator.assignors.range import RangePartitionAssignor
from msgspec.structs import replace

from experiments import evidence, group
from experiments.group import GROUP, tell
from experiments.tools import ADMIN, CLIENT, OFFSETS, TOPIC, Partition, size, until, within
from kraftcheck.kafka.live.clients import greet
from kraftcheck.kafka.live.cluster import Cluster
from kraftcheck.kafka.live.libraries import load
from kraftcheck.kafka.live.members import Member

FIRST, BEHIND, SECOND = "b1", "b2", "b3"
CONFIGURATION = replace(group.CONFIGURATION, isolation="read_uncommitted")
ALONE = {
    "partition_assignment_strategy": [RangePartitionAssignor],
    "isolation_level": "read_uncommitted",
}
RECORDS = 3
TOLD_S = 15.0
"""Less than is left of the time in which b2 is in the ISR (30 s)."""


class Polled:
    """A member that is polled meanwhile. Use as a context."""

    def __init__(self, member: Member) -> None:
        self._member, self._done = member, threading.Event()
        self._thread = threading.Thread(target=self._poll)
        self.given: set[tuple[int, int]] = set()
        """Partition and offset of each record."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _poll(self) -> None:
        while not self._done.is_set():
            self.given |= {(each.partition, each.offset) for each in self._member.poll()}


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether M is given a record that N has been given, and has not given up."""
    partition = Partition(cluster, CLIENT, ADMIN, [FIRST, SECOND])
    partition.create(asking=FIRST, min_insync=1, partitions=2)
    with evidence.scene(
        cluster, folder, CONFIGURATION, partitions=2, library=load("kafka-python")
    ) as scene:
        greet(scene, {}, RECORDS)
        m = Member(scene, GROUP, ALONE, commits=False)
        with Polled(m) as first:
            partition.elect([FIRST, SECOND, BEHIND], asking=[FIRST], topic=OFFSETS)
            until(lambda: len(first.given) == 2 * RECORDS, "M has both partitions")
        m.commit()
        if not control:
            scene.cut_off(BEHIND, FIRST, SECOND)
        written = size(cluster, SECOND, OFFSETS)
        n = Member(scene, GROUP, ALONE, commits=False)
        with Polled(n) as other:
            with Polled(m):
                until(lambda: size(cluster, SECOND, OFFSETS) > written, "M assigns")
            partition.say("M has assigned; it polls no more")
            partition.elect([SECOND, FIRST, BEHIND], asking=[FIRST], topic=OFFSETS, settle=0)
            greet(scene, {}, RECORDS)
            within(lambda: len(other.given) == RECORDS, TOLD_S)
            partition.say(f"{SECOND} coordinates; N is given {parts(other.given)}")
        partition.elect([BEHIND, FIRST, SECOND], asking=[FIRST], topic=OFFSETS, settle=0)
        scene.heal()
        partition.say(f"{BEHIND} coordinates; N, at work on {parts(other.given)}, does not poll")
        with Polled(m) as again:
            both = shared(again, other, 20.0)
        partition.say(f"M is given {parts(again.given)}; both: {parts(both)}")
        tell(partition, FIRST, "--members", "--verbose")
        n.poll()
        n.leave()
        m.leave()
    return bool(both)


def shared(one: Polled, other: Polled, seconds: float) -> set[tuple[int, int]]:
    """Waits so long at most for records that both were given."""
    within(lambda: bool(one.given & other.given), seconds)
    return one.given & other.given


def parts(given: set[tuple[int, int]]) -> str:
    numbers = [at for at, _ in given]
    return ", ".join(f"{numbers.count(at)} of {TOPIC}-{at}" for at in sorted({*numbers})) or "none"


main = evidence.experiment(
    run,
    "Try whether a member is told an assignment that is not committed.",
    control="No link breaks.",
    settings=evidence.QUICK_GROUPS,
    guests=(CLIENT, ADMIN),
    shown="M is given a record that N is at work on",
    otherwise="no record was given to both",
)
