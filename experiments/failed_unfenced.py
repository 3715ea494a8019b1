"""Z160 on a real cluster: a broker leads what is on a disk that it has reported as failed.

    .venv/bin/python -m experiments.failed_unfenced [--control] [--repeat N]

A heartbeat of a broker may say two things at once: that it is ready to serve, and that a directory
of it has failed. The controller makes records for both from the same state: the broker is elected
where nobody leads, and what is in that directory is looked for among what somebody leads.

1. b1 has two log directories, each a disk of its own; t-0, on b1 and b2, is in the second one, and
   has ten acknowledged records. b2 is stopped, then b1, both as an operator stops them. Either may
   lead again: both are eligible (KIP-966).
2. b1 is started, and registers. It is told that it has read all metadata; what it asks next, ten
   milliseconds later and not ready yet, is not answered for some seconds. Meanwhile it becomes
   ready, and its second disk fails; b1 notices as it writes down its high watermarks, every five
   seconds.
3. The answer arrives. b1's next heartbeat says both.
4. b2 is started. It has all ten records.

The control: the answer arrives before the disk fails, all else is the same.

All settings are Kafka's own, but for controller.quorum.request.timeout.ms=60000 (two seconds by
default) and broker.session.timeout.ms=30000 (nine seconds; half of it is how long a heartbeat is
waited for): what is held up is not asked for anew. Answers are held up by a proxy between b1 and
the controller; one that has much to do, or is replaced, answers as late. The disk is a loop device
with ext4 that is had to go down (power.py). Needs root, also for network namespaces.

Ends with 1 if b1 leads and nobody is served though b2 is there, with 0 if b2 leads, with 3 if it
could not be tried (b1 was ready within those ten milliseconds).
"""

from __future__ import annotations

import struct
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from experiments import evidence
from experiments.offline_replica import B1, B2, B3, FAILED, RECORDS, SECOND, with_second
from experiments.power import fail
from experiments.tools import TOPIC, Partition
from experiments.uncommitted_decision import until
from live import metadata
from live.clients import Setting, greet, read_all
from live.cluster import STARTED, Cluster, ClusterError
from live.interpose import Interposer
from live.journal import HISTORY, Journal
from reference.clients.promises import Configuration

CONTROLLER, ADMIN = "c1", "admin"
CHANGE = "BROKER_REGISTRATION_CHANGE_RECORD"
READY = "Waiting for the broker to be unfenced"
HEARTBEAT = 63
"""Kafka's API key."""
CAUGHT_UP = struct.Struct(">4xx4x2x?")
"""Of an answer: behind its number, tags, throttle time and error (BrokerHeartbeatResponse)."""
SERVED_S, NOTED_S = 30, 2.0
"""For how long b2 is waited for; from the line in b1's log on until it has noted what to tell."""
FENCED_S = 90
"""Until a broker that was killed is fenced."""
SETTINGS = {
    "controller.quorum.request.timeout.ms": "60000",
    "broker.session.timeout.ms": "30000",
}
REASONS = (
    "controller.quorum.request.timeout.ms=60000, broker.session.timeout.ms=30000: what is held up "
    "is not asked for anew (after two seconds by default, so that the answer may be late by no "
    "more)",
)


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether b1 leads, and nobody is served, though b2 is there."""
    partition = with_second(cluster, min_insync=2)
    with Journal(folder / HISTORY) as journal:
        setting = Setting(journal, cluster.bootstrap, TOPIC, 1)
        greet(setting, {}, RECORDS)
        for host in (B2, B1):
            journal.moment("start-stop", host)
            cluster.stop(host)
        partition.say(f"b2 and b1 are stopped: {partition.describe(B3)}")
        between = Interposer(cluster, B1, CONTROLLER)
        between.hold_answers(HEARTBEAT, after=is_caught_up)
        cluster.start(B1, wait=False)
        until(partial(logged, cluster, READY), "b1 is ready")
        if control:
            between.let_go(HEARTBEAT)
            until(partial(logged, cluster, STARTED), "b1 has started")
        fail(cluster.directory / SECOND)
        until(partial(logged, cluster, FAILED), "b1 notices that its disk has failed")
        time.sleep(NOTED_S)
        between.let_go(HEARTBEAT)
        until(partial(logged, cluster, STARTED), "b1 has started")
        journal.moment("stop-stop", B1)
        partition.say(f"b1 is started, its disk has failed: {partition.describe(B3)}")
        cluster.start(B2)
        journal.moment("stop-stop", B2)
        stuck = not served(partition)
        journal.moment("start-kill", B1)
        cluster.kill(B1)
        partition.await_leader(B2, asking=B3, seconds=FENCED_S)
        partition.reassign((B2, B3), asking=B3)
        partition.await_isr((B2, B3), asking=B3)
        partition.say(f"b1 is killed, b3 is added; read: {len(partition.read(B3))} of {RECORDS}")
        read_all(setting, {})
        between.close()
    evidence.write(cluster, folder, Configuration(one_client=False, min_insync_replicas=2))
    told = at_once(metadata.read(folder / metadata.METADATA))
    click.echo(f"         b1 told of its disk in the heartbeat that unfenced it: {told}")
    if told == control:
        raise ClusterError("b1 did not tell of its disk when it should have")
    return stuck


def is_caught_up(answer: bytes) -> bool:
    return bool(CAUGHT_UP.unpack_from(answer)[0])


def at_once(records: Sequence[metadata.Record]) -> bool:
    """Whether what unfences a broker, and what takes a directory from it, came in one batch."""
    ends: dict[int, set[str]] = {}
    for record in records:
        if record.kind == CHANGE:
            ends.setdefault(record.end, set()).update(record.data)
    return any({"fenced", "logDirs"} <= said for said in ends.values())


def logged(cluster: Cluster, line: str) -> bool:
    """Whether b1 has written so."""
    return line in cluster.log(B1)


def served(partition: Partition) -> bool:
    """Whether b2 leads within half a minute."""
    try:
        said = partition.await_leader(B2, asking=B3, seconds=SERVED_S)
    except ClusterError as error:
        partition.say(f"b2 is started: {error}; {partition.describe(B3)}")
        producer = partition.produce(B3, acks=1)
        acked = partition.await_acked(producer, 20)
        click.echo(f"         a producer writes for 20 s: {acked or 'nothing is taken'}")
        return bool(acked)
    partition.say(f"b2 is started: {said}")
    return True


main = evidence.experiment(
    run,
    "Try whether a broker leads what is on a disk that it has reported as failed.",
    control="The controller does not stand still.",
    settings=SETTINGS,
    reasons=REASONS,
    guests=(ADMIN,),
    disks=(SECOND,),
    shown="b1 leads, and nobody is served",
    otherwise="b2 leads",
)


if __name__ == "__main__":
    main()
