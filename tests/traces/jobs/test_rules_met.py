"""Named decisions that runs came to: watched without changing anything."""

from __future__ import annotations

from typing import Any

from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.runner.run import simulate_part
from kraftcheck.reference.runner.watching import decisions_of, watched
from kraftcheck.traces.jobs.coverage import FEATURES
from kraftcheck.traces.jobs.novelty import WATCHED_RUNS, rules_met
from kraftcheck.traces.store import Campaign

QUORUM = Campaign(scenario="quorum", seed=3, runs=WATCHED_RUNS + 5)


def test_decisions_are_told_with_their_answers() -> None:
    met = rules_met(QUORUM, 0, 6)
    assert met.schema == FEATURES
    rows = {row["name"]: row for row in met.to_pylist()}
    assert {"quorum.log_ok: yes", "quorum.fetch_request_error: NONE"} <= set(rows)
    assert all(1 <= row["count"] <= 6 for row in rows.values())
    assert {name.partition(": ")[0] for name in rows} <= set(decisions_of("quorum", {}))


def test_ranges_together_meet_what_one_does() -> None:
    whole = {row["name"]: (row["count"], row["first_run"]) for row in rows_of(0, 4)}
    halves = [*rows_of(2, 2), *rows_of(0, 2)]
    names = {row["name"] for row in halves}
    assert whole == {
        name: (
            sum(row["count"] for row in halves if row["name"] == name),
            min(row["first_run"] for row in halves if row["name"] == name),
        )
        for name in names
    }


def rows_of(first: int, runs: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = rules_met(QUORUM, first, runs).to_pylist()
    return rows


def test_later_runs_are_not_watched() -> None:
    assert rules_met(QUORUM, WATCHED_RUNS, 5).num_rows == 0
    assert {row["first_run"] for row in rows_of(WATCHED_RUNS - 1, 6)} == {WATCHED_RUNS - 1}


def test_watching_changes_nothing_and_leaves_nothing() -> None:
    before = dict(vars(QuorumRules))
    heard: list[str] = []
    with watched((QuorumRules,), heard.append):
        seen = simulate_part("quorum", 3, 0, 2, memo=False).digests()
    assert heard and seen == simulate_part("quorum", 3, 0, 2, memo=False).digests()
    assert dict(vars(QuorumRules)) == before


def test_a_rule_that_a_bug_replaces_is_not_watched() -> None:
    """Z06 votes without looking at logs: the correct rule is never asked."""
    names = {row["name"].partition(": ")[0] for row in rows_of(0, 3)}
    bad = rules_met(Campaign(scenario="quorum", seed=3, runs=3, bug="Z06"), 0, 3).to_pylist()
    assert "quorum.log_ok" in names
    assert "quorum.log_ok" not in {row["name"].partition(": ")[0] for row in bad}
