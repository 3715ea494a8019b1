"""Faults for a cluster of ours, drawn from a seed and written into the journal as they happen."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress

import msgspec

from live.cluster import Cluster, ClusterError
from live.journal import Journal

KINDS = ("kill", "stop", "pause", "partition", "power", "last", "last-power")
"""What can be done to a node for a while.

kill: SIGKILL, which keeps what it had written. stop: a controlled shutdown. pause: SIGSTOP.
partition: its links to all other nodes are cut, those to clients are not. power: a kill that loses
of the topic what was not flushed, which is all that Kafka leaves to the page cache. last: the
other brokers are cut off from it until it is the last in sync, and then it is killed; last-power:
and loses what was not flushed. These two need controllers apart.
"""

DOWN = ("kill", "power", "last", "last-power")
"""Faults by which a broker is gone at once; one that is stopped hands its partitions on alive."""

DATA_LOSS = ("power", "last", "last-power")
"""Of no use but to who leads."""

LEADER_SHARE = 0.6
"""How often the victim is who leads the topic: faults of others have less to tell."""


class Fault(msgspec.Struct, frozen=True):
    """What was done to a node, and for how long: the machine's clock, ms."""

    kind: str
    node: int
    begin: int
    end: int


class Nemesis:
    """Does faults to a cluster, and remembers them.

    topic: whose data a power failure takes. Every fault is undone by `stop` or `stop_all`.
    """

    def __init__(self, cluster: Cluster, journal: Journal, topics: Collection[str]) -> None:
        self._cluster = cluster
        self._journal = journal
        self._topics = topics
        self._going: dict[tuple[str, str], int] = {}
        self.faults: list[Fault] = []

    def start(self, kind: str, victim: str) -> None:
        self._going[kind, victim] = _now()
        self._told(f"start-{kind}", victim, self._begin(kind, victim))

    def stop(self, kind: str, victim: str) -> None:
        """Undoes a fault; for a node that was down, returns when it has started again."""
        self._told(f"stop-{kind}", victim, self._end(kind, victim))
        began = self._going.pop((kind, victim))
        self.faults.append(Fault(kind, self._cluster.node(victim).number, began, _now()))

    def stop_all(self) -> None:
        for kind, victim in list(self._going):
            self.stop(kind, victim)

    def _begin(self, kind: str, victim: str) -> Callable[[], None]:
        cluster = self._cluster
        if kind == "power":
            return lambda: cluster.cut_power(victim, self._topics)
        if kind == "partition":
            return lambda: self._isolate(victim)
        if kind.startswith("last"):
            return lambda: self._strand(victim, kind == "last-power")
        begin = {"kill": cluster.kill, "stop": cluster.stop, "pause": cluster.pause}[kind]
        return lambda: begin(victim)

    def _end(self, kind: str, victim: str) -> Callable[[], None]:
        if kind == "partition":
            return lambda: self._cluster.heal(victim)
        if kind == "pause":
            return lambda: self._cluster.resume(victim)
        return lambda: self._cluster.start(victim)

    def _isolate(self, victim: str) -> None:
        for node in self._cluster.state.nodes:
            if node.name != victim:
                self._cluster.cut(victim, node.name)

    def _strand(self, victim: str, power: bool) -> None:
        """The victim leads alone for a moment: what it acknowledges then, nobody else has."""
        cluster = self._cluster
        others = [n.name for n in cluster.state.nodes if "broker" in n.roles and n.name != victim]
        for other in others:
            cluster.cut(victim, other)
        time.sleep(1.5 * cluster.lag_ms / 1000 + 1.0)
        if power:
            cluster.cut_power(victim, self._topics)
        else:
            cluster.kill(victim)
        cluster.heal(victim)

    def _told(self, f: str, victim: str, act: Callable[[], None]) -> None:
        """Jepsen's nemesis says everything twice: before, and after."""
        self._journal.moment(f, victim)
        with suppress(ClusterError):  # a node that will not start again is down: the history tells
            act()
        self._journal.moment(f, victim)


def disturb(
    nemesis: Nemesis,
    names: Sequence[str],
    kinds: Sequence[str],
    seed: int,
    done: threading.Event,
    session: float,
    leader: Callable[[], str | None],
) -> None:
    """One fault after the other until `done`; the cluster is whole again when this returns.

    names: of the nodes. session: seconds after which a broker is fenced that is not heard of; so
    some faults are shorter than that, and most are longer. leader: who leads the topic now.
    """
    draw = random.Random(seed)
    while not done.wait(draw.uniform(2.0, 6.0)):
        kind, share, victim = draw.choice(kinds), draw.random(), draw.choice(names)
        if share < LEADER_SHARE or kind in DATA_LOSS:
            victim = leader() or victim
        nemesis.start(kind, victim)
        lasts = session * draw.uniform(0.4, 2.0)
        if kind.startswith("last"):  # whatever may be elected shall be
            lasts = max(lasts, session + 2.0)
        done.wait(lasts)
        nemesis.stop(kind, victim)


def _now() -> int:
    return time.time_ns() // 1_000_000
