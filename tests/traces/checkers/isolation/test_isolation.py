"""Transactions over lists and registers, against Elle's cases and against every order."""

from __future__ import annotations

from collections import Counter

import pytest
from msgspec.structs import replace

from kraftcheck.traces.checkers.isolation import levels
from kraftcheck.traces.checkers.isolation.cycles import cycles_of
from kraftcheck.traces.checkers.isolation.dependencies import PROCESS, RW, WR, WW, Dependencies
from kraftcheck.traces.checkers.isolation.judging import check_isolation
from kraftcheck.traces.checkers.isolation.transactions import spans_several
from kraftcheck.traces.checkers.models import MultiList, MultiRegister, as_transactions
from kraftcheck.traces.checkers.search import check
from kraftcheck.traces.checkers.verdict import HOLDS, UNKNOWN, VIOLATED
from tests.traces.checkers.isolation.cases import CASES, Case, history_of
from tests.traces.checkers.isolation.enumeration import drawn, is_serializable

DRAWN = 800
NOBODY = "no transaction is known to have been committed"
MODELS = ("list-append", "register")


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.model}: {case.name}")
def test_a_case_of_elle(case: Case) -> None:
    found = check_isolation(history_of(case.history, case.model), case.model)
    names = {each.name for each in found.anomalies}
    assert case.found <= names
    assert found.verdict == (VIOLATED if case.found else HOLDS)
    excluded = levels.excluded(names)
    for model in case.excluded:
        assert model in excluded
        weaker = levels.weaker(model) - {model}
        assert not any(each in excluded for each in weaker), (model, sorted(names))
    if not case.found:
        assert names == set()


@pytest.mark.parametrize("model", MODELS)
def test_it_agrees_with_every_order(model: str) -> None:
    verdicts = set()
    for seed in range(DRAWN):
        history = drawn(seed, model)
        for consistency, keeps in (
            (levels.SERIALIZABLE, {}),
            (levels.STRONG_SESSION, {"sessions": True}),
            (levels.STRICT_SERIALIZABLE, {"realtime": True}),
        ):
            found = check_isolation(history, model, consistency)
            expected = HOLDS if is_serializable(history, **keeps) else VIOLATED
            if found.reason == NOBODY:
                expected = UNKNOWN
            assert found.verdict == expected, (model, seed, consistency, found)
            verdicts.add((consistency, expected))
    assert len(verdicts) == 9


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_it_agrees_with_every_order_of_many(model: str) -> None:
    for seed in range(DRAWN, 50_000):
        history = drawn(seed, model)
        found = check_isolation(history, model, levels.STRICT_SERIALIZABLE)
        assert (found.verdict != VIOLATED) == is_serializable(history, realtime=True), seed


@pytest.mark.parametrize("model", MODELS)
def test_values_that_are_not_unique_raise_no_false_alarm(model: str) -> None:
    """Dependencies leave such histories open or are right, and the search decides all of them."""
    whole = {"register": MultiRegister(), "list-append": MultiList()}[model]
    counted: Counter[tuple[str, str]] = Counter()
    for seed in range(DRAWN):
        history = drawn(seed, model, repeated=True)
        expected = HOLDS if is_serializable(history, realtime=True) else VIOLATED
        found = check_isolation(history, model)
        counted[found.verdict, expected] += 1
        (searched,) = check(as_transactions(history), whole)
        assert searched.verdict == expected, seed
    assert not counted[HOLDS, VIOLATED] and not counted[VIOLATED, HOLDS]
    assert counted[UNKNOWN, VIOLATED] and counted[UNKNOWN, HOLDS] and counted[VIOLATED, VIOLATED]


def test_the_models_that_are_left() -> None:
    found = check_isolation(history_of("ax1ry; ay1rx"), "list-append")
    assert "snapshot-isolation" not in levels.excluded(["G2-item"])
    assert (
        found.held
        == (
            *("strong-snapshot-isolation", "update-serializable"),
            "cursor-stability",
        )
        or "strong-snapshot-isolation" in found.held
    )
    allowed = check_isolation(history_of("ax1ry; ay1rx"), "list-append", "snapshot-isolation")
    assert allowed.verdict == HOLDS and all(each.allowed for each in allowed.anomalies)


def test_a_history_without_a_committed_transaction_is_unknown() -> None:
    assert check_isolation(history_of("ax1?; ax2!"), "list-append").verdict == UNKNOWN


def test_a_version_that_two_wrote_is_unknown() -> None:
    found = check_isolation(history_of("ax1; ax1ay1; rx1ry1"), "list-append")
    assert found.verdict == UNKNOWN and found.reason is not None and "twice" in found.reason


@pytest.mark.parametrize("model", levels.MODELS)
def test_a_model_is_ruled_out_by_what_its_weaker_ones_exclude(model: str) -> None:
    for weaker in levels.weaker(model):
        for anomaly in levels.FORBIDS.get(weaker, ()):
            assert levels.breaks(anomaly, model)


def test_every_anomaly_has_a_meaning_and_rules_something_out() -> None:
    for forbidden in levels.FORBIDS.values():
        for anomaly in forbidden:
            assert levels.meaning(anomaly)
            assert levels.excluded([anomaly])


def test_aliases_are_models() -> None:
    assert {levels.canonical(name) for name in levels.ALIASES} <= set(levels.MODELS)
    assert levels.canonical("serialisable") is None


@pytest.mark.parametrize(
    ("history", "name", "operations"),
    [
        ("ay1ax1!; rx1", "G1a", (1, 2)),
        ("ax1ax2; rx1; rx1", "G1b", (0, 2)),
        ("ax1!; ax2; ax3; rx123", "dirty-update", (0, 1)),
        ("0@0-1 ax1; 1@2-3 ax2; 1@4-5 ay1!; 1@6-7 rx1; 3@8-9 rx12", "G-single-process", (1, 3)),
    ],
)
def test_evidence_is_of_the_first_that_shows_it(
    history: str, name: str, operations: tuple[int, ...]
) -> None:
    """Nothing is shown twice, and nothing of who was aborted is between two others."""
    found = check_isolation(history_of(history), "list-append")
    [anomaly] = (each for each in found.anomalies if each.name == name)
    assert anomaly.count == 1
    assert tuple(sorted(anomaly.certificates[0].operations)) == operations


@pytest.mark.parametrize(("key", "place"), [("x", " of x"), (None, "")])
def test_who_read_what_no_order_explains_is_named(key: str | None, place: str) -> None:
    made = history_of("0@0-1 wx1; 1@0-1 wx2; 2@2-3 rx1; 3@4-5 rx2; 4@6-7 rx1", "register")
    operations = tuple(replace(each, key=key) for each in made.operations)
    found = check_isolation(replace(made, operations=operations), "register")
    [sentence] = {each.sentence for a in found.anomalies for each in a.certificates}
    assert sentence.startswith("no order explains what the transaction of operation ")
    assert sentence.endswith(f" read{place}")


def test_a_cycle_is_told_edge_by_edge() -> None:
    found = check_isolation(history_of("ax1ry; ay1rz; az1rx"), "list-append")
    [told] = (each.certificates[0] for each in found.anomalies if each.name == "G2-item")
    assert told.sentence == (
        "0 read nothing of y, before 2 wrote 1 (rw); 2 read nothing of z, before 4 wrote 1 (rw); "
        "4 read nothing of x, before 0 wrote 1 (rw)"
    )


def test_a_list_that_is_not_there_is_read_as_an_empty_one() -> None:
    made = history_of("0@0-1 rx; 0@2-3 ax1; 0@4-5 rx1")
    none, *rest = made.operations
    made = replace(made, operations=(replace(none, result=None), *rest))
    assert check_isolation(made, "list-append").verdict == HOLDS


def test_transactions_are_seen_by_their_parts() -> None:
    assert spans_several(history_of("ax1; ax2rx")) and not spans_several(history_of("ax1; rx1"))


def test_few_before_few_need_no_node_between() -> None:
    graph = Dependencies(4)
    graph.add_all(RW, [(0, 1), (1, 1)], [(2, 2), (3, 2)], "x")
    assert graph.nodes == 4 and len(graph.sources) == 4


def test_who_is_not_on_both_sides_read_no_half() -> None:
    """1501 read from 1500; of the many, only 3 missed what they wrote."""
    graph = Dependencies(2_000)
    some = [(number, None) for number in range(1_000)]
    graph.add_all(RW, some, [(number, 1) for number in range(1_000, 2_000)], "x")
    for first, second in ((1_500, 1_501), (1_501, 3)):
        graph.add(WR, first, second)
    found = cycles_of(graph).found
    assert found["fractured-read"].transactions == (3, 1_501)


def test_many_before_many_take_few_edges() -> None:
    graph = Dependencies(2_000)
    some = [(number, None) for number in range(1_000)]
    others = [(number, 1) for number in range(1_000, 2_000)]
    graph.add_all(RW, some, others, "x")
    assert len(graph.sources) == 2_000 and graph.nodes == 2_001
    graph.add(WR, 1_500, 3)
    cycle = cycles_of(graph).found["G-single"]
    assert cycle.transactions == (3, 1_500) and cycle.kinds == (RW, WR)
    assert cycle.reasons[0].after == 1


def test_those_that_come_before_each_other_form_a_ring() -> None:
    graph = Dependencies(300)
    everybody = [(number, number) for number in range(300)]
    graph.add_all(RW, everybody, everybody, "x")
    assert len(graph.sources) == graph.nodes == 300
    assert set(cycles_of(graph).found) == {"G2-item"}


def test_a_walk_through_a_transaction_twice_is_cut_to_a_cycle() -> None:
    """0 -rw-> 1 -ww-> 2 -rw-> 3 -ww-> 0, and 1 is 3's other end as well."""
    graph = Dependencies(4)
    for kind, first, second in ((RW, 0, 1), (WW, 1, 2), (RW, 2, 1), (WW, 1, 0)):
        graph.add(kind, first, second)
    found = cycles_of(graph).found
    assert set(found) == {"G-single"} and len(found["G-single"].transactions) == 2


def test_what_an_anomaly_implies_is_not_looked_for() -> None:
    """0 and 1 read each other; 3 read from 2, after which its process ran 2: G1c implies that."""
    graph = Dependencies(4)
    for kind, first, second in ((WR, 2, 3), (PROCESS, 3, 2)):
        graph.add(kind, first, second)
    assert set(cycles_of(graph).found) == {"G1c-process"}
    for first, second in ((0, 1), (1, 0)):
        graph.add(WR, first, second)
    assert set(cycles_of(graph).found) == {"G1c"}


def test_single_operations_may_be_held_against_sequential_consistency() -> None:
    """A stale read, and one after which the same process reads what was there before."""
    stale = "0@0-1 wx1; 1@2-3 rx"
    assert check_isolation(history_of(stale, "register"), "register").verdict == VIOLATED
    sequential = levels.canonical("sequential")
    assert sequential is not None
    found = check_isolation(history_of(stale, "register"), "register", sequential)
    assert found.verdict == HOLDS
    back = history_of(f"{stale}; 1@4-5 rx1; 1@6-7 rx", "register")
    assert check_isolation(back, "register", sequential).verdict == VIOLATED
