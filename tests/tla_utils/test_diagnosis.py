"""A rejected step comes back with what the specification allows, down to the differing place."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.tla_utils.ledger import frame, ledger_steps, number_of, spoiled, without
from tla_utils.diagnosis import diagnose, nearest_differences
from tla_utils.errors import ToolError
from tla_utils.output import TlcResult
from tla_utils.steps import CheckOptions, StepFrame
from tla_utils.values import Function, Record, Value

FRAME = StepFrame("Any", [])


def told(recorded: Value, *allowed: Value) -> list[str]:
    outcomes = [Record(after=value) for value in allowed]
    return [str(d) for d in nearest_differences(FRAME, {"after": recorded}, outcomes)]


def test_only_differing_places_are_named() -> None:
    row = Record(role="Leader", log=(Record(epoch=1), Record(epoch=2)), votes=Function({5: 1}))
    assert told(row, row) == []
    assert told(row, row.replace(role="Follower")) == [
        'after.role: recorded "Leader", spec allows {"Follower"}'
    ]
    assert told(row, row.replace(log=(Record(epoch=1), Record(epoch=3)))) == [
        "after.log[2].epoch: recorded 2, spec allows {3}"
    ]
    assert told(row, row.replace(log=(Record(epoch=1),))) == [
        "after.log[2]: recorded [epoch |-> 2], spec allows {<absent>}"
    ]
    assert told(row, row.replace(votes=Function({5: 1, 7: 1}))) == [
        "after.votes[7]: recorded <absent>, spec allows {1}"
    ]
    assert told(1, True) == ["after: recorded 1, spec allows {TRUE}"]


def test_sets_differ_by_element_or_within_one() -> None:
    one, two, other = Record(to=1, epoch=1), Record(to=2, epoch=1), Record(to=2, epoch=3)
    assert told(frozenset({one, two}), frozenset({one, other})) == [
        "after{}.epoch: recorded 1, spec allows {3}"
    ]
    assert told(frozenset({one, two}), frozenset({one})) == [
        "after element [epoch |-> 1, to |-> 2]: recorded <present>, spec allows {<absent>}"
    ]
    assert told(frozenset(), frozenset({1, 2})) == [
        "after element 1: recorded <absent>, spec allows {<present>}",
        "after element 2: recorded <absent>, spec allows {<present>}",
    ]


def test_the_nearest_outcomes_are_shown_together() -> None:
    row = Record(guess=9, total=1)
    far = Record(guess=1, total=2)
    assert told(row, far, Record(guess=1, total=1), Record(guess=2, total=1)) == [
        "after.guess: recorded 9, spec allows {1, 2}"
    ]


def test_outcomes_must_speak_of_columns() -> None:
    with pytest.raises(ToolError, match="field row, which is no column"):
        nearest_differences(FRAME, {"after": 1}, [Record(row=1)])
    with pytest.raises(ToolError, match="no record"):
        nearest_differences(FRAME, {"after": 1}, [3])
    renamed = StepFrame("Any", [], outcome_columns={"row": "after"})
    assert len(nearest_differences(renamed, {"after": 1}, [Record(row=2)])) == 1


def test_outcomes_that_were_not_all_told_explain_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """TLC ended well, and told of one step of two; or of both, and did not end. Its other words
    are none of ours."""
    one, two = '<<"SB", 1, {}>>', '<<"SB", 2, {[after |-> 2]}>>'
    steps: list[dict[str, Value]] = [{"after": 1}, {"after": 3}]
    answer = TlcResult("holds", "", complete=True, printed=['"hello"', one, "7", two])
    monkeypatch.setattr("tla_utils.diagnosis.run_tlc", lambda job: answer)
    assert [d.lines[0] for d in diagnose(FRAME, steps)] == [
        "no outcome allowed: the action is disabled here",
        "after: recorded 3, spec allows {2}",
    ]
    for lame, number in ((replace(answer, printed=[one]), 1), (replace(answer, complete=False), 2)):
        monkeypatch.setattr("tla_utils.diagnosis.run_tlc", lambda job, lame=lame: lame)
        with pytest.raises(ToolError, match=f"TLC told {number} of 2 outcomes"):
            diagnose(FRAME, steps)


def test_steps_on_which_no_run_is_spent_any_more_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """TLC fails on the first step, and on the next one it is not asked again."""
    answer = TlcResult("unknown", "", errors=["broken"], error_state={"SB_id": 1})
    monkeypatch.setattr("tla_utils.diagnosis.run_tlc", lambda job: answer)
    steps: list[dict[str, Value]] = [{"after": 1}, {"after": 3}]
    first, second = diagnose(FRAME, steps, options=CheckOptions(extra_runs=0))
    assert first.error != second.error
    assert second.error == "not evaluated: TLC failed on too many other steps"


@pytest.mark.tlc
def test_tlc_tells_the_outcomes() -> None:
    steps = ledger_steps(60)
    guess, toggle = number_of(steps, "Guess"), number_of(steps, "Toggle")
    add, broken = number_of(steps, "Add"), number_of(steps, "Add", 1)
    steps[guess] = spoiled(steps[guess], guess=9)
    steps[toggle] = {**steps[toggle], "after": steps[toggle]["before"]}
    before = steps[add]["before"]
    assert isinstance(before, Record)
    steps[add] = {**steps[add], "before": before.replace(open=False)}
    steps[broken] = {**steps[broken], "before": without(steps[broken]["before"], "open")}
    found = diagnose(frame(), steps, [guess, toggle, add, broken])
    assert [d.number for d in found] == [guess, toggle, add, broken]
    assert len(found[0].outcomes) == 4
    assert found[0].lines == ["after.guess: recorded 9, spec allows {0, 1, 2, 3}"]
    assert [d.path for d in found[1].differences] == ["after.open"]
    assert found[2].lines == ["no outcome allowed: the action is disabled here"]
    assert found[3].lines[0].startswith("evaluation error: Attempted to select nonexistent")


@pytest.mark.tlc
def test_a_frame_that_contradicts_itself_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "StepTorn.tla").write_text(
        "---- MODULE StepTorn ----\nAllowed(step) == FALSE\n"
        "Outcomes(step) == {[after |-> step.after]}\n====\n"
    )
    found = diagnose(StepFrame("StepTorn", [tmp_path]), [{"after": 1}])
    assert found[0].lines == ["Outcomes holds the recorded outcome, yet Allowed rejects the step"]
