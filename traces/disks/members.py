"""Judge a partition's replicas by what the metadata log says of them.

Each replica in the ISR or the ELR has all that is committed (WeakIsr).

What replicas noted as their high watermark was committed at that time, so it is there on every
member of the ISR, and of the ELR (KIP-966), of any later time: but for an unclean election. Nothing
is said of a member whose disk is not there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from kraftcheck.traces.disks.found import DiskReplica, Finding, Weight

Role = Literal["leader", "isr", "elr", "out", ""]


class Members(NamedTuple):
    """Nodes by their numbers."""

    leader: int
    """-1: nobody."""
    isr: tuple[int, ...]
    elr: tuple[int, ...]
    unclean: bool
    """Whether an unclean election is known."""
    whole: bool
    """Whether all would be: the log has its beginning."""
    latest: bool
    """Whether nobody can have a later word: the logs of a majority of the voters were read."""
    epoch: int
    """The leader epoch."""
    replicas: tuple[int, ...]
    """The nodes that have the partition, the new ones of a reassignment among them."""

    def role(self, found: DiskReplica) -> Role:
        """Give the node whose directory it is, or "" where nothing says so."""
        node = found.common.node
        if node is None or not node.isdecimal():
            return ""
        if int(node) in self.isr:
            return "leader" if int(node) == self.leader else "isr"
        return "elr" if int(node) in self.elr else "out"


def lacking(replicas: Sequence[DiskReplica], members: Members) -> Iterator[Finding]:
    """Members that end below what was committed."""
    among = [each for each in replicas if members.role(each) in ("leader", "isr", "elr")]
    committed = _committed(replicas)
    for each in among:
        if each.end >= committed:
            continue
        role = members.role(each)
        of = "the ELR" if role == "elr" else "the ISR"
        said = f"{each.folder} ends at {each.end}, and {committed} was committed; node "
        said += f"{each.common.node} is in {of}{' and leads' if role == 'leader' else ''}"
        why = _excuse(each, members, _committed(among))
        weight: Weight = "report" if why else "violated"
        yield Finding(weight, "WeakIsr", "", -1, f"{said}{why}")


def strange(replicas: Sequence[DiskReplica], members: Members) -> Iterator[Finding]:
    """Report what no broker can have, because the metadata log comes first.

    That is a later leader epoch, or a replica on a node that is to have none and has not deleted it
    yet.
    """
    weight: Weight = "violated" if members.latest else "report"
    for each in replicas:
        epoch = max((*each.noted_epochs, *each.epochs), default=(0, 0))[0]
        if epoch > members.epoch:
            said = f"{each.folder} has epoch {epoch}, and {members.epoch} is the latest of all"
            yield Finding(weight, "EpochsAscend", "", -1, said)
        node = each.common.node
        if node is not None and node.isdecimal() and int(node) not in members.replicas:
            said = f"{each.folder} is of node {node}, which is to have no replica"
            yield Finding("report", "OneDirectory", "", -1, said)


def _committed(replicas: Sequence[DiskReplica]) -> int:
    marks = [each.common.high_watermark for each in replicas]
    return max((mark for mark in marks if mark is not None), default=0)


def _excuse(found: DiskReplica, members: Members, known: int) -> str:
    """Why that may be, with no promise broken. known: what members know to be committed."""
    if found.is_torn:
        return "; it has bytes that are no batch"
    if not members.latest:
        return " by a metadata log that others may go beyond: give those of a majority of voters"
    if members.unclean or (not members.whole and found.end >= known):
        return "; what was committed may be from before an unclean election"
    if not found.common.stopped and found.end >= (found.common.recovery_point or 0):
        return "; it was not stopped cleanly, and a power loss takes what was not flushed"
    return ""
