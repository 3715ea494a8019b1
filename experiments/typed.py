"""A cluster that prints the commands of Kafka which a script types, as a user would type them."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path
from typing import Final

import click

from kraftcheck.kafka.live.cluster import Cluster

SHELL: Final = {
    "ConfigCommand": "kafka-configs.sh",
    "ConsoleConsumer": "kafka-console-consumer.sh",
    "ConsoleProducer": "kafka-console-producer.sh",
    "ConsoleShareConsumer": "kafka-console-share-consumer.sh",
    "ConsumerGroupCommand": "kafka-consumer-groups.sh",
    "DumpLogSegments": "kafka-dump-log.sh",
    "FeatureCommand": "kafka-features.sh",
    "GetOffsetShell": "kafka-get-offsets.sh",
    "LogDirsCommand": "kafka-log-dirs.sh",
    "MetadataQuorumCommand": "kafka-metadata-quorum.sh",
    "ShareGroupCommand": "kafka-share-groups.sh",
    "StorageTool": "kafka-storage.sh",
    "TopicCommand": "kafka-topics.sh",
    "TransactionsCommand": "kafka-transactions.sh",
    "VerifiableProducer": "kafka-verifiable-producer.sh",
}
"""What Kafka's shell scripts are called, by the class that each runs."""


def typed(main: str, arguments: tuple[str, ...]) -> str:
    """What a user types for this: a class of Kafka, or the source file of a program."""
    name = main.rpartition(".")[2]
    if main.endswith(".java"):
        words = ["java", "-cp", "libs/*", Path(main).name]
    else:
        words = [SHELL[name]] if name in SHELL else ["kafka-run-class.sh", main]
    return shlex.join([*words, *arguments])


class Typing(Cluster):
    """A cluster that prints commands from `begin` on, and one that is repeated once."""

    _last: str | None = None

    def begin(self) -> None:
        self._last = ""

    def tool(self, host: str, main: str, *arguments: str) -> subprocess.Popen[str]:
        line = typed(main, arguments)
        if self._last is not None and line != self._last:
            click.echo(f"         $ {line}")
            self._last = line
        return super().tool(host, main, *arguments)
