"""Z165 on a real cluster: an odd error in the answer to markers, and a transaction never ends.

See README.md for the story, the settings and the control.
"""

from __future__ import annotations

import time
from pathlib import Path

import click
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource

from experiments import evidence
from experiments.tools import TOPIC, Partition
from experiments.transact import ID, Writer, numbers
from kraftcheck.kafka.live.cluster import Cluster
from kraftcheck.kafka.live.confluent import SILENT
from kraftcheck.reference.clients.promises import Configuration

ASKED = "b1"
CONFIGURATION = Configuration(transactions=True, isolation="read_committed", one_client=False)
LIMIT, TOO_SMALL, DEFAULT = "max.message.bytes", 10, 1_048_588
WAIT_S = 30


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether what was committed is not read."""
    partition = Partition(cluster, ASKED, ASKED, ["b1", "b2", "b3"]).create(asking=ASKED)
    admin = AdminClient({**SILENT, "bootstrap.servers": cluster.bootstrap})
    with (
        evidence.scene(cluster, folder, CONFIGURATION) as scene,
        Writer(cluster, scene, ASKED) as writer,
    ):
        writer.begin(2)
        limit(admin, TOO_SMALL)
        if control:
            limit(admin, DEFAULT)
        committed = writer.end("commit")
        time.sleep(1)
        limit(admin, DEFAULT)
        partition.say("the producer has committed")
        time.sleep(0 if control else WAIT_S)
        words = ["describe", "--transactional-id", ID]
        click.echo(partition.ask("TransactionsCommand", ASKED, *words).rstrip())
    given = numbers(partition, ASKED)
    click.echo(f"committed: {committed}; Kafka's consumer is given {given}")
    return given != committed


def limit(admin: AdminClient, size: int) -> None:
    """Sets how large a batch of the topic may be, and waits until brokers know."""
    entry = ConfigEntry(LIMIT, str(size), incremental_operation=AlterConfigOpType.SET)
    topic = ConfigResource(ConfigResource.Type.TOPIC, TOPIC, incremental_configs=[entry])
    for done in admin.incremental_alter_configs([topic]).values():
        done.result()
    time.sleep(2)


main = evidence.experiment(
    run,
    "Try whether a transaction ends whose marker is refused for an odd reason.",
    control="The setting is as it was before the commit.",
    settings=evidence.QUICK_TRANSACTIONS,
    shown="what was committed is not read",
    otherwise="as committed",
)
