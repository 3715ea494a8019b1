"""What reassignments promise: the twin of specs/partition/reassignment/ReassignmentProperties.tla.

Law of this file: nothing here asks a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final, TypeAlias

from kraftcheck.reference.kit.properties import Declared
from kraftcheck.reference.kit.protocol import HISTORY, Property
from kraftcheck.reference.partition.reassignment.types import (
    CONTROLLER,
    NOBODY,
    UNASSIGNED,
    BrokerRegistration,
    Constants,
    LeaderNotes,
    MovingPartition,
    TopicRow,
    min_isr_of,
)

Holders: TypeAlias = tuple[tuple[int, ...], ...]
"""By partition: the brokers whose logs have all that may have been acknowledged, sorted."""


def reassigning(p: MovingPartition) -> bool:
    return bool(p.adding or p.removing)


def given_up(p: MovingPartition, q: MovingPartition) -> bool:
    """Of a partition before and after a step: the reassignment was given up."""
    return bool(p.adding) and not reassigning(q) and not {*p.adding} & {*q.replicas}


def needed_by(constants: Constants, row: TopicRow, p: MovingPartition) -> int:
    """So many must have a record before it is acknowledged (acks=all)."""
    return min(min_isr_of(constants, row), len(p.replicas))


def acknowledged(before: LeaderNotes, after: LeaderNotes) -> bool:
    return after.end_offset > before.end_offset


def fetched_all(constants: Constants, before: LeaderNotes, after: LeaderNotes) -> Collection[int]:
    if acknowledged(before, after):
        return ()
    ends = zip(constants.brokers, before.ends, after.ends, strict=True)
    return [b for b, old, new in ends if new == after.end_offset and old != new]


def holders_of(
    constants: Constants,
    p: MovingPartition,
    q: MovingPartition,
    known: tuple[int, ...],
    copied: Collection[int],
    new_records: bool,
) -> tuple[int, ...]:
    """Who has all that may have been acknowledged after a step.

    A broker that is no replica deletes its log. Without leader_notes, who enters the ISR beside a
    leader without having been eligible has copied the log, and with an ISR that is large enough
    records are acknowledged that nobody else has; with them a leader's notes, before the step and
    after it, tell both. An unclean election that is allowed gives up what the new leader has not.
    """
    allowed = q.recovering and q.leader != p.leader
    if allowed and (constants.unclean_election or p.leader == NOBODY):
        have = {*q.isr}
    else:
        have = {*known, *copied} & {*q.replicas}
    if new_records:
        have &= {*q.isr}
    return tuple(sorted(have))


def holders_without_notes(
    constants: Constants,
    new: TopicRow,
    p: MovingPartition,
    q: MovingPartition,
    known: tuple[int, ...],
) -> tuple[int, ...]:
    copied = {*q.isr}.difference(p.isr, p.elr)
    if p.leader == NOBODY or given_up(p, q):
        copied = set()
    enough = q.leader != NOBODY and len(q.isr) >= needed_by(constants, new, q)
    return holders_of(constants, p, q, known, copied, enough)


def same(old: TopicRow, new: TopicRow, at: int) -> bool:
    return old.topic_id == new.topic_id and at < len(old.partitions)


def first_holders(row: TopicRow) -> Holders:
    return tuple([p.isr for p in row.partitions])


def holders_after(
    constants: Constants, before: Mapping[int, Any], after: Mapping[int, Any]
) -> Holders:
    old, new = before[CONTROLLER], after[CONTROLLER]
    known = first_holders(old) if before[HISTORY] is None else before[HISTORY]
    found = []
    for at, q in enumerate(new.partitions):
        if not same(old, new, at):
            found.append(q.isr)
        elif constants.leader_notes:
            notes = old.leaders[at], new.leaders[at]
            copied, new_records = fetched_all(constants, *notes), acknowledged(*notes)
            held = holders_of(constants, old.partitions[at], q, known[at], copied, new_records)
            found.append(held)
        else:
            found.append(holders_without_notes(constants, new, old.partitions[at], q, known[at]))
    return tuple(found)


_property = Declared("constants", "before", "after", "holders")


def _registration(constants: Constants, row: TopicRow, b: int) -> BrokerRegistration:
    return row.registrations[constants.brokers.index(b)]


def _kept(before: TopicRow, after: TopicRow) -> Iterator[tuple[MovingPartition, MovingPartition]]:
    """The partitions that were there before the step, before and after it."""
    for at, q in enumerate(after.partitions):
        if same(before, after, at):
            yield before.partitions[at], q


# --- Of every state


@_property("state")
def isr_elr_are_replicas(after: TopicRow) -> str | None:
    """Members of ISR, ELR, adding and removing lists and the last known leader are replicas, and no
    replica is both added and removed.

    Misses: a replica that is counted and lacks records.
    """
    for i, p in enumerate(after.partitions, 1):
        if not {*p.isr, *p.elr, *p.adding, *p.removing} <= {*p.replicas}:
            return f"partition {i} counts brokers that are no replicas"
        if p.last_known_leader not in (*p.replicas, NOBODY):
            return f"the last known leader of partition {i} is no replica"
        if {*p.adding} & {*p.removing}:
            return f"a replica of partition {i} is added and removed"
    return None


@_property("state")
def valid_controller_state(constants: Constants, after: TopicRow) -> str | None:
    """A leader is in its ISR, all members of its ISR are active, and ISR and ELR are disjoint.

    Without ELR the ISR is never empty.

    Misses: partitions without a leader, and dead brokers that are not fenced yet.
    """
    for i, p in enumerate(after.partitions, 1):
        if p.leader != NOBODY:
            if p.leader not in p.isr:
                return f"the leader of partition {i} is not in its ISR"
            for b in p.isr:
                if _registration(constants, after, b).state != "Active":
                    return f"{b} is in the ISR of partition {i}, and not active"
        if {*p.isr} & {*p.elr}:
            return f"a broker is in the ISR and in the ELR of partition {i}"
        if not (constants.elr_enabled or p.isr):
            return f"the ISR of partition {i} is empty"
    return None


@_property("state")
def leader_candidate_completeness(
    constants: Constants, after: TopicRow, holders: Holders
) -> str | None:
    """Every replica that can be elected without loss has all acknowledged records.

    Misses: unclean elections, and the brokers' real logs: the property derives their records from
    the controller's steps.
    """
    if constants.unclean_election:
        return None
    for i, (p, held) in enumerate(zip(after.partitions, holders, strict=True), 1):
        for b in {*p.isr, *{*p.elr} & {*p.replicas}}.difference(held):
            return f"{b} may lead partition {i}, and lacks what was acknowledged"
    return None


@_property("state")
def offline_dir_never_leads(constants: Constants, after: TopicRow) -> str | None:
    """The leader's directory is not one that has failed.

    Misses: a failed directory that was not reported, and an unassigned one.
    """
    for i, p in enumerate(after.partitions, 1):
        if p.leader == NOBODY:
            continue
        directory = p.directories[constants.brokers.index(p.leader)]
        online = _registration(constants, after, p.leader).directories
        if directory != UNASSIGNED and directory not in online:
            return f"partition {i} is led from a directory that has failed"
    return None


@_property("state")
def target_reached(after: TopicRow) -> str | None:
    """Without a reassignment the replicas are those of the last request.

    Misses: a reassignment that never ends.
    """
    for i, (p, target) in enumerate(zip(after.partitions, after.targets, strict=True), 1):
        if not reassigning(p) and p.replicas != target.replicas:
            return f"partition {i} has replicas {p.replicas}, and {target.replicas} was asked for"
    return None


# --- Of every step


@_property("step")
def reassignment_keeps_min_isr(
    constants: Constants, before: TopicRow, after: TopicRow
) -> str | None:
    """A completed reassignment leaves an ISR of at least min ISR, or of the size before.

    Misses: an ISR that shrinks right after, and a cancelled reassignment.
    """
    for p, q in _kept(before, after):
        if reassigning(q) or given_up(p, q):
            continue
        ends = reassigning(p) or {*p.replicas} != {*q.replicas}
        if ends and len(q.isr) < min(needed_by(constants, after, q), len(p.isr)):
            return f"a reassignment ends with ISR {q.isr}"
    return None


@_property("step")
def epochs_grow(before: TopicRow, after: TopicRow) -> str | None:
    """Every change raises the partition epoch.

    A new leader and the removal of a replica also raise the leader epoch.

    Misses: an epoch that increases without a change.
    """
    for p, q in _kept(before, after):
        if q != p and q.partition_epoch <= p.partition_epoch:
            return "a change has the partition epoch of another one"
        if q.leader_epoch < p.leader_epoch:
            return "a leader epoch went back"
        moved = q.leader != p.leader or not {*p.replicas} <= {*q.replicas}
        if moved and q.leader_epoch == p.leader_epoch:
            return "the leader changed, or a replica left, and the leader epoch stayed"
    return None


@_property("step")
def topic_ids_are_new(before: TopicRow, after: TopicRow) -> str | None:
    """A new topic has a new id.

    Misses: two controllers that create topics at the same time.
    """
    if after.topic_id in (0, before.topic_id) or after.topic_id > before.topics_made:
        return None
    return f"id {after.topic_id} is given again"


@_property("step")
def spread_over_racks(constants: Constants, before: TopicRow, after: TopicRow) -> str | None:
    """A new partition is spread over both racks: neither has two replicas more than the other,
    unless the other has no usable broker left (R9).

    Misses: replicas that an administrator moves into one rack.
    """
    second = {*constants.second_rack}
    known = zip(constants.brokers, before.registrations, strict=True)
    usable = {b for b, r in known if r.state in ("Active", "Fenced")}
    for at, partition in enumerate(after.partitions):
        replicas = {*partition.replicas}
        if same(before, after, at):
            continue
        for rack in (second, {*constants.brokers} - second):
            more = len(replicas & rack) > len(replicas - rack) + 1
            if more and not usable - rack <= replicas:
                return (
                    f"of replicas {partition.replicas}, {sorted(replicas & rack)} are in one rack"
                )
    return None


def _checked(check: Callable[..., str | None]) -> Callable[..., str | None]:
    def checked(
        constants: Constants, before: Mapping[int, Any], after: Mapping[int, Any]
    ) -> str | None:
        return check(constants, before[CONTROLLER], after[CONTROLLER], after[HISTORY])

    return checked


PROPERTIES: Final[tuple[Property, ...]] = tuple(
    [
        Property(each.name, each.sentence, _checked(each.check), each.misses)
        for each in _property.all
    ]
)
"""All of them, in the order of the spec."""
