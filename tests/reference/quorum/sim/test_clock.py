"""Timers: one deadline each, moved, cancelled, drawn in bounds, by clocks that may be wrong."""

from __future__ import annotations

from functools import partial
from heapq import heappop
from typing import Any

import pytest

from kraftcheck.reference.drivers.clock import Timers
from kraftcheck.reference.quorum.messages import (
    CheckQuorumTimeout,
    ElectionTimeout,
    FetchTimeout,
    Input,
    RequestTimeout,
)
from kraftcheck.reference.quorum.sim.faults import Options
from kraftcheck.reference.quorum.sim.machine import instruction, lost_election
from kraftcheck.reference.quorum.timers import (
    Arm,
    Cancel,
    OverrideFetchTimeout,
    Timeouts,
    TimerEffect,
)
from kraftcheck.reference.sim.choices import SeededChooser
from kraftcheck.reference.sim.events import TIMER, Queue
from kraftcheck.reference.sim.interning import Interner

TIMEOUTS = Timeouts()
INTERN = Interner().input
BACKOFF = partial(lost_election, TIMEOUTS)


class Bench:
    """One clock and its queue, with node 0's timers on view."""

    def __init__(self, **options: Any) -> None:
        self.queue = Queue()
        stream = SeededChooser(1).stream("clock")
        self.clock = Timers(Options(**options), stream, self.queue, 5, BACKOFF)

    def carry_out(self, now: int, *effects: TimerEffect, node: int = 0) -> None:
        todo = tuple(instruction(effect, TIMEOUTS, INTERN) for effect in effects)
        self.clock.carry_out(now, node, todo)

    def expiries(self, until: int = 1 << 60) -> list[tuple[int, Input]]:
        """What expires up to a time, in order."""
        found: list[tuple[int, Input]] = []
        while self.queue.heap and self.queue.heap[0][0] <= until:
            time, _, kind, node, timer = heappop(self.queue.heap)
            assert kind == TIMER
            if self.clock.is_due(time, node, timer):
                found.append((time, timer.value))
        return found


def test_a_timer_expires_once_at_its_time() -> None:
    bench = Bench()
    bench.carry_out(5, Arm(FetchTimeout(), "fixed"))
    assert bench.expiries() == [(2_000_005, FetchTimeout())]


def test_arming_again_moves_the_deadline() -> None:
    bench = Bench()
    for now in range(0, 1_000_000, 100_000):
        bench.carry_out(now, Arm(FetchTimeout(), "fixed"))
    assert len(bench.queue.heap) == 1
    assert bench.expiries() == [(2_900_000, FetchTimeout())]


def test_an_override_brings_the_deadline_forward() -> None:
    bench = Bench()
    bench.carry_out(0, Arm(FetchTimeout(), "fixed"))
    bench.carry_out(10, OverrideFetchTimeout(position=0, count=2))
    assert bench.expiries() == [(10, FetchTimeout())]


def test_a_timer_armed_again_after_an_override_keeps_its_own_time() -> None:
    """An event of the earlier arming is still queued, and must not fire it twice or early."""
    bench = Bench()
    bench.carry_out(0, Arm(FetchTimeout(), "fixed"))
    bench.carry_out(0, OverrideFetchTimeout(position=0, count=2))
    assert bench.expiries(until=0) == [(0, FetchTimeout())]
    bench.carry_out(0, Arm(FetchTimeout(), "fixed"))
    assert bench.expiries() == [(2_000_000, FetchTimeout())]


def test_cancelled_timers_do_not_expire() -> None:
    bench = Bench()
    bench.carry_out(0, Arm(FetchTimeout(), "fixed"), Arm(CheckQuorumTimeout(), "fixed"))
    bench.carry_out(1, Cancel(FetchTimeout()))
    assert bench.expiries() == [(3_000_000, CheckQuorumTimeout())]


def test_keeping_the_remaining_time() -> None:
    bench = Bench()
    bench.carry_out(0, Arm(ElectionTimeout(), "draw"))
    bench.carry_out(500, Arm(ElectionTimeout(), "keep-remaining"))
    [(time, _)] = bench.expiries()
    assert 1_000_000 <= time < 2_000_000
    bench.carry_out(time, Arm(ElectionTimeout(), "keep-remaining"))
    assert bench.expiries() == [(time, ElectionTimeout())], "nothing remains of what expired"


def test_drawn_timeouts_are_within_bounds_and_differ() -> None:
    bench = Bench()
    times = set()
    for _ in range(200):
        bench.carry_out(0, Arm(ElectionTimeout(), "draw"))
        times.add(bench.expiries()[0][0])
    assert min(times) >= 1_000_000 and max(times) < 2_000_000
    assert len(times) > 100


def test_coarse_timers_have_four_values() -> None:
    bench = Bench(coarse_timers=True)
    times = set()
    for _ in range(100):
        bench.carry_out(0, Arm(ElectionTimeout(), "draw"))
        times.add(bench.expiries()[0][0])
    assert times == {1_000_000, 1_250_000, 1_500_000, 1_750_000}


def test_a_candidate_backs_off_longer_with_each_lost_election() -> None:
    longest = []
    for lost in range(1, 5):
        times: list[int] = []
        for _ in range(60):
            bench = Bench()
            stream = SeededChooser(len(times)).stream("clock")
            bench.clock = Timers(Options(), stream, bench.queue, 1, BACKOFF)
            for _ in range(lost):
                bench.carry_out(0, Arm(ElectionTimeout(), "backoff"))
            times.append(bench.expiries()[-1][0])
        longest.append(max(times))
    assert longest == [100_000, 300_000, 700_000, 1_000_000]


def test_an_election_that_is_over_ends_the_row() -> None:
    times = set()
    for seed in range(60):
        bench = Bench()
        stream = SeededChooser(seed).stream("clock")
        bench.clock = Timers(Options(), stream, bench.queue, 1, BACKOFF)
        for _ in range(5):
            bench.carry_out(0, Arm(ElectionTimeout(), "backoff"))
            bench.clock.settled(0)
        times.add(bench.expiries()[-1][0])
    assert max(times) <= 100_000


def test_clocks_run_fast_and_slow() -> None:
    bench = Bench(clock_skew=100, voters=5)
    lasted = set()
    for node in range(5):
        bench.carry_out(0, Arm(RequestTimeout(9), "request"), node=node)
    lasted = {time for time, _ in bench.expiries()}
    assert lasted <= {1_800_000, 2_000_000, 2_200_000}
    assert len(lasted) > 1


@pytest.mark.parametrize(
    ("start", "expected"),
    [("orderly", [1_000_000, 1_150_000, 1_300_000]), ("tie", [1_000_000, 1_000_000, 1_150_000])],
)
def test_first_elections_come_in_order_or_at_once(start: str, expected: list[int]) -> None:
    bench = Bench(start=start)
    todo = (instruction(Arm(ElectionTimeout(), "draw"), TIMEOUTS, INTERN),)
    for node in range(3):
        bench.clock.start(node, todo)
    assert [time for time, _ in bench.expiries()] == expected
