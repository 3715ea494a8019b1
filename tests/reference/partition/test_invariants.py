"""The fast way of checking the partition's invariants agrees with the plain one.

On random walks, of the correct rules and of every bug, after each step: the same property, or none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from operator import attrgetter
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from kraftcheck.reference.bugs.catalog import bugs_of, rules_for
from kraftcheck.reference.partition.broker import BrokerHandlers
from kraftcheck.reference.partition.invariants import (
    PARTITION_INVARIANT_NAMES,
    PARTITION_INVARIANTS,
    SUSPICIOUS,
    PartitionChecker,
    agreement,
    partition_invariant,
)
from kraftcheck.reference.partition.messages import CLIENTS, CONTROLLER, ProduceResponse
from kraftcheck.reference.partition.properties import (
    OF_ROWS,
    OfRow,
    PartitionHistory,
    PartitionState,
    acked_in,
    history_next,
    initial_state,
    merged,
)
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.sim.machine import broker_handlers_for
from kraftcheck.reference.partition.types import (
    GONE,
    BrokerRow,
    CacheEntry,
    PartitionConstants,
    Record,
)
from tests.reference.partition.plants import PLANTS, TWINS, Plant, acked
from tests.reference.partition.walks import Moves, PartitionWalk, Step

THREE = PartitionConstants((2, 1, 3), min_insync_replicas=2)
PAIR = PartitionConstants((1, 2), min_insync_replicas=1, elr_enabled=False)
LOSSLESS = Moves(lossy=0, corrupt=0, unclean=0, again=False)
LOSSY = Moves(lossy=0.6, corrupt=0.5)


def walk_of(
    constants: PartitionConstants, seed: int, moves: Moves, bug: str | None = None
) -> PartitionWalk:
    walk = PartitionWalk(constants, seed, rules_for(PartitionRules, bug, constants), moves)
    walk.handlers = broker_handlers_for(bug, constants)
    return walk


def fast(checker: PartitionChecker, step: Step) -> str | None:
    found = checker.after_step(step.node, step.before, step.after, step.outcome.sent)
    return found.name if found else None


def judged(walk: PartitionWalk, length: int) -> Iterator[tuple[str | None, str | None]]:
    """For each step what the two ways say, up to the first violation."""
    checker, history = PartitionChecker(walk.handlers), PartitionHistory()
    for step in walk.steps(length):
        history = history_next(history, step.after, step.outcome.sent)
        plain = first_violated(step, history, walk.handlers)
        yield fast(checker, step), plain
        assert checker.history == history
        if plain is not None:
            return


def first_violated(step: Step, history: PartitionHistory, handlers: BrokerHandlers) -> str | None:
    before, after = step.before, step.after
    for each in PARTITION_INVARIANTS:
        if each.check(before, after, history, handlers) is not None:
            return each.name
    return None


@pytest.mark.parametrize("constants", [THREE, PAIR], ids=["three", "pair"])
@pytest.mark.parametrize("moves", [LOSSLESS, LOSSY], ids=["lossless", "lossy"])
def test_both_ways_agree_on_walks(constants: PartitionConstants, moves: Moves) -> None:
    for seed in range(6):
        for ours, plain in judged(walk_of(constants, seed, moves), 200):
            assert ours == plain


BUGS = [each.id for each in bugs_of("partition") if each.replacement is not None]


@pytest.mark.parametrize("bug", BUGS)
def test_both_ways_agree_on_walks_of_bugs(bug: str) -> None:
    for constants, seed, moves in ((THREE, 1, LOSSLESS), (PAIR, 2, LOSSLESS), (THREE, 3, LOSSY)):
        for ours, plain in judged(walk_of(constants, seed, moves, bug), 120):
            assert ours == plain


def test_nothing_is_violated_where_nothing_is_lost() -> None:
    for constants in (THREE, PAIR):
        for seed in range(15):
            walk = walk_of(constants, seed, LOSSLESS)
            checker = PartitionChecker(walk.handlers)
            assert {fast(checker, step) for step in walk.steps(250)} == {None}


def changed(step: Step, node: int, **fields: object) -> Step:
    """The step with its new row changed."""
    row = replace(step.after.rows[node], **fields)
    after = step.after._replace(rows={**step.after.rows, node: row})
    return step._replace(after=after, outcome=replace(step.outcome, row=row))


def planted(step: Step, n: int) -> Iterator[tuple[str, Step]]:
    """Steps that are wrong in one place; those that turn out right are judged alike, too."""
    row = step.after.rows[n]
    end = len(row.log)
    strange = Record(max(row.leader_epoch, 0), 777, -1, -1, -1, -1, -1)
    yield "high watermark above the end", changed(step, n, high_watermark=end + 1)
    yield "high watermark at the end", changed(step, n, high_watermark=end)
    yield "high watermark gone back", changed(step, n, high_watermark=row.log_start)
    yield "log start", changed(step, n, log_start=row.high_watermark + 1)
    yield "flushed", changed(step, n, flushed=end + 1)
    yield "leader", changed(step, n, leader=99)
    yield "role", changed(step, n, role="Leader")
    yield "epoch start", changed(step, n, epoch_start=-1)
    yield "isr", changed(step, n, isr=())
    yield "image", changed(step, n, image=replace(row.image, offset=row.image.offset + 1))
    yield "cache", changed(step, n, epoch_cache=(*row.epoch_cache, CacheEntry(99, 0)))
    yield "longer", changed(step, n, log=(*row.log, strange))
    yield "twice", changed(step, n, log=row.log + row.log[-1:])
    yield "shorter", changed(step, n, log=row.log[:-1])
    yield "other", changed(step, n, log=(strange, *row.log[1:]))
    yield "visible", changed(step, n, log=(*row.log, strange), high_watermark=end + 1)


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: f"{plant.name}: {plant.said}")
def test_a_planted_violation_is_found_both_ways(plant: Plant) -> None:
    ground = plant.ground()
    before, handlers = ground.state, ground.handlers
    after = plant.change(before)
    history = history_next(ground.history, after, plant.sent)
    checks = (
        (each.name, each.check(before, after, history, handlers)) for each in PARTITION_INVARIANTS
    )
    first = next(name for name, told in checks if told is not None)
    assert first == (plant.first or plant.name)
    told = partition_invariant(plant.name).check(before, after, history, handlers)
    assert plant.said in (told or "")
    assert ground.judged(plant.node, before, after, plant.sent) == first


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.name)
def test_what_is_close_to_a_violation_is_none(twin: Plant) -> None:
    ground = twin.ground()
    after = twin.change(ground.state)
    assert after != ground.state or twin.sent
    history = history_next(ground.history, after, twin.sent)
    check = partition_invariant(twin.name).check
    assert check(ground.state, after, history, ground.handlers) is None


def test_what_is_deleted_counts_as_what_was_there() -> None:
    first, second = (Record(1, value, -1, -1, -1, -1, -1) for value in range(2))
    assert merged((GONE, GONE), (first,), 2) == (first, GONE)
    assert merged((GONE, second), (first,), 1) == (first,)
    assert merged((first, second), (second,), 2) == (first, second)


def test_acked_is_what_all_were_asked_for_and_had_no_error() -> None:
    (answer,) = acked(1, 2)
    assert isinstance(answer, ProduceResponse)
    one = replace(answer, request=replace(answer.request, acks=1))
    failed = replace(answer, error="NOT_ENOUGH_REPLICAS_AFTER_APPEND")
    assert acked_in([answer, answer.request]) == {1, 2}
    assert acked_in([one, failed]) == frozenset()


def test_a_run_s_judge_hears_what_clients_are_told() -> None:
    """Planted: an answer of which the step does not say that it is one."""
    sent = [(CLIENTS, SimpleNamespace(value=told)) for told in acked(7)]
    state, found = initial_state(THREE), {}
    for noted in (-1, SUSPICIOUS):
        step = SimpleNamespace(before=SimpleNamespace(node=1), notable=noted, sent=sent)
        found[noted] = PartitionChecker(BrokerHandlers(THREE))(step, state, state)
    assert found[SUSPICIOUS] is None
    assert found[-1] is not None and "7" in found[-1][1]


def test_each_invariant_has_plants_and_twins() -> None:
    assert {plant.name for plant in PLANTS} == set(PARTITION_INVARIANT_NAMES)
    assert {twin.name for twin in TWINS} == set(PARTITION_INVARIANT_NAMES)


@pytest.mark.slow
def test_both_ways_agree_on_planted_violations() -> None:
    seen: Counter[str | None] = Counter()
    for seed in range(8):
        walk = walk_of(THREE, seed, LOSSLESS)
        checker, history = PartitionChecker(walk.handlers), PartitionHistory()
        for at, step in enumerate(walk.steps(160), 1):
            if at % 16 == 0 and step.node != CONTROLLER:
                for name, wrong in planted(step, step.node):
                    again = replayed(walk.handlers, seed, at)
                    entered = history_next(history, wrong.after, wrong.outcome.sent)
                    plain = first_violated(wrong, entered, walk.handlers)
                    assert fast(again, wrong) == plain, name
                    seen[plain] += 1
            history = history_next(history, step.after, step.outcome.sent)
            assert fast(checker, step) is None
    assert len(seen) >= 10, seen


def replayed(handlers: BrokerHandlers, seed: int, until: int) -> PartitionChecker:
    """A checker that has seen the steps before number `until`."""
    checker = PartitionChecker(handlers)
    walk = walk_of(THREE, seed, LOSSLESS)
    for at, step in enumerate(walk.steps(until), 1):
        if at < until:
            assert fast(checker, step) is None
    return checker


def test_few_steps_of_the_correct_protocol_raise_a_suspicion(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A suspicion costs the plain check of everything; the cheap way must seldom need it."""
    looked: Counter[str] = Counter()

    def suspicious(self: PartitionChecker, after: PartitionState, changed: Iterable[int]) -> bool:
        looked["several"] += 1
        return whole(self, after, changed)

    def first(self: PartitionChecker, before: PartitionState, after: PartitionState) -> None:
        looked["all"] += 1

    whole = PartitionChecker._suspicious
    monkeypatch.setattr(PartitionChecker, "_suspicious", suspicious)
    monkeypatch.setattr(PartitionChecker, "first_violated", first)
    for seed in range(10):
        walk = walk_of(THREE, seed, LOSSLESS)
        checker = PartitionChecker(walk.handlers)
        for step in walk.steps(200):
            assert fast(checker, step) is None
    assert looked["all"] <= 5 and looked["several"] <= 800, looked


def test_after_a_suspicion_every_broker_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a step is asked only of the broker that it changed."""
    calls: list[tuple[int, bool]] = []

    def suspicious(self: PartitionChecker, after: PartitionState, changed: Iterable[int]) -> bool:
        calls.append((len([*changed]), whole(self, after, changed)))
        return calls[-1][1]

    whole = PartitionChecker._suspicious
    monkeypatch.setattr(PartitionChecker, "_suspicious", suspicious)
    walk = walk_of(PartitionConstants((1, 2, 3), 2), 2, LOSSLESS, "Z41")
    checker = PartitionChecker(walk.handlers, ["ControllerTypeInv"])
    for step in walk.steps(250):
        fast(checker, step)
    after_one = {looked for (_, found), (looked, _) in pairwise(calls) if found}
    assert after_one == {3} and {looked for looked, _ in calls} == {1, 3}


def test_properties_may_be_left_out() -> None:
    walk = walk_of(PartitionConstants((1, 2, 3), 2), 2, LOSSLESS, "Z41")
    names = [name for name in PARTITION_INVARIANT_NAMES if "Completeness" not in name]
    checker, narrow = PartitionChecker(walk.handlers), PartitionChecker(walk.handlers, names)
    for step in walk.steps(250):
        name = fast(checker, step)
        assert fast(narrow, step) != "LeaderCandidateCompleteness"
        if name is not None:
            assert name == "LeaderCandidateCompleteness"
            return
    raise AssertionError("nothing was violated")


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(AssertionError, match="Tired"):
        PartitionChecker(BrokerHandlers(THREE), ["NeverTired"])
    assert partition_invariant("StrongIsr").kind == "state"


class _Watching:
    """A row, and which of its fields were looked at."""

    def __init__(self, row: BrokerRow, fields: set[str]) -> None:
        self._row, self._fields = row, fields

    def __getattr__(self, field: str) -> object:
        self._fields.add(field)
        return getattr(self._row, field)


def looks_elsewhere(of: OfRow) -> set[str]:
    """The fields of rows that a property looks at, and does not say so."""
    seen: set[str] = set()
    said: set[str] = set()
    for constants in (THREE, PAIR):
        for step in walk_of(constants, 1, LOSSY).steps(60):
            for n, row in step.after.rows.items():
                seeing: Any = _Watching(row, seen)
                of.check(n, seeing, constants.brokers)
                saying: Any = _Watching(row, said)
                of.looked_at(saying)
    return seen - said


def test_properties_of_a_row_say_where_they_look() -> None:
    for of in OF_ROWS.values():
        assert not looks_elsewhere(of)
    cache = OF_ROWS["PartitionEpochCacheSound"]._replace(looked_at=attrgetter("log", "status"))
    assert looks_elsewhere(cache) == {"epoch_cache"}


def test_a_first_state_violates_nothing() -> None:
    state = initial_state(THREE)
    for each in PARTITION_INVARIANTS:
        assert each.check(state, state, PartitionHistory(), BrokerHandlers(THREE)) is None


def test_every_invariant_has_a_sentence() -> None:
    for each in PARTITION_INVARIANTS:
        assert each.sentence.endswith(".") and "\n" not in each.sentence


def test_agreement_counts_what_is_deleted() -> None:
    log = tuple(Record(1, value, -1, -1, -1, -1, -1) for value in range(4))
    other = (*log[:2], Record(2, 9, -1, -1, -1, -1, -1), log[3])
    assert agreement(log, log) == 4
    assert agreement(log[:3], log) == agreement(log, log[:3]) == 3
    assert agreement(other, log) == 2
    assert agreement((GONE, GONE, *log[2:]), log) == 4
