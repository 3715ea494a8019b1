"""Inputs that no run gave to a row: the reference takes them as the spec does.

Runs come to some decisions seldom or never. Here rows of runs are given the inputs of other
moments, changed and unchanged (kraftcheck/known_bugs/attempts.py), and TLC judges what the
reference makes of each. Its twin is a reference with one subtle change, which hundreds of runs did
not tell apart.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kraftcheck.known_bugs import attempts
from kraftcheck.known_bugs.own_rules import known, read_rules
from kraftcheck.reference.bugs.bug import Bug
from kraftcheck.reference.bugs.catalog import bugs_of
from kraftcheck.reference.kit.protocol import Protocol
from kraftcheck.reference.protocols import PROTOCOLS
from tests.mutation.specs.batteries import batteries
from tests.mutation.specs.trials import StepBench

TRIED = 2_000
CHANGES = Path(__file__).resolve().parents[1] / "kraftcheck" / "known_bugs" / "changes"


@pytest.mark.slow
@pytest.mark.tlc
@pytest.mark.parametrize("module", ["QuorumRules", "PartitionRules"])
def test_the_reference_and_the_spec_agree_on_what_is_attempted(module: str) -> None:
    tried = 0
    # A small part of what `python -m tests.mutation.specs` judges.
    for battery in batteries(module, runs=12, rows=10, changes=2):
        tried += len(battery.steps) - battery.recorded
        refused = battery.refused(battery.frame, StepBench.options)
        assert not refused, [battery.steps[at] for at in refused[:3]]
    assert tried > TRIED


@pytest.mark.slow
@pytest.mark.tlc
@pytest.mark.parametrize(
    ("change", "module", "action", "runs"),
    [
        ("duplicate_by_first", "PartitionRules", "HandleProduceRequest", 4),
        ("vote_despite_leader", "QuorumRules", "HandleVoteRequest", 8),
    ],
)
def test_a_subtle_change_of_the_reference_is_refused(
    change: str, module: str, action: str, runs: int
) -> None:
    with known(read_rules(CHANGES / f"{change}.py")) as entry:
        changed = [*batteries(module, runs, bug=entry.id)]
    seen = 0
    for battery, correct in zip(changed, batteries(module, runs), strict=True):
        right = set(correct.steps)
        found = [at for at, step in enumerate(battery.steps) if step not in right]
        if not found:
            continue
        seen += 1
        assert {battery.steps[at].action for at in found} == {action}
        # With many that are right beside them.
        few = battery.only(sorted({*found, *range(0, len(battery.steps), 20)}))
        refused = few.refused(few.frame, StepBench.options)
        assert [few.steps[at] for at in refused] == [battery.steps[at] for at in found]
    assert seen


RARE = {"Z410", "Z411", "Z450"}
"""So few rows do not come to these: a gap where the log start moves, a first load, and the first
initialization of an added partition."""


# The quorum since 4.1 has no bugs of its own, nor has a partition whose replicas move; the one of
# classic groups needs members of several generations at once, which so few rows do not have.
@pytest.mark.parametrize(
    "protocol",
    [
        each
        for each in PROTOCOLS
        if each.name not in ("classic", "quorum41", "moving", "directories")
    ],
    ids=lambda each: each.name,
)
def test_attempts_know_every_protocol(protocol: Protocol, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows need no epoch, and a change that runs meet seldom shows on inputs that none gave."""
    for name, few in (("RUNS", 6), ("ROWS", 16), ("CHANGES", 2)):
        monkeypatch.setattr(attempts, name, few)
    [rules, *_] = protocol.rules
    # Of those that show without options that no run draws.
    seen = [
        each for each in bugs_of(protocol.name) if "steps" in each.detectors and not each.options
    ]
    planted = next(each.id for each in seen if replaces(each, rules) and each.id not in RARE)
    found = attempts.differing(rules.__name__, planted)
    assert found.tried > len(found.steps) > 0


def replaces(bug: Bug, rules: type) -> bool:
    return bug.replacement is not None and issubclass(bug.replacement, rules)
