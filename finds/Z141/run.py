"""Z141 on a real cluster: an idempotent producer writes its records twice, and all are acked.

See README.md for the story, the settings and the control.

--how stopped: one replica, stopped as an operator stops it (SIGTERM). killed: the same by SIGKILL;
the snapshot is written by the recovery of the log, which loads it again. follower: three replicas
and min.insync.replicas 2; a follower is stopped and started after it has copied the batches, and
then it leads (a preferred election).

--unforced N: nothing is held up. A producer writes on (Kafka's VerifiableProducer, with the retries
of Kafka's own settings, which it turns off), and its only broker is restarted N times, by --how.
Each bump of the producer's epoch in the log is a restart that doubled something.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click

from experiments import evidence
from experiments.tools import TOOLS, TOPIC, Partition
from kraftcheck.kafka.live.cluster import Cluster, ClusterError
from kraftcheck.kafka.live.proxy import Proxy
from kraftcheck.reference.clients.promises import Configuration

SEND = Path(__file__).resolve().parent / "Send.java"
RECORDS = 6
PACE, SECONDS_A_RESTART = 10_000, 16
"""Of a producer that is not held up: records a second, and how long it goes on."""
HOW = ("stopped", "killed", "follower")
SETTINGS = {"the leader moves when the script says so": {"auto.leader.rebalance.enable": "false"}}


def run(
    cluster: Cluster, folder: Path, how: str, control: bool, properties: Sequence[str] = ()
) -> bool:
    """Whether there are more records than were sent, all of them acked.

    properties: further ones of the producer, as NAME=VALUE.
    """
    hosts = [node.name for node in cluster.state.nodes if "broker" in node.roles]
    replicated = how == "follower"
    leader, heir = (hosts[0], hosts[1]) if replicated else (hosts[0], hosts[0])
    partition = Partition(cluster, leader, leader, hosts)
    partition.create(asking=leader, min_insync=2 if replicated else 1)
    proxy = Proxy([cluster.node(host) for host in hosts], None)
    configuration = Configuration(
        min_insync_replicas=2 if replicated else 1,
        replication_factor=len(hosts),
        one_client=False,
        isolation="read_committed",
    )
    with evidence.scene(cluster, folder, configuration) as scene:
        for value in range(RECORDS):
            scene.journal.event(scene.processes.next(), "invoke", "send", [["send", "t-0", value]])
        producer = cluster.tool(leader, str(SEND), proxy.bootstrap, TOPIC, *properties)
        first = partition.await_first(producer)
        proxy.silent.set()
        partition.await_batches(hosts, RECORDS)
        partition.say("five batches appended, no answer")
        if not control:
            (scene.kill if how == "killed" else scene.stop)(heir)
            scene.start(heir)
            partition.await_isr(hosts, asking=leader)
            partition.say(f"{heir} was restarted")
        if replicated:
            partition.elect((heir, *(h for h in hosts if h != heir)), asking=hosts)
            partition.await_leader(heir, asking=heir)
            partition.say(f"{heir} leads")
        for line in partition.dump(heir, "*.snapshot"):
            click.echo(f"         snapshot: {line}")
        proxy.silent.clear()
        acked = [first, *partition.await_acked(producer, 100)]
        for each in acked:
            scene.journal.event(
                each.value, "ok", "send", [["send", "t-0", [each.offset, each.value]]]
            )
        partition.say(f"acked: offsets {[each.offset for each in acked]}")
    proxy.close()
    log = next(each for each in scene.replicas if each.broker == cluster.node(heir).number)
    for line in partition.dump(heir, f"{0:020}.log"):
        click.echo(f"         log: {line.partition(' partitionLeaderEpoch')[0]}")
    click.echo(f"{RECORDS} records sent, {len(acked)} acked, {len(log.records)} in the log")
    return len(acked) == RECORDS and len(log.records) > RECORDS


def _field(line: str, name: str) -> int:
    """Of a batch, as DumpLogSegments prints it."""
    return int(line.split(f"{name}: ")[1].split()[0])


def restarted(cluster: Cluster, _folder: Path, how: str, times: int) -> bool:
    """Whether a busy producer doubles records while its broker is restarted."""
    (host,) = hosts = ["n1"]
    partition = Partition(cluster, host, host, hosts).create(asking=host, min_insync=1)
    file = cluster.directory / "producer.properties"
    file.write_text("retries=2147483647\nenable.idempotence=true\n", encoding="utf-8")
    count = PACE * times * SECONDS_A_RESTART
    words = ["--bootstrap-server", cluster.bootstrap, "--topic", TOPIC, "--acks", "-1"]
    words += ["--throughput", str(PACE), "--max-messages", str(count)]
    words += partition.with_file(file)
    producer = cluster.tool(host, f"{TOOLS}.VerifiableProducer", *words)
    with ThreadPoolExecutor(1) as pool:
        told = pool.submit(partition.await_acked, producer, 60.0 * times)
        partition.await_batches([host], 1)
        for _ in range(times):
            time.sleep(SECONDS_A_RESTART / 2)
            (cluster.kill if how == "killed" else cluster.stop)(host)
            cluster.start(host)
        acked = told.result()
    batches = partition.dump(host, "*.log")
    doubled = sum(_field(line, "count") for line in batches) - len(acked)
    bumps = len({_field(line, "producerEpoch") for line in batches}) - 1
    click.echo(
        f"{times} restarts ({how}): {len(acked)} of {count} records acked, {doubled} doubled, "
        f"{bumps} bumps of the epoch"
    )
    return doubled > 0


def layout(how: str, control: bool, unforced: int | None) -> str:
    """Raises ClusterError: that cannot be asked for."""
    if unforced and (how == "follower" or control):
        raise ClusterError("--unforced is for --how stopped or killed, without --control")
    return "one-controller" if how == "follower" else "single"


main = evidence.experiment(
    run,
    "Try whether a producer's retry is written twice after its leader loaded a snapshot.",
    control="Nobody is restarted.",
    more=[evidence.choice("--how", HOW)],
    unforced=(restarted, "Restarts, with nothing held up."),
    layout=layout,
    settings=SETTINGS,
    shown="records were written twice",
    otherwise="each record is there once",
)
