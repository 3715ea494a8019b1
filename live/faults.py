"""Faults for a cluster of ours, drawn from a seed and written into the journal as they happen."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec

from live.cluster import Cluster, ClusterError
from live.journal import Journal

KINDS = ("kill", "pause", "partition")


class Fault(msgspec.Struct, frozen=True):
    """What was done to a node, and for how long: the machine's clock, ms."""

    kind: str
    node: int
    begin: int
    end: int


def disturb(
    cluster: Cluster,
    journal: Journal,
    kinds: Sequence[str],
    seed: int,
    done: threading.Event,
    session: float,
) -> list[Fault]:
    """One fault after the other until `done`.

    session: seconds after which a broker is fenced that is not heard of; so some faults are shorter
    than that, and most are longer. Victims are drawn among all nodes. The cluster is whole again
    when this returns.
    """
    faults = []
    draw = random.Random(seed)
    names = [node.name for node in cluster.state.nodes]
    while not done.wait(draw.uniform(2.0, 6.0)):
        kind = draw.choice(kinds)
        victim = draw.choice(names)
        begin, end = _fault(cluster, kind, victim, [n for n in names if n != victim])
        began = _now()
        _told(journal, f"start-{kind}", victim, begin)
        done.wait(session * draw.uniform(0.4, 2.0))
        _told(journal, f"stop-{kind}", victim, end)
        faults.append(Fault(kind, cluster.node(victim).number, began, _now()))
    return faults


def _now() -> int:
    return time.time_ns() // 1_000_000


def _fault(
    cluster: Cluster, kind: str, victim: str, others: Sequence[str]
) -> tuple[Callable[[], None], Callable[[], None]]:
    if kind == "kill":
        return lambda: cluster.kill(victim), lambda: cluster.start(victim)
    if kind == "pause":
        return lambda: cluster.pause(victim), lambda: cluster.resume(victim)

    def cut() -> None:
        for other in others:
            cluster.cut(victim, other)

    return cut, cluster.heal


def _told(journal: Journal, f: str, victim: str, act: Callable[[], None]) -> None:
    """Jepsen's nemesis says everything twice: before, and after."""
    journal.moment(f, victim)
    with suppress(ClusterError):  # a node that will not start again is down: the history says so
        act()
    journal.moment(f, victim)
