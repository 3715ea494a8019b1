"""Services in the form of Kafka's system tests, for the cluster of local.py.

Replace them by kafkatest's own: what `kraftcheck check` reads is what these clients print.
"""

import json
import os
import subprocess
from pathlib import Path

from ducktape.services.background_thread import BackgroundThreadService
from ducktape.services.service import Service

KRAFTCHECK = os.environ.get("KRAFTCHECK", "kraftcheck")
JARS = os.environ.get("KAFKA_JARS", "")
"""A class path with the jars of kafka-tools."""


class Kafka(Service):
    """Three brokers that `kraftcheck cluster` runs."""

    BROKERS = ("n1", "n2", "n3")

    def __init__(self, context):
        super().__init__(context, num_nodes=1)
        self.folder = Path(self.local_scratch_dir) / "cluster"
        self.bootstrap = ",".join(f"127.0.0.1:{29090 + number}" for number in (1, 2, 3))

    def _cluster(self, *words):
        account = self.nodes[0].account
        account.ssh(" ".join([KRAFTCHECK, "cluster", *words, "--dir", str(self.folder), "--quiet"]))

    def start_node(self, node, **_):
        self._cluster("up", "--layout", "combined")

    def stop_node(self, node, **_):
        if (self.folder / "cluster.json").exists():
            self._cluster("down")

    def clean_node(self, node, **_):
        pass

    def create_topic(self, name, partitions):
        words = f"--create --topic {name} --partitions {partitions} --replication-factor 3"
        tool = f"java -cp '{JARS}' org.apache.kafka.tools.TopicCommand"
        account = self.nodes[0].account
        account.ssh(f"{tool} --bootstrap-server {self.bootstrap} {words}")

    def bounce(self, broker, how):
        """how: stop (SIGTERM) or kill (SIGKILL)."""
        self._cluster(how, broker)
        self._cluster("start", broker)


class _Client(BackgroundThreadService):
    """A tool of Kafka's, one process a node, whose output ducktape collects."""

    OUTPUT = ""

    def __init__(self, context, kafka, topic):
        super().__init__(context, num_nodes=1)
        self.output = str(Path(self.local_scratch_dir) / self.OUTPUT)
        self.logs = {"stdout": {"path": self.output, "collect_default": True}}
        self.words = ["--bootstrap-server", kafka.bootstrap, "--topic", topic]
        self._process = None

    def _worker(self, idx, node):
        with open(self.output, "wb") as output:
            words = ["java", "-Xmx256m", "-cp", JARS, *self.command()]
            self._process = subprocess.Popen(words, stdout=output, stderr=subprocess.DEVNULL)
            self._process.wait()

    def stop_node(self, node, **_):
        """SIGTERM: these tools then say that they ended."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(60)

    def clean_node(self, node, **_):
        pass

    def lines(self):
        path = Path(self.output)
        return path.read_text().splitlines() if path.exists() else []


class VerifiableProducer(_Client):
    OUTPUT = "verifiable_producer.stdout"

    def command(self):
        own = ["--throughput", "100", "--acks", "-1", "--max-messages", "1000000"]
        return ["org.apache.kafka.tools.VerifiableProducer", *self.words, *own]

    def acked(self):
        return sum('"producer_send_success"' in line for line in self.lines())


class VerifiableConsumer(_Client):
    OUTPUT = "verifiable_consumer.stdout"

    def command(self):
        own = ["--group-id", "g", "--reset-policy", "earliest", "--verbose"]
        return ["org.apache.kafka.tools.VerifiableConsumer", *self.words, *own]

    def consumed(self):
        events = (json.loads(line) for line in self.lines() if '"records_consumed"' in line)
        return sum(event["count"] for event in events)


class ConsoleConsumer(_Client):
    OUTPUT = "console_consumer.stdout"

    def command(self):
        tool = "org.apache.kafka.tools.consumer.ConsoleConsumer"
        return [tool, *self.words, "--from-beginning"]

    def consumed(self):
        return len(self.lines())
