"""Applications that know nothing of the kit, recorded by configuration and judged.

    .venv/bin/python -m experiments.recorded_applications [APPLICATION ...] [--seconds N]

Each application gets the interceptors of `kraftcheck interceptor` in its properties, and writes to
three brokers that are killed one after the other:

* console: Kafka's console producer;
* verifiable: Kafka's VerifiableProducer;
* transactional: a consumer and a transactional producer that copy a topic; the application is
  killed once, too;
* streams: a Streams application, exactly once;
* confluent: a producer of Python's confluent-kafka, with the plugin for librdkafka; it is killed
  twice, too (`kill -9`);
* doubled: the producer of `finds/Z141/run.py`, whose broker is restarted;
* doubled-control: the same, and nobody is restarted;
* aborted: two transactional producers as in `finds/Z140/run.py`, while a follower is down that then
  leads;
* aborted-control: the same, and the follower is not stopped.

In the end Kafka's console consumer, recorded as well, reads what is committed, and `check` judges
the history. Expected is that all hold, but for `doubled` and `aborted`, which are violated.

Ends with 1 if a verdict is another one, with 3 if it could not be tried.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import click
import confluent_kafka

from experiments import evidence
from experiments.tools import HOSTS, TOOLS, TOPIC, Partition, Program, click_errors
from experiments.transact import TRANSACT
from finds.Z140 import run as bulk_copy
from finds.Z140.run import HEIR, LEADER, THIRD
from finds.Z141 import run as forgotten_batches
from kraftcheck.kafka.live import interceptor
from kraftcheck.kafka.live.artifacts import cache, maven, version
from kraftcheck.kafka.live.cluster import Cluster
from kraftcheck.kafka.live.topics import admin_of, make

HERE: Final = Path(__file__).resolve().parent / "recorded"
IN, OUT = "in", "out"
DOWN_S, UP_S = 3.0, 5.0
SETTLED_S: Final = 10.0
GROUP: Final = {"group.id": "copy", "auto.offset.reset": "earliest", "enable.auto.commit": "false"}
EXPECTED: Final = {
    **{"console": "holds", "verifiable": "holds", "transactional": "holds", "streams": "holds"},
    **{"confluent": "holds", "doubled": "violated", "doubled-control": "holds"},
    **{"aborted": "violated", "aborted-control": "holds"},
}


class Recorded:
    """A cluster, and the history of the applications that use it."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster, self.folder = cluster, folder
        self.history = folder / "history.jsonl"

    def properties(self, name: str, kind: str = "", **more: str) -> str:
        """A file of properties. kind: of the interceptor, if there is one."""
        told = {"bootstrap.servers": self.cluster.bootstrap, **more}
        told |= interceptor.settings(kind, self.history) if kind else {}
        path = self.folder / f"{name}.properties"
        path.write_text("".join(f"{key}={value}\n" for key, value in told.items()))
        return str(path)

    def produce(self, name: str, count: int, throughput: int) -> subprocess.Popen[str]:
        """VerifiableProducer, with retries."""
        own = {"retries": "2147483647", "enable.idempotence": "true"}
        words = ["--bootstrap-server", self.cluster.bootstrap, "--topic", name]
        words += ["--max-messages", str(count), "--throughput", str(throughput), "--acks", "-1"]
        words += ["--command-config", self.properties("verifiable", interceptor.PRODUCER, **own)]
        return self.cluster.tool("n1", f"{TOOLS}.VerifiableProducer", *words)

    def kill_in_turn(self, seconds: float) -> None:
        """Kills a broker after the other, until that time is over."""
        end = time.monotonic() + seconds
        names = [node.name for node in self.cluster.state.nodes]
        while time.monotonic() < end:
            name = names[0]
            names = [*names[1:], name]
            self.cluster.kill(name)
            time.sleep(DOWN_S)
            self.cluster.start(name)
            time.sleep(UP_S)

    def read_all(self, topic: str, partitions: int, **more: str) -> int:
        """Reads what is committed with the console consumer; the number of records.

        more: settings of it.
        """
        own = {"isolation.level": "read_committed", **more}
        words = ["--bootstrap-server", self.cluster.bootstrap, "--topic", topic]
        words += ["--timeout-ms", "10000", "--offset", "earliest", "--command-config"]
        words += [self.properties("reader", interceptor.CONSUMER, **own)]
        count = 0
        for partition in range(partitions):
            own_words = [*words, "--partition", str(partition)]
            told = self.cluster.run_tool("n1", f"{TOOLS}.consumer.ConsoleConsumer", *own_words)
            count += int(told.rsplit("Processed a total of ")[1].split()[0])
        return count


@contextmanager
def running(process: subprocess.Popen[str], seconds: float = 60.0) -> Iterator[None]:
    """Terminate the application at the end of the context; kill it if it does not stop."""
    try:
        yield
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=seconds)
    finally:
        process.kill()
        process.communicate()


def console(recorded: Recorded, seconds: float) -> str:
    words = ["--bootstrap-server", recorded.cluster.bootstrap, "--topic", OUT]
    words += ["--command-config", recorded.properties("console", interceptor.PRODUCER)]
    process = recorded.cluster.tool("n1", f"{TOOLS}.ConsoleProducer", *words)
    assert process.stdin is not None
    process.stdin.write("".join(f"{number}\n" for number in range(50_000)))
    process.stdin.flush()
    recorded.kill_in_turn(seconds)
    process.communicate(timeout=180)  # Standard input ends.
    return OUT


def verifiable(recorded: Recorded, seconds: float) -> str:
    process = recorded.produce(OUT, int(500 * seconds), 500)
    recorded.kill_in_turn(seconds)
    process.communicate(timeout=180)
    return OUT


def transactional(recorded: Recorded, seconds: float) -> str:
    own = {"transactional.id": "copy", "transaction.timeout.ms": "15000"}
    files = [
        recorded.properties("producer", interceptor.PRODUCER, **own),
        recorded.properties("consumer", interceptor.CONSUMER, **GROUP),
    ]
    command = (str(HERE / "Transfer.java"), *files, IN, OUT)
    source = recorded.produce(IN, int(100 * seconds), 100)
    first = recorded.cluster.tool("n1", *command)
    recorded.kill_in_turn(seconds / 2)
    first.kill()
    first.communicate()
    with running(recorded.cluster.tool("n1", *command)):
        recorded.kill_in_turn(seconds / 2)
        source.communicate(timeout=180)
        time.sleep(20)
    return OUT


def streams(recorded: Recorded, seconds: float) -> str:
    serde = "org.apache.kafka.common.serialization.Serdes$ByteArraySerde"
    own = {
        **{"application.id": "copy", "processing.guarantee": "exactly_once_v2"},
        **{"default.key.serde": serde, "default.value.serde": serde},
        **{"auto.offset.reset": "earliest", "state.dir": str(recorded.folder / "state")},
        "producer.interceptor.classes": interceptor.PRODUCER,
        "main.consumer.interceptor.classes": interceptor.CONSUMER,
        interceptor.PATH: str(recorded.history),
    }
    command = (str(HERE / "Stream.java"), recorded.properties("streams", **own), IN, OUT)
    source = recorded.produce(IN, int(100 * seconds), 100)
    with running(recorded.cluster.tool("n1", *command)):
        recorded.kill_in_turn(seconds)
        source.communicate(timeout=180)
        time.sleep(20)
    return OUT


def confluent(recorded: Recorded, seconds: float) -> str:
    [library] = (
        Path(confluent_kafka.__file__).parent.with_name("confluent_kafka.libs").glob("librdkafka-*")
    )
    plugin = recorded.folder / interceptor.PLUGIN
    interceptor.build_plugin(library, plugin)
    told = {
        **{"bootstrap.servers": recorded.cluster.bootstrap, "enable.idempotence": "true"},
        **{"plugin.library.paths": str(plugin), interceptor.PATH: str(recorded.history)},
    }
    words = [sys.executable, str(HERE / "send.py"), OUT]
    words += [f"{name}={value}" for name, value in told.items()]
    for _ in range(2):
        process = subprocess.Popen(words)
        try:
            recorded.kill_in_turn(seconds / 2)
        finally:
            process.kill()
            process.wait()
    return OUT


def doubled(recorded: Recorded, control: bool) -> str:
    told = interceptor.settings(interceptor.PRODUCER, recorded.history)
    own = [f"{name}={value}" for name, value in told.items()]
    with tempfile.TemporaryDirectory() as folder:
        forgotten_batches.run(recorded.cluster, Path(folder), "stopped", control, own)
    return TOPIC


def aborted(recorded: Recorded, control: bool) -> str:
    """The transactions of Z140; what is committed is read before the leader changes, too."""
    cluster = recorded.cluster
    partition = Partition(cluster, LEADER, LEADER, HOSTS).create(asking=LEADER)
    told = interceptor.settings(interceptor.PRODUCER, recorded.history)
    own = [f"{name}={value}" for name, value in told.items()]
    p0, p1, p2 = (
        Program(cluster.tool(LEADER, str(TRANSACT), cluster.bootstrap, TOPIC, name, *own))
        for name in ("p0", "p1", "p2")
    )
    with p0, p1, p2:
        for each in (p0, p1, p2):
            each.answer()
        written(p0, [100_000] * 9, "commit")
        partition.await_batches(HOSTS, 10)
        if not control:
            cluster.stop(HEIR)
        written(p1, [10], "abort")
        written(p1, [60_000] * 4)
        written(p2, [10])
        p1.do("abort")
        p2.do("commit")
        partition.await_batches((LEADER, THIRD), 19)
        if not control:
            cluster.start(HEIR)
        partition.await_batches(HOSTS, 19)
        partition.await_isr(HOSTS, asking=LEADER)
    # In one poll: the interceptor does not see whether a consumer seeks between two.
    recorded.read_all(TOPIC, 1, **{"max.partition.fetch.bytes": "4000000"})
    partition.elect((HEIR, LEADER, THIRD), asking=HOSTS)
    partition.await_leader(HEIR, asking=HEIR)
    return TOPIC


def written(producer: Program, sizes: Sequence[int], end: str | None = None) -> None:
    """A transaction with records of these sizes, each a batch."""
    for step in ("begin", *(f"send {'x' * size}" for size in sizes), *([end] if end else [])):
        producer.do(step)


ALONE: Final[Mapping[str, tuple[str, evidence.Settings, Callable[[Recorded, bool], str]]]] = {
    "doubled": ("single", forgotten_batches.SETTINGS, doubled),
    "aborted": ("one-controller", bulk_copy.SETTINGS, aborted),
}
"""Finds, which arrange their own faults: the cluster's layout and settings."""


def tried(application: str, folder: Path, libraries: Path, seconds: float) -> str:
    """The verdict on one application."""
    none: tuple[str, evidence.Settings, None] = ("combined", {}, None)
    alone = ALONE.get(application.removesuffix("-control"))
    layout, reasons, script = alone or none
    settings = {name: value for them in reasons.values() for name, value in them.items()}
    cluster = Cluster.up(folder / "cluster", layout, settings=settings, own=libraries)
    recorded = Recorded(cluster, folder)
    try:
        if script is not None:
            topic = script(recorded, application.endswith("-control"))
        else:
            admin = admin_of(cluster.bootstrap, {})
            for name in (IN, OUT):
                make(admin, name, 2, 3, {"min.insync.replicas": "2"})
            # To a partition that a broker has only just heard of, Kafka before KAFKA-15591's fix
            # may append a producer's second batch first, and then write it again.
            time.sleep(SETTLED_S)
            applications: Mapping[str, Any] = {
                **{"console": console, "verifiable": verifiable},
                **{"transactional": transactional, "streams": streams},
                **{"confluent": confluent},
            }
            topic = applications[application](recorded, seconds)
        for each in (topic,) if alone else (IN, OUT):
            count = recorded.read_all(each, 1 if alone else 2)
            click.echo(f"{application}: {count:,} records of {each} read")
    finally:
        cluster.down()
    return checked(recorded.history)


def checked(history: Path) -> str:
    """The verdict of `kraftcheck check`, which prints its line."""
    words = ["check", str(history), "--faults", "clean", "--complete", "--quiet"]
    code = subprocess.run([sys.executable, "-m", "kraftcheck", *words], check=False).returncode
    return {0: "holds", 1: "violated", 2: "unknown"}.get(code, "bad input")


@click.command()
@click.argument("applications", nargs=-1, type=click.Choice([*EXPECTED]))
@click.option("--seconds", type=float, default=30.0, show_default=True, help="Of kills.")
@click.option("--out", type=click.Path(path_type=Path), help="Keep histories in this folder.")
@click_errors("recorded_applications")
def main(applications: tuple[str, ...], seconds: float, out: Path | None) -> None:
    """Record applications by configuration while brokers are killed, and judge them."""
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="recorded-") as temporary:
        place = out or Path(temporary)
        libraries = place / "libraries"
        libraries.mkdir(parents=True, exist_ok=True)
        interceptor.build(libraries / interceptor.JAR)
        jar = cache() / "streams" / f"kafka-streams-{version()}.jar"
        if not jar.is_file():
            what = f"-Dartifact=org.apache.kafka:kafka-streams:{version()}"
            maven("dependency:copy", what, f"-DoutputDirectory={jar.parent}")
        (libraries / jar.name).write_bytes(jar.read_bytes())
        for application in applications or EXPECTED:
            folder = place / application
            folder.mkdir(parents=True)
            verdict = tried(application, folder, libraries, seconds)
            wrong += verdict != EXPECTED[application]
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
