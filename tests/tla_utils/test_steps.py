"""Batches of steps: exactly the wrong ones are rejected, and a report that lies is not believed."""

from __future__ import annotations

import enum
import hashlib
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.tla_utils.ledger import (
    Step,
    frame,
    ledger_steps,
    number_of,
    spoiled,
    without,
)
from tla_utils import stepcodes
from tla_utils.diagnosis import diagnose
from tla_utils.errors import ToolError
from tla_utils.interning import Interner
from tla_utils.output import State, TlcResult, Violation
from tla_utils.runner import ModuleText, TlcJob, run_tlc
from tla_utils.stepmodule import common_fields
from tla_utils.steps import (
    CheckOptions,
    Progress,
    StepFrame,
    batch_module,
    check_steps,
    failed,
    invariant_of,
    rejected_ids,
)
from tla_utils.steptable import Batch, StepTable
from tla_utils.values import Function, ModelValue, Record, Value, function, render


@pytest.mark.tlc
def test_exactly_the_corrupted_steps_are_rejected() -> None:
    steps = ledger_steps(300)
    planted = sorted(random.Random(7).sample(range(300), 20))
    for number in planted:
        steps[number] = spoiled(steps[number], guess=77)
    seen: list[Progress] = []
    report = check_steps(frame(), steps, CheckOptions(chunk=160, parallel=2), seen.append)
    assert report.numbers("rejected") == planted
    assert len(report.numbers("accepted")) == 280 and report.numbers("unknown") == []
    assert report.verdicts[planted[0]].reason == "the specification does not allow this step"
    assert (report.distinct, report.runs) == (300, 2)
    assert [p.chunks_done for p in seen] == [1, 2] and seen[-1].steps_done == 300


@pytest.mark.tlc
def test_steps_under_several_constants_are_judged_in_one_run() -> None:
    """A guess of 3 is allowed under the first, not under the second; what is put in the place of an
    operator holds under both."""
    steps = ledger_steps(40)
    both = [{**step, "given": given} for given in (1, 2) for step in steps]
    shared = replace(frame(), constants="", given=({"MaxGuess": "3"}, {"MaxGuess": "2"}))
    report = check_steps(shared, both)
    high = [
        40 + number
        for number, step in enumerate(steps)
        if step["action"] == "Guess" and isinstance(row := step["after"], Record) and row.guess == 3
    ]
    assert high and report.numbers("rejected") == high and report.runs == 1
    (told,) = diagnose(shared, both, high[:1])
    assert len(told.outcomes) == 3
    changed = replace(shared, constants="CONSTANT Toggled <- [LedgerRules] BugToggled")
    toggles = [number for number, step in enumerate(both) if step["action"] == "Toggle"]
    assert check_steps(changed, both).numbers("rejected") == sorted([*high, *toggles])


@pytest.mark.tlc
def test_a_mislabelled_stutter_is_rejected() -> None:
    """Nothing changed, but the label says Toggle: a check on changes only would not look at it."""
    steps = ledger_steps(40)
    number = number_of(steps, "Toggle")
    steps[number] = {**steps[number], "after": steps[number]["before"]}
    idle = number_of(steps, "Guess")
    before = steps[idle]["before"]
    steps[idle] = {**steps[idle], "after": before}  # Guess may keep the guess: a true stutter
    assert check_steps(frame(), steps).numbers("rejected") == [number]


@pytest.mark.tlc
def test_overrides_reach_the_rules_behind_the_frame() -> None:
    steps = ledger_steps(30)
    toggles = [i for i, step in enumerate(steps) if step["action"] == "Toggle"]
    report = check_steps(frame("CONSTANT Toggled <- [LedgerRules] BugToggled"), steps)
    assert toggles and report.numbers("rejected") == toggles and report.warnings == []
    careless = check_steps(frame("CONSTANT Toggled <- BugToggled"), steps)
    assert "write Toggled <- [LedgerRules] BugToggled" in careless.warnings[0]


@pytest.mark.slow
@pytest.mark.tlc
def test_steps_that_tlc_cannot_evaluate_are_isolated() -> None:
    steps = ledger_steps(120)
    broken = [number_of(steps, "Add", skip) for skip in (3, 9)]
    for number in broken:
        steps[number] = {**steps[number], "before": without(steps[number]["before"], "open")}
    mixed = number_of(steps, "Toggle", 2)
    steps[mixed] = {**steps[mixed], "sent": frozenset({1, "one"})}
    wrong = number_of(steps, "Guess", 4)
    steps[wrong] = spoiled(steps[wrong], guess=9)
    report = check_steps(frame(), steps)
    assert report.numbers("rejected") == sorted([*broken, mixed, wrong])
    assert report.numbers("unknown") == []
    assert 'nonexistent field "open"' in report.verdicts[broken[0]].reason
    assert "evaluation error: " in report.verdicts[mixed].reason
    assert "SB_id" not in report.verdicts[mixed].reason
    assert "does not allow" in report.verdicts[wrong].reason


def test_a_step_for_which_java_has_no_room_is_unknown() -> None:
    """What it says in such a case is no word about the step."""
    for words in ("This was a Java StackOverflowError. It was", "java.lang.OutOfMemoryError: heap"):
        assert failed(words).verdict == "unknown"
        assert words in failed(words).reason
    assert failed("Attempted to apply function").verdict == "rejected"


@pytest.mark.slow
@pytest.mark.tlc
def test_an_error_without_a_step_is_narrowed_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if TLC had not said at which step it failed: halving must find the same one."""

    def forgetful(job: TlcJob, *, work_dir: Path | None = None) -> TlcResult:
        return replace(run_tlc(job, work_dir=work_dir), error_state=None)

    monkeypatch.setattr("tla_utils.steps.run_tlc", forgetful)
    steps = ledger_steps(2)
    steps[1] = {**steps[1], "action": "Gues"}
    report = check_steps(frame(), steps)
    assert report.numbers("rejected") == [1] and report.numbers("accepted") == [0]
    assert "evaluation error" in report.verdicts[1].reason


@pytest.mark.tlc
def test_beyond_the_bound_of_extra_runs_steps_are_unknown() -> None:
    steps = ledger_steps(60)
    adds = [i for i, step in enumerate(steps) if step["action"] == "Add"]
    for number in adds:
        steps[number] = {**steps[number], "before": without(steps[number]["before"], "open")}
    report = check_steps(frame(), steps, CheckOptions(extra_runs=1))
    assert len(report.numbers("rejected")) == 1
    assert set(report.numbers("unknown")) == set(adds) - set(report.numbers("rejected"))
    assert "too many steps that TLC cannot evaluate" in report.verdicts[adds[-1]].reason


@pytest.mark.tlc
def test_a_slow_check_is_unknown() -> None:
    report = check_steps(frame(), ledger_steps(5), CheckOptions(timeout_s=0.2))
    assert report.numbers("unknown") == [0, 1, 2, 3, 4]
    assert "time limit" in report.verdicts[0].reason


@pytest.mark.slow
@pytest.mark.tlc
@pytest.mark.parametrize(
    ("module", "constants", "complaint"),
    [
        ("StepNowhere", "", "module StepNowhere"),
        ("Counter", "CONSTANT Max = 3", "Allowed"),
        ("StepSelfish", "CONSTANT Fine = 3", "StepSelfish fails before any"),
        ("StepSelfish", "CONSTANT Fine = FALSE", "assumes what is not so"),
    ],
)
def test_a_frame_that_is_wrong_in_itself_is_refused(
    module: str, constants: str, complaint: str, toys: Path
) -> None:
    with pytest.raises(ToolError, match=complaint):
        check_steps(StepFrame(module, [toys], constants), ledger_steps(3))


def test_no_steps_are_no_evidence() -> None:
    tables = [StepTable.from_steps([]), StepTable({"action": ["Add"]}, {"action": []})]
    for nothing in tables:
        with pytest.raises(ToolError, match="there are no steps"):
            check_steps(frame(), nothing)


@pytest.mark.parametrize(
    ("steps", "complaint"),
    [
        ([{"action": "Add"}, {"action": "Add", "node": 1}], "step 1 has the columns"),
        ([{"an action": "Add"}], "'an action' cannot name a field"),
        ([{"action": "Add", "node": [1]}], "column node holds what TLA"),
        ([{"action": "Add", "node": 2**40}], "column node .* 32-bit"),
        ([{"action": "Add", "node": None}], "column node .* NoneType"),
    ],
)
def test_steps_that_are_none_are_refused(steps: list[Step], complaint: str) -> None:
    with pytest.raises(ToolError, match=complaint):
        Batch(StepTable.from_steps(steps))


def test_tables_that_do_not_fit_are_refused() -> None:
    for values, index, complaint in [
        ({"a": [1]}, {"b": [0]}, "needs values and index .*: a, b"),
        ({"a": [1], "b": [1]}, {"a": [0], "b": [0, 0]}, "differ in length"),
        ({"a": [1]}, {"a": [0, 1]}, "outside its 1 values"),
        ({"a": [1]}, {"a": [-1]}, "outside its 1 values"),
    ]:
        with pytest.raises(ToolError, match=complaint):
            StepTable(values, index)


@pytest.mark.tlc
def test_a_table_of_interned_values_is_judged_like_its_steps() -> None:
    steps = ledger_steps(40)
    steps[11] = spoiled(steps[11], guess=8)
    whole = StepTable.from_steps(steps)
    # Every step twice, and every value twice in its dictionary: the same distinct steps.
    doubled = StepTable(
        {c: [*whole.values[c], *whole.values[c]] for c in whole.columns},
        {c: [*whole.index[c], *[i + len(whole.values[c]) for i in whole.index[c]]]
         for c in whole.columns},
    )  # fmt: skip
    assert doubled[11] == doubled[51] == steps[11]
    report = check_steps(frame(), doubled)
    assert (report.distinct, report.numbers("rejected")) == (40, [11, 51])


def honest(steps: int = 5, rejected: tuple[int, ...] = (0, 2)) -> TlcResult:
    """What TLC reports on this many steps when it rejects these (0 is the canary)."""
    reports = [
        Violation("safety", "SB_Accepted", [State(1, "<Initial predicate>", {"SB_id": number})])
        for number in rejected
    ]
    return TlcResult(
        "violated", "", violations=reports, generated=steps + 1, distinct=steps + 1, complete=True
    )


def test_an_honest_report_is_believed() -> None:
    assert rejected_ids(honest(), 5, "SB_Accepted") == {2}
    assert rejected_ids(honest(rejected=(0,)), 5, "SB_Accepted") == set()
    assert rejected_ids(honest(rejected=(0, 1, 5)), 5, "SB_Accepted") == {1, 5}


@pytest.mark.parametrize(
    ("doctored", "complaint"),
    [
        (honest(steps=4), "5 states generated and 5 distinct"),
        (honest(steps=6), "7 states generated and 7 distinct"),
        (honest(rejected=(2,)), "no report of the canary"),
        (honest(rejected=()), "no report of the canary"),
        (honest(rejected=(0, 2, 2)), "3 reports for 2 steps"),
        (honest(rejected=(0, 6)), "a report of step 6"),
        (honest(rejected=(0, -1)), "a report of step -1"),
        (replace(honest(), distinct=5), "6 states generated and 5 distinct"),
        (replace(honest(), generated=7), "7 states generated and 6 distinct"),
        (TlcResult("holds", "", generated=6, distinct=6, complete=True), "no report of the canary"),
        (
            TlcResult("violated", "", violations=honest().violations, generated=6, distinct=6),
            "TLC did not finish",
        ),
        (
            TlcResult("violated", "", violations=[Violation("deadlock", None)], generated=6),
            "without the number of a step",
        ),
    ],
)
def test_a_report_that_does_not_add_up_is_refused(doctored: TlcResult, complaint: str) -> None:
    with pytest.raises(ToolError, match=f"does not add up .*{complaint}"):
        rejected_ids(doctored, 5, "SB_Accepted")


def test_the_report_on_another_batch_is_refused() -> None:
    """As if one file had been read twice: the counts add up, and the canary is there."""
    with pytest.raises(ToolError, match="a report of SB_Accepted without"):
        rejected_ids(honest(), 5, "SB_Accepted_1")


def test_batches_have_names_of_their_own() -> None:
    first, second = ledger_steps(40), ledger_steps(40)
    second[7] = spoiled(second[7], guess=9)
    names = set()
    for steps in (first, second, first):
        batch = Batch(StepTable.from_steps(steps))
        names.add(invariant_of(batch.definitions(batch.rows)))
    assert len(names) == 2


def text_of(source: Path | ModuleText | str) -> str:
    """What is generated for a run of TLC."""
    assert not isinstance(source, Path)
    return source if isinstance(source, str) else source.text


class Mute:
    """In the place of TLC: rejects the steps of each run that `rejects` names, by their number in
    it, and remembers how many steps the runs had."""

    def __init__(self, rejects: Callable[[int], tuple[int, ...]]) -> None:
        self.rejects = rejects
        self.runs: list[int] = []

    def __call__(self, job: TlcJob, *, work_dir: Path | None = None) -> TlcResult:
        steps = int(re.findall(r"SB_id .in 0[.][.](.*)", text_of(job.module))[0])
        (invariant,) = re.findall(r"INVARIANT (.*)", text_of(job.cfg))
        self.runs.append(steps)
        found = honest(steps, (0, *self.rejects(len(self.runs))))
        violations = [replace(each, property=invariant) for each in found.violations]
        return replace(found, violations=violations)


def test_each_step_has_the_verdict_of_its_own_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over several batches, their first, last and middle steps, and steps that occur twice."""
    told = {1: (1, 2), 2: (10,), 3: (5,), 4: ()}
    tlc = Mute(lambda run: told[run])
    monkeypatch.setattr("tla_utils.steps.run_tlc", tlc)
    steps = ledger_steps(33)
    report = check_steps(frame(), [*steps, steps[19], steps[20]], CheckOptions(10, parallel=1))
    assert tlc.runs == [10, 10, 10, 3]
    assert report.numbers("rejected") == [0, 1, 19, 24, 33]
    assert (report.distinct, report.runs, len(report.verdicts)) == (33, 4, 35)
    assert report.numbers("unknown") == []


def test_runs_that_report_in_any_order_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each batch rejects as many of its steps as its first step says."""
    steps: list[Step] = [{"number": number} for number in range(40)]

    def tlc(job: TlcJob, *, work_dir: Path | None = None) -> TlcResult:
        first = int(re.findall(r"SB_steps_0 ==\n  <<(\d+)", text_of(job.module))[0])
        time.sleep(0.02 if first == 0 else 0)
        return Mute(lambda _: tuple(range(1, first // 10 + 1)))(job)

    monkeypatch.setattr("tla_utils.steps.run_tlc", tlc)
    options = CheckOptions(10, parallel=4, as_text="TLC is played, which reads text")
    report = check_steps(frame(), steps, options)
    assert report.numbers("rejected") == [10, 20, 21, 30, 31, 32]


def test_a_check_does_not_believe_a_run_that_cannot_report(monkeypatch: pytest.MonkeyPatch) -> None:
    green = TlcResult("holds", "", generated=4, distinct=4, complete=True, exit_code=0)
    monkeypatch.setattr("tla_utils.steps.run_tlc", lambda job, work_dir: green)
    with pytest.raises(ToolError, match="no report of the canary"):
        check_steps(frame(), ledger_steps(3))


class Role(enum.StrEnum):
    LEADER = "Leader"


def test_values_that_python_mixes_up_are_told_apart() -> None:
    interner = Interner()
    different: list[Value] = [
        1,
        True,
        0,
        False,
        "1",
        (1,),
        (True,),
        (),
        frozenset(),
        frozenset({1}),
    ]
    different += [Record(a=1), Record(a=True), Function({5: 1}), Function({5: True})]
    different += [ModelValue("a"), "a", frozenset({True}), frozenset({(1,)}), frozenset({(True,)})]
    assert len({interner.id_of(value) for value in different}) == len(different)
    for value in different:
        assert interner.id_of(value) == interner.id_of(value)
        assert render(interner.values[interner.id_of(value)]) == render(value)
    assert interner.id_of(Role.LEADER) == interner.id_of("Leader")


SAMPLES: list[Value] = [
    *range(-3, 40),
    True,
    False,
    "text",
    "long " * 200,
    (),
    (1, "a, b", (True,)),
    frozenset({3, 20, 100}),
    frozenset({"x", "y"}),
    ModelValue("mv"),
    Record(a=1),
    Record({"no identifier": 1, "b": 2}),
    Record(a=Record(a=Record(a=1))),
    Record(a=(Record(a=2), Record(b=3))),
    Record(b=Record(a=frozenset({Record(a=1, b=2), Record(a=2, b=2)}))),
    Function({5: Record(b=3), 7: Record(b=3)}),
    Record(log=tuple(Record(epoch=i // 7, value="v" * (i % 3)) for i in range(80))),
    function({i: Record(b=i) for i in range(50, 90)}),
    *[Record({f"f{k}": (k * 7 + i) % 13 for k in range(25)}) for i in range(30)],
    # Rows that fill more than a line, and dictionaries of more values than there are letters.
    *[Record({f"w{k}": (k + 1) * i for k in range(130)}) for i in range(60)],
    # Fields that take few values together, one of them no identifier; records of several kinds in
    # one place; sets of records.
    *[Record({"few": i % 2, "as few": i % 3, "many": i}) for i in range(80)],
    *[Record(input=Record(a=i) if i % 3 else Record(b=i)) for i in range(9)],
    *[Record(sent=frozenset(Record(m=3 * i + k) for k in range(i % 5))) for i in range(60)],
    *[Record(sent2=frozenset([Record(only=1)][: i % 2]), n=i) for i in range(20)],
]


@pytest.mark.tlc
def test_tlc_sees_the_values_that_were_recorded(tmp_path: Path) -> None:
    """The packed tables against plain literals: the encoding must not change any value."""
    literals = ",\n".join(render(value) for value in SAMPLES)
    (tmp_path / "StepSame.tla").write_text(
        "---- MODULE StepSame ----\nEXTENDS Integers, TLC\nCONSTANT mv\n"
        f"Expected == <<\n{literals}\n>>\nAllowed(step) == step.value = Expected[step.number]\n"
        "====\n"
    )
    steps: list[Step] = [{"number": i, "value": v} for i, v in enumerate(SAMPLES, start=1)]
    steps.append({"number": len(SAMPLES), "value": SAMPLES[-2]})
    report = check_steps(StepFrame("StepSame", [tmp_path], "CONSTANT mv = mv"), steps)
    assert report.numbers("rejected") == [len(SAMPLES)]
    assert report.numbers("unknown") == []


@pytest.mark.tlc
def test_codes_of_one_two_and_three_letters(tmp_path: Path) -> None:
    """More records than two letters can number, each with a check on itself."""
    (tmp_path / "StepTwice.tla").write_text(
        "---- MODULE StepTwice ----\nEXTENDS Integers\n"
        "Allowed(step) ==\n"
        "  step.row.twice = 2 * step.row.once /\\ step.row.once = step.number\n====\n"
    )
    steps: list[Step] = [
        {"number": i, "row": Record(once=i, twice=2 * i)} for i in [*range(60), *range(60, 9000, 3)]
    ]
    assert len(steps) > stepcodes.BASE**2
    wrong = (0, 51, 52, 2703, 2704, len(steps) - 1)
    for number in wrong:
        steps[number] = {**steps[number], "number": -1}
    report = check_steps(StepFrame("StepTwice", [tmp_path]), steps)
    assert tuple(report.numbers("rejected")) == wrong


def test_what_many_rows_have_in_common() -> None:
    rows = [(i, i % 2, i % 3, i % 40) for i in range(120)]
    assert common_fields(rows) == [1, 2]
    assert common_fields(rows[:60]) == [], "too few rows to be worth it"
    assert common_fields([(i, i % 2) for i in range(120)]) == [], "one field is no table"


def module_text(count: int = 400) -> str:
    batch = Batch(StepTable.from_steps(ledger_steps(count)))
    return batch_module(frame(), batch.definitions(batch.rows), len(batch.rows), "").text


def test_lines_stay_short() -> None:
    values: list[Step] = [{"value": v} for v in SAMPLES if v != "long " * 200]
    batch = Batch(StepTable.from_steps(values))
    for text in (module_text(), batch.definitions(batch.rows)):
        assert max(map(len, text.splitlines())) < 300


def test_modules_are_the_same_bytes_in_every_process(repo_root: Path) -> None:
    program = (
        "from tests.tla_utils.test_steps import module_text, SAMPLES, Batch, StepTable, frame\n"
        "batch = Batch(StepTable.from_steps([{'value': v} for v in SAMPLES]))\n"
        "import hashlib\n"
        "text = module_text() + batch.definitions(batch.rows)\n"
        "print(hashlib.sha256(text.encode()).hexdigest())\n"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(repo_root)},
            cwd=repo_root,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("0", "1", "4242")
    }
    batch = Batch(StepTable.from_steps([{"value": v} for v in SAMPLES]))
    text = module_text() + batch.definitions(batch.rows)
    assert digests == {hashlib.sha256(text.encode()).hexdigest()}
