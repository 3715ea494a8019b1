"""Z410 on a real cluster: a share group receives nothing any more once the log start is in a gap.

See README.md for the story, the settings and the control.
"""

from __future__ import annotations

import json
import re
import time
from contextlib import ExitStack
from pathlib import Path

import click

from experiments import evidence
from experiments.tools import TOOLS, TOPIC, Partition, Program, until
from finds.Z400.run import CONFIGURE
from kraftcheck.kafka.live.cluster import Cluster, ClusterError

N1 = "n1"
GROUP = "g"
ACCEPT = Path(__file__).with_name("AcceptLast.java")
PATIENCE_S = 45
"""How long the consumer waits for a record: longer than a lock lasts (30 s)."""
SETTINGS = {
    "topics of groups have one replica, since there is one broker": {
        "offsets.topic.replication.factor": "1",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
    }
}
REFUSED = "is not greater than the start offset"


DELETION, RETENTION = "delete-records", "retention"
SEGMENT_S = 1
"""After which a segment is rolled, in place of a week."""
RETENTION_S = 400
"""How long retention may take: brokers look 30 s after their start, and then every five minutes."""


def run(cluster: Cluster, folder: Path, how: str, control: bool) -> bool:
    """Whether the group lacks records."""
    partition = Partition(cluster, N1, N1, (N1,))
    known = ["--bootstrap-server", cluster.node(N1).listener]
    rolled = [f"segment.ms={1000 * SEGMENT_S}"] if how == RETENTION else []
    partition.create(asking=N1, min_insync=1, config=rolled)
    configure(cluster, known, "share.auto.offset.reset=earliest")
    with ExitStack() as consumers:
        if how == RETENTION:
            write(cluster, known, 5)
            take(consumers, cluster, known[1], 5, accepted=0)
            time.sleep(2 * SEGMENT_S)
            write(cluster, known, 10)
            take(consumers, cluster, known[1], 10, accepted=5)
        else:
            write(cluster, known, 15)
            take(consumers, cluster, known[1], 15, accepted=5)
        partition.say("0-14 are taken, 10-14 are acknowledged")
        cluster.kill(N1)
    cluster.start(N1)
    partition.say("the broker was killed and is started")
    if not control:
        move_start(cluster, partition, known, folder, how)
        partition.say("the log starts at 5")
    write(cluster, known, 5)
    due = [*range(0 if control else 5, 10), *range(15, 20)]
    received = receive(cluster, known, len(due), PATIENCE_S)
    partition.say(f"the group is given {received or 'nothing'}")
    partition.describe_group(GROUP, asking=N1)
    errors = [line for line in cluster.log(N1).splitlines() if REFUSED in line]
    for line in errors[:1]:
        click.echo(f"         {line}")
    click.echo(f"the broker logged that {len(errors)} times; due were {due}")
    return not {*due} <= {*received}


def configure(cluster: Cluster, known: list[str], *settings: str) -> None:
    """Sets these for the group, each as NAME=VALUE."""
    words = ["--alter", "--entity-type", "groups", "--entity-name", GROUP]
    cluster.run_tool(N1, CONFIGURE, *known, *words, "--add-config", ",".join(settings))


def take(consumers: ExitStack, cluster: Cluster, server: str, count: int, *, accepted: int) -> None:
    """Starts a consumer that takes `count` records and acknowledges the last `accepted`."""
    words = [server, TOPIC, GROUP, str(accepted)]
    consumer = consumers.enter_context(Program(cluster.tool(N1, str(ACCEPT), *words)))
    answer = consumer.answer()
    if answer != {"taken": count, "stored": True}:
        raise ClusterError(f"the consumer says {answer}")


def move_start(
    cluster: Cluster, partition: Partition, known: list[str], folder: Path, how: str
) -> None:
    """Moves the start of the log to 5."""
    if how == RETENTION:
        # Retention keeps the last segment, which alone is larger than this.
        words = ["--alter", "--entity-type", "topics", "--entity-name", TOPIC]
        words += ["--add-config", "retention.bytes=1"]
        cluster.run_tool(N1, CONFIGURE, *known, *words)
        asked = ("GetOffsetShell", N1, "--time", "earliest")
        moved = "retention moves the log start"
        until(lambda: f"{TOPIC}:0:5" in partition.ask(*asked), moved, RETENTION_S)
        return
    delete_before(cluster, partition, folder, 5)


def delete_before(cluster: Cluster, partition: Partition, folder: Path, offset: int) -> None:
    """Deletes the records before that offset, where the log then starts."""
    wanted = {"topic": TOPIC, "partition": 0, "offset": offset}
    file = folder / "delete.json"
    file.write_text(json.dumps({"partitions": [wanted], "version": 1}), encoding="utf-8")
    partition.ask("DeleteRecordsCommand", N1, "--offset-json-file", str(file))


def write(cluster: Cluster, known: list[str], count: int) -> None:
    """Writes so many records with Kafka's own producer."""
    tool = cluster.tool(N1, f"{TOOLS}.ConsoleProducer", *known, "--topic", TOPIC)
    said, _ = tool.communicate("".join(f"v{each}\n" for each in range(count)), timeout=120)
    if tool.returncode or "ERROR" in said:
        raise ClusterError(f"the producer says {said[-300:]}")


def receive(cluster: Cluster, known: list[str], most: int, seconds: int) -> list[int]:
    """Give the offsets that Kafka's own share consumer receives of the group.

    It stops when that many seconds are over without a record.
    """
    words = ["--topic", TOPIC, "--group", GROUP, "--timeout-ms", str(seconds * 1000)]
    words += ["--max-messages", str(most), "--formatter-property", "print.offset=true"]
    tool = cluster.tool(N1, f"{TOOLS}.consumer.ConsoleShareConsumer", *known, *words)
    said, _ = tool.communicate(timeout=seconds + 120)
    if "Processed a total of" not in said:
        raise ClusterError(f"the consumer says {said[-300:]}")
    return [int(offset) for offset in re.findall(r"Offset:(\d+)", said)]


main = evidence.experiment(
    run,
    "Check whether a share group still receives records when the log start lies in a gap.",
    control="The log start does not move.",
    more=[evidence.choice("--how", [DELETION, RETENTION], "What moves the log start.")],
    layout="single",
    settings=SETTINGS,
    shown="the share group is not given records that it has not had",
    otherwise="the share group is given all that it has not had",
)
