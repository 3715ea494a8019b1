"""Kafka's own tools, recorded by configuration: they know nothing of the kit."""

from __future__ import annotations

import multiprocessing
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import confluent_kafka
import pytest

import kraftcheck
from kraftcheck.kafka.live import interceptor
from kraftcheck.kafka.live.artifacts import ArtifactError, broker, class_path, version
from kraftcheck.kafka.serve.admin import Cluster, Process
from kraftcheck.osutil.java import BRIEF

pytestmark = pytest.mark.kafka

LOGGING: Final = Path(__file__).resolve().parents[2] / "kraftcheck/kafka/live/kafka/log4j2.xml"
JVM: Final = ("-Xmx256m", *BRIEF)
TOOLS: Final = "org.apache.kafka.tools"
RECORDS: Final = 50
SEND: Final = Path(__file__).resolve().parents[2] / "experiments/recorded/send.py"
RETRIES: Final = {"retries": "2147483647", "enable.idempotence": "true"}


@pytest.fixture(scope="module")
def jar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("jar") / interceptor.JAR
    interceptor.build(path)
    return path


@pytest.fixture(scope="module", params=["", "Z58"], ids=["correct", "Z58"])
def process(request: pytest.FixtureRequest) -> Iterator[Process]:
    """Brokers; with Z58 they append a batch that is sent again once more."""
    served = Process("--judge", "0", *(["--bug", request.param] if request.param else []))
    yield served
    served.close()


class Tools:
    """Kafka's tools with the interceptors in their properties."""

    def __init__(self, jar: Path, folder: Path, bootstrap: str, kafka: str = "") -> None:
        self.path = f"{jar}:{class_path(of=broker(kafka or version()))}"
        self.folder, self.bootstrap = folder, bootstrap
        self.history = folder / "history.jsonl"

    def start(self, tool: str, kind: str, *words: str, **how: Any) -> subprocess.Popen[str]:
        own: Mapping[str, str] = how.pop("own", {})
        told = {**interceptor.settings(kind, self.history), **own}
        config = self.folder / f"{tool}.properties"
        config.write_text("".join(f"{name}={value}\n" for name, value in told.items()))
        call = ["java", *JVM, f"-Dlog4j2.configurationFile={LOGGING}"]
        call += ["-cp", self.path, f"{TOOLS}.{tool}", *words, "--bootstrap-server", self.bootstrap]
        call += [
            f"--{'producer' if kind == interceptor.PRODUCER else 'consumer'}.config",
            str(config),
        ]
        pipe = subprocess.PIPE
        return subprocess.Popen(call, stdout=pipe, stderr=pipe, text=True, **how)

    def produce(self, topic: str, count: int = RECORDS, **how: Any) -> str:
        """What it printed: all are sent and acknowledged."""
        words = ("--topic", topic, "--max-messages", str(count), "--acks", "-1")
        how["own"] = {**RETRIES, **how.get("own", {})}
        done = self.start("VerifiableProducer", interceptor.PRODUCER, *words, **how)
        said, errors = done.communicate(timeout=120)
        assert f'"sent":{count},"acked":{count}' in said, errors
        return said + errors

    def consume(self, topic: str, *more: str) -> None:
        words = ("--topic", topic, "--partition", "0", "--offset", "earliest", *more)
        name = "consumer.ConsoleConsumer"
        patience = ("--timeout-ms", "60000" if more else "5000")
        done = self.start(name, interceptor.CONSUMER, *words, *patience)
        _, errors = done.communicate(timeout=120)
        assert "Processed a total of" in errors, errors

    def check(self) -> kraftcheck.Report:
        return kraftcheck.check(self.history, faults="clean", complete=True)


@pytest.fixture
def tools(jar: Path, process: Process, tmp_path: Path) -> Tools:
    return Tools(jar, tmp_path, process.cluster.bootstrap_servers)


def is_planted(request: pytest.FixtureRequest) -> bool:
    return bool(request.node.callspec.params["process"])


@pytest.mark.parametrize("header", ["true", "false"])
def test_tools_are_recorded_and_a_broken_broker_is_found(
    header: str, tools: Tools, process: Process, request: pytest.FixtureRequest
) -> None:
    """An answer is lost and the producer retries: Z58 appends its records twice."""
    topic = f"t-{header}"
    process.cluster.create_topic(topic)
    process.cluster.when("Produce", nth=2, topic=topic).do("reset", cut="after")
    tools.produce(topic, own={"batch.size": "200", "kraftcheck.history.header": header})
    tools.consume(topic)
    report = tools.check()
    if is_planted(request):
        assert report.verdict == "violated"
        found = {each.name for each in report.anomalies if not each.allowed}
        assert found & {"duplicate", "hole"}, found
    else:
        assert report.holds, report
        assert ("not recorded" in str(report)) == (header == "false")
        assert report.documents[0]["operations"] > RECORDS


def acknowledged(history: Path) -> int:
    return history.read_bytes().count(b'"acked"') if history.exists() else 0


only_correct = pytest.mark.parametrize("process", [""], ids=["correct"], indirect=True)


@only_correct
@pytest.mark.slow
@pytest.mark.parametrize("kafka", ["3.9.2", "4.0.2", "4.1.2", "4.2.2", "4.4.0"])
def test_clients_of_other_releases_are_recorded(
    kafka: str, jar: Path, process: Process, tmp_path: Path
) -> None:
    """One jar, whose bytecode is that of Java 11, for all of them."""
    with zipfile.ZipFile(jar) as packed:
        assert packed.read("kraftcheck/clients/Line.class")[6:8] == bytes([0, 55])
    process.cluster.create_topic(kafka)
    tools = Tools(jar, tmp_path, process.cluster.bootstrap_servers, kafka)
    tools.produce(kafka)
    tools.consume(kafka, "--max-messages", str(RECORDS))
    lines = tools.history.read_text().splitlines()
    assert sum(f'"clients":"{kafka}"' in line for line in lines) == 2
    named = ['"id":' in line for line in lines if '"acked"' in line]
    assert named and all(named) == any(named) == (kafka > "4.1")
    assert tools.check().holds


@only_correct
def test_a_killed_application_leaves_a_file_that_is_read(tools: Tools, process: Process) -> None:
    process.cluster.create_topic("killed")
    words = ("--topic", "killed", "--max-messages", "1000000", "--throughput", "2000")
    own = {"own": RETRIES}
    running = tools.start("VerifiableProducer", interceptor.PRODUCER, *words, **own)
    end = time.monotonic() + 60
    while time.monotonic() < end and acknowledged(tools.history) < 500:
        time.sleep(0.1)
    running.send_signal(signal.SIGKILL)
    running.communicate()
    tools.consume("killed")
    report = tools.check()
    assert report.holds, report
    assert "the last requests of 1 JVM" in str(report)


@only_correct
def test_an_application_goes_on_where_the_disk_is_full(tools: Tools, process: Process) -> None:
    """A file may have 2 kB; the application sends all, and the verdict is not green."""
    process.cluster.create_topic("full")

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, 2_000))

    said = tools.produce("full", 1000, preexec_fn=limit)
    assert said.count("the history is incomplete, and the application goes on") == 1
    assert tools.history.stat().st_size <= 2_000
    tools.consume("full")
    report = tools.check()
    assert report.verdict == "unknown"
    assert "1 JVM could not write the file" in report.evidence[0]


@only_correct
@pytest.mark.parametrize("path", ["", "/nowhere/history.jsonl", "/dev/full"])
def test_an_application_goes_on_where_nothing_can_be_recorded(
    path: str, tools: Tools, process: Process
) -> None:
    process.cluster.create_topic(f"none{len(path)}")
    said = tools.produce(f"none{len(path)}", own={interceptor.PATH: path})
    assert said.count("kraftcheck: nothing is recorded") == 1
    with pytest.raises(kraftcheck.BadInput):
        tools.check()


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plugin for the librdkafka that Python's client carries."""
    folder = Path(confluent_kafka.__file__).parent.with_name("confluent_kafka.libs")
    (library,) = folder.glob("librdkafka-*")
    path = tmp_path_factory.mktemp("plugin") / interceptor.PLUGIN
    try:
        interceptor.build_plugin(library, path)
    except ArtifactError as lacking:
        if "rdkafka.h" not in str(lacking):
            raise
        pytest.skip(str(lacking))
    return path


def librdkafka(plugin: Path, history: Path, cluster: Cluster, topic: str) -> None:
    """Python's clients, which send records and read all of them."""
    recorded = {"plugin.library.paths": str(plugin), interceptor.PATH: str(history)}
    common = {**recorded, "bootstrap.servers": cluster.bootstrap_servers}
    own = {"enable.idempotence": True, "batch.size": 200}
    producer = confluent_kafka.Producer({**common, **own})
    for number in range(RECORDS):
        producer.produce(topic, str(number))
    assert producer.flush(60) == 0
    del producer
    consumer = confluent_kafka.Consumer(
        {**common, "group.id": "g", "auto.offset.reset": "earliest"}
    )
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    count, quiet = 0, time.monotonic() + 20
    while time.monotonic() < quiet:
        if consumer.poll(0.2) is not None:
            count, quiet = count + 1, time.monotonic() + (20 if count < RECORDS - 1 else 2)
    consumer.close()
    del consumer
    assert count >= RECORDS or not history.exists()


def test_librdkafka_is_recorded_and_a_broken_broker_is_found(
    plugin: Path, process: Process, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    process.cluster.create_topic("c")
    process.cluster.when("Produce", nth=2, topic="c").do("reset", cut="after")
    history = tmp_path / "history.jsonl"
    librdkafka(plugin, history, process.cluster, "c")
    report = kraftcheck.check(history, faults="clean", complete=True)
    assert report.verdict == ("violated" if is_planted(request) else "holds"), report
    assert report.documents[0]["operations"] > RECORDS


@only_correct
@pytest.mark.parametrize("path", ["/nowhere/history.jsonl", "/dev/full"])
def test_librdkafka_goes_on_where_nothing_can_be_recorded(
    path: str, plugin: Path, process: Process, capfd: pytest.CaptureFixture[str]
) -> None:
    process.cluster.create_topic(f"c{len(path)}")
    librdkafka(plugin, Path(path), process.cluster, f"c{len(path)}")
    assert "kraftcheck: nothing is recorded" in capfd.readouterr().err


@only_correct
def test_librdkafka_goes_on_where_the_disk_is_full(
    plugin: Path, process: Process, tmp_path: Path
) -> None:
    """In a process of its own, whose files may have 1 kB more than a history has already."""
    process.cluster.create_topic("cf")
    history = tmp_path / "history.jsonl"
    librdkafka(plugin, history, process.cluster, "cf")
    limit = history.stat().st_size + 1_000

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        librdkafka(plugin, history, process.cluster, "cf")

    child = multiprocessing.get_context("fork").Process(target=limited)
    child.start()
    child.join(90)
    assert child.exitcode == 0
    report = kraftcheck.check(history, faults="clean", complete=True)
    assert report.verdict == "unknown"
    assert "could not write the file" in report.evidence[0]


@only_correct
def test_a_killed_client_of_librdkafka_leaves_a_file_that_is_read(
    plugin: Path, process: Process, tmp_path: Path
) -> None:
    """What was acknowledged and is not in the file is said to be missing."""
    process.cluster.create_topic("ck")
    history = tmp_path / "history.jsonl"
    config = {
        **{"plugin.library.paths": str(plugin), interceptor.PATH: str(history)},
        "bootstrap.servers": process.cluster.bootstrap_servers,
    }
    words = [sys.executable, str(SEND), "ck", *(f"{key}={value}" for key, value in config.items())]
    running = subprocess.Popen(words)
    end = time.monotonic() + 60
    while time.monotonic() < end and acknowledged(history) < 200:
        time.sleep(0.05)
    running.kill()
    running.wait()
    with history.open("ab") as file:
        file.write(b'\n{"event":"acked","jvm":"')  # A line that the kill cut.
    librdkafka(plugin, history, process.cluster, "ck")
    report = kraftcheck.check(history, faults="clean", complete=True)
    assert report.holds, report
    assert "the last requests of 1 JVM" in str(report)


def test_the_plugin_needs_a_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ArtifactError, match="no `cc`"):
        interceptor.build_plugin(tmp_path / "x.so", tmp_path / "y.so")


def test_the_jar_needs_maven(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ArtifactError, match="no `mvn`"):
        interceptor.build(tmp_path / "x.jar")


def test_its_own_tests_pass(tmp_path: Path) -> None:
    """As `make interceptor` runs them, with the oldest clients."""
    project = tmp_path / "project"
    shutil.copytree(interceptor.SOURCES, project, ignore=shutil.ignore_patterns("target"))
    call = ["mvn", "-B", "-q", "-f", str(project / "pom.xml"), "test"]
    done = subprocess.run(call, capture_output=True, text=True, env={**os.environ}, check=False)
    assert done.returncode == 0, done.stdout
    assert list(project.glob("target/surefire-reports/*.xml"))
