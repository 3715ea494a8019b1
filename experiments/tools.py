"""One partition of a real cluster, asked and changed with Kafka's own commands."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple, Self

import click
from confluent_kafka import KafkaException

from experiments.power import NoDisk
from kraftcheck.kafka.live.artifacts import ArtifactError, version
from kraftcheck.kafka.live.cluster import CLUSTER_ID, Cluster, ClusterError
from kraftcheck.kafka.live.islands import IslandError
from kraftcheck.kafka.live.metadata import dump_tool

TOPIC = "t"
OFFSETS, STATES, METADATA = "__consumer_offsets", "__transaction_state", "__cluster_metadata-0"
HOSTS = ("b1", "b2", "b3")
CLIENT, ADMIN = "client", "admin"
"""Guests: hosts on which clients and Kafka's commands run."""
_HERE = Path(__file__).resolve().parent
ELECT, REASSIGN, READ = (_HERE / f"{name}.java" for name in ("Elect", "Reassign", "Read"))
TOOLS = "org.apache.kafka.tools"
NO_JAVA = "no `java` command: install a JDK of at least 17"
WITHOUT = "without that, what was recorded can be judged (tests/live/test_finds.py)"
PATIENT = "request.timeout.ms=120000\ndelivery.timeout.ms=240000\n"


JARS = click.option(
    "--jars", type=click.Path(path_type=Path), help="Jars or classes that come before Kafka's."
)


def name_of(script: Path) -> str:
    """What a script is called where it says what it lacks: one of a find begins with its id."""
    if script.parent.name == "experiments":
        return script.stem
    return script.parent.name if script.stem == "run" else f"{script.parent.name} {script.stem}"


def click_errors(
    name: str, *, kafka: bool = True
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """What keeps an experiment from being tried is one line, and exit code 3.

    kafka: whether it needs Kafka, and so Java.
    """

    def decorated(main: Callable[..., None]) -> Callable[..., None]:
        @wraps(main)
        def wrapped(**options: Any) -> None:
            try:
                if kafka:
                    click.echo(f"Apache Kafka {version()}")
                    if shutil.which("java") is None:
                        raise ArtifactError(NO_JAVA)
                main(**options)
            except (ArtifactError, IslandError, NoDisk) as error:
                click.echo(f"{name}: {error}; {WITHOUT}", err=True)
                sys.exit(3)
            except ClusterError as error:
                click.echo(f"{name}: {error}", err=True)
                sys.exit(3)
            except KafkaException as error:
                click.echo(f"{name}: {error.args[0].str()}", err=True)
                sys.exit(3)

        return wrapped

    return decorated


def within(there: Callable[[], bool], seconds: float, pause: float = 0.1) -> bool:
    """Waits for it at most so long."""
    deadline = time.monotonic() + seconds
    while not there():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
    return True


def until(there: Callable[[], bool], what: str, seconds: float = 40) -> None:
    """Raises ClusterError: it does not happen in time."""
    if not within(there, seconds):
        raise ClusterError(f"not within {seconds:.0f} seconds: {what}")


def size(cluster: Cluster, host: str, topic: str) -> int:
    """Bytes of the first partition's log on that host."""
    return cluster.partition_file(host, f"{topic}-0", f"{0:020}.log").stat().st_size


class Program:
    """A program that is told step by step what to do: it answers each line by one line of JSON.

    Use as a context: where an experiment fails, it is killed; else it is waited for.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if error is not None:
            self._process.kill()
        self._process.communicate()

    def do(self, step: str) -> dict[str, Any]:
        """Returns its answer. Raises ClusterError: it ended."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{step}\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # what it said last tells why
        return self.answer()

    def answer(self) -> dict[str, Any]:
        """Waits for it. Raises ClusterError: it ended."""
        assert self._process.stdout is not None
        said = ""
        for line in self._process.stdout:
            if line.startswith("{"):
                found: dict[str, Any] = json.loads(line)
                return found
            said += line
        raise ClusterError(f"the program ended: {' '.join(said.split())[:300]}")

    def pause(self) -> None:
        """SIGSTOP: it does nothing, its connections stay."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)


class Acked(NamedTuple):
    """A record that Kafka's producer reported as written."""

    offset: int
    value: int


class Partition:
    """Partition 0 of one topic. `producer`, `admin`: the guests on which clients run."""

    def __init__(self, cluster: Cluster, producer: str, admin: str, order: Sequence[str]) -> None:
        self._cluster = cluster
        self._producer = producer
        self._admin = admin
        self._order = order
        self._began = time.monotonic()

    def say(self, what: str) -> None:
        """What has happened, with how much of the partition lies on each broker's disk."""
        ends = "  ".join(f"{host}: {self._size(host)}" for host in sorted(self._order))
        click.echo(f"{time.monotonic() - self._began:6.1f} s  {what:46} {ends}")

    def create(
        self,
        *,
        asking: str | None = None,
        min_insync: int = 2,
        partitions: int = 1,
        config: Sequence[str] = (),
    ) -> Self:
        """Create its topic, of which the first of the order leads. Returns itself.

        asking: that one, unless another is named.

        partitions: how many the topic has, all alike. config: what else is set for it, as
        NAME=VALUE.
        """
        order = ",".join([":".join(self._numbers(self._order))] * partitions)
        words = ["--replica-assignment", order]
        for each in (f"min.insync.replicas={min_insync}", *config):
            words += ["--config", each]
        asked = asking or self._order[0]
        self.ask("TopicCommand", asked, "--create", "--topic", TOPIC, *words)
        time.sleep(3)
        return self

    def elect(
        self,
        *orders: Sequence[str],
        asking: Sequence[str],
        topic: str = TOPIC,
        settle: float = 4,
    ) -> None:
        """Makes the first of an order the preferred leader, and elects it; so for each order.

        topic: of whose partition 0. settle: seconds to wait until the last may have heard of it.
        """
        known = ",".join(self._cluster.node(host).listener for host in asking)
        numbers = [",".join(self._numbers(order)) for order in orders]
        self._cluster.run_tool(self._admin, str(ELECT), known, topic, *numbers)
        time.sleep(settle)

    def reassign(self, order: Sequence[str] | None, *, asking: str) -> None:
        """Names other replicas, up or down. None: gives up what is under way.

        Raises ClusterError: that was refused.
        """
        wanted = ",".join(self._numbers(order)) if order else "cancel"
        known = self._cluster.node(asking).listener
        self._cluster.run_tool(self._admin, str(REASSIGN), known, TOPIC, wanted)

    def add_directory(self, broker: str, name: str) -> Path:
        """Give a broker a second log directory, in which the next replica is created.

        The first one then has a log. Returns the new one.
        """
        words = ("--create", "--topic", "first", "--replica-assignment", "1")
        self.ask("TopicCommand", broker, *words)
        cluster, second = self._cluster, self._cluster.directory / name
        cluster.stop(broker)
        properties = cluster.directory / f"{broker}.properties"
        with open(properties, "a", encoding="utf-8") as file:
            file.write(f"log.dirs={cluster.directory / broker},{second}\n")
        format = ("format", "-t", CLUSTER_ID, "-c", str(properties), "--ignore-formatted")
        cluster.run_tool(broker, "kafka.tools.StorageTool", *format)
        cluster.start(broker)
        return second

    def describe(self, asking: str) -> str:
        """Leader, replicas, ISR and ELR, as Kafka's own command says them; "" if it does not."""
        said = self.ask("TopicCommand", asking, "--describe", "--topic", TOPIC)
        return next((line.strip() for line in said.splitlines() if "Leader: " in line), "")

    def describe_group(self, group: str, *, asking: str) -> None:
        """Prints what Kafka's own command says of a share group."""
        words = ("--describe", "--group", group)
        for line in self.ask("consumer.group.ShareGroupCommand", asking, *words).splitlines():
            if line.strip() and "StatusConsoleListener" not in line:
                click.echo(f"         {line.strip()}")

    def produce(self, leader: str, *, acks: int) -> subprocess.Popen[str]:
        """Begins to produce one record."""
        file = self._cluster.directory / "producer.properties"
        file.write_text(PATIENT, encoding="utf-8")
        known = ["--bootstrap-server", self._cluster.node(leader).listener, "--topic", TOPIC]
        words = ["--max-messages", "1", "--acks", str(acks), *self.with_file(file)]
        return self._cluster.tool(self._producer, f"{TOOLS}.VerifiableProducer", *known, *words)

    def with_file(self, file: Path) -> list[str]:
        """How VerifiableProducer is told of a file of settings: KIP-1147 has renamed that (4.2)."""
        since = [int(part) for part in self._cluster.state.version.split(".")[:2]]
        return ["--command-config" if since >= [4, 2] else "--producer.config", str(file)]

    def await_acked(self, producer: subprocess.Popen[str], seconds: float = 30) -> list[Acked]:
        """What was acked within that time. Raises ClusterError: the producer failed by itself."""
        try:
            output, _ = producer.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            producer.kill()
            output, _ = producer.communicate()
        if producer.returncode > 0:
            raise ClusterError(f"the producer ended: {' '.join(output.split())[:300]}")
        return [each for each in map(_acked, output.splitlines()) if each is not None]

    def await_first(self, producer: subprocess.Popen[str]) -> Acked:
        """Raises ClusterError: the producer ended before anything was acked."""
        assert producer.stdout is not None
        for line in producer.stdout:
            first = _acked(line)
            if first is not None:
                return first
        raise ClusterError("the producer ended without an ack")

    def await_isr(self, hosts: Collection[str], *, asking: str, seconds: float = 60) -> str:
        """Returns `describe`. Raises ClusterError: the ISR is another one after that time."""
        return self._await(r"Isr: ([\d,]+)", set(self._numbers(hosts)), asking, seconds)

    def await_leader(self, host: str | None, *, asking: str, seconds: float = 60) -> str:
        """host: None: nobody leads. Returns `describe`.

        Raises ClusterError: somebody else does after that time.
        """
        wanted = {"none"} if host is None else set(self._numbers([host]))
        return self._await(r"Leader: (\S+)", wanted, asking, seconds)

    def read(
        self, asking: str, isolation: str = "read_uncommitted", topic: str = TOPIC
    ) -> list[str]:
        """The values that Kafka's own consumer is given from the beginning to the end.

        Raises ClusterError: it did not come to the end, so that nothing is known of the rest.
        """
        known = self._cluster.node(asking).listener
        said = self._cluster.run_tool(self._admin, str(READ), known, topic, isolation)
        return [line for line in said.splitlines() if line.isdigit()]

    def batches(self, host: str) -> int:
        """How many batches are in the first segment on that host's disk."""
        file = self._cluster.partition_file(host, f"{TOPIC}-0", f"{0:020}.log")
        data = file.read_bytes() if file.exists() else b""
        count = place = 0
        while place + 12 <= len(data):
            place += 12 + int.from_bytes(data[place + 8 : place + 12])
            count += place <= len(data)
        return count

    def await_batches(self, hosts: Collection[str], wanted: int, seconds: float = 60) -> None:
        """Raises ClusterError: not so many are on each of these disks within that time."""
        if not within(lambda: all(self.batches(host) >= wanted for host in hosts), seconds):
            found = {host: self.batches(host) for host in hosts}
            raise ClusterError(f"batches {found} after {seconds:.0f} seconds, not {wanted}")

    def dump(self, host: str, pattern: str, *words: str, topic: str = TOPIC) -> list[str]:
        """What Kafka's DumpLogSegments says of the partition's files of that name."""
        folder = self._cluster.partition_file(host, f"{topic}-0", "")
        files = ",".join(str(file) for file in sorted(folder.glob(pattern)) if file.stat().st_size)
        if not files:
            return []
        tool = dump_tool(self._cluster)
        said = self._cluster.run_tool(self._admin, tool, "--files", files, *words)
        return [line for line in said.splitlines() if not line.startswith(("Dumping", "Log start"))]

    def _await(self, pattern: str, wanted: set[str], asking: str, seconds: float) -> str:
        deadline = time.monotonic() + seconds
        while True:
            said = self.describe(asking)
            found = re.search(pattern, said)
            if found is not None and set(found[1].split(",")) == wanted:
                return said
            if time.monotonic() > deadline:
                seen = found[0] if found else "nothing"
                raise ClusterError(f"{seen} after {seconds:.0f} seconds, not {sorted(wanted)}")

    def ask(self, command: str, asking: str, *arguments: str) -> str:
        known = ["--bootstrap-server", self._cluster.node(asking).listener]
        return self._cluster.run_tool(self._admin, f"{TOOLS}.{command}", *known, *arguments)

    def _numbers(self, hosts: Collection[str]) -> list[str]:
        return [str(self._cluster.node(host).number) for host in hosts]

    def _size(self, host: str) -> str:
        file = self._cluster.partition_file(host, f"{TOPIC}-0", f"{0:020}.log")
        return f"{file.stat().st_size} bytes" if file.exists() else "none"


def _acked(line: str) -> Acked | None:
    """A line of a producer's output."""
    event = json.loads(line) if line.startswith("{") else {}
    if event.get("name") != "producer_send_success":
        return None
    return Acked(event["offset"], int(event["value"]))
