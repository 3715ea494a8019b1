"""The partition's reduced composition against the asynchronous one, and its variants.

docs/proofs.md argues for each reduction. Here both sides are searched completely and their
projections compared (`projections.py`): no state of the asynchronous composition may be lost.
"""

from __future__ import annotations

import functools
from dataclasses import replace

import pytest

from tests.specs.projections import Bounds, Reached, reached_by_messages, reached_reduced

pytestmark = pytest.mark.tlc

FETCHES = "fetches and elections"
MESSAGES: dict[str, Bounds] = {
    FETCHES: Bounds(),
    "the ISR and elections": Bounds(
        messages={"Moves": '{"Isr", "Elect"}', "MaxPartitionEpoch": "4"},
    ),
    "a session that times out": Bounds(
        any_order=False,
        common={"MaxFences": "1", "MaxRecords": "0"},
        messages={"Moves": '{"Unfence", "Elect"}', "MaxPartitionEpoch": "4"},
        reduced={"KeepOld": '{"Apart"}'},
    ),
}
EVERYTHING = Bounds(
    any_order=False,
    messages={"Moves": '{"Fetch", "Isr", "Elect"}', "MaxPartitionEpoch": "3"},
)

# Crashes: in the reduced composition a crash and the restart are one action, so are a registration
# and what follows until the broker serves; nothing is flushed, and a checkpoint has any age.
ALONE = Bounds(
    replicas="One",
    common={"MinInsyncReplicas": "1", "MaxCrashes": "1", "MaxLeaderEpoch": "3"},
    messages={"Moves": '{"Register", "Unfence", "Once", "Disk"}', "MaxPartitionEpoch": "5"},
    reduced={"KeepOld": '{"Apart"}', "Planned": "FALSE"},
    judged=True,
)
TOGETHER = Bounds(
    common={"MaxCrashes": "1", "MaxRecords": "0"},
    messages={"Moves": '{"Register", "Unfence", "Once"}', "MaxPartitionEpoch": "4"},
    reduced={"KeepOld": '{"Apart"}', "Planned": "FALSE"},
)

VARIANTS = {
    "a fetch is one step": {"AtomicFetch": "TRUE"},
    "late messages are kept": {"KeepOld": '{"Fetch", "FetchResponse", "Alter", "AlterAgain"}'},
    "who is caught up is kept": {"KeepCaughtUp": "TRUE"},
    "the purgatory is kept": {"KeepParked": "TRUE", "AcksAll": "TRUE"},
}


@functools.cache
def _messages(name: str) -> Reached:
    return reached_by_messages(MESSAGES[name])


@functools.cache
def _reduced() -> Reached:
    return reached_reduced(Bounds())


@pytest.mark.parametrize("name", MESSAGES)
def test_no_state_of_the_messages_is_lost(name: str) -> None:
    reached = _messages(name).projections
    reduced = _reduced() if name == FETCHES else reached_reduced(MESSAGES[name])
    assert reached and not reached - reduced.projections


def test_with_the_same_moves_no_state_is_added_either() -> None:
    assert reached_by_messages(EVERYTHING).projections == reached_reduced(EVERYTHING).projections


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_reaches_the_same_states(name: str) -> None:
    assert reached_reduced(Bounds(), **VARIANTS[name]).projections == _reduced().projections


def test_a_crash_of_a_sole_replica_is_the_same_with_and_without_its_reductions() -> None:
    """Same states, with a disk that is flushed and a high watermark that is noted now and then, and
    same verdicts: one lossy crash is one too many for a sole replica. The canary: where a crash
    loses nothing, states of the messages are missing."""
    messages, reduced = reached_by_messages(ALONE), reached_reduced(ALONE)
    assert messages.projections == reduced.projections
    assert messages.violated == reduced.violated >= {"NoCommittedRecordLost"}
    assert messages.projections - reached_reduced(ALONE, Lossy="FALSE").projections


def test_a_bug_after_a_crash_breaks_the_same_with_and_without_the_reductions() -> None:
    rules = ("LastKnownLeaderElectable",)
    bounds = replace(ALONE, bug="Z43DeadLastLeaderElected", rules=rules)
    found = reached_by_messages(bounds).violated
    assert found == reached_reduced(bounds).violated >= {"FencedNeverElected"}


def test_no_state_of_a_crash_between_two_replicas_is_lost() -> None:
    reached = reached_by_messages(TOGETHER).projections
    assert reached and not reached - reached_reduced(TOGETHER).projections


def test_a_step_that_is_left_out_is_seen() -> None:
    """The canary: without elections the comparison fails."""
    without = reached_reduced(Bounds(), Planned="FALSE")
    assert _messages(FETCHES).projections - without.projections
