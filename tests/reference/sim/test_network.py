"""The network keeps the statement of Network.tla, and does all that the statement allows."""

from __future__ import annotations

from collections import Counter
from heapq import heappop
from typing import Any

import pytest

from kraftcheck.reference.quorum.messages import BeginQuorumEpochRequest, Message
from kraftcheck.reference.quorum.sim.faults import Options
from kraftcheck.reference.runner.run import simulate_run
from kraftcheck.reference.sim.choices import SeededChooser
from kraftcheck.reference.sim.events import DELIVER, Queue
from kraftcheck.reference.sim.interning import Interner, KnownInput
from kraftcheck.reference.sim.network import FATES, Network, Partition, fates
from tests.reference.sim.contents import deliver_unsent, unsent

INTERN = Interner().input


def message(source: int, destination: int, epoch: int) -> tuple[int, KnownInput]:
    return destination, INTERN(BeginQuorumEpochRequest(source, destination, epoch))


def network(**options: Any) -> tuple[Network, Queue]:
    queue = Queue()
    of = Options(**options)
    return Network(range(of.voters), of, SeededChooser(1).stream("network"), queue), queue


def delivered(queue: Queue) -> list[tuple[int, int, Message]]:
    """(time, node, message) of everything under way, as it will arrive."""
    found = []
    while queue.heap:
        time, _, kind, node, what = heappop(queue.heap)
        assert kind == DELIVER
        found.append((time, node, what.value))
    return found


def test_undisturbed_every_message_arrives_once_and_in_order() -> None:
    under_test, queue = network()
    for epoch in range(20):
        under_test.send(1000 * epoch, 0, (message(0, 1, epoch), message(0, 2, epoch)))
    arrived = delivered(queue)
    assert [(node, m.epoch) for _, node, m in arrived if node == 1] == [(1, e) for e in range(20)]
    assert len(arrived) == 40
    assert all(node == m.destination for _, node, m in arrived)


def test_disturbed_it_loses_doubles_and_reorders_and_invents_nothing() -> None:
    under_test, queue = network(loss=200, duplication=200, reordering=200, hold_ms=50)
    sent = [message(0, 1, epoch) for epoch in range(500)]
    for at, each in enumerate(sent):
        under_test.send(1000 * at, 0, (each,))
    arrived = delivered(queue)
    assert {m for _, _, m in arrived} <= {known.value for _, known in sent}
    assert all(node == 1 and time > 1000 * m.epoch for time, node, m in arrived)
    copies = Counter(m.epoch for _, _, m in arrived)
    assert Counter(copies.values()) == {
        1: 500 - under_test.lost - under_test.duplicated,
        2: (under_test.duplicated),
    }
    assert 60 < under_test.lost < 140
    assert 60 < under_test.duplicated < 140
    assert 60 < under_test.held < 140
    order = [m.epoch for _, _, m in arrived]
    assert order != sorted(order)


@pytest.mark.parametrize("one_way", [False, True])
def test_a_partition_cuts_its_links_until_it_ends(one_way: bool) -> None:
    under_test, queue = network()
    partition = Partition((0,), (1, 2), one_way, 100)
    under_test.begin(partition)
    under_test.send(0, 0, (message(0, 1, 1), message(0, 2, 1)))
    assert delivered(queue) == [] and under_test.blocked == 2
    under_test.send(0, 1, (message(1, 0, 1), message(1, 2, 1)))
    assert [node for _, node, _ in delivered(queue)] == ([0, 2] if one_way else [2])
    under_test.end(partition)
    under_test.send(0, 0, (message(0, 1, 1),))
    assert len(delivered(queue)) == 1


def test_partitions_overlap() -> None:
    under_test, queue = network()
    one, two = Partition((0,), (1, 2), False, 1), Partition((1,), (0, 2), False, 1)
    under_test.begin(one)
    under_test.begin(two)
    under_test.end(one)
    under_test.send(0, 0, (message(0, 1, 1), message(0, 2, 1)))
    assert [node for _, node, _ in delivered(queue)] == [2]


def test_healing_ends_everything() -> None:
    under_test, queue = network(loss=1000, latency_ms=20, slow_node=10)
    under_test.begin(Partition((0,), (1, 2), False, 1))
    under_test.heal()
    under_test.send(0, 0, (message(0, 1, 1), message(0, 2, 1)))
    assert [time for time, _, _ in delivered(queue)] == [1000, 1000]


def test_one_type_suffers_alone() -> None:
    queue = Queue()
    options = Options(suffering="BeginQuorumEpochRequest")
    under_test = Network(range(options.voters), options, SeededChooser(1).stream("network"), queue)
    for epoch in range(200):
        under_test.send(0, 0, (message(0, 1, epoch),))
    assert under_test.held > 50 and under_test.duplicated > 40 and under_test.lost == 0


def test_fates_have_the_shares_that_were_asked_for() -> None:
    table = fates(10, 20, 30, 100)
    assert len(table) == FATES
    assert table[0] is None
    assert sum(fate == () for fate in table) == 10
    assert sum(fate is not None and len(fate) == 2 for fate in table) == 20
    held = [fate[0] for fate in table if fate is not None and len(fate) == 1]
    assert len(held) == 30 and held == sorted(held) and held[-1] == 100_000


@pytest.mark.parametrize("run", range(12))
def test_in_runs_nothing_is_delivered_that_was_not_sent(run: int) -> None:
    assert unsent(simulate_run("quorum", 3, run)) == []


def test_a_message_that_nobody_sent_is_noticed() -> None:
    forged, at = deliver_unsent(simulate_run("quorum", 3, 0))
    assert unsent(forged) == [at]
