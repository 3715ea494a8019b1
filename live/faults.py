"""Faults for a cluster of ours, drawn from a seed and written into the journal as they happen."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

from live.cluster import Cluster, ClusterError
from live.journal import Journal

KINDS = ("kill", "pause", "partition")


def disturb(
    cluster: Cluster,
    journal: Journal,
    kinds: Sequence[str],
    seed: int,
    done: threading.Event,
    interval: float = 8.0,
) -> None:
    """One fault after the other until `done`: each lasts about half an interval.

    Victims are drawn among all nodes. The cluster is whole again when this returns.
    """
    draw = random.Random(seed)
    names = [node.name for node in cluster.state.nodes]
    while not done.wait(interval * draw.uniform(0.3, 0.7)):
        kind = draw.choice(kinds)
        victim = draw.choice(names)
        begin, end = _fault(cluster, kind, victim, [n for n in names if n != victim])
        _told(journal, f"start-{kind}", victim, begin)
        done.wait(interval * draw.uniform(0.3, 0.7))
        _told(journal, f"stop-{kind}", victim, end)


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
