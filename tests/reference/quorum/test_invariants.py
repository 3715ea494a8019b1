"""Each invariant is shown to fail, and the cheap way of checking agrees with the plain one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from kraftcheck.reference.bugs.catalog import bugs_of, rules_for
from kraftcheck.reference.kit.log import Entry, cache_of
from kraftcheck.reference.quorum import properties
from kraftcheck.reference.quorum.handlers import QuorumHandlers
from kraftcheck.reference.quorum.invariants import (
    INVARIANT_NAMES,
    INVARIANTS,
    check_step,
    first_violated,
    history_init,
    invariant,
)
from kraftcheck.reference.quorum.properties import (
    Ballot,
    QuorumHistory,
    Rows,
    ballot_after,
    committed_after,
    history_next,
)
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import (
    NOBODY,
    ROLES,
    Constants,
    QuorumStateFile,
    initial_row,
)
from tests.reference.quorum.builders import (
    THREE,
    handlers,
    leader_of,
    log_of,
    logs,
    row_of,
)
from tests.reference.quorum.plants import (
    LOG,
    PLANTS,
    QUORUM,
    TWINS,
    Plant,
    follower,
    history_of,
    leading,
)
from tests.reference.quorum.walks import Step, walk


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: f"{plant.name}: {plant.said}")
def test_a_planted_violation_is_found_both_ways(plant: Plant) -> None:
    before = plant.before
    history = history_of(*plant.earlier, before)
    assert first_violated(before, before, history) is None, "the plant's ground is in order"

    row = replace(before[plant.node], **plant.change)
    after = {**before, plant.node: row}
    plainly = history_next(history, after)
    first = first_violated(before, after, plainly)
    assert first is not None and first.name == (plant.first or plant.name)
    assert plant.said in (invariant(plant.name).check(before, after, plainly) or "")
    assert check_step(THREE, before, after, plant.node, history) is first
    assert first.check(before, after, history) == first.check(before, after, plainly)


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.name)
def test_what_is_close_to_a_violation_is_none(twin: Plant) -> None:
    history = history_of(*twin.earlier, twin.before)
    after = {**twin.before, twin.node: replace(twin.before[twin.node], **twin.change)}
    assert after != twin.before
    history = history_next(history, after)
    assert invariant(twin.name).check(twin.before, after, history) is None


def test_each_invariant_has_plants_and_twins() -> None:
    assert {plant.name for plant in PLANTS} == set(INVARIANT_NAMES)
    # Of a node that has stopped there is no lesser degree.
    assert {twin.name for twin in TWINS} == set(INVARIANT_NAMES) - {"NoIllegalState"}


def test_half_of_the_voters_are_no_majority() -> None:
    four, five = dict.fromkeys(range(4), follower()), dict.fromkeys(range(5), follower())
    assert [properties.is_majority([0, 1, 2][:n], four) for n in (2, 3)] == [False, True]
    assert [properties.is_majority([0, 1, 2][:n], five) for n in (2, 3)] == [False, True]


def test_at_first_nobody_has_voted() -> None:
    assert history_init(THREE).ballots == dict.fromkeys(THREE.voters, Ballot(0, ()))


def test_what_is_remembered_stays_where_rows_say_less() -> None:
    other = {1: leading((LOG[0], Entry(1, 9)))}
    assert committed_after(LOG, other) == LOG
    assert committed_after(LOG[:1], other) == other[1].log
    given = Ballot(2, (1,))
    assert ballot_after(given, replace(follower(), voted=3)) == given
    assert ballot_after(given, replace(follower(), epoch=2, voted=3)) == Ballot(2, (1, 3))
    assert ballot_after(given, replace(follower(), epoch=3, voted=NOBODY)) == Ballot(3, ())


def test_an_unchanged_row_is_no_violation() -> None:
    history = history_of(QUORUM)
    assert check_step(THREE, QUORUM, {**QUORUM}, 2, history) is None


def test_a_leader_is_behind_one_step_after_another_commits() -> None:
    """The spec compares with what was committed before the step, so the next step shows it.

    Even a step that changes nothing: the leader of epoch 2 lags behind a commit of the step before.
    """
    behind = leader_of(3, 2, (*LOG, Entry(2, 0)), high_watermark=3)
    before = {1: leading((*LOG, Entry(1, 2)), high_watermark=2), 2: follower(), 3: behind}
    history = history_init(THREE)
    history.committed = (*LOG, Entry(2, 0), Entry(2, 1))
    history.committed_before = history.committed[:3]
    assert check_step(THREE, before, {**before}, 2, history) is not None


def test_a_leader_of_the_role_alone_is_looked_at() -> None:
    """Nothing else of the row says that it leads, and its log lacks what was committed."""
    resigned = row_of("Resigned", 2, 3, 3, log_of(1))
    before = {1: row_of("Unattached", 1, voted=1, log=LOG), 2: follower(), 3: resigned}
    history = history_of(QUORUM, before)
    assert first_violated(before, before, history) is None
    after = {**before, 3: replace(resigned, role="Leader", epoch_start=1)}
    found = check_step(THREE, before, after, 3, history)
    assert found is invariant("LeaderCompleteness")
    assert found is first_violated(before, after, history_next(history, after))


def test_what_is_committed_anew_in_one_step_is_looked_at() -> None:
    """A node takes over another log and commits it; a majority holds it, and it fits itself."""
    other = log_of(2, 2, 2)
    before = {
        1: row_of("Unattached", 1, voted=1, log=LOG),
        2: row_of("Unattached", 2, voted=2, log=LOG),
        3: row_of("Unattached", 2, log=other),
    }
    history = history_of(QUORUM, before)
    assert first_violated(before, before, history) is None
    after = {**before, 2: leader_of(2, 2, other, high_watermark=3)}
    plainly = history_next(history, after)
    assert invariant("RefinesCommittedLog").check(before, after, plainly)
    first = first_violated(before, after, plainly)
    assert first is not None and check_step(THREE, before, after, 2, history) is first


def test_names_and_kinds() -> None:
    assert len(set(INVARIANT_NAMES)) == len(INVARIANTS)
    assert {each.name for each in INVARIANTS if each.kind == "step"} == {
        *("MonotonicEpoch", "MonotonicHighWatermark", "NoTruncateBelowHighWatermark"),
        "RefinesCommittedLog",
    }
    for each in INVARIANTS:
        assert each.sentence.endswith((".", ")"))
        assert getattr(properties, each.check.__name__) is each.check


# --- Two ways of checking


def both_ways(constants: Constants, steps: Iterator[Step]) -> tuple[int, str | None]:
    """Checks a walk both ways, up to the first violation: how many steps, and its name."""
    quickly, plainly = history_init(constants), history_init(constants)
    taken = 0
    for taken, step in enumerate(steps, 1):
        found = check_step(constants, step.before, step.after, step.node, quickly)
        plainly = history_next(plainly, step.after)
        expected = first_violated(step.before, step.after, plainly)
        assert found is expected
        if found is not None:
            return taken, found.name
        assert quickly.committed == plainly.committed
        assert quickly.ballots == plainly.ballots
        assert quickly.appended == plainly.appended
    return taken, None


IN_SCOPE = [None, *(each.id for each in bugs_of("quorum") if each.in_scope)]


@given(st.sampled_from(IN_SCOPE), st.integers(1, 5), st.integers(0, 2**32))
def test_both_ways_agree_on_walks_with_and_without_bugs(
    bug: str | None, voters: int, seed: int
) -> None:
    constants = Constants(tuple(range(1, voters + 1)), 2)
    quorum = QuorumHandlers(constants, rules_for(QuorumRules, bug, constants))
    both_ways(constants, walk(quorum, seed, 80))


def mutants(node: int) -> st.SearchStrategy[dict[str, Any]]:
    """Changes of a few fields of a row, most of them wrong somewhere."""
    small, someone = st.integers(-1, 6), st.sampled_from((NOBODY, 1, 2, 3))
    nodes = st.lists(st.sampled_from((1, 2, 3)), max_size=3, unique=True).map(
        lambda some: tuple(sorted(some))
    )
    return st.fixed_dictionaries(
        {},
        optional={
            "role": st.sampled_from(ROLES),
            "epoch": small,
            "leader": someone,
            "voted": someone,
            "log": logs(),
            "flushed": small,
            "high_watermark": small,
            "epoch_start": small,
            "announced": small,
            "granted": nodes,
            "rejected": nodes,
            "unacked": nodes,
            "fetched_voters": nodes,
        },
    )


@given(st.integers(0, 2**32), st.integers(0, 60), st.sampled_from((1, 2, 3)), st.data())
def test_both_ways_agree_on_a_row_changed_at_random(
    seed: int, length: int, node: int, data: st.DataObject
) -> None:
    """From a state that a walk reaches: one row becomes another, consistent or not."""
    quickly, plainly = history_init(THREE), history_init(THREE)
    rows: Rows = dict.fromkeys(THREE.voters, initial_row(THREE))
    for step in walk(handlers(), seed, length):
        check_step(THREE, step.before, step.after, step.node, quickly)
        plainly = history_next(plainly, step.after)
        rows = step.after
    change = data.draw(mutants(node))
    row = replace(rows[node], **change)
    if data.draw(st.booleans()):
        # What any step would keep: the cache of the log and the file of the epoch.
        file = QuorumStateFile(row.epoch, row.leader, row.voted)
        row = replace(row, epoch_cache=cache_of(row.log), quorum_state=file)
    after = {**rows, node: row}
    expected = first_violated(rows, after, history_next(plainly, after))
    assert check_step(THREE, rows, after, node, quickly) is expected


def test_few_steps_of_the_correct_protocol_raise_a_suspicion(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A suspicion costs the plain check of everything; the cheap way must seldom need it."""
    evaluated = 0

    def count(before: Rows, after: Rows, history: QuorumHistory) -> None:
        nonlocal evaluated
        evaluated += 1

    monkeypatch.setattr("kraftcheck.reference.quorum.invariants.first_violated", count)
    taken = 0
    for seed in range(20):
        history = history_init(THREE)
        for step in walk(handlers(), seed, 100):
            check_step(THREE, step.before, step.after, step.node, history)
            taken += 1
    assert taken == 2000
    assert evaluated <= 5


def test_properties_ask_no_rule() -> None:
    """Else replacing a rule would replace the property that should catch it."""
    assert "rules" not in vars(properties)
    assert not any("QuorumRules" in name for name in vars(properties))
