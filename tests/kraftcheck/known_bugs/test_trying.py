"""A change of one's own: judged on both sides, or refused in one line before anything runs."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import replace as replaced
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from click.testing import CliRunner, Result
from msgspec import structs

from kraftcheck.cli import cli
from kraftcheck.exits import BadInput
from kraftcheck.known_bugs import related, trying
from kraftcheck.known_bugs.entries import manifest_of
from kraftcheck.known_bugs.own_overlay import models_for, read_overlay, unsuitable
from kraftcheck.known_bugs.own_rules import known, read_rules
from kraftcheck.known_bugs.own_runs import OfRuns
from kraftcheck.known_bugs.related import Known, bounds_of, bugs_with
from kraftcheck.known_bugs.trying import OfModel, concluded
from kraftcheck.known_bugs.witnesses import Hunt
from kraftcheck.own_change import SOON_OVER, _worth, protocol_of
from kraftcheck.reference.bugs.bug import Bug
from kraftcheck.reference.bugs.catalog import CATALOG, UnknownBug, bug, bugs_of
from kraftcheck.reference.kit.dispatch import snake
from kraftcheck.specs import SPECS
from tests.reference.bugs.files import overlay_file
from tla_utils import Model, RunOptions, find_jar, find_java, read_manifest
from tla_utils.manifest import Manifest
from tla_utils.overrides import check_overrides, read_modules

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "examples" / "try"
TUTORIAL = (ROOT / "docs/try.md").read_text("utf-8")


@pytest.fixture(scope="module")
def manifest() -> Manifest:
    return read_manifest(SPECS / "models.toml")


def try_it(out: Path, *arguments: str) -> Result:
    return CliRunner().invoke(cli, ["try", "--out", str(out), *arguments])


# -- Judged


def told_in_the_tutorial(overlay: str) -> list[str]:
    """The arguments of the tutorial's command with this overlay, without its folder."""
    (line,) = [each for each in TUTORIAL.splitlines() if each[:1] == "$" and overlay in each]
    words = shlex.split(line)
    assert words[1:3] == [".venv/bin/kraftcheck", "try"] and words[-2] == "--out"
    return words[3:-2]


@pytest.mark.acceptance
@pytest.mark.tlc
def test_the_tutorials_unsafe_change_is_broken_on_both_sides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    shown = try_it(tmp_path, *told_in_the_tutorial("CountBeforeFlush"))
    assert shown.exit_code == 1
    assert "models" in shown.stderr and "runs and schedules: " in shown.stderr
    found = json.loads((tmp_path / "tried.json").read_text("utf-8"))
    (model,) = found["models"]
    assert (model["property"], model["length"]) == ("DurableMajority", 6)
    assert any("FetchRequest 2>1" in line for line in model["told"])
    drawn = (tmp_path / f"{model['model']}.html").read_text("utf-8")
    assert f"drawn: {tmp_path / model['model']}.html" in shown.stdout
    assert "DurableMajority" in drawn and "<title>FetchRequest 2&gt;1" in drawn
    assert {each["what"] for each in found["runs"]["broken"]} == {"DurableMajority"}
    assert {each["what"] for each in found["runs"]["forbidden"]} == {"HandleFetchRequest"}
    first = found["runs"]["broken"][0]["run"]
    assert "DurableMajority" in (tmp_path / f"invariants-run-{first}.txt").read_text("utf-8")
    page = (tmp_path / f"invariants-run-{first}.html").read_text("utf-8")
    assert "DurableMajority" in page and 'class="step marked' in page
    refused = found["runs"]["forbidden"][0]["run"]
    assert "!! not allowed by the spec" in (tmp_path / f"steps-run-{refused}.txt").read_text(
        "utf-8"
    )
    assert 'class="step marked' in (tmp_path / f"steps-run-{refused}.html").read_text("utf-8")
    as_printed = [line.strip() for line in shown.stdout.splitlines()]
    told = [line.strip() for line in TUTORIAL.splitlines() if line.startswith("    ")]
    assert [line for line in told if "DurableMajority" in line] == [
        line for line in as_printed if line.startswith("DurableMajority (")
    ]


@pytest.mark.acceptance
@pytest.mark.tlc
def test_the_tutorials_safe_change_takes_other_steps_and_breaks_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    shown = try_it(tmp_path, *told_in_the_tutorial("ServeBeforeFlush"))
    found = json.loads((tmp_path / "tried.json").read_text("utf-8"))
    assert (shown.exit_code, found["verdict"]) == (0, trying.OTHER_STEPS)
    assert f"verdict  {trying.OTHER_STEPS}" in shown.stdout and trying.OTHER_STEPS in TUTORIAL
    assert found["models"][0]["distinct"] > found["models"][0]["correct"]
    assert found["runs"]["forbidden"] and not found["runs"]["broken"]


FOUND = Known(bugs=["Z01"], models=["Z01"], runs=[], schedules=[])

CHANGE = """
from kraftcheck.reference.quorum.rules import QuorumRules

class Mine(QuorumRules):
    __slots__ = ()

    def {}:
        {}
"""


def written(folder: Path, head: str, body: str) -> Path:
    path = folder / "mine.py"
    path.write_text(CHANGE.format(head, body), "utf-8")
    return path


@pytest.mark.parametrize(
    ("models", "verdict"),
    [
        ([OfModel(model="m", verdict="violated", property="P")], trying.BROKEN),
        ([OfModel(model="m", verdict="unknown", reason="time")], trying.UNKNOWN),
        ([OfModel(model="m", verdict="holds", distinct=5, correct=5)], trying.UNKNOWN),
        ([OfModel(model="m", verdict="holds", distinct=6, correct=5)], trying.OTHER_STEPS),
    ],
)
def test_the_verdict_of_models_alone(models: list[OfModel], verdict: str) -> None:
    assert concluded(models, None, FOUND).verdict == verdict


@pytest.mark.parametrize(
    ("known", "chosen", "verdict", "word"),
    [
        (FOUND, False, trying.OTHER_STEPS, ""),
        (structs.replace(FOUND, models=[], runs=["Z01"]), False, trying.OTHER_STEPS, ""),
        (structs.replace(FOUND, models=[]), False, trying.UNKNOWN, "does not find Z01"),
        (structs.replace(FOUND, bugs=[], models=[]), False, trying.UNKNOWN, "no known bug"),
        (structs.replace(FOUND, models=[]), True, trying.OTHER_STEPS, ""),
    ],
)
def test_that_nothing_broke_is_worth_what_the_search_would_find(
    known: Known, chosen: bool, verdict: str, word: str
) -> None:
    model = OfModel(model="m", verdict="holds", distinct=6, correct=5)
    found = concluded([model], None, known, chosen=chosen)
    assert found.verdict == verdict and word in "".join(found.reasons)
    # What is broken is broken, and who was not met has nothing to say, whatever is known.
    broken = OfModel(model="m", verdict="violated", property="P")
    assert concluded([broken], None, known, chosen=chosen).verdict == trying.BROKEN


def test_the_bounds_of_known_bugs_are_those_of_the_correct_protocol(
    manifest: Manifest,
) -> None:
    """Of each bug that an overlay makes, with nothing of the bug left in them."""
    for protocol, unseen in (("quorum", ""), ("partition", "Z36 Z45 Z46 Z59 Z309 Z310")):
        bugs = [each for each in bugs_of(protocol) if each.in_scope and each.replaces]
        models = bounds_of(bugs, manifest)
        # (What no model shows needs what models do not have.)
        assert {b.id for b in bugs} - {model.bug for model in models} == set(unseen.split())
        for model in models:
            config = model.config
            roots = [model.module]
            check_overrides(config, roots, read_modules(roots, manifest.libraries))
            assert not any(new.startswith("Z") for _, _, new in config.substituted), model.name


def test_which_models_have_the_bounds_of_a_known_bug() -> None:
    """A bound may be wider; a reduction, a specification and a property have to be the bug's."""
    manifest = manifest_of("quorum")
    wide, of = manifest.models["quorum-medium"], manifest.models["Z06"]
    assert related.covers(wide, of, manifest)
    assert not related.covers(manifest.models["quorum-reduced"], of, manifest), "two epochs"
    assert not related.covers(wide, replaced(of, property="DurableMajority_"), manifest)
    assert not related.covers(manifest.models["quorum-medium-vote"], of, manifest), "unlike it"
    assert not related.covers(of, of, manifest), "it has the bug in it"
    bugs = [bug("Z06"), bug("Z09")]
    small = [each.name for each in manifest.select(tiers=["small"])]
    told = related.known(bugs, small, manifest, runs=None)
    assert (told.models, told.missed, told.further) == (["Z09"], ["Z06"], ["Z06"])
    # Of a search without models nobody says which would do.
    assert not related.known(bugs, [], manifest, runs=1).further


def test_every_bug_that_is_said_to_be_found_further_is_missed_here() -> None:
    told = [*_worth(structs.replace(FOUND, bugs=["Z01", "Z06"], further=["Z06"]), 12.4)]
    assert told[0].endswith("(Z01, Z06), of which this search finds 1, in 12 s")
    assert told[-1] == "--tier medium finds Z06 as well"


@pytest.mark.slow
@pytest.mark.tlc
def test_a_known_bug_under_another_name_is_found_at_its_bounds(tmp_path: Path) -> None:
    """No small model shows it."""
    manifest = manifest_of("partition")
    own = read_overlay(overlay_file("Z42", "Mine", tmp_path), manifest)
    bugs = bugs_with("partition", {"target_elr"})
    assert "Z42" in {each.id for each in bugs}
    models = [m for m in bounds_of(bugs, manifest) if m.name == "bounds-of-Z42"]
    options = RunOptions(jar=find_jar(), java=find_java())
    (found,) = trying.try_models(own, manifest, models, options, tmp_path, 300, lambda _: None)
    assert (found.verdict, found.property) == ("violated", "LeaderCandidateCompleteness")
    assert related.known(bugs, [found.model], manifest, runs=None).models == ["Z42"]


def test_first_comes_where_known_bugs_show_and_the_longest_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who waits hears early of what is broken, and is told what to do where time was too short."""
    asked: list[str] = []

    def tried(_own: Any, _manifest: Any, models: Sequence[Model], *_rest: Any) -> list[OfModel]:
        asked.extend(model.name for model in models)
        said = "stopped after the time limit of 300 s"
        late = OfModel(model="quorum-live", verdict="unknown", seconds=300.0, reason=said)
        return [OfModel(model="m", verdict="holds", distinct=6, correct=5), late]

    monkeypatch.setattr(trying, "try_models", tried)
    mine = overlay_file("Z12", "Mine", tmp_path)
    shown = try_it(tmp_path / "out", "--overlay", str(mine))
    assert shown.exit_code == 2, shown.output
    bounds = [name.startswith("bounds-of-") for name in asked]
    assert any(bounds) and bounds == sorted(bounds, reverse=True)
    told = " ".join(shown.stdout.split())
    assert "not searched to the end in time: quorum-live" in told
    assert trying.LONGER in told
    assert "the longest quorum-live, 300 s" in shown.stdout


def test_where_neighbours_show_comes_after_what_is_soon_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, manifest: Manifest
) -> None:
    """A search of ten minutes never came to them on a busy machine: they were the last."""
    asked: list[str] = []

    def tried(_own: Any, _manifest: Any, models: Sequence[Model], *_rest: Any) -> list[OfModel]:
        asked.extend(model.name for model in models)
        return [OfModel(model="m", verdict="holds", distinct=6, correct=6)]

    monkeypatch.setattr(trying, "try_models", tried)
    mine = tmp_path / "Mine.tla"
    rule = "Mine_ProposedEpoch(n, row, r) == 0"
    mine.write_text(f"---- MODULE Mine ----\nEXTENDS PartitionRules\n\n{rule}\n====\n")
    shown = try_it(tmp_path / "out", "--overlay", str(mine))
    assert asked, shown.output
    bounds = [at for at, name in enumerate(asked) if name.startswith("bounds-of-")]
    assert bounds == [*range(bounds[0], bounds[-1] + 1)] and "bounds-of-Z38" in asked
    states = [manifest.models[name].distinct or 0 for name in asked if name in manifest.models]
    assert states == sorted(states)
    assert states[bounds[0] - 1] < SOON_OVER <= states[bounds[0]]


@pytest.mark.slow
def test_what_the_time_does_not_do_for_is_unknown_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, manifest: Manifest
) -> None:
    """Of two models with 100 s the first may have half, and takes 99.5 of them."""
    shares, now = [], [0.0]

    def slow(*asked: Any) -> OfModel:
        shares.append(asked[5])
        now[0] += 99.5
        return OfModel(model=asked[2].name, verdict="holds", distinct=6, correct=5)

    monkeypatch.setattr(trying, "_try_model", slow)
    monkeypatch.setattr(trying, "monotonic", lambda: now[0])
    own = read_overlay(EXAMPLES / "ServeBeforeFlush.tla", manifest)
    models = models_for(own, manifest, ["small"])[:2]
    options = RunOptions(jar=None, java=None)
    found = trying.try_models(own, manifest, models, options, tmp_path, 100, lambda _: None)
    assert shares == [50.0] and found[1].reason == trying.NOT_BEGUN
    together = concluded(found, None, FOUND)
    assert together.verdict == trying.UNKNOWN
    late = f"not searched to the end in time: {models[1].name}"
    assert together.reasons == [late, trying.LONGER]


def test_runs_that_take_too_long_are_ended_and_told(tmp_path: Path) -> None:
    """A rule that never answers, as good as: the campaign is broken off, and nothing is claimed."""
    body = "import time\n        time.sleep(600)\n        return True"
    path = written(tmp_path, "vote_recorded(self, m)", body)
    begun = monotonic()
    shown = try_it(tmp_path / "out", "--rules", str(path), "--minutes", "0.05")
    assert monotonic() - begun < 60
    assert shown.exit_code == 2, shown.output
    found = json.loads((tmp_path / "out" / "tried.json").read_text("utf-8"))
    assert (found["verdict"], found["runs"]["ended"], found["runs"]["runs"]) == (
        "unknown",
        False,
        0,
    )
    assert "stopped after the time limit of 3 s, within the stored schedules" in found["reasons"][0]
    assert found["reasons"][-1] == trying.LONGER
    others = {each["scenario"] for each in found["others"] if not each["ended"]}
    assert others == {"voters", "snapshots", "quorum41"}
    assert "runs of voters: not begun within the time limit" in found["reasons"]
    assert not found["known"]["schedules"] and not found["known"]["runs"]


def test_a_model_that_has_something_in_the_place_of_a_rule_says_what(tmp_path: Path) -> None:
    """Who changes who is chosen is told that the kit has checked any choice."""
    head, body = (
        "---- MODULE Mine ----\nEXTENDS PartitionRules",
        "Mine_LeaderChoices(candidates) == {}",
    )
    text = f"{head}\n\n{body}\n====\n"
    (tmp_path / "Mine.tla").write_text(text, "utf-8")
    manifest = manifest_of("partition")
    own = read_overlay(tmp_path / "Mine.tla", manifest)
    said = unsuitable(own, manifest.models["partition-crash"])
    assert said == "the kit checks it with AnyChoice in the place of LeaderChoices"


def test_a_rule_without_a_known_bug_has_the_bounds_of_its_neighbours() -> None:
    """Those whose prose cites the same rule id, KIP or report; of whom there are bugs."""
    assert not bugs_with("partition", {"proposed_epoch"})
    near = {each.id for each in related.bugs_near("partition", {"proposed_epoch"})}
    assert {"Z28", "Z37", "Z38", "Z170"} <= near
    # Z38's rule has a bug of its own, and needs no other's bounds.
    assert not related.bugs_near("partition", {"isr_member_epoch_matches"})
    told = related.known(
        [], [], manifest_of("partition"), runs=1, near=bugs_with("partition", {"is_in_sync"})
    )
    assert told.near == ["Z28"] and not told.missed


def of_runs(never: str) -> OfRuns:
    return OfRuns(
        scenario="quorum",
        seed=1,
        runs=1,
        schedules=1,
        asked={},
        differed={},
        broken=[],
        forbidden=[],
        shared=[],
        undecided=[],
        never=never,
    )


@pytest.mark.parametrize(
    ("states", "never", "verdict", "who"),
    [
        (6, "", trying.OTHER_STEPS, []),
        (6, "nobody asked", trying.UNKNOWN, ["runs"]),
        (5, "", trying.UNKNOWN, ["models"]),
        (5, "nobody asked", trying.UNKNOWN, ["models", "runs"]),
    ],
)
def test_who_never_met_the_change_says_nothing_of_it(
    states: int, never: str, verdict: str, who: list[str]
) -> None:
    model = OfModel(model="m", verdict="holds", distinct=states, correct=5)
    found = concluded([model], of_runs(never), FOUND)
    assert found.verdict == verdict
    assert [each.partition(f": {trying.NEVER_THERE}: ")[0] for each in found.reasons] == who


def test_models_that_ended_without_it_say_nothing_beside_one_that_did_not_end() -> None:
    ended = OfModel(model="m", verdict="holds", distinct=5, correct=5)
    late = OfModel(model="late", verdict="unknown", reason="stopped after the time limit of 1 s")
    reasons = concluded([ended, late], None, FOUND).reasons
    assert "the change was never there: those that ended have the states" in "".join(reasons)
    assert trying.NEVER_THERE not in "".join(concluded([late], None, FOUND).reasons)


def test_it_is_known_for_as_long_as_it_is_tried() -> None:
    own = read_rules(EXAMPLES / "serve_before_flush.py")
    with known(own) as entry:
        assert bug(own.id) is entry
        hunt = Hunt(scenario="quorum", bug=own.id)
        assert hunt.run("watched", 0).steps
    with pytest.raises(UnknownBug):
        bug(own.id)


# -- Refused


@pytest.mark.parametrize(
    ("head", "body", "said"),
    [
        ("log_okay(self, row, m)", "return True", "replaces log_okay, .* did you mean log_ok?"),
        ("log_ok(self, row)", "return True", r"log_ok is to be a method with \(self, row, m\)"),
        ("vote_recorded(self, m)", "return not m.pre_vote", "changes nothing: Mine overrides what"),
        ("log_ok(self, row, m)", "return self.log_ok(row, m)", "log_ok -> log_ok calls what it"),
        ("log_ok(self, row, m)", "return self.vote_granted(row, m)", "-> log_ok calls what it"),
        ("log_ok(self, row, m)", "return (", "cannot be loaded: SyntaxError"),
    ],
)
def test_rules_that_are_no_change_are_refused(
    tmp_path: Path, head: str, body: str, said: str
) -> None:
    with pytest.raises(BadInput, match=said):
        read_rules(written(tmp_path, head, body))


def test_a_file_of_rules_is_one_class(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("x = 1\n")
    with pytest.raises(BadInput, match=r"one class that extends rules or handlers .* is none"):
        read_rules(path)
    with pytest.raises(BadInput, match="cannot be read: No such file"):
        read_rules(tmp_path / "none.py")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("Mine_LogOkay(row, m) == TRUE", "replace LogOkay, which no module .* did you mean LogOk"),
        ("LogOk2(row, m) == TRUE", "changes nothing: it defines no Prefix_Operator"),
        ("Mine_VoteRecorded(m) ==\n  ~m.preVote", "changes nothing: VoteRecorded says what"),
        ("Mine_LogOk(row, m) == LogOk(row, m)", "calls LogOk, which it replaces"),
        ("Mine_LogOk(row) == TRUE", "Mine_LogOk takes 1 arguments, but LogOk"),
    ],
)
def test_overlays_that_are_no_change_are_refused(
    tmp_path: Path, manifest: Manifest, line: str, said: str
) -> None:
    path = tmp_path / "Mine.tla"
    path.write_text(f"---- MODULE Mine ----\nEXTENDS QuorumRules\n{line}\n====\n", "utf-8")
    with pytest.raises(BadInput, match=said):
        read_overlay(path, manifest)


@pytest.mark.slow
def test_refusals_are_one_line_and_exit_code_3(tmp_path: Path) -> None:
    overlay = ("--overlay", str(EXAMPLES / "ServeBeforeFlush.tla"))
    both = (*overlay, "--rules", str(EXAMPLES / "count_before_flush.py"))
    for arguments, said in (
        ((), "nothing to try: give --overlay, --rules or both"),
        (both, "the two sides replace different things: ServeBeforeFlush.tla servable_end_offset;"),
        ((*overlay, "--model", "partition-crash"), "model partition-crash does not use Servable"),
        ((*overlay, "--model", "quorum-reducd"), "no model 'quorum-reducd'"),
    ):
        shown = try_it(tmp_path / "out", *arguments)
        assert shown.exit_code == 3 and said in shown.stderr
        assert len(shown.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "entry", [each for each in CATALOG if each.replacement], ids=lambda e: e.id
)
def test_every_known_bug_could_be_tried(entry: Bug, manifest: Manifest) -> None:
    """The names on both sides are those that `try` compares."""
    models = [m for m in manifest.models.values() if m.bug == entry.id and m.overlays]
    for model in models:
        assert entry.replacement is not None
        prefix = re.sub(r"(?<=\d)\D.*", "_", entry.replacement.__name__)
        put = [old for old, _, new in model.config.substituted if new.startswith(prefix)]
        names = {snake(name.removeprefix("Step_")) for name in put}
        assert names <= set(entry.replaces)
        # An overlay alone has to lead to the bugs of its own protocol.
        (overlay,) = SPECS.rglob(f"bugs/{model.overlays[0]}.tla")
        assert protocol_of(overlay, None) == entry.protocol
