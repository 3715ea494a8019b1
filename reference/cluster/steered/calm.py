"""Time passes in a steered cluster: which move one without faults makes next, and whether it heals.

Law of this file: what is next is decided by what there is to do alone, so that a calm moment is the
same in every replay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kraftcheck.reference.cluster.sim.partition import ClusterPartition
from kraftcheck.reference.cluster.steered.moves import ClusterMoves
from kraftcheck.reference.cluster.steered.moving import bereft, forgotten as forgotten_brokers
from kraftcheck.reference.cluster.steered.parts import SteeredPartition
from kraftcheck.reference.directories.types import DirectoryBrokerRow, DirectoryControllerRow
from kraftcheck.reference.partition.steered.world import FAILED, PROMPT
from kraftcheck.reference.partition.types import UNDEFINED, Registration
from kraftcheck.reference.sim.interning import KnownInput
from kraftcheck.reference.steered.moves import Move

MOVES_TO_PROGRESS = 3000
"""So many, for the quorum and for each partition, and so many for what there is to copy."""


def next_move(cluster: ClusterMoves) -> Move | None:
    """What comes next if nothing fails; None when there is nothing left to do."""
    if found := cluster.between(held=False) or _mail(cluster):
        return found[0]
    if posts := cluster.posts():
        return posts[0]
    if votes := cluster.votes(held=False):
        return votes[-1]
    if found := cluster.flushes() or cluster.readings():
        return found[0]
    if urgent := _urgent(cluster):
        return urgent
    if not _is_settled(cluster) and (timers := cluster.voters.timers()):
        node, timer = timers[0]
        return cluster.of_voter(node, timer)
    return _overdue(cluster)


def _mail(cluster: ClusterMoves) -> list[Move]:
    """What brokers and clients get next: slow brokers last."""
    waiting = [
        (message.value.destination in cluster.slow, partition, message.value)
        for partition in cluster.partitions
        for message in partition.prompt()[:1]
    ]
    waiting.sort(key=lambda each: each[0])
    return [cluster.step_of(partition, m.destination, m) for _, partition, m in waiting[:1]]


def _is_settled(cluster: ClusterMoves) -> bool:
    """Whether somebody controls, and all that was decided is committed."""
    active = cluster.controllers.active()
    if active is None:
        return False
    row = cluster.voters.row(active)
    latest = max(other.row.epoch for other in cluster.voters.at.states)
    return row.epoch == latest and row.high_watermark == len(row.log)


def _wanted(
    cluster: ClusterMoves, *kinds: str
) -> Iterator[tuple[SteeredPartition, int, KnownInput]]:
    found = [
        (partition, node, want)
        for kind in kinds
        for partition in cluster.partitions
        for node, want in partition.wants(kind)
    ]
    found.sort(key=lambda each: each[1] in cluster.slow)
    yield from found


def _urgent(cluster: ClusterMoves) -> Move | None:
    """What a broker does at once, since something comes of it."""
    for partition, node, want in _wanted(cluster, *PROMPT):
        match want.kind:
            case "SendReplicaFetch":
                useful = partition.is_news_for(node)
            case "SendHeartbeat" | "SendAssignReplicasToDirs":
                useful = False
            case "SendRegistration":
                useful = not partition.is_refused(node)
            case _:
                useful = True
        if useful:
            return cluster.want_of(partition, node, want)
    return None


def _overdue(cluster: ClusterMoves) -> Move | None:
    """Give what comes with time.

    Requests are given up, the session of a broker that died ends, who is not in the ISR fetches on,
    and who waits for the controller asks again.
    """
    for partition, node, want in _wanted(cluster, *FAILED):
        return cluster.want_of(partition, node, want)
    active = cluster.controllers.active()
    refused = {
        node
        for partition in cluster.partitions
        for node in partition.brokers
        if partition.is_refused(node)
    }
    for voter, epoch, broker in cluster.sessions:
        if voter == active and broker in refused:
            return cluster.ending(voter, epoch, broker)
    if heartbeat := _heartbeat(cluster):
        return heartbeat
    for partition, node, want in _wanted(cluster, "SendAssignReplicasToDirs"):
        return cluster.want_of(partition, node, want)
    for partition, node, want in _wanted(cluster, "SendReplicaFetch"):
        # A leader asks itself whether a follower belongs to the ISR when it fetches.
        forgotten = _registration(partition, node).epoch == UNDEFINED
        if node not in partition.controller.partition.isr and not forgotten:
            return cluster.want_of(partition, node, want)
    return None


def _registration(partition: ClusterPartition, node: int) -> Registration:
    return partition.controller.registrations[partition.brokers.index(node)]


def _names_failed(partition: ClusterPartition, node: int) -> bool:
    """Whether the controller is yet to hear of a directory that has failed (R18)."""
    row, known = partition.row(node), partition.controller
    if not isinstance(row, DirectoryBrokerRow) or not isinstance(known, DirectoryControllerRow):
        return False
    registered = known.directories_of(partition.brokers.index(node))
    return any([each not in row.online for each in registered])


def _heartbeat(cluster: ClusterMoves) -> Move | None:
    """Of who starts or is fenced, or names a directory that has failed.

    Where somebody stops, that may wait for anybody's: they take turns.
    """
    wanted = []
    for partition, node, want in _wanted(cluster, "SendHeartbeat"):
        known = [_registration(each, node) for each in cluster.brokers.partitions_of[node]]
        awaited = any([each.fenced for each in known]) or partition.row(node).status != "Running"
        awaited = awaited or _names_failed(partition, node)
        # Whom the controller has forgotten is refused for good.
        if known[0].epoch != UNDEFINED:
            wanted.append((awaited, partition, node, want))
    if any([partition.row(node).status == "ShuttingDown" for _, partition, node, _ in wanted]):
        turns = [cluster.want_of(partition, node, want) for _, partition, node, want in wanted]
        return min(turns, key=lambda move: cluster.moves.count(move.words))
    for awaited, partition, node, want in wanted:
        if awaited:
            return cluster.want_of(partition, node, want)
    return None


def heal(cluster: ClusterMoves) -> str:
    """End every fault and let time pass until the cluster is whole.

    Empty once everybody is back in every ISR and a new record is on every replica of each
    partition, or why that did not happen within a bounded number of moves.
    """
    cluster.heals()[0].make()
    cluster.well().make()
    cluster.slow.clear()
    probes: dict[int, int] = {}
    why = ""
    copying = sum(each.moves_to_copy() for each in cluster.partitions)
    for _ in range(MOVES_TO_PROGRESS * (1 + len(cluster.partitions)) + copying):
        for crash in (*bereft(cluster), *forgotten_brokers(cluster)):
            crash.make()
        for restart in cluster.restarts():
            restart.make()
        why = _missing(cluster, probes)
        if not why:
            return ""
        if move := next_move(cluster):
            move.make()
        elif not _probe(cluster, probes):
            return why
    return why


def _missing(cluster: ClusterMoves, probes: Mapping[int, int]) -> str:
    if cluster.controllers.active() is None:
        return "no controller is active"
    for partition in cluster.partitions:
        if missing := partition.missing():
            return f"partition {partition.number}: {missing}"
    for partition in cluster.partitions:
        if not partition.is_everywhere(probes.get(partition.number, UNDEFINED)):
            return f"partition {partition.number}: the new record does not reach every replica"
    return ""


def _probe(cluster: ClusterMoves, probes: dict[int, int]) -> bool:
    """Writes a record to each partition that has none to show yet."""
    wrote = False
    for partition in cluster.partitions:
        leader = partition.controller.partition.leader
        written = leader in partition.leaders() and [r.value for r in partition.row(leader).log]
        if written is not False and probes.get(partition.number, UNDEFINED) not in written:
            cluster.ask_of(partition, partition.produce(leader, -1)).make()
            probes[partition.number] = partition.values
            wrote = True
    return wrote
