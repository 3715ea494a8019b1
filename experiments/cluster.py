"""A real Apache Kafka cluster in KRaft mode, one controller and some brokers, on islands.

Artifacts come from Maven by their names and are kept in `build/kafka`. Data lies in a directory
that the caller names; processes die with the context.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from experiments.islands import Islands

HERE = Path(__file__).resolve().parent / "kafka"
LIBRARIES = Path(__file__).resolve().parent.parent / "build" / "kafka"
JAVA = ("java", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
CLUSTER_ID = "a3JhZnRjaGVjazAwMDAwMA"
CONTROLLER = "controller"
CONTROLLER_ID = 100
STARTED = "Kafka Server started"


class ClusterError(Exception):
    """The cluster cannot be fetched, started or asked. The text is one line."""


def fetch() -> Path:
    """The folder with Kafka's jars, filled by Maven the first time.

    Raises ClusterError: no Maven, or it failed.
    """
    if any(LIBRARIES.glob("kafka_2.13-*.jar")):
        return LIBRARIES
    if shutil.which("mvn") is None:
        raise ClusterError("no `mvn` command: install Maven to fetch Apache Kafka")
    words = ["mvn", "-q", "-B", "-f", str(HERE / "pom.xml"), "dependency:copy-dependencies"]
    done = subprocess.run(
        [*words, f"-DoutputDirectory={LIBRARIES}"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise ClusterError(f"mvn: {(done.stdout + done.stderr).strip().splitlines()[0]}")
    return LIBRARIES


def version() -> str:
    return next(fetch().glob("kafka_2.13-*.jar")).stem.removeprefix("kafka_2.13-")


class Cluster:
    """`brokers`: their hosts, numbered from 1. `settings`: added to every node's properties."""

    def __init__(
        self, islands: Islands, brokers: Sequence[str], folder: Path, settings: Mapping[str, str]
    ) -> None:
        self._islands = islands
        self._folder = folder
        self._settings = settings
        self._numbers = {CONTROLLER: CONTROLLER_ID}
        self._numbers |= {host: at for at, host in enumerate(brokers, 1)}
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._tools: list[subprocess.Popen[str]] = []
        self._class_path = f"{fetch()}/*"

    def __enter__(self) -> Cluster:
        for host in self._numbers:
            self._format(host)
            self._start(host)
        deadline = time.monotonic() + 60
        for host in self._numbers:
            while STARTED not in self.log(host):
                if time.monotonic() > deadline or self._running[host].poll() is not None:
                    raise ClusterError(f"{host} did not start: see {self._folder / host}.log")
                time.sleep(0.5)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for tool in self._tools:
            tool.kill()
        for host in list(self._running):
            self.kill(host)

    def number(self, host: str) -> int:
        return self._numbers[host]

    def listener(self, host: str) -> str:
        return f"{self._islands.address(host)}:9092"

    def log(self, host: str) -> str:
        """What the node has written to its log so far."""
        return (self._folder / f"{host}.log").read_text(encoding="utf-8", errors="replace")

    def partition_file(self, host: str, partition: str, name: str) -> Path:
        return self._folder / host / partition / name

    def kill(self, host: str) -> None:
        """SIGKILL: what was in the page cache stays."""
        process = self._running.pop(host)
        process.kill()
        process.wait()

    def tool(self, host: str, main: str, *arguments: str) -> subprocess.Popen[str]:
        """One of Kafka's own commands, started on that host."""
        tool = subprocess.Popen(
            self._islands.command(host, [*JAVA, "-cp", self._class_path, main, *arguments]),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._tools.append(tool)
        return tool

    def run_tool(self, host: str, main: str, *arguments: str) -> str:
        """As `tool`, to its end. Raises ClusterError: it failed."""
        process = self.tool(host, main, *arguments)
        output, _ = process.communicate(timeout=90)
        if process.returncode:
            raise ClusterError(f"{main}: {' '.join(output.split())[:300]}")
        return output

    def _properties(self, host: str) -> dict[str, str]:
        controller = f"{self._islands.address(CONTROLLER)}:9093"
        properties = {
            "node.id": str(self._numbers[host]),
            "controller.quorum.voters": f"{CONTROLLER_ID}@{controller}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "log.dirs": str(self._folder / host),
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "1",
            **self._settings,
        }
        if host == CONTROLLER:
            return properties | {
                "process.roles": "controller",
                "listeners": f"CONTROLLER://{controller}",
            }
        return properties | {
            "process.roles": "broker",
            "listeners": f"PLAINTEXT://{self.listener(host)}",
            "inter.broker.listener.name": "PLAINTEXT",
        }

    def _file(self, host: str) -> Path:
        return self._folder / f"{host}.properties"

    def _format(self, host: str) -> None:
        lines = [f"{key}={value}\n" for key, value in self._properties(host).items()]
        self._file(host).write_text("".join(lines), encoding="utf-8")
        words = ["format", "-t", CLUSTER_ID, "-c", str(self._file(host))]
        self.run_tool(host, "kafka.tools.StorageTool", *words)

    def _start(self, host: str) -> None:
        logging = f"-Dlog4j2.configurationFile={HERE / 'log4j2.xml'}"
        words = [*JAVA, logging, "-cp", self._class_path, "kafka.Kafka", str(self._file(host))]
        with open(self._folder / f"{host}.log", "wb") as log:
            self._running[host] = subprocess.Popen(
                self._islands.command(host, words), stdout=log, stderr=subprocess.STDOUT
            )
