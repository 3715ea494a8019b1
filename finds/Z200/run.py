"""Z200 on a real cluster: a transaction that has just begun is aborted for the age of the last one.

See README.md for the story, the settings and the control.
"""

from __future__ import annotations

import hashlib
import random
import re
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import TypeVar

import click

from experiments import evidence
from experiments.by_request import DONE, Connections, Producer, await_log
from experiments.tools import Partition, until
from experiments.transact import KEY
from kraftcheck.kafka.live.clients import Setting
from kraftcheck.kafka.live.cluster import Cluster, ClusterError
from kraftcheck.reference.clients.promises import Configuration

T = TypeVar("T")
HOST = "n1"
SETTINGS = {
    "one broker, as in Kafka's own quick start": {
        f"transaction.state.log.{name}": "1"
        for name in ("num.partitions", "replication.factor", "min.isr")
    }
}
CONFIGURATION = Configuration(
    transactions=True,
    isolation="read_committed",
    one_client=False,
    transaction_s=12,
    replication_factor=1,
    min_insync_replicas=1,
)
SILENT, BUSY, THREADS = 3000, 150, 4
TIMEOUT_S, LONG_S = 12.0, 60.0
SWEEP_S = 10.0
"""Kafka's own transaction.abort.timed.out.transaction.cleanup.interval.ms."""
BEGUN_S = 2 * SWEEP_S - TIMEOUT_S
"""After a sweep, until when a transaction begins that is in the list of the second one from then,
and in no earlier one."""
BEFORE_S, WITHIN_S, LATER_S = 0.1, 0.6, 2.0
SWEPT = re.compile(r"^(\S+) .*transactionalId probe due to timeout", re.MULTILINE)
ENDED = "IllegalStateException"


def called(what: str) -> str:
    """A transactional id; those of one kind do not come one after the other in Kafka's map."""
    return hashlib.md5(what.encode()).hexdigest()


class Application:
    """A process with a transactional producer, whose transactions are two records each.

    told: what Kafka said last.
    """

    def __init__(self, setting: Setting, timeout_s: float) -> None:
        self._setting = setting
        self._number = setting.processes.next()
        self._producer = Producer(called(f"busy {self._number}"), 2, HOST, timeout_s)
        self._sent: list[tuple[int, int]] = []
        self.told = DONE

    def init(self, by: Connections) -> None:
        self._producer.init(by, HOST)

    def begin(self, by: Connections) -> None:
        values = [self._setting.values.next() for _ in range(2)]
        self._sent = [(-1, value) for value in values]
        self._tell("invoke")
        try:
            self._sent = [(self._producer.write(by, HOST, value), value) for value in values]
        except ClusterError as error:
            self._refused(str(error))

    def commit(self, by: Connections) -> bool:
        """Whether that is done."""
        told = self._producer.end(by, HOST, committed=True)
        if told == DONE:
            self._tell("ok")
        else:
            self._refused(told)
        return told == DONE

    def _refused(self, told: str) -> None:
        self.told = told
        self._tell("fail", error=told)

    def _tell(self, kind: str, **more: str) -> None:
        done = kind == "ok"
        sent = [["send", KEY, [at, value] if done else value] for at, value in self._sent]
        self._setting.journal.event(self._number, kind, "txn", sent, **more)


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether a transaction was refused within its timeout."""
    partition = Partition(cluster, HOST, HOST, [HOST]).create(min_insync=1)
    with evidence.scene(cluster, folder, CONFIGURATION) as scene, Connections(cluster) as by:
        await_log(by, HOST)
        timeout_s = LONG_S if control else TIMEOUT_S
        busy = [Application(scene, timeout_s) for _ in range(BUSY)]
        silent = [Producer(called(f"silent {at}"), 1, HOST, TIMEOUT_S) for at in range(SILENT)]
        each(cluster, silent, lambda by, one: one.init(by, HOST))
        each(cluster, busy, lambda by, one: one.init(by))
        listed = swept(cluster, by) + 2 * SWEEP_S
        each(cluster, silent, lambda by, one: one.add(by, HOST))
        each(cluster, busy, lambda by, one: one.begin(by))
        late = time.monotonic() - (listed - 2 * SWEEP_S)
        partition.say(f"{SILENT + BUSY} transactions have begun in {late:.1f} s")
        if late > BEGUN_S:
            raise ClusterError(f"the machine is too busy: that must take {BEGUN_S:.0f} s at most")
        again = sorted(went_on(cluster, busy, listed - BEFORE_S), key=busy.index)
        partition.say(f"{len(again)} of {BUSY} have committed theirs, and begun another one")
        time.sleep(LATER_S)
        going = [one for one in again if one.told == DONE]
        each(cluster, going, lambda by, one: one.commit(by))
    for what, of in ("aborted for their age", "due to timeout"), ("broken off", ENDED):
        click.echo(f"         {what}: {cluster.log(HOST).count(of)} lines of {HOST}")
    told = [one.told for one in again if one.told != DONE]
    click.echo(f"refused within their timeout: {len(told)}: {', '.join(sorted({*told})) or 'none'}")
    return bool(told)


def swept(cluster: Cluster, by: Connections) -> float:
    """When the coordinator has aborted for its age what was begun for that."""
    probe = Producer("probe", 1, HOST, 1)
    probe.init(by, HOST)
    probe.add(by, HOST)
    until(lambda: SWEPT.search(cluster.log(HOST)) is not None, "it is aborted for its age")
    said = SWEPT.search(cluster.log(HOST))
    assert said is not None
    at = datetime.combine(datetime.now().date(), datetime.strptime(said[1], "%H:%M:%S.%f").time())
    return time.monotonic() - (datetime.now() - at).total_seconds()


def went_on(cluster: Cluster, busy: Sequence[Application], begin: float) -> list[Application]:
    """At moments by chance, each commits, and begins anew. Who was let commit."""
    drawn = random.Random(0)
    starts = dict(zip(busy, sorted(begin + drawn.uniform(0, WITHIN_S) for _ in busy), strict=True))
    done = []
    lock = Lock()

    def go_on(by: Connections, one: Application) -> None:
        time.sleep(max(0.0, starts[one] - time.monotonic()))
        if one.commit(by):
            one.begin(by)
            with lock:
                done.append(one)

    each(cluster, busy, go_on)
    return done


def each(cluster: Cluster, what: Sequence[T], do: Callable[[Connections, T], object]) -> None:
    """Some at once, each in its turn."""

    def some(at: int) -> None:
        with Connections(cluster) as by:
            for one in what[at::THREADS]:
                do(by, one)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(some, range(THREADS)))


main = evidence.experiment(
    run,
    "Try whether a transaction is aborted for the age of the one before it.",
    control="Who goes on has a timeout of a minute.",
    layout="single",
    settings=SETTINGS,
    shown="a transaction was refused within its timeout",
    otherwise="none was refused within its timeout",
)
