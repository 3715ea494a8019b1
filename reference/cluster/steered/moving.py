"""Make the moves of an administrator, and have directories fail.

Other replicas for a partition, topics that are deleted and made again, partitions that are added,
brokers that are to stop or are forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import permutations
from typing import Any, TypeAlias

from msgspec import UNSET

from kraftcheck.reference.cluster.steered.moves import ClusterMoves
from kraftcheck.reference.cluster.steered.parts import SteeredPartition
from kraftcheck.reference.partition.directories.types import Constants as DirectoryConstants
from kraftcheck.reference.partition.moving.messages import (
    GiveUpReassignment,
    ReassignReplicas,
    RemoveTopic,
)
from kraftcheck.reference.partition.moving.types import Constants
from kraftcheck.reference.partition.reassignment.messages import (
    CreatePartition,
    PlacePartition,
    UnregisterBroker,
)
from kraftcheck.reference.partition.types import UNDEFINED
from kraftcheck.reference.quorum.snapshots.sim.changes import may_vote
from kraftcheck.reference.runner.narrate import render_input
from kraftcheck.reference.steered.moves import Move

Asking: TypeAlias = Callable[[ClusterMoves], list[Move]]


def _of_the_active(asked: Callable[[ClusterMoves], Iterable[Move]]) -> Asking:
    """Declare moves that exist where replicas move and a controller is active."""

    def there(cluster: ClusterMoves) -> list[Move]:
        heard = _moves(cluster) and cluster.controllers.active() is not None
        return [*asked(cluster)] if heard else []

    return there


def _moves(cluster: ClusterMoves) -> bool:
    return isinstance(cluster.partitions[0].constants, Constants)


def _ask(cluster: ClusterMoves, words: str, asked: Mapping[int, Any]) -> Move:
    return cluster.move(words, partial(cluster.controllers.ask, asked))


@_of_the_active
def reassignments(cluster: ClusterMoves) -> Iterator[Move]:
    for partition in cluster.partitions:
        for asked in _lists(partition):
            words = f"partition {partition.number}: {render_input(asked)}"
            yield _ask(cluster, words, {partition.number: asked})


def _lists(partition: SteeredPartition) -> Iterator[Any]:
    """Of as many as are replicas, or one more or less."""
    if not partition.replicas:
        return
    yield GiveUpReassignment()
    now = len(partition.replicas)
    for size in range(max(partition.constants.min_insync_replicas, now - 1), now + 2):
        yield from map(ReassignReplicas, permutations(partition.brokers, size))


@_of_the_active
def topic_changes(cluster: ClusterMoves) -> Iterator[Move]:
    """A topic is deleted, or has a partition more; one that there is not is made again."""
    catalog = cluster.catalog
    known: Any = cluster.controllers.known
    for topic in range(cluster.options.shape.topics):
        there, new = catalog.changing(topic, known)
        if there:
            yield _ask(cluster, f"topic {topic} is deleted", dict.fromkeys(there, RemoveTopic()))
        size = len(known(there[0]).replicas) if there else cluster.options.data.replicas
        for first in range(len(cluster.brokers.all) if new else 0):
            lists = {
                number: tuple([*cluster.brokers.all, *cluster.brokers.all])[place : place + size]
                for place, number in enumerate(new, first)
            }
            if _is_placed(cluster, lists, size):
                yield _made(cluster, topic, lists)


def _is_placed(cluster: ClusterMoves, lists: Mapping[int, tuple[int, ...]], size: int) -> bool:
    """R9. Where there are racks, partitions are where the placer may put them."""
    if cluster.options.shape.second_rack is UNSET:
        return True
    return {*lists.values()} <= {*cluster.controllers.placements(min(lists), size)}


def _made(cluster: ClusterMoves, topic: int, lists: Mapping[int, tuple[int, ...]]) -> Move:
    told = [f"partition {number} on {', '.join(map(str, of))}" for number, of in lists.items()]

    def make() -> None:
        for number in lists:
            cluster.catalog.name(number, topic)
        placed = cluster.options.shape.second_rack is not UNSET
        asked: Any = PlacePartition if placed else CreatePartition
        cluster.controllers.ask({number: asked(of) for number, of in lists.items()})

    return cluster.move(f"topic {topic} has new {' and '.join(told)}", make)


@_of_the_active
def unregistrations(cluster: ClusterMoves) -> Iterator[Move]:
    for broker in cluster.brokers.all:
        asked = {each.number: UnregisterBroker(broker) for each in cluster.partitions}
        yield _ask(cluster, f"the controller is to forget broker {broker}", asked)


def reads(cluster: ClusterMoves) -> list[Move]:
    """Any controller is asked, active or not, where the options have somebody ask."""
    if cluster.options.shape.reads is UNSET:
        return []
    return [
        cluster.move(f"controller {node} is asked what is under way", partial(cluster.read, node))
        for node in may_vote(cluster.options.quorum)
        if cluster.is_voter_running(node)
    ]


def shutdowns(cluster: ClusterMoves) -> list[Move]:
    """Brokers that are to stop cleanly, when the controller lets them."""
    if not _moves(cluster):
        return []
    return [
        cluster.move(f"broker {node} is to stop", partial(cluster.brokers.shut_down, node))
        for node in cluster.brokers.all
        if cluster.partitions[0].row(node).status == "Running"
    ]


def directory_failures(cluster: ClusterMoves) -> list[Move]:
    """Log directories that fail, of brokers that have others left."""
    brokers = cluster.brokers
    if not isinstance(cluster.partitions[0].constants, DirectoryConstants):
        return []
    return [
        cluster.move(f"directory {each} of broker {node} fails", partial(brokers.fail, node, each))
        for node in filter(brokers.is_running, brokers.all)
        for each in (brokers.online(node) if len(brokers.online(node)) > 1 else ())
    ]


def bereft(cluster: ClusterMoves) -> list[Move]:
    """Brokers that run without one of their directories: who runs one kills it."""
    constants = cluster.partitions[0].constants
    if not isinstance(constants, DirectoryConstants):
        return []
    brokers = cluster.brokers
    return [
        cluster.move(f"crash broker {node}", partial(brokers.kill, node))
        for node in filter(brokers.is_running, brokers.all)
        if brokers.online(node) != constants.directories
    ]


def forgotten(cluster: ClusterMoves) -> list[Move]:
    """Brokers that run and are not registered any more: who runs one kills it."""
    of = cluster.partitions[0]
    found = []
    for node, known in zip(of.brokers, of.controller.registrations, strict=True):
        if known.epoch == UNDEFINED and of.is_running(node) and of.row(node).broker_epoch >= 0:
            stop = partial(cluster.brokers.kill, node)
            found.append(cluster.move(f"crash broker {node}", stop))
    return found
