"""Z210 on a real cluster: a group is migrated while a cooperative member is to give something up.

    .venv/bin/python -m experiments.upgraded_amid [--control] [--repeat N]

A member of the classic protocol that is cooperative keeps what it has until it has heard its new
assignment and its application polls; only when it joins again is that given to another one. A group
that is migrated to the consumer protocol takes what each was assigned last for all that it has.

1. A cooperative member M joins, is assigned both partitions of the topic, is given a record of
   each, and works on them: it does not poll.
2. Another one, L, joins. M's client joins again, and hears that it keeps one of the two.
3. A member of the consumer protocol joins, which migrates the group. L or this one is assigned what
   M has yet to give up, and is given the record that M works on.
4. M polls: only now it is told to give the partition up, and commits what it did.

The control: M polls all the time.

The consumers are librdkafka's, with its own settings but for the assignor; they begin at the
beginning, and commit what they did when they give a partition up. Brokers have Kafka's own
settings, but for offsets.topic.num.partitions=1 (50 by default): a quick start.

Ends with 1 if a record was given to both, with 0 if not, with 3 if it could not be tried.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from experiments import evidence
from experiments.forgotten_rebalance import CONFIGURATION
from experiments.group import joined, poll
from experiments.orphaned_partition import HOSTS, PARTITIONS, QUICK, REASON, describe
from experiments.tools import TOPIC, Partition
from live.clients import Setting, greet, read_all
from live.cluster import Cluster, ClusterError
from live.journal import HISTORY, Journal
from live.members import Member

COOPERATIVE = {"partition.assignment.strategy": "cooperative-sticky"}
REASONS = [REASON]
TAKE_S = 60.0
"""Until M has been given a record of each partition."""
JOIN_S = 15.0
"""Until M's client has joined again: five intervals of its heartbeats."""


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether a record was given to M and to another member."""
    partition = Partition(cluster, HOSTS[0], HOSTS[0], HOSTS)
    partition.create(asking=HOSTS[0], partitions=PARTITIONS)
    with Journal(folder / HISTORY) as journal:
        setting = Setting(journal, cluster.bootstrap, TOPIC, PARTITIONS)
        greet(setting, {})
        m = joined(setting, "classic", "earliest", more=COOPERATIVE)
        mine = given([m], PARTITIONS)
        if len(mine) < PARTITIONS:
            raise ClusterError(f"M was given no more than {sorted(mine)}")
        other = joined(setting, "classic", "earliest", more=COOPERATIVE)
        also = [m] if control else []
        given([other], 0, JOIN_S, also)
        partition.say(f"M has {sorted(m.reader.positions())}; the group")
        describe(partition, HOSTS[0])
        comes = joined(setting, "consumer", "earliest")
        theirs = given([other, comes], 1, 2 * JOIN_S, also)
        taken = sorted({*other.reader.positions(), *comes.reader.positions()})
        has = sorted(m.reader.positions())
        partition.say(f"the others have {taken}; M, which has not given it up, {has}")
        describe(partition, HOSTS[0])
        poll(m, 1)
        both = mine & theirs
        partition.say(f"given to both: {[f'{TOPIC}-{at}, offset {offset}' for at, offset in both]}")
        for member in (m, other, comes):
            member.leave()
        read_all(setting, {})
    if not taken:
        raise ClusterError("nobody but M was assigned anything")
    evidence.write(cluster, folder, CONFIGURATION)
    return bool(both)


def given(
    members: Sequence[Member], records: int, most: float = TAKE_S, also: Sequence[Member] = ()
) -> set[tuple[int, int]]:
    """Partitions and offsets of what they are given, until it is so many records, or for `most`
    seconds. also: who polls meanwhile.
    """
    deadline, told = time.monotonic() + most, set[tuple[int, int]]()
    while time.monotonic() < deadline and not (records and len(told) >= records):
        for member in members:
            told |= {(got.partition, got.offset) for got in member.poll()}
        for member in also:
            poll(member, 0)
    return told


@evidence.options("upgraded_amid", control="M polls all the time.")
def main(control: bool, **how: Any) -> None:
    """Try whether somebody is given what a cooperative member has yet to give up."""
    evidence.settle(
        partial(run, control=control),
        "one-controller",
        QUICK,
        REASONS,
        shown="a record was given to both",
        otherwise="no record was given to both",
        **how,
    )


if __name__ == "__main__":
    main()
