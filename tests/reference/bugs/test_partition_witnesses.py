"""For each bug of the partition the shortest story that shows it, and what that breaks.

The same script under the correct rules breaks nothing of the kind: it comes to a step that cannot
happen, or goes through.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pytest

from kraftcheck.reference.bugs.catalog import bug as known_bug, bugs_of
from kraftcheck.reference.bugs.probing import Consulted
from kraftcheck.reference.partition.broker import BrokerHandlers
from kraftcheck.reference.partition.messages import (
    CLIENTS,
    CONTROLLER,
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerFlush,
    BrokerRestart,
    CheckpointHighWatermark,
    DeleteRecordsRequest,
    HeartbeatRequest,
    ProduceRequest,
    ProduceResponse,
    RegisterBrokerResponse,
    ReplicaFetchRequest,
    ReplicaFetchResponse,
    ReplicaFetchTimeout,
    ReplicaLagTimeout,
    SendAlterPartition,
    SendRegistration,
)
from kraftcheck.reference.partition.types import PartitionConstants
from tests.reference.partition.cluster import PAIR, THREE, Impossible, Partitioned

# 2 is the preferred leader, so that 1 can be succeeded without anybody's leaving the ISR.
TWO_PREFERRED = PartitionConstants((2, 1, 3), min_insync_replicas=2)
PAIR_TWO_PREFERRED = PartitionConstants((2, 1), min_insync_replicas=1)
NO_ELR = PartitionConstants((1, 2, 3), min_insync_replicas=2, elr_enabled=False)
PAIR_NO_ELR = PartitionConstants((1, 2), min_insync_replicas=1, elr_enabled=False)
UNCLEAN = PartitionConstants((1, 2), min_insync_replicas=1, unclean_election=True)
ALONE = PartitionConstants((1,), min_insync_replicas=1)


def back(c: Partitioned, n: int) -> None:
    """A broker that was fenced is heard of again."""
    epoch, offset = c.row(n).broker_epoch, c.state.controller.offset
    c.control(
        HeartbeatRequest(n, CONTROLLER, epoch, offset, want_fence=False, want_shut_down=False)
    )


def one_leads(c: Partitioned) -> None:
    """1 leads epoch 2 instead of the preferred 2, and all replicas are in its ISR."""
    others = [b for b in c.constants.brokers if b != 1]
    c.fence(2)
    back(c, 2)
    c.tell()
    c.catch_up(*others)
    c.alter(1)
    c.tell()


def two_in_sync(c: Partitioned) -> None:
    """Broker 1 has committed a record that 2 holds and 3 lacks; the ISR is {1, 2}."""
    c.produce(1)
    c.shrink(1, 3)
    c.alter(1)
    c.tell()
    c.fetch(2, 2)


def tails_depart(c: Partitioned) -> None:
    """1 and 2 share one record. 1 has another of the same epoch, 2 has two of the next epoch, which
    1 never heard of; 1 leads the epoch after that and commits a record of its own.
    """
    one_leads(c)
    c.produce(1)
    c.catch_up(2)
    c.produce(1)
    c.elect()
    c.tell(2)
    c.produce(2, acks=1)
    c.produce(2, acks=1)
    c.fence(2)
    back(c, 2)
    c.tell()
    c.produce(1)


def z23(c: Partitioned) -> None:
    c.produce(1)
    c.fetch(2, 2)
    c.fetch(3, 2)
    c.fence(1)
    c.tell(3)


def z24(c: Partitioned) -> None:
    c.produce(1)
    c.produce(1)
    c.catch_up(2)
    c.do(1, CheckpointHighWatermark())
    c.crash(1)
    c.fence(1)
    c.tell(2)
    c.crash(2, keep=1)
    c.fence(2)
    c.restart(2)
    c.produce(2)
    c.restart(1)
    c.fetch(1, 2)


def z25(c: Partitioned) -> None:
    tails_depart(c)
    c.fetch(2, 3)


def zombie(c: Partitioned) -> None:
    """3 still follows 1 in an old epoch, and its fetch counts in a new one of 1. Then 3 hears of
    the epoch between, whose leader lacks the record.
    """
    c.produce(2)
    c.catch_up(1, 3)
    one_leads(c)
    c.produce(1)
    c.fetch(3)
    c.elect()
    c.tell(2)
    c.fence(2)
    c.tell(1)
    c.ask(3)
    c.deliver(ReplicaFetchRequest, 3, 1)
    c.deliver(ReplicaFetchResponse, 1, 3)
    c.tell(3, count=1)
    c.fetch(3)


def z28(c: Partitioned) -> None:
    two_in_sync(c)
    c.fence(1)
    c.tell(2, 3)
    c.ask(3)
    c.deliver(ReplicaFetchRequest, 3, 2)
    c.alter(2)


def z29(c: Partitioned) -> None:
    tails_depart(c)
    c.ask(2)
    c.deliver(ReplicaFetchRequest, 2, 1)
    c.alter(1)


def z30(c: Partitioned) -> None:
    """2 has said where to cut while it led without the record; then the record is committed."""
    one_leads(c)
    c.produce(1)
    c.fetch(3)
    c.elect()
    c.tell(2, 3)
    c.ask(3)
    c.deliver(ReplicaFetchRequest, 3, 2)
    cut = c.latest(ReplicaFetchResponse, 2, 3)
    c.fence(2)
    back(c, 2)
    c.tell()
    c.fetch(3)
    c.catch_up(2)
    c.alter(1)
    c.elect()
    c.tell()
    c.do(3, cut)


def z31(c: Partitioned) -> None:
    tails_depart(c)
    c.fetch(2)


def z33(c: Partitioned) -> None:
    two_in_sync(c)
    c.fetch(3, 2)
    c.do(1, SendAlterPartition())
    c.produce(1)
    c.do(1, ReplicaLagTimeout(3))
    c.fetch(2, 2)
    c.deliver(AlterPartitionRequest, 1, CONTROLLER)


def z34(c: Partitioned) -> None:
    c.produce(1)
    c.shrink(1, 3)
    c.fetch(2, 2)


def z35(c: Partitioned) -> None:
    two_in_sync(c)
    c.fetch(3, 2)
    c.do(1, SendAlterPartition())
    old = c.latest(AlterPartitionRequest, 1, CONTROLLER)
    c.control(old)
    c.deliver(AlterPartitionResponse, CONTROLLER, 1)
    c.produce(1)
    c.fetch(2, 2)
    c.shrink(1, 3)
    c.alter(1)
    c.fetch(2)
    c.control(old)


def z37(c: Partitioned) -> None:
    c.fence(3)
    c.tell(1)
    c.fetch(3)
    c.alter(1)


def z38(c: Partitioned) -> None:
    two_in_sync(c)
    c.fetch(3, 2)
    c.do(1, SendAlterPartition())
    c.crash(3, keep=0)
    c.restart(3)
    c.deliver(AlterPartitionRequest, 1, CONTROLLER)


def z39(c: Partitioned) -> None:
    two_in_sync(c)
    c.fetch(3, 2)
    c.crash(3, keep=0)
    c.restart(3)
    c.tell(1)
    c.alter(1)


def z40(c: Partitioned) -> None:
    c.produce(1)
    c.catch_up(2, 3)
    c.fence(2)
    c.fence(3)
    c.tell(1)
    c.crash(1, keep=0)
    c.fence(1)
    c.restart(1)


def z41(c: Partitioned) -> None:
    c.produce(1)
    c.shrink(1, 2, 3)
    c.alter(1)


def z42(c: Partitioned) -> None:
    c.produce(1)
    c.catch_up(2, 3)
    c.fence(3)
    c.fence(2)
    c.crash(2, keep=0)
    c.restart(2)


def z43(c: Partitioned) -> None:
    c.crash(1)
    c.fence(1)
    c.restart(1)


def z44(c: Partitioned) -> None:
    tails_depart(c)
    c.fetch(2)


def z48(c: Partitioned) -> None:
    two_in_sync(c)
    c.fence(1)
    c.tell(2)


def z49(c: Partitioned) -> None:
    c.produce(1)
    c.shrink(1, 2)
    c.alter(1)
    c.do(1, DeleteRecordsRequest(CLIENTS, 1, 0, 1))
    c.fetch(2)


def z308(c: Partitioned) -> None:
    c.produce(1)
    c.catch_up(2)
    c.do(1, DeleteRecordsRequest(CLIENTS, 1, 0, 1))


def z50(c: Partitioned) -> None:
    c.produce(1)
    c.shrink(1, 2, 3)
    c.alter(1)


def z53(c: Partitioned) -> None:
    c.produce(1)
    c.shrink(1, 2)
    c.alter(1)
    c.fence(1)


def z55(c: Partitioned) -> None:
    c.produce(1)
    c.do(1, BrokerFlush())
    c.fetch(2)
    c.crash(2, corrupt=0)
    c.restart(2)
    c.catch_up(2)


def z56(c: Partitioned) -> None:
    c.crash(2)
    c.restart(2)
    c.tell(1)
    c.produce(1)
    c.catch_up(2, 3)
    c.alter(1)
    c.crash(2, keep=0)
    c.do(2, BrokerRestart(), SendRegistration())
    c.deliver(RegisterBrokerResponse, CONTROLLER, 2)


def batch(n: int, value: int, sequence: int) -> ProduceRequest:
    return ProduceRequest(CLIENTS, n, 0, -1, (value,), 7, 0, sequence)


def z58(c: Partitioned) -> None:
    c.do(1, batch(1, 70, 0), batch(1, 70, 0))


def z60(c: Partitioned) -> None:
    one_leads(c)
    c.do(1, batch(1, 70, 0))
    c.elect()
    c.tell()
    c.fetch(1, 2)
    c.fence(2)
    back(c, 2)
    c.tell()
    c.do(1, batch(1, 70, 0))
    c.produce(1)
    c.catch_up(3)


def z67(c: Partitioned) -> None:
    one_leads(c)
    c.produce(1)
    c.fetch(3, 2)
    c.elect()
    c.tell(2, 3)
    c.fetch(3)
    c.fence(2)
    c.tell(1)


def z69(c: Partitioned) -> None:
    c.produce(1)
    c.shrink(1, 2, 3)
    c.alter(1)
    c.tell()
    c.fetch(2, 2)
    c.alter(1)
    c.fetch(3, 2)
    c.do(1, SendAlterPartition())
    c.tell(1)
    c.produce(1)
    c.do(1, ReplicaLagTimeout(3))
    c.fetch(2, 2)
    c.deliver(AlterPartitionRequest, 1, CONTROLLER)


def z170(c: Partitioned) -> None:
    """What 3 asked of 1 in one leadership is noted in the next but one, in which 3 begins anew."""
    one_leads(c)
    c.produce(1)
    c.fetch(3)
    c.ask(3)
    late = c.latest(ReplicaFetchRequest, 3, 1)
    c.elect()
    c.tell(1, 2)
    c.produce(2)
    c.fetch(1, 2)
    c.shrink(2, 3)
    c.alter(2)
    c.fetch(1, 2)
    c.fence(2)
    c.tell(1, 3)
    c.do(3, ReplicaFetchTimeout(late))
    c.fetch(3)
    c.ask(3)
    c.deliver(ReplicaFetchRequest, 3, 1)
    c.do(1, late)
    c.alter(1)


Script = Callable[[Partitioned], None]

WITNESSES: dict[str, tuple[PartitionConstants, Script]] = {
    "Z23": (THREE, z23),
    "Z25": (PAIR_TWO_PREFERRED, z25),
    "Z26": (TWO_PREFERRED, zombie),
    "Z27": (TWO_PREFERRED, zombie),
    "Z28": (THREE, z28),
    "Z29": (PAIR_TWO_PREFERRED, z29),
    "Z30": (TWO_PREFERRED, z30),
    "Z31": (PAIR_TWO_PREFERRED, z31),
    "Z33": (THREE, z33),
    "Z34": (THREE, z34),
    "Z35": (THREE, z35),
    "Z37": (THREE, z37),
    "Z38": (THREE, z38),
    "Z39": (THREE, z39),
    "Z41": (THREE, z41),
    "Z42": (THREE, z42),
    "Z43": (ALONE, z43),
    "Z44": (PAIR_TWO_PREFERRED, z44),
    "Z48": (THREE, z48),
    "Z49": (PAIR, z49),
    "Z50": (THREE, z50),
    "Z55": (PAIR, z55),
    "Z56": (THREE, z56),
    "Z58": (PAIR, z58),
    "Z60": (TWO_PREFERRED, z60),
    "Z67": (TWO_PREFERRED, z67),
    "Z69": (THREE, z69),
    "Z170": (TWO_PREFERRED, z170),
    "Z308": (PAIR, z308),
}

# Not shown so: Z24 is Z23 in other circumstances; Z45 and Z46 break no invariant in runs known to
# us, though their steps are rejected; Z22 and Z194 need two controllers; Z309 and Z310 are of a
# producer with several partitions; the others are matters of progress.
WITHOUT = (
    *("Z22", "Z24", "Z32", "Z36", "Z45", "Z46", "Z51", "Z52", "Z59", "Z155", "Z194"),
    *("Z309", "Z310"),
)


def played(bug: str | None, id: str, consulted: Consulted | None = None) -> Partitioned:
    constants, script = WITNESSES[id]
    c = Partitioned(constants, bug, consulted)
    with contextlib.suppress(Impossible):
        script(c)
    return c


def test_every_bug_has_a_witness_or_a_reason() -> None:
    replaced = [each.id for each in bugs_of("partition") if each.replacement is not None]
    assert sorted(replaced) == sorted([*WITNESSES, *WITHOUT])


@pytest.mark.parametrize("id", WITNESSES)
def test_a_bug_breaks_what_the_catalogue_says(id: str) -> None:
    consulted = Consulted()
    entry = known_bug(id)
    broken = played(id, id, consulted).violated
    assert entry.property in broken, broken
    assert broken <= {entry.property, *entry.also, *WIDER}, broken
    assert consulted.effective or entry.base is BrokerHandlers


# What usually falls with the rest: said of few bugs, true of most.
WIDER = (
    *("StrongIsr", "WeakIsr", "ValidHighWatermark", "ReplicationQuorumSuperset"),
    *("LeaderCandidateCompleteness", "PartitionLeaderCompleteness", "PartitionLogMatching"),
    *("ReadOnlyCommitted", "NoCommittedRecordLost", "AckedHasMinIsrCopies"),
    *("PartitionRefinesCommittedLog", "MonotonicTrueHighWatermark", "ValidControllerState"),
)


@pytest.mark.parametrize("id", WITNESSES)
def test_the_correct_rules_do_not(id: str) -> None:
    assert known_bug(id).property not in played(None, id).violated
    if not known_bug(id).lossy:
        assert played(None, id).violated == set()


# --- Negative controls: nothing is replaced, and less was promised


@pytest.mark.parametrize(
    ("id", "constants", "kept", "script"),
    [("Z40", NO_ELR, THREE, z40), ("Z53", UNCLEAN, PAIR, z53)],
)
def test_a_configuration_breaks_what_another_keeps(
    id: str, constants: PartitionConstants, kept: PartitionConstants, script: Script
) -> None:
    under, other = Partitioned(constants, id), Partitioned(kept, id)
    script(under)
    with contextlib.suppress(Impossible):
        script(other)
    assert known_bug(id).property in under.violated
    assert known_bug(id).property not in other.violated


def test_acks_1_promises_nothing_once_the_leader_moves() -> None:
    """Z54."""
    c = Partitioned(PAIR_TWO_PREFERRED)
    one_leads(c)
    c.produce(1, acks=1)
    (answer,) = c.answers
    assert isinstance(answer, ProduceResponse) and answer.error == "NONE"
    c.elect()
    c.tell()
    c.fetch(1)
    assert c.values(1) == c.values(2) == [] and c.violated == set()


# --- Bugs of progress: what does not happen


def acked(c: Partitioned) -> bool:
    return any(isinstance(m, ProduceResponse) and m.error == "NONE" for m in c.answers)


@pytest.mark.parametrize(("bug", "told"), [(None, True), ("Z51", False)])
def test_an_isr_that_has_shrunk_answers_who_waits(bug: str | None, told: bool) -> None:
    c = Partitioned(PAIR, bug)
    c.produce(1)
    c.shrink(1, 2)
    c.alter(1)
    assert acked(c) is told


@pytest.mark.parametrize(("bug", "told"), [(None, True), ("Z52", False)])
def test_nobody_waits_for_a_replica_that_cannot_join(bug: str | None, told: bool) -> None:
    c = Partitioned(PAIR, bug)
    c.catch_up(2)
    c.fence(2)
    c.tell(1)
    c.produce(1)
    assert acked(c) is told


@pytest.mark.parametrize(("bug", "told"), [(None, True), ("Z155", False)])
def test_who_lets_the_high_watermark_move_answers_who_waits(bug: str | None, told: bool) -> None:
    c = Partitioned(PAIR, bug)
    c.produce(1)
    c.fetch(2, 2)
    assert c.row(1).high_watermark == 1 and acked(c) is told


@pytest.mark.parametrize(("bug", "known"), [(None, True), ("Z59", False)])
def test_an_earlier_batch_in_flight_is_known_again(bug: str | None, known: bool) -> None:
    c = Partitioned(ALONE, bug)
    c.do(1, batch(1, 70, 0), batch(1, 71, 1), batch(1, 70, 0))
    errors = [m.error for m in c.answers]
    assert errors == ["NONE", "NONE", "NONE" if known else "OUT_OF_ORDER_SEQUENCE_NUMBER"]


@pytest.mark.parametrize(("bug", "again"), [(None, False), ("Z36", True)])
def test_one_proposal_is_in_flight(bug: str | None, again: bool) -> None:
    c = Partitioned(THREE, bug)
    c.produce(1)
    c.shrink(1, 3)
    c.do(1, SendAlterPartition())
    if again:
        c.do(1, SendAlterPartition())
    else:
        with pytest.raises(Impossible):
            c.do(1, SendAlterPartition())


@pytest.mark.parametrize(("bug", "same"), [(None, True), ("Z24", False)])
def test_logs_are_the_same_after_both_lost_their_tails(bug: str | None, same: bool) -> None:
    """KIP-101, case 2. The record that was lost is lost, but the logs must not stay different."""
    c = Partitioned(PAIR_NO_ELR, bug)
    z24(c)
    c.fetch(1, 2)
    assert (c.row(1).log == c.row(2).log) is same
