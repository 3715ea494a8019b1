"""Z102 on a real cluster: a group's committed offsets are gone as soon as its last member leaves.

    .venv/bin/python -m experiments.expired_offsets [--control] [--repeat N]

The offsets of a group that lost all its members are kept for offsets.retention.minutes. Of a group
of the consumer protocol (KIP-848) that time is counted from the last commit, not from there.

1. A member reads five records, commits, and stays in the group for longer than the retention. The
   topic is idle, so there is nothing to commit.
2. The member leaves, as when its application is restarted.
3. Record 6 is written. The application starts again; record 7 is written.
4. The group has no offsets any more: the new member begins at the end (auto.offset.reset=latest,
   Kafka's default) and is never given record 6.

The control: a group of the classic protocol, all else is the same.

The consumer is librdkafka's, which commits when it is told to. Brokers have Kafka's own settings,
but for offsets.retention.minutes=1 (7 days by default) and offsets.retention.check.interval.ms=1000
(10 minutes by default): a week in a minute; and offsets.topic.num.partitions=1 (50 by default): a
quick start.

Ends with 1 if the group was not given a record, with 0 if it was, with 3 if it could not be tried.
"""

from __future__ import annotations

import time
from pathlib import Path

from experiments import evidence
from experiments.group import JOIN_S, Protocol, joined, poll, tell
from experiments.tools import TOPIC, Partition
from kraftcheck.live.clients import Setting, greet, read_all
from kraftcheck.live.cluster import Cluster, ClusterError
from kraftcheck.live.journal import HISTORY, Journal
from kraftcheck.reference.clients.promises import Configuration

HOSTS = ("b1", "b2", "b3")
SETTINGS = {
    "offsets.retention.minutes": "1",
    "offsets.retention.check.interval.ms": "1000",
    "offsets.topic.num.partitions": "1",
}
REASONS = (
    "broker offsets.retention.minutes=1, offsets.retention.check.interval.ms=1000: a quick week",
    "broker offsets.topic.num.partitions=1: a quick start",
)
IDLE_S, EMPTY_S = 75.0, 5.0
"""In the group without a commit; between two members."""
RECORDS = 5


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether the group is not given a record that was written while it had no member."""
    partition = Partition(cluster, HOSTS[0], HOSTS[0], HOSTS)
    partition.create(asking=HOSTS[0])
    protocol: Protocol = "classic" if control else "consumer"
    with Journal(folder / HISTORY) as journal:
        setting = Setting(journal, cluster.bootstrap, TOPIC, 1)
        first = joined(setting, protocol, "latest")
        poll(first, JOIN_S)
        for _ in range(RECORDS):
            greet(setting, {})
        if (given := poll(first, JOIN_S)) != RECORDS:
            raise ClusterError(f"the first member was given {given} records, not {RECORDS}")
        first.commit()
        partition.say(f"{RECORDS} records read, and committed")
        tell(partition, HOSTS[0])
        poll(first, IDLE_S)
        tell(partition, HOSTS[0])
        first.leave()
        partition.say("the member has left")
        greet(setting, {})
        time.sleep(EMPTY_S)
        tell(partition, HOSTS[0])
        second = joined(setting, protocol, "latest")
        given = poll(second, JOIN_S)
        greet(setting, {})
        given += poll(second, JOIN_S)
        second.leave()
        partition.say(f"the new member was given {given} of 2 records")
        read_all(setting, {})
    configuration = Configuration(
        consumers="listen", one_client=False, goes_back=True, isolation="read_committed"
    )
    evidence.write(cluster, folder, configuration)
    return given < 2


main = evidence.experiment(
    run,
    "Try whether a group's offsets outlive its last member, as the retention says.",
    control="A group of the classic protocol.",
    settings=SETTINGS,
    reasons=REASONS,
    shown="a record was not given to the group",
    otherwise="all were given",
)


if __name__ == "__main__":
    main()
