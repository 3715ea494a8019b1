"""The partition's reduced composition against the asynchronous one, and its variants.

docs/reference/reductions.md argues for each reduction. Here both sides are searched completely and
their projections compared (`projections.py`): no state of the asynchronous composition may be lost.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.specs import projections
from tests.specs.projections import (
    Bounds,
    Search,
    by_messages,
    compare,
    compared,
    digest,
    reduced,
)

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


@pytest.mark.parametrize("name", MESSAGES)
def test_no_state_of_the_messages_is_lost(name: str) -> None:
    bounds = MESSAGES[name]
    found = compared(by_messages(bounds), reduced(bounds))
    assert found.seen and not found.lost


def test_with_the_same_moves_no_state_is_added_either() -> None:
    found = compared(by_messages(EVERYTHING), reduced(EVERYTHING))
    assert found.seen and not found.lost and not found.added


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_reaches_the_same_states(name: str) -> None:
    found = compared(reduced(Bounds(), **VARIANTS[name]), reduced(Bounds()))
    assert found.seen and not found.lost and not found.added


def test_a_crash_of_a_sole_replica_is_the_same_with_and_without_its_reductions() -> None:
    """Same states, with a disk that is flushed and a high watermark that is noted now and then, and
    same verdicts: one lossy crash is one too many for a sole replica. The canary: where a crash
    loses nothing, states of the messages are missing."""
    found = compared(by_messages(ALONE), reduced(ALONE))
    assert found.seen and not found.lost and not found.added
    messages, others = map(set, found.violated)
    assert messages == others >= {"NoCommittedRecordLost"}
    assert compared(by_messages(ALONE), reduced(ALONE, Lossy="FALSE")).lost


def test_a_bug_after_a_crash_breaks_the_same_with_and_without_the_reductions() -> None:
    rules = ("LastKnownLeaderElectable",)
    bounds = replace(ALONE, bug="Z43", rules=rules)
    messages, others = map(set, compared(by_messages(bounds), reduced(bounds)).violated)
    assert messages == others >= {"FencedNeverElected"}


def test_no_state_of_a_crash_between_two_replicas_is_lost() -> None:
    found = compared(by_messages(TOGETHER), reduced(TOGETHER))
    assert found.seen and not found.lost


@pytest.mark.slow
def test_a_step_that_is_left_out_is_seen() -> None:
    """The canary: without elections the comparison fails. Its searches are the quickest, and TLC is
    asked each time whether what is kept is still what it says."""
    searches = by_messages(MESSAGES[FETCHES]), reduced(Bounds(), Planned="FALSE")
    found = compared(*searches)
    assert found.lost
    assert compare(*searches) == found


def test_another_bound_is_another_comparison() -> None:
    """None of these is kept: whoever changes a search has it made."""
    kept_digests = set(projections.kept())
    bounds = MESSAGES[FETCHES]
    one, other = by_messages(bounds), reduced(bounds)
    assert digest(one, other) in kept_digests
    for changed in (
        digest(other, one),
        digest(by_messages(replace(bounds, any_order=False)), other),
        digest(one, reduced(bounds, Lossy="FALSE")),
        digest(one, Search(replace(other.job, go_on=True), judged=True)),
    ):
        assert changed not in kept_digests
