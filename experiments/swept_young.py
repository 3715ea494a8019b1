"""Z200 on a real cluster: a transaction that has just begun is aborted for the age of the last one.

    .venv/bin/python -m experiments.swept_young [--control] [--repeat N]

A coordinator lists every ten seconds the transactions that are over their timeouts, and then aborts
them one after the other. Of each it asks then whether its producer is the same, and not whether it
is the transaction that was listed.

1. Some three thousand producers have a transaction each that is over its timeout of twelve
   seconds, as after an outage of their network. All but 150 of them are silent.
2. Within a second about the time at which the coordinator makes its list, the others commit, and
   each begins its next transaction at once.
3. Each commits that as well, two seconds later. Whoever is told that it has no transaction, or that
   it is fenced, is told so of one that was younger than its timeout.

The control: the timeouts of those who commit are a minute, so that they are in no list.

Those who commit speak version 2, by a client of ours. All settings are Kafka's own, but for
transaction.state.log.num.partitions=1 (one coordinator for all). Nobody is held up; when the list
is made is known from the one before.

Ends with 1 if a transaction was refused within its timeout, with 0 if none was, with 3 if it could
not be tried.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import TypeVar

import click

from experiments import evidence
from experiments.by_request import DONE, Connections, Producer, await_log
from experiments.tools import TOPIC, Partition
from experiments.uncommitted_decision import STATES, until
from live.clients import Setting, read_all
from live.cluster import Cluster, ClusterError
from live.journal import HISTORY, Journal
from reference.clients.promises import Configuration

T = TypeVar("T")
COORDINATOR, LEADER = "b1", "b2"
SETTINGS = {"transaction.state.log.num.partitions": "1"}
REASONS = ("broker transaction.state.log.num.partitions=1: one coordinator for all",)
CONFIGURATION = Configuration(
    transactions=True, isolation="read_committed", one_client=False, transaction_s=12
)
SILENT, BUSY, THREADS = 3000, 150, 4
TIMEOUT_S, LONG_S = 12.0, 60.0
SWEEP_S = 10.0
"""Kafka's own transaction.abort.timed.out.transaction.cleanup.interval.ms."""
BEGUN_S = 2 * SWEEP_S - TIMEOUT_S
"""After a sweep, until when a transaction begins that is in the list of the second one from then,
and in no earlier one."""
BEFORE_S, WITHIN_S, LATER_S = 0.9, 1.0, 2.0
SWEPT = "transactionalId probe due to timeout"
ENDED = "IllegalStateException"


class Application:
    """A process with a transactional producer, whose transactions are one record each."""

    def __init__(self, setting: Setting, timeout_s: float) -> None:
        self._setting = setting
        self._number = setting.processes.next()
        self._producer = Producer(f"busy-{self._number}", 2, LEADER, timeout_s)
        self._sent: list[list[object]] = []
        self._offset = -1
        self.told = ""

    def init(self, by: Connections) -> None:
        self._producer.init(by, COORDINATOR)

    def begin(self, by: Connections) -> None:
        value = self._setting.values.next()
        self._sent = [["send", f"{TOPIC}-0", value]]
        self._setting.journal.event(self._number, "invoke", "txn", self._sent)
        self._offset = self._producer.write(by, COORDINATOR, value)

    def commit(self, by: Connections) -> bool:
        self.told = self._producer.end(by, COORDINATOR, committed=True)
        done = self.told == DONE
        ((f, key, value),) = self._sent
        said = [[f, key, [self._offset, value] if done else value]]
        more = {} if done else {"error": self.told}
        self._setting.journal.event(self._number, "ok" if done else "fail", "txn", said, **more)
        return done


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether a transaction was refused within its timeout."""
    partition = Partition(cluster, COORDINATOR, COORDINATOR, [LEADER, "b3", COORDINATOR])
    partition.create(asking=LEADER)
    with Journal(folder / HISTORY) as journal, Connections(cluster) as by:
        await_log(by, LEADER)
        order = [COORDINATOR, LEADER, "b3"]
        partition.elect(order, asking=[COORDINATOR, LEADER], topic=STATES)
        setting = Setting(journal, cluster.bootstrap, TOPIC, 1)
        timeout_s = LONG_S if control else TIMEOUT_S
        busy = [Application(setting, timeout_s) for _ in range(BUSY)]
        silent = [Producer(f"silent-{at}", 1, LEADER, TIMEOUT_S) for at in range(SILENT)]
        each(cluster, silent, lambda by, one: one.init(by, COORDINATOR))
        each(cluster, busy, lambda by, one: one.init(by))
        listed = swept(cluster, by) + 2 * SWEEP_S
        each(cluster, silent, lambda by, one: one.add(by, COORDINATOR))
        each(cluster, busy, lambda by, one: one.begin(by))
        late = time.monotonic() - (listed - 2 * SWEEP_S)
        partition.say(f"{SILENT + BUSY} transactions have begun in {late:.1f} s")
        if late > BEGUN_S:
            raise ClusterError(f"the machine is too busy: that must take {BEGUN_S:.0f} s at most")
        again = sorted(went_on(cluster, busy, listed - BEFORE_S), key=busy.index)
        partition.say(f"{len(again)} of {BUSY} have committed theirs, and begun another one")
        time.sleep(LATER_S)
        each(cluster, again, lambda by, one: one.commit(by))
        read_all(setting, {})
    evidence.write(cluster, folder, CONFIGURATION)
    for what, of in ("aborted for their age", "due to timeout"), ("broken off", ENDED):
        click.echo(f"         {what}: {cluster.log(COORDINATOR).count(of)} lines of {COORDINATOR}")
    told = [one.told for one in again if one.told != DONE]
    click.echo(f"refused within their timeout: {len(told)}: {', '.join(sorted({*told})) or 'none'}")
    return bool(told)


def swept(cluster: Cluster, by: Connections) -> float:
    """When the coordinator has aborted for its age what was begun for that."""
    probe = Producer("probe", 1, LEADER, 1)
    probe.init(by, COORDINATOR)
    probe.add(by, COORDINATOR)
    until(lambda: SWEPT in cluster.log(COORDINATOR), "a transaction is aborted for its age")
    return time.monotonic()


def went_on(cluster: Cluster, busy: Sequence[Application], begin: float) -> list[Application]:
    """At moments by chance, each commits, and begins anew. Who could do both."""
    drawn = random.Random(0)
    starts = dict(zip(busy, sorted(begin + drawn.uniform(0, WITHIN_S) for _ in busy), strict=True))
    done = []
    lock = Lock()

    def go_on(by: Connections, one: Application) -> None:
        time.sleep(max(0.0, starts[one] - time.monotonic()))
        if one.commit(by):
            try:
                one.begin(by)
            except ClusterError as error:
                click.echo(f"         {error}")
                return
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
    settings=SETTINGS,
    reasons=REASONS,
    shown="a transaction was refused within its timeout",
    otherwise="none was refused within its timeout",
)


if __name__ == "__main__":
    main()
