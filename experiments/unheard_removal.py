"""Z125 on a real cluster: a broker hears by a snapshot that it is no replica now, and leads on.

    .venv/bin/python -m experiments.unheard_removal [--control] [--repeat N]

A broker that was away from the controllers for so long that the metadata log has been cleaned is
sent a snapshot. What it compares that with is an empty topic, so that it does not see which of its
partitions have gone elsewhere.

1. b1 leads the topic; b2 and b3 follow. A producer with acks=1 is connected.
2. The link of b1 to the controller breaks. b2 is elected. The topic moves to b2, b3 and b4.
3. The controller cleans its log. The link is whole again; b1 loads a snapshot.
4. b1 knows who leads, and tells clients so that ask. It leads on all the same: the producer, which
   has no reason to ask, is answered by b1. What it writes is nowhere else.

The control: with Kafka's own settings the log is not cleaned, and b1 reads what it missed; all else
is the same. It deletes its replica, and the producer goes elsewhere.

All nodes have metadata.log.max.record.bytes.between.snapshots=2000 (20 MB by default) and
metadata.max.retention.bytes=1 (100 MB by default), so that a minute is enough for what takes 100 MB
of changes, or a week, with Kafka's own. The producer is librdkafka's. Needs root, for network
namespaces.

Ends with 1 if acknowledged records are read by nobody, though all links are whole, with 0 if they
are read, with 3 if it could not be tried.
"""

from __future__ import annotations

import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import click

from experiments import evidence
from experiments.tools import TOPIC, Partition, click_errors
from live.clients import Setting, connected, read_all
from live.cluster import Cluster, ClusterError
from live.journal import Journal
from live.recording import HISTORY
from reference.clients.promises import Configuration

B1, B2, B3, B4 = HOSTS = ("b1", "b2", "b3", "b4")
CONTROLLER, ADMIN = "c1", "admin"
SETTINGS = {
    "metadata.log.max.record.bytes.between.snapshots": "2000",
    "metadata.max.retention.bytes": "1",
}
REASONS = (
    "metadata.log.max.record.bytes.between.snapshots=2000, metadata.max.retention.bytes=1: a week "
    "or 100 MB of metadata in a minute",
)
CONFIGURATION = Configuration(
    acks="1", one_client=False, goes_back=True, isolation="read_committed"
)
RECORDS = 5
AWAY_S, BACK_S = 150, 15
"""At most until the log is cleaned (once a minute); after b1 is back."""
LOADED = "handleLoadSnapshot("


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether acknowledged records are read by nobody."""
    partition = Partition(cluster, ADMIN, ADMIN, HOSTS)
    Partition(cluster, ADMIN, ADMIN, (B1, B2, B3)).create(asking=B2)
    with Journal(folder / HISTORY) as journal:
        setting = Setting(journal, cluster.bootstrap, TOPIC, 1)
        sender = connected(setting, {"acks": "1", "enable.idempotence": False})

        def send() -> int | None:
            value, process = setting.values.next(), setting.processes.next()
            asked = [["send", setting.key(0), value]]
            journal.event(process, "invoke", "send", asked)
            told = sender.send(TOPIC, 0, str(value).encode())
            if told.error is None:
                answer = [["send", setting.key(0), [told.offset, value]]]
                journal.event(process, "ok", "send", answer)
            else:
                journal.event(process, "info", "send", asked, error=told.error)
            return told.offset

        acked = [send()]
        cluster.cut(B1, CONTROLLER)
        journal.moment("start-partition", B1)
        partition.await_leader(B2, asking=B2)
        partition.reassign((B2, B3, B4), asking=B2)
        partition.await_isr({B2, B3, B4}, asking=B2)
        partition.say("b1 is cut off, the topic has moved")
        click.echo(f"         {partition.describe(B2)}")
        missed, loads = snapshots(cluster)[-1:], cluster.log(B1).count(LOADED)
        deadline = time.monotonic() + AWAY_S
        while time.monotonic() < deadline and not (snapshots(cluster)[:1] > missed):
            time.sleep(1)
        cluster.heal(B1, CONTROLLER)
        journal.moment("stop-partition", B1)
        time.sleep(BACK_S)
        by_snapshot = cluster.log(B1).count(LOADED) > loads
        partition.say(f"b1 is back; by a snapshot: {by_snapshot}")
        if by_snapshot is control:
            raise ClusterError(f"snapshots of the controller: {snapshots(cluster)}")
        acked += [send() for _ in range(RECORDS)]
        partition.say(f"acked: offsets {acked}")
        read_all(setting, {})
    evidence.write(cluster, folder, CONFIGURATION)
    for line in partition.dump(B1, "*.log"):
        click.echo(f"         b1: {line}")
    given = len(partition.read(B2))
    click.echo(f"{len(acked)} records acknowledged; Kafka's consumer is given {given}")
    return given < len([each for each in acked if each is not None])


def snapshots(cluster: Cluster) -> list[int]:
    """Where the controller's snapshots of the metadata log end."""
    folder = cluster.partition_file(CONTROLLER, "__cluster_metadata-0", "")
    return sorted(int(file.name.split("-")[0]) for file in folder.glob("0*-*.checkpoint"))


@click.command()
@click.option("--control", is_flag=True, help="The metadata log is not cleaned.")
@click.option("--repeat", type=click.IntRange(1), default=1, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), help="A new folder for the recordings.")
@click_errors("unheard_removal")
def main(control: bool, repeat: int, out: Path | None) -> None:
    """Try whether a broker that hears by a snapshot of its removal leads on."""
    settings, reasons = ({}, ()) if control else (SETTINGS, REASONS)
    with tempfile.TemporaryDirectory(prefix="kraftcheck-") as name:
        tried = partial(run, control=control)
        words = (repeat, out or Path(name), "spare", settings, reasons, (ADMIN,))
        shown = evidence.repeated(tried, *words)
    click.echo("VIOLATED: acknowledged records are nowhere else" if shown else "all are read")
    sys.exit(int(shown > 0))


if __name__ == "__main__":
    main()
