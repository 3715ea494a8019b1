"""Z70 on a real cluster: a transaction that is committed while a partition has no leader is lost.

See README.md for the story, the settings and the control.

--first abort: the other way round. 1 and 2 are aborted while b2 is down, and 3 is committed.

--unforced N: nothing is arranged. Four producers (librdkafka's, linger.ms=0) write transactions of
two or three records without rest and abort half, and b2 is restarted N times.
"""

from __future__ import annotations

import time
from pathlib import Path

import click
import msgspec

from experiments import evidence
from experiments.tools import TOPIC, Partition
from experiments.transact import ID, KEY, Writer, numbers
from kraftcheck.kafka.live.cluster import Cluster
from kraftcheck.kafka.live.crew import Crew
from kraftcheck.kafka.live.journal import HISTORY
from kraftcheck.kafka.live.workloads import transact
from kraftcheck.reference.clients.promises import Configuration

ASKED, HOST = "b1", "b2"
PRODUCERS, ABORTS, SECONDS = 4, 0.5, 60.0
DROPPED = "Couldn't find leader endpoint"
"""In the log of a coordinator, when it drops a marker."""
CONFIGURATION = Configuration(
    transactions=True,
    isolation="read_committed",
    replication_factor=1,
    min_insync_replicas=1,
    one_client=False,
)


def run(cluster: Cluster, folder: Path, first: str, control: bool) -> bool:
    """Whether consumers are given other records than those that were committed."""
    second = "abort" if first == "commit" else "commit"
    partition = Partition(cluster, ASKED, ASKED, [HOST]).create(asking=ASKED, min_insync=1)
    with evidence.scene(cluster, folder, CONFIGURATION) as scene:
        with Writer(cluster, scene, ASKED) as writer:
            writer.begin(2)
            scene.stop(HOST)
            partition.await_leader(None, asking=ASKED)
            committed = [] if control else writer.end(first)
            partition.say(f"{HOST} is down" + ("" if control else f", the producer did {first}"))
            scene.start(HOST)
            partition.await_leader(HOST, asking=ASKED)
            if control:
                committed = writer.end(first)
            partition.say(f"{HOST} leads again")
            for words in (
                ["describe-producers", "--topic", TOPIC, "--partition", "0"],
                ["describe", "--transactional-id", ID],
            ):
                click.echo(partition.ask("TransactionsCommand", ASKED, *words).rstrip())
            click.echo(f"Kafka's consumer is given {numbers(partition, ASKED)}")
            writer.begin(1)
            committed += writer.end(second)
            writer.begin(1)
            committed += writer.end("commit")
        partition.say(f"the producer did {second}, and then commit")
    for line in partition.dump(HOST, "*.log") + partition.dump(HOST, "*.txnindex"):
        click.echo(f"         {line}")
    given = numbers(partition, ASKED)
    click.echo(f"committed: {committed}; Kafka's consumer is given {given}")
    return given != committed


def restarted(cluster: Cluster, folder: Path, times: int) -> bool:
    """Whether restarts of a broker alone lose committed records, or show aborted ones."""
    partition = Partition(cluster, ASKED, ASKED, [HOST]).create(asking=ASKED, min_insync=1)
    with evidence.scene(cluster, folder, CONFIGURATION, aborts=ABORTS) as scene:
        crew = Crew()
        for at in range(PRODUCERS):
            crew.start(transact, scene, at, {"linger.ms": 0})
        for _ in range(times):
            time.sleep(3)
            cluster.stop(HOST)
            cluster.start(HOST)
            partition.await_leader(HOST, asking=ASKED)
        scene.done.set()
        crew.join(SECONDS)
    others = [node.name for node in cluster.state.nodes if node.name != HOST]
    dropped = sum(cluster.log(name).count(DROPPED) for name in others)
    committed, aborted, read = outcomes(folder / HISTORY)
    end = max(read.values(), default=0)
    lost = sum(offset < end and value not in read for value, offset in committed.items())
    shown = len(aborted & read.keys())
    click.echo(
        f"{times} restarts: {dropped} markers dropped, {lost} of {len(committed)} committed "
        f"records lost, {shown} of {len(aborted)} aborted ones read"
    )
    return lost + shown > 0


def outcomes(history: Path) -> tuple[dict[int, int], set[int], dict[int, int]]:
    """Values that were committed, aborted, and read; the first and the last with their offsets."""
    committed: dict[int, int] = {}
    aborted: set[int] = set()
    read: dict[int, int] = {}
    for line in history.read_bytes().splitlines():
        event = msgspec.json.decode(line)
        if event["f"] == "txn" and event["type"] == "ok":
            committed |= {value: offset for _, _, (offset, value) in event["value"]}
        elif event["f"] == "txn" and event["type"] == "fail":
            aborted |= {value for _, _, value in event["value"]}
        elif event["f"] == "poll" and event["type"] == "ok":
            read |= {value: offset for offset, value in event["value"][0][1].get(KEY, ())}
    return committed, aborted, read


main = evidence.experiment(
    run,
    "Try whether a transaction that ends while a partition has no leader ends there at all.",
    control="The transaction is ended when its partition leads.",
    more=[evidence.choice("--first", ["commit", "abort"])],
    unforced=(restarted, "Restarts under transactional load."),
    settings=evidence.QUICK_TRANSACTIONS,
    shown="what was read is not what was committed",
    otherwise="as committed",
)
