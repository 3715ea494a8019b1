"""Records the sample histories of tests/live/data again, on a real cluster.

    .venv/bin/python -m tests.live.samples [NAME ...]

Each is a zip archive of what `kraftcheck record` writes. Healthy defaults under every fault that
they must bear; configurations that promise less, with the anomaly that is to be expected; and a
proxy that lies. tests/live/test_samples.py judges them without Kafka.
"""

from __future__ import annotations

import sys
import tempfile
import zipfile
from pathlib import Path
from typing import NamedTuple

import click

from kraftcheck.kafka.live.artifacts import ArtifactError
from kraftcheck.kafka.live.cluster import Cluster, ClusterError
from kraftcheck.kafka.live.islands import IslandError
from kraftcheck.kafka.live.proxy import Lie, Proxy
from kraftcheck.kafka.live.recording import Plan, record

DATA = Path(__file__).resolve().parent / "data"
FINDS = Path(__file__).resolve().parents[2] / "finds"
SETTINGS = {
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "replica.lag.time.max.ms": "3000",
    "offsets.topic.num.partitions": "1",
    "group.consumer.min.session.timeout.ms": "6000",
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.min.heartbeat.interval.ms": "1000",
    "group.consumer.heartbeat.interval.ms": "1000",
    "transaction.state.log.num.partitions": "1",
}


class Sample(NamedTuple):
    """What to record. lie: of a proxy between clients and brokers, every tenth time.

    layout: with "combined" what hits a broker hits a controller, too.
    """

    plan: Plan
    lie: Lie | None = None
    layout: str = "one-controller"


def plan(name: str, seconds: float = 20.0, **more: object) -> Plan:
    return Plan(topic=name, seconds=seconds, rate=15, producers=2, **more)  # type: ignore[arg-type]


def members(name: str, kind: str, **more: object) -> Plan:
    """A group; under pauses, of the consumer protocol."""
    properties = {"group.protocol": "consumer"} if kind == "pause" else {}
    return group(name, 30.0, properties, faults=(kind,), **more)


def group(name: str, seconds: float, properties: dict[str, str], **more: object) -> Plan:
    of_groups = {"workload": "groups", "partitions": 2, "consumers": 3, "properties": properties}
    return plan(name, seconds, **of_groups, **more)


CLIENTS = {
    "consumer": {"group.protocol": "consumer"},
    "static": {"session.timeout.ms": "6000", "group.instance.id": "kept"},
    "python": {"session.timeout.ms": "6000"},
}
"""Members that are killed: of the consumer protocol, whose session is the broker's; of the classic
one, each with an instance id; by kafka-python."""
HURT = ("member-kill", "member-pause", "kill")


def hurt(kind: str) -> Plan:
    """Members are killed and paused, and the coordinator moves, as its broker is killed."""
    client = {"client": "kafka-python"} if kind == "python" else {}
    return group(f"members-{kind}", 60.0, CLIENTS[kind], faults=HURT, seed=9, **client)


FAULTS = ("kill", "pause", "partition", "stop")
ROUGH = ("kill", "pause", "partition")
SAMPLES = {
    **{f"healthy-{kind}": Sample(plan(f"healthy-{kind}", faults=(kind,))) for kind in FAULTS},
    **{
        f"txn-{kind}": Sample(
            plan(f"txn-{kind}", workload="transactions", partitions=2, faults=(kind,))
        )
        for kind in ROUGH
    },
    "txn-observed": Sample(
        plan(
            "txn-observed",
            40.0,
            workload="transactions",
            partitions=2,
            observe=True,
            faults=("kill", "partition"),
        )
    ),
    **{f"groups-{kind}": Sample(members(f"groups-{kind}", kind)) for kind in ROUGH},
    **{f"members-{kind}": Sample(hurt(kind)) for kind in CLIENTS},
    "groups-second": Sample(members("groups-second", "kill", client="kafka-python")),
    "healthy-observed": Sample(
        plan("healthy-observed", 40.0, observe=True, faults=("kill", "partition"))
    ),
    "healthy-combined": Sample(
        plan("healthy-combined", 40.0, observe=True, faults=("kill", "pause")), layout="combined"
    ),
    "healthy-second": Sample(plan("healthy-second", client="kafka-python", faults=("kill",))),
    "acks-one-partition": Sample(
        plan("acks-one-partition", acks="1", idempotent=False, faults=("partition",))
    ),
    "unclean-last": Sample(
        plan("unclean-last", min_insync_replicas=1, unclean_election=True, faults=("last",))
    ),
    "min-isr-1-last-power": Sample(
        plan("min-isr-1-last-power", min_insync_replicas=1, faults=("last-power",))
    ),
    "proxy-drop": Sample(plan("proxy-drop", 8.0, idempotent=False, retries=False), lie="drop"),
    "proxy-double": Sample(
        plan("proxy-double", 8.0, idempotent=False, retries=False), lie="double"
    ),
}


def make(name: str, cluster: Cluster, scratch: Path) -> bool:
    """Records one sample. Returns whether it is complete."""
    sample = SAMPLES[name]
    folder = scratch / name
    proxy = None
    if sample.lie is not None:
        brokers = [node for node in cluster.state.nodes if "broker" in node.roles]
        proxy = Proxy(brokers, sample.lie, every=10)
    where = proxy.bootstrap if proxy else cluster.bootstrap
    recording = record(where, sample.plan, folder, cluster)
    if proxy:
        proxy.close()
    pack(folder, DATA / f"{name}.zip")
    click.echo(f"{name}: {recording.lines} lines, {recording.seconds:.0f} s")
    return bool(recording.complete)


def pack(folder: Path, archive: Path) -> None:
    """Every file of the folder but the disks themselves, always the same way."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        for path in sorted(each for each in folder.iterdir() if each.is_file()):
            info = zipfile.ZipInfo(path.name, date_time=(1980, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(info, path.read_bytes())


def stored(name: str) -> Path:
    """The archive of a sample, or of what was recorded of a find."""
    (found,) = [*DATA.glob(f"{name}.zip"), *FINDS.glob(f"*/{name}.zip")]
    return found


def unpacked(name: str, folder: Path) -> Path:
    """A stored one, in this folder."""
    with zipfile.ZipFile(stored(name)) as archive:
        archive.extractall(folder)
    return folder


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(list(SAMPLES)))
def main(names: tuple[str, ...]) -> None:
    """Record the sample histories of the tests again."""
    with tempfile.TemporaryDirectory(prefix="kraftcheck-") as scratch:
        try:
            complete = [make_on_new(name, Path(scratch)) for name in names or SAMPLES]
        except (ArtifactError, IslandError, ClusterError) as error:
            click.echo(f"samples: {error}", err=True)
            sys.exit(3)
    sys.exit(0 if all(complete) else 2)


def make_on_new(name: str, scratch: Path) -> bool:
    cluster = Cluster.up(scratch / "cluster", SAMPLES[name].layout, True, SETTINGS)
    try:
        return make(name, cluster, scratch)
    finally:
        cluster.down()


if __name__ == "__main__":
    main()
