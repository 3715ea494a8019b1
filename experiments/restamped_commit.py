"""Z108 on a real cluster: a consumer that lost its partition commits for it, and is not refused.

    .venv/bin/python -m experiments.restamped_commit [--control] [--repeat N]

A member of a group that was silent for too long is removed from it, and another is given its
partitions. Its own commits are refused: it was told a smaller epoch than its group has. Kafka's
consumer of the protocol of KIP-848 joins again in the background. From then on its commits bear the
new epoch, though its application is still busy with what it read before.

1. The application M, one of two that copy a topic exactly once (KIP-447), is given ten records.
2. M's process stands still (SIGSTOP) for longer than group.consumer.session.timeout.ms. N joins, is
   given the partition, copies the ten records, and commits.
3. M goes on. Its consumer hears that it is no member, and joins again; the partition stays with N.
4. M copies its ten records, and commits with them how far it has read, for a partition that it
   does not own. It is told that it did.

The control: both consumers use the classic protocol, all else is the same. M is refused.

The applications are Kafka's Java clients with their own settings, but for those that this takes
(group.protocol, enable.auto.commit=false, auto.offset.reset=earliest, read_committed). Brokers have
Kafka's own settings, but for offsets.topic.num.partitions=1 and
transaction.state.log.num.partitions=1 (50 by default): a quick start.

Ends with 1 if records were copied twice, with 0 if not, with 3 if it could not be tried.
"""

from __future__ import annotations

import time
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
from experiments.group import Protocol, tell
from experiments.tools import TOPIC, Partition
from kraftcheck.live.clients import Setting, greet, read_all
from kraftcheck.live.cluster import Cluster
from kraftcheck.live.journal import HISTORY, Journal

HOSTS = ("b1", "b2", "b3")
RECORDS = 10
REJOIN_S = 15
"""Three heartbeats: until a member that was removed has heard so, and has joined again."""


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether records were copied twice."""
    partition = Partition(cluster, HOSTS[0], HOSTS[0], HOSTS)
    partition.create(asking=HOSTS[0])
    create_copies(partition, HOSTS[0])
    protocol: Protocol = "classic" if control else "consumer"
    with Journal(folder / HISTORY) as journal:
        setting = Setting(journal, cluster.bootstrap, TOPIC, 1)
        greet(setting, {}, RECORDS)
        m = Application(cluster, setting, "m", protocol, HOSTS[0])
        with m, Application(cluster, setting, "n", protocol, HOSTS[0]) as n:
            m.poll(f"read {RECORDS}")
            partition.say(f"M was given {RECORDS} records")
            m.pause()
            journal.moment("start-pause", "M")
            n.poll(f"read {RECORDS}")
            first = n.copy()
            partition.say(f"N was given them, too; its copy: {first or 'done'}")
            tell(partition, HOSTS[0])
            m.resume()
            journal.moment("stop-pause", "M")
            time.sleep(REJOIN_S)
            partition.say(f"M goes on since {REJOIN_S} s")
            tell(partition, HOSTS[0], "--members", "--verbose")
            refused = m.copy()
            partition.say(f"M's copy: {refused or 'done'}")
            tell(partition, HOSTS[0])
        for topic in (TOPIC, COPIES):
            read_all(Setting(journal, cluster.bootstrap, topic, 1, processes=setting.processes), {})
    evidence.write(cluster, folder, CONFIGURATION)
    copied = copies_in(partition, HOSTS[0], RECORDS)
    return len(copied) > RECORDS


main = evidence.experiment(
    run,
    "Try whether a member that was removed from its group may commit what it read before.",
    control="Consumers use the classic protocol.",
    settings=SETTINGS,
    reasons=REASONS,
    shown="records were copied twice",
    otherwise="each was copied once",
)


if __name__ == "__main__":
    main()
