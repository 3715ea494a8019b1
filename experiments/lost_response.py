"""On a real cluster: an odd error in the answer to markers, and a transaction never ends.

    .venv/bin/python -m experiments.lost_response [--control] [--repeat N]

A coordinator that has a marker refused for a reason that it does not expect throws
(TransactionMarkerRequestCompletionHandler.onComplete), and the exception is swallowed
(NetworkClient.completeResponses). The marker is not sent again, nor any other whose answer came
with it: the transaction is decided, and stays so until another broker coordinates it.

1. Kafka's Java producer writes two records in a transaction.
2. The topic's max.message.bytes is set to 10: no marker fits. The producer commits, and is told
   that it did. A second later the setting is as it was.
3. Half a minute later the transaction still is PrepareCommit, and its records are not shown.

The control: the setting is as it was before the producer commits.

Clients and brokers have Kafka's own settings, but for transaction.state.log.num.partitions=1 (a
start in seconds; 50 by default).

Ends with 1 if what was committed is not read, with 0 if it is.
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
from kraftcheck.live.clients import Setting, read_all
from kraftcheck.live.cluster import Cluster
from kraftcheck.live.confluent import SILENT
from kraftcheck.live.journal import HISTORY, Journal
from kraftcheck.reference.clients.promises import Configuration

ASKED = "b1"
SETTINGS = {"transaction.state.log.num.partitions": "1"}
REASONS = ("broker transaction.state.log.num.partitions=1: a quick start",)
CONFIGURATION = Configuration(transactions=True, isolation="read_committed", one_client=False)
LIMIT, TOO_SMALL, DEFAULT = "max.message.bytes", 10, 1_048_588
WAIT_S = 30


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether what was committed is not read."""
    partition = Partition(cluster, ASKED, ASKED, ["b1", "b2", "b3"])
    partition.create(asking=ASKED)
    admin = AdminClient({**SILENT, "bootstrap.servers": cluster.bootstrap})
    with Journal(folder / HISTORY) as journal:
        setting = Setting(journal, cluster.bootstrap, TOPIC, 1)
        with Writer(cluster, setting, ASKED) as writer:
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
        read_all(setting, {})
    evidence.write(cluster, folder, CONFIGURATION)
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
    settings=SETTINGS,
    reasons=REASONS,
    shown="what was committed is not read",
    otherwise="as committed",
)


if __name__ == "__main__":
    main()
