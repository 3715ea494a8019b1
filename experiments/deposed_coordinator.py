"""A deposed coordinator keeps its member (8 of the groups' hunting list), on a real cluster.

    .venv/bin/python -m experiments.deposed_coordinator [--control] [--repeat N]

What a coordinator answers without a record it does not ask its log for. So one that was replaced,
and has not heard of it, goes on telling its members that all is well.

1. The applications M and N, each on a host of its own, have a partition each. b1 coordinates their
   group.
2. All links of b1 break but for that to M, and those of M but for that to b1. b1 is fenced after
   nine seconds, and b2 or b3 coordinates; M's session there ends after 45 s more.
3. N is given M's partition.

The control: M's link to b1 breaks as well.

Known as a limit (nothing but its log fences a coordinator), and not promised: a member that is cut
off with a broker is told nothing new. M can commit nothing, and reads what b1 has.

The applications are Kafka's Java clients with their own settings, but for those that this takes
(group.protocol=consumer, enable.auto.commit=false, auto.offset.reset=earliest). Brokers have
Kafka's own settings, but for offsets.topic.num.partitions=1 and
transaction.state.log.num.partitions=1 (50 by default): a quick start. Needs root, for network
namespaces.

Ends with 1 if M has its partition when N does, and was told by its coordinator that it is a member,
with 0 if not, with 3 if it could not be tried.
"""

from __future__ import annotations

import time
from pathlib import Path


from experiments import evidence
from experiments.copying import REASONS, SETTINGS, Application
from experiments.late_leave import shared
from experiments.late_offsets import OFFSETS
from experiments.tools import TOPIC, Partition
from live.clients import Setting, greet, read_all
from live.cluster import Cluster
from live.journal import HISTORY, Journal
from reference.clients.promises import Configuration

B1, B2, B3 = HOSTS = ("b1", "b2", "b3")
ISLAND, CLIENT, ADMIN = "island", "client", "admin"
TAKEN_S, MORE_S = 120.0, 20.0


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether both have M's partition for a while."""
    partition = Partition(cluster, CLIENT, ADMIN, HOSTS)
    partition.create(asking=B1, min_insync=1, partitions=2)
    with Journal(folder / HISTORY) as journal:
        setting = Setting(journal, cluster.bootstrap, TOPIC, 2)
        greet(setting, {}, 5)
        m = Application(cluster, setting, "m", "consumer", ISLAND, tells=True)
        n = Application(cluster, setting, "n", "consumer", CLIENT, tells=True)
        with m, n:
            m.poll("poll 5000")
            partition.elect(HOSTS, asking=HOSTS, topic=OFFSETS)
            shared(m, n)
            partition.say(f"M has {m.has}, N has {n.has}")
            for host in (B2, B3, "c1", CLIENT, ADMIN):
                cluster.cut(B1, host)
                cluster.cut(ISLAND, host)
            if control:
                cluster.cut(ISLAND, B1)
            journal.moment("start-partition", B1)
            began = time.monotonic()
            while len(n.has) < 2 and time.monotonic() < began + TAKEN_S:
                n.poll("poll 500")
                m.poll("poll 100")
            took = time.monotonic() - began
            partition.say(f"cut off for {took:.0f} s: N has {n.has}")
            more = time.monotonic()
            while time.monotonic() < more + MORE_S:
                n.poll("poll 500")
                m.poll("poll 100")
            partition.say(f"{MORE_S:.0f} s later N has {n.has}, M has {m.has}")
            kept = len(n.has) == 2 and bool(m.has)
            cluster.heal()
            journal.moment("stop-partition", B1)
            healed = time.monotonic()
            while len(m.has) + len(n.has) != 2 and time.monotonic() < healed + 90:
                n.poll("poll 500")
                m.poll("poll 500")
            partition.say(f"the links are whole: N has {n.has}, M has {m.has}")
        read_all(setting, {})
    configuration = Configuration(
        consumers="listen",
        reset="earliest",
        one_client=False,
        goes_back=True,
        isolation="read_committed",
        min_insync_replicas=1,
    )
    evidence.write(cluster, folder, configuration)
    return kept


main = evidence.experiment(
    run,
    "Try whether a coordinator that was replaced keeps its member.",
    control="M is cut off from it.",
    settings=SETTINGS,
    reasons=REASONS,
    guests=(ISLAND, CLIENT, ADMIN),
    shown="both have the partition",
    otherwise="N has it alone",
)


if __name__ == "__main__":
    main()
