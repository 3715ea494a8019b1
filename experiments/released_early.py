"""Z109 on a real cluster: a partition that is being taken is given to another member, too.

    .venv/bin/python -m experiments.released_early [--control] [--repeat N]

A heartbeat of a group's member (KIP-848) says which partitions it has taken, not which it is
taking. If it says so while its application still loads what belongs to them, and its group wants
one of them elsewhere, the coordinator takes that for given up.

1. The application M, one of those that copy a topic exactly once (KIP-447), is assigned both
   partitions. Its listener (onPartitionsAssigned) has to load what belongs to them, and where in
   them it goes on (seek), and takes a while.
2. N joins. One partition is to go from M to N; M is asked to give it up, when its listener is done.
3. The broker that coordinates the group is stopped (SIGTERM), as for an upgrade. M tells the next
   one all that it has, as it must: nothing yet. N is given the partition, reads and writes.
4. M's listener is done. Within the same poll M is given records of both partitions.
5. N commits what it has written and how far it has read, and so does M.

The control: no broker is stopped. N is given the partition when M has given it up.

The applications are Kafka's Java clients with their own settings, but for those that this takes
(group.protocol, enable.auto.commit=false, auto.offset.reset=earliest, read_committed). Brokers have
Kafka's own settings, but for offsets.topic.num.partitions=1 and
transaction.state.log.num.partitions=1 (50 by default): a quick start.

Ends with 1 if records were copied twice, with 0 if not, with 3 if it could not be tried.
"""

from __future__ import annotations

import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from experiments import evidence
from experiments.copying import (
    CONFIGURATION,
    COPIES,
    REASONS,
    SETTINGS,
    Application,
    copies_in,
    create_copies,
)
from experiments.group import GROUP, tell
from experiments.tools import TOPIC, Partition
from kraftcheck.live.clients import Setting, greet, read_all
from kraftcheck.live.cluster import Cluster
from kraftcheck.live.journal import HISTORY, Journal

HOSTS = ("b1", "b2", "b3")
RECORDS = 5
"""In each of the two partitions."""
HEARTBEATS_S = 12
"""Of five seconds each: until M was asked to give a partition up."""
POLL = "poll 60000"


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether records were copied twice."""
    partition = Partition(cluster, HOSTS[0], HOSTS[0], HOSTS)
    partition.create(asking=HOSTS[0], partitions=2)
    create_copies(partition, HOSTS[0])
    with Journal(folder / HISTORY) as journal:
        setting = Setting(journal, cluster.bootstrap, TOPIC, 2)
        greet(setting, {}, RECORDS)
        m = Application(cluster, setting, "m", "consumer", HOSTS[0], slow=True)
        n = Application(cluster, setting, "n", "consumer", HOSTS[0])
        with m, n, ThreadPoolExecutor(1) as beside:
            partition.say(f"M is assigned {m.join(POLL)}, and loads")
            reading = beside.submit(n.poll, POLL)
            time.sleep(HEARTBEATS_S)
            tell(partition, HOSTS[0], "--members", "--verbose")
            if not control:
                host = coordinator(partition)
                journal.moment("start-stop", host)
                cluster.stop(host)
                reading.result()
                partition.say(f"{host}, which coordinated, was stopped; N has {parts(n)}")
                if n.read:
                    n.write()
                tell(partition, other(host), "--members", "--verbose")
            m.go_on()
            partition.say(f"M's listener is done; it has {parts(m)}")
            refused = m.copy()
            partition.say(f"M's copy: {refused or 'done'}")
            if control:
                m.poll("poll 3000")
                reading.result()
                partition.say(f"M polls again; N has {parts(n)}")
                if n.read:
                    n.copy()
            else:
                if n.read:
                    refused = n.finish()
                    partition.say(f"N's copy: {refused or 'done'}")
                cluster.start(host)
                journal.moment("stop-stop", host)
        partition.await_isr(HOSTS, asking=HOSTS[0])
        read_all(setting, {})
        read_all(Setting(journal, cluster.bootstrap, COPIES, 1, processes=setting.processes), {})
    evidence.write(cluster, folder, CONFIGURATION)
    copied = copies_in(partition, HOSTS[0], 2 * RECORDS)
    return len(copied) > len(set(copied))


def coordinator(partition: Partition) -> str:
    """The host of the group's."""
    words = ("--describe", "--group", GROUP, "--state")
    said = partition.ask("consumer.group.ConsumerGroupCommand", HOSTS[0], *words)
    found = re.search(r":\d+\s*\((\d+)\)", said)
    assert found is not None, said
    return HOSTS[int(found[1]) - 1]


def other(host: str) -> str:
    return next(each for each in HOSTS if each != host)


def parts(of: Application) -> str:
    """How many records of which partition it was given."""
    numbers = [at for at, _, _ in of.read]
    return ", ".join(f"{numbers.count(at)} of {TOPIC}-{at}" for at in sorted({*numbers})) or "none"


main = evidence.experiment(
    run,
    "Try whether a partition that a member is taking is given to another one.",
    control="No broker is stopped.",
    settings=SETTINGS,
    reasons=REASONS,
    shown="records were copied twice",
    otherwise="each was copied once",
)


if __name__ == "__main__":
    main()
