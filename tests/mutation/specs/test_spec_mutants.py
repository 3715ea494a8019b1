"""Mutants are derived from the text, judged by TLC and by steps, and stored under what they were
derived of.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from kraftcheck.exits import BadInput
from kraftcheck.known_bugs.attempts import hunts
from kraftcheck.reference.partition.protocol import BROKER, CONTROLLER_KIND
from kraftcheck.reference.partition.types import PartitionConstants
from kraftcheck.specs import SPECS
from kraftcheck.traces.steps.translation import step_frame
from tests.mutation.specs import batteries, mutants as catalogue, trials
from tests.mutation.specs.__main__ import main
from tests.mutation.specs.mutants import (
    CAUGHT,
    EQUAL,
    EQUIVALENT,
    NOT_CAUGHT,
    NOT_JUDGED,
    OTHER_STEPS,
    REFUSED,
    ByModels,
    BySteps,
    Mutant,
    Result,
)
from tests.mutation.specs.trials import IN_MODELS, STEPS, ModelBench, StepBench
from tla_utils import Manifest, RunOptions, read_manifest

DROPPED = "QuorumRules.MayAnnounceLeader.2"
CORRECT_TOO = "QuorumRules.CheckQuorumApplies.1"


@pytest.fixture(scope="module")
def manifest() -> Manifest:
    return read_manifest(SPECS / "models.toml")


def mutant(manifest: Manifest, id: str) -> Mutant:
    module = id.partition(".")[0]
    return next(each for each in catalogue.mutants(manifest, module) if each.id == id)


def result(mutant: Mutant, models: ByModels | None, steps: BySteps | None) -> Result:
    return Result(digest=mutant.digest, text=mutant.text, models=models, steps=steps)


def test_every_decision_with_a_guard_has_mutants(manifest: Manifest) -> None:
    found = [*catalogue.every(manifest)]
    assert len(found) == len({each.id for each in found}) >= 180
    operators = {each.operator for each in found}
    assert {"LogOk", "IsIsrEligible", "IsUncleanRestart", "EnoughInSync"} <= operators
    dropped = mutant(manifest, "QuorumRules.FollowerGrantsPreVote.1")
    assert dropped.text == "~row.hasFetched"
    told = " ".join(dropped.definition.split())
    assert told == "Mutant_FollowerGrantsPreVote(row, m) == TRUE /\\ LogOk(row, m)"


# -- In models


@pytest.mark.slow
@pytest.mark.tlc
@pytest.mark.parametrize(
    ("id", "model", "verdict"),
    [
        (DROPPED, "quorum-reduced-crash", CAUGHT),
        # The bounds of a bug, without the bug: the correct decisions hold there.
        ("PartitionRules.IsStaleReplica.1", "Z43", NOT_CAUGHT),
    ],
)
def test_a_mutant_is_judged(manifest: Manifest, id: str, model: str, verdict: str) -> None:
    found = ModelBench(manifest, RunOptions()).judge(mutant(manifest, id), [model])
    assert found.verdict == verdict, found
    assert (found.property is not None) == (verdict == CAUGHT)


def test_models_of_bugs_in_the_same_decision_come_first(manifest: Manifest) -> None:
    bench = ModelBench(manifest, RunOptions())
    names = bench.names(mutant(manifest, "PartitionRules.EnoughInSync.1"))
    assert {"Z41", "Z50"} <= {*names[: -len(trials.MODELS["PartitionRules"])]}
    assert names[-1] == trials.MODELS["PartitionRules"][-1]


# -- By steps


def one_battery(module: str) -> batteries.Battery:
    return next(batteries.batteries(module, runs=2, rows=6, changes=1))


def test_the_same_steps_are_attempted_each_time() -> None:
    one, other = one_battery("QuorumRules"), one_battery("QuorumRules")
    assert one.steps == other.steps
    assert 0 < one.recorded < len(one.steps)
    ignored = {step.ignored for step in one.steps[one.recorded :]}
    assert {"", "(disabled)", "NotAwaited"} <= ignored


@pytest.mark.slow
@pytest.mark.tlc
def test_steps_of_the_reference_refuse_a_mutant(
    manifest: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = [one_battery("QuorumRules")]
    monkeypatch.setattr(batteries, "batteries", lambda _: iter(few))
    bench = StepBench("QuorumRules")
    found = bench.judge(mutant(manifest, "QuorumRules.VoteRequestError.3"))
    assert found.refused > 0 and found.action == "HandleVoteRequest"
    monkeypatch.setattr(bench, "_batteries", bench._batteries[:1])
    assert bench.judge(mutant(manifest, CORRECT_TOO)).refused == 0


@pytest.mark.tlc
def test_the_frame_of_attempts_on_a_broker_judges_what_is_disabled() -> None:
    every = batteries.batteries("PartitionRules", runs=1, rows=4, changes=1)
    battery = next(each for each in every if each.frame.module == BROKER.module)
    few = battery.only(range(0, len(battery.steps), 2))
    # A fault in what was recorded is seen, and so is one in what was found disabled.
    broken = [*few.steps]
    disabled = next(at for at, step in enumerate(few.steps) if step.ignored == "(disabled)")
    taken = next(at for at, step in enumerate(few.steps) if step.sent and not step.ignored)
    broken[disabled] = broken[disabled]._replace(ignored="")
    broken[taken] = broken[taken]._replace(sent=())
    bad = few._replace(steps=tuple(broken))
    assert bad.refused(few.frame, StepBench.options) == sorted((disabled, taken))


def test_decisions_are_asked_in_the_frames_that_use_them() -> None:
    constants = PartitionConstants((0, 1, 2), 2)
    of_broker, of_controller = (
        trials.uses(step_frame(kind, constants), "PartitionRules")
        for kind in (BROKER, CONTROLLER_KIND)
    )
    assert "FetchEpochError" in of_broker - of_controller
    assert "TargetElr" in of_controller - of_broker
    # Through another decision.
    assert {"IsWaitedFor", "MaximalIsr"} <= of_broker


# -- Verdicts


def test_what_was_changed_since_is_not_judged(manifest: Manifest) -> None:
    one = mutant(manifest, "QuorumRules.LogOk.1")
    known = result(one, ByModels(verdict=OTHER_STEPS, model="m"), BySteps(refused=0, of=9))
    assert catalogue.current(manifest, {one.id: known})[one.id] == known
    for stale in (
        msgspec.structs.replace(known, digest="0"),
        msgspec.structs.replace(known, text="TRUE"),
    ):
        assert catalogue.current(manifest, {one.id: stale})[one.id] is None
    verdicts = [line[2] for line in catalogue.rows(manifest, {one.id: known})]
    assert verdicts.count(OTHER_STEPS) == 1 and NOT_JUDGED in verdicts
    assert catalogue.open_questions(manifest, {one.id: known}) == [one.id]


def test_a_verdict_is_the_better_of_the_two(
    manifest: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = mutant(manifest, DROPPED)
    caught, unseen = ByModels(verdict=CAUGHT), ByModels(verdict=NOT_CAUGHT)
    some, none = BySteps(refused=1, of=2, action="A"), BySteps(refused=0, of=2)
    cases = [
        (caught, None, CAUGHT),
        (unseen, some, REFUSED),
        (None, some, REFUSED),
        (unseen, None, NOT_JUDGED),
        (None, none, NOT_JUDGED),
        (unseen, none, NOT_CAUGHT),
    ]
    for models, steps, verdict in cases:
        assert catalogue.verdict_of(one, result(one, models, steps)) == verdict
    key = (f"{one.module}.{one.operator}", one.kind, one.text)
    monkeypatch.setattr(catalogue, "EQUIVALENT", {key: "it says so"})
    assert catalogue.verdict_of(one, result(one, unseen, none)) == EQUAL
    assert catalogue.verdict_of(one, result(one, None, none)) == EQUAL
    assert catalogue.verdict_of(one, result(one, unseen, None)) == NOT_JUDGED
    assert catalogue.verdict_of(one, result(one, unseen, some)) == REFUSED


def test_an_argument_is_about_a_mutant_that_nothing_tells_apart(manifest: Manifest) -> None:
    every = {(f"{m.module}.{m.operator}", m.kind, m.text): m for m in catalogue.every(manifest)}
    assert set(EQUIVALENT) <= set(every)
    judged = catalogue.current(manifest, catalogue.load())
    verdicts = {catalogue.verdict_of(every[key], judged[every[key].id]) for key in EQUIVALENT}
    assert verdicts <= {EQUAL, NOT_JUDGED}


def test_who_is_at_the_end_is_caught_up() -> None:
    """What IsOutOfSync's argument says."""
    at_the_end = [
        remote.caught_up
        for number in range(6)
        for step in hunts("PartitionRules")[0].run("watched", number).steps
        if getattr(step.after, "role", "") == "Leader"
        for remote in step.after.remotes
        if remote.end_offset == len(step.after.log)
    ]
    assert len(at_the_end) > 100 and all(at_the_end)


def test_no_mutant_is_left_without_an_answer(manifest: Manifest) -> None:
    assert not catalogue.open_questions(manifest, catalogue.load())


def test_the_table_tells_what_is_stored_of_the_specs_as_they_are(manifest: Manifest) -> None:
    results = catalogue.load()
    judged = catalogue.current(manifest, results)
    for id, _, verdict, by_models, by_steps in catalogue.rows(manifest, results):
        known = judged[id]
        assert bool(by_models) == (known is not None and known.models is not None)
        assert bool(by_steps) == (known is not None and known.steps is not None)
        assert verdict == catalogue.verdict_of(mutant(manifest, id), known)


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "mutants.json"
    steps = BySteps(refused=3, of=4, action="A")
    results = {"M.A.1": Result(digest="d", text="t", steps=steps)}
    catalogue.store(results, path)
    assert catalogue.load(path) == results and catalogue.load(tmp_path / "none.json") == {}
    assert catalogue.stored(path).machine and catalogue.stored(path).date
    path.write_text("{")
    with pytest.raises(BadInput, match="is damaged"):
        catalogue.load(path)


# -- Resuming


def test_steps_come_first_and_what_they_refuse_last(manifest: Manifest) -> None:
    results: dict[str, Result] = {}
    asked: list[tuple[str, str]] = []
    for one, by in trials.waiting(manifest, ["QuorumRules"], results):
        asked.append((one.id, by))
        known = results.get(one.id)
        if by == STEPS:
            refused = int(one.id == DROPPED)
            results[one.id] = result(one, None, BySteps(refused=refused, of=1))
        elif known is not None:
            found = ByModels(verdict=NOT_CAUGHT)
            results[one.id] = msgspec.structs.replace(known, models=found)
    number = len([*catalogue.mutants(manifest, "QuorumRules")])
    assert [by for _, by in asked] == [STEPS] * number + [IN_MODELS] * number
    assert asked[-1] == (DROPPED, IN_MODELS)
    assert not [*trials.waiting(manifest, ["QuorumRules"], results)]


def test_judging_stops_when_it_is_told_to(
    manifest: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(StepBench, "__init__", lambda *_: None)
    monkeypatch.setattr(StepBench, "judge", lambda *_: BySteps(refused=0, of=1))
    results: dict[str, Result] = {}
    trials.judge_all(manifest, ["QuorumRules"], RunOptions(), results, lambda *_: len(results) < 3)
    assert len(results) == 3


def test_the_command_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main() in (0, 1, 2)
    shown = capsys.readouterr().out
    assert "QuorumRules.LogOk.1" in shown and "m.lastEpoch > Last" in shown


def test_of_a_module_only_its_own_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    main("--module", "QuorumRules")
    _, *lines = capsys.readouterr().out.splitlines()
    assert lines and all(line.startswith("QuorumRules.") for line in lines)
