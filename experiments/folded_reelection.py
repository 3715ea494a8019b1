"""Z67 on a real cluster: an acked record is lost by a leader that missed another leader.

    .venv/bin/python -m experiments.folded_reelection [--apart]

Three brokers, min.insync.replicas 2, acks=all, clean elections only, no data lost by any disk.

1. A leads. F cannot reach A. A record is produced to A; G copies it and fetches again, so A knows
   that G holds it. The producer waits, because F, in the ISR, does not hold it.
2. A hears nothing from the controller any more. F is elected (a preferred election). G follows F
   and cuts its log, which is longer than F's.
3. A is elected again. G cannot reach A. A hears of both elections at once, and so of one change:
   it led before and leads again. It keeps what it knew of G.
4. F reaches A and copies the record. Now A believes that all in-sync replicas hold it, and the
   producer is acked. G, in the ISR, holds nothing.
5. A dies, G is elected from the ISR: the acked record is gone, and F truncates its copy.

With --apart A hears of each election when it happens, and nothing is lost: the control.

Ends with 1 if the acked record was lost, with 0 if not, with 3 if it could not be tried.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import click

from live.artifacts import ArtifactError, version
from live.cluster import Cluster, ClusterError
from live.islands import IslandError

A, F, G, CONTROLLER = "b1", "b2", "b3", "c1"
PRODUCER, ADMIN = "producer", "admin"
TOPIC = "t"
ELECT = Path(__file__).resolve().parent / "Elect.java"
SETTINGS = {
    # Nobody is fenced and nobody leaves the ISR while links are cut by hand.
    "broker.session.timeout.ms": "600000",
    "replica.lag.time.max.ms": "600000",
    "replica.socket.timeout.ms": "3000",
    "auto.leader.rebalance.enable": "false",
    "unclean.leader.election.enable": "false",
}
PATIENT = "request.timeout.ms=120000\ndelivery.timeout.ms=240000\n"


class Experiment:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._began = time.monotonic()
        # Asked from a host that does not depend on A.
        self._admins = f"{cluster.node(F).listener},{cluster.node(G).listener}"

    def say(self, what: str) -> None:
        ends = "  ".join(f"{host}: {self._log(host)}" for host in (A, F, G))
        click.echo(f"{time.monotonic() - self._began:6.1f} s  {what:46} {ends}")

    def run(self, apart: bool) -> bool:
        """Whether the record was acked and then lost."""
        self._create()
        time.sleep(3)
        self.say("topic created, A leads")
        self._cluster.cut(A, F)
        producer = self._produce()
        time.sleep(6)
        self.say("F cut from A, record produced to A, not acked")
        self._cluster.cut(A, CONTROLLER)
        self._elect((F, A, G))
        self.say("A cut from the controller, F elected")
        if apart:
            self._hear("A has heard of the first election")
        self._cluster.cut(A, G)
        self._elect((A, F, G))
        self.say("G cut from A, A elected again")
        if not apart:
            self._hear("A has heard of both elections")
        self._cluster.heal(A, F)
        acked = acked_offsets(producer)
        self.say(f"F reaches A; acked: offset {acked}" if acked else "F reaches A; not acked")
        self._cluster.kill(A)
        self._elect((G, F, A))
        time.sleep(3)
        self.say("A killed, G elected from the ISR")
        values = self._read()
        click.echo(f"a consumer reads {len(values)} records: {values}")
        return bool(acked) and not values

    def _hear(self, what: str) -> None:
        self._cluster.heal(A, CONTROLLER)
        time.sleep(8)
        self.say(what)

    def _create(self) -> None:
        order = ":".join(str(self._cluster.node(host).number) for host in (A, F, G))
        words = ["--replica-assignment", order, "--config", "min.insync.replicas=2"]
        main = "org.apache.kafka.tools.TopicCommand"
        known = ["--bootstrap-server", self._admins, "--create", "--topic", TOPIC]
        self._cluster.run_tool(ADMIN, main, *known, *words)

    def _elect(self, order: Sequence[str]) -> None:
        """Makes the first of `order` the preferred leader, and elects it."""
        numbers = ",".join(str(self._cluster.node(host).number) for host in order)
        self._cluster.run_tool(ADMIN, str(ELECT), self._admins, TOPIC, numbers)
        time.sleep(4)

    def _produce(self) -> subprocess.Popen[str]:
        file = self._cluster.directory / "producer.properties"
        file.write_text(PATIENT, encoding="utf-8")
        known = ["--bootstrap-server", self._cluster.node(A).listener, "--topic", TOPIC]
        words = ["--max-messages", "1", "--acks", "-1", "--command-config", str(file)]
        main = "org.apache.kafka.tools.VerifiableProducer"
        return self._cluster.tool(PRODUCER, main, *known, *words)

    def _read(self) -> list[str]:
        known = ["--bootstrap-server", self._cluster.node(G).listener, "--topic", TOPIC]
        words = ["--partition", "0", "--offset", "earliest", "--timeout-ms", "8000"]
        main = "org.apache.kafka.tools.consumer.ConsoleConsumer"
        process = self._cluster.tool(ADMIN, main, *known, *words)
        output, _ = process.communicate(timeout=90)
        return [line for line in output.splitlines() if line.isdigit()]

    def _log(self, host: str) -> str:
        """How much of the partition lies on the broker's disk."""
        file = self._cluster.partition_file(host, f"{TOPIC}-0", f"{0:020}.log")
        return f"{file.stat().st_size} bytes" if file.exists() else "none"


def acked_offsets(producer: subprocess.Popen[str]) -> list[int]:
    """The offsets that Kafka's VerifiableProducer reports as acked within half a minute."""
    try:
        output, _ = producer.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        producer.kill()
        output, _ = producer.communicate()
    events = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return [event["offset"] for event in events if event["name"] == "producer_send_success"]


@click.command()
@click.option("--apart", is_flag=True, help="A hears of each election when it happens.")
def main(apart: bool) -> None:
    """Try whether a leader that missed another leader acks what it should not."""
    try:
        click.echo(f"Apache Kafka {version()}, three brokers and a controller")
        with tempfile.TemporaryDirectory(prefix="kraftcheck-") as name:
            guests = (PRODUCER, ADMIN)
            cluster = Cluster.up(Path(name), "one-controller", True, SETTINGS, guests)
            try:
                cluster.cut(ADMIN, A)
                lost = Experiment(cluster).run(apart)
            finally:
                cluster.down()
    except (ArtifactError, IslandError, ClusterError) as error:
        click.echo(f"folded_reelection: {error}", err=True)
        sys.exit(3)
    click.echo("VIOLATED: an acked record was lost" if lost else "no acked record was lost")
    sys.exit(int(lost))


if __name__ == "__main__":
    main()
