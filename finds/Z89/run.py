"""Z89 on a real cluster: a retry is written twice, since its records are old.

See README.md for the story, the settings and the control.
"""

from __future__ import annotations

import time
from pathlib import Path

import click
from confluent_kafka import Producer

from experiments import evidence
from experiments.tools import TOPIC, Partition
from kraftcheck.kafka.live.cluster import Cluster
from kraftcheck.kafka.live.confluent import SILENT
from kraftcheck.kafka.live.proxy import Proxy
from kraftcheck.reference.clients.promises import Configuration

HOST, KEY = "n1", "t-0"
TWO_DAYS_MS = 2 * 24 * 3600 * 1000
SETTINGS = {"a sweep every 200 ms": {"producer.id.expiration.check.interval.ms": "200"}}
PROPERTIES = {"enable.idempotence": True, "acks": "all", "linger.ms": 0, "socket.timeout.ms": 3000}
CONFIGURATION = Configuration(min_insync_replicas=1, replication_factor=1, one_client=False)


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether a record lies in the log twice."""
    partition = Partition(cluster, HOST, HOST, [HOST]).create(min_insync=1)
    proxy = Proxy([cluster.node(HOST)], None)
    producer = Producer({**SILENT, **PROPERTIES, "bootstrap.servers": proxy.bootstrap})
    with evidence.scene(cluster, folder, CONFIGURATION) as scene:
        number = scene.processes.next()

        def send(value: int, silent: bool) -> None:
            scene.journal.event(number, "invoke", "send", [["send", KEY, value]])
            (proxy.silent.set if silent else proxy.silent.clear)()
            at = int(time.time() * 1000) - (0 if control else TWO_DAYS_MS)
            told = []

            def done(error: object, message: object) -> None:
                told.append((error, message))

            producer.produce(TOPIC, str(value), partition=0, timestamp=at, on_delivery=done)
            producer.poll(1.5)
            proxy.silent.clear()
            producer.flush(30)
            ((error, message),) = told
            offset = None if error else message.offset()  # type: ignore[attr-defined]
            scene.journal.event(
                number, "info" if error else "ok", "send", [["send", KEY, [offset, value]]]
            )
            partition.say(f"{value}: {error or f'acked, offset {offset}'}")

        send(1, silent=False)
        time.sleep(1)
        send(2, silent=True)
    proxy.close()
    (log,) = scene.replicas
    values = [value for _, _, value in log.records]
    click.echo(f"in the log: {values}")
    return len(set(values)) < len(values)


main = evidence.experiment(
    run,
    "Try whether a retry of old records is recognised.",
    control="The records' timestamps are of now.",
    layout="single",
    settings=SETTINGS,
    shown="a record was written twice",
    otherwise="each record is there once",
)
