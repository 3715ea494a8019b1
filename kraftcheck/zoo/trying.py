"""`try`: every detector asked of a substitution of one's own, against the correct protocol.

The models of the kit are checked with the overlay in them, and a campaign of the simulator runs
with the rules in it; its steps are held against the correct spec, its clients against what they
were promised. So what comes out is a difference to the correct protocol, or none that was found.

    broken               a property is violated, a promise is lost, a healed cluster stays stuck
    other steps          nothing of the kind, and steps or states that the correct spec forbids
    no difference found  neither, in what was explored
    unknown              a search did not end, or the change was never there to be seen

Law of this file: that nothing is broken, or nothing differs, is said of what was explored; it is no
proof, and what was explored stands beside it.
"""

from __future__ import annotations

import builtins
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from kraftcheck import artifacts, exits
from kraftcheck.exits import BadInput
from kraftcheck.judgement import Options
from kraftcheck.judging_logs import judge_trace
from kraftcheck.zoo import oracles, stories
from kraftcheck.zoo.own_overlay import OwnOverlay, cfg_with, unsuitable
from kraftcheck.zoo.own_rules import OwnRules, known
from kraftcheck.zoo.runs import UNWATCHED, WATCHED, Hunt, consult, record
from reference.sim.narrate import narrate
from tla_utils import Manifest, Model, RunOptions, TlcJob, TlcResult, ToolError, run_tlc
from traces.jobs.backends import Pool
from traces.jobs.conform import ConformOptions, conform

BROKEN, UNKNOWN = "broken", "unknown"
OTHER_STEPS, NO_DIFFERENCE = "other steps, nothing broken", "no difference found"
CODES = {
    BROKEN: exits.VIOLATED,
    OTHER_STEPS: exits.HOLDS,
    NO_DIFFERENCE: exits.HOLDS,
    UNKNOWN: exits.UNKNOWN,
}

VIOLATED, HOLDS, LEFT_OUT = "violated", "holds", "left out"


class OfModel(msgspec.Struct, frozen=True, kw_only=True):
    """One model with the overlay in it. correct: the distinct states of the correct protocol.

    told: the counterexample in words.
    """

    model: str
    verdict: str
    property: str | None = None
    length: int | None = None
    distinct: int | None = None
    correct: int | None = None
    seconds: float = 0.0
    reason: str = ""
    told: list[str] = []

    @builtins.property
    def differs(self) -> bool:
        """Whether it reaches other states than the correct protocol, as far as counts tell."""
        if self.verdict == HOLDS:
            return self.correct is not None and self.distinct != self.correct
        return self.verdict == VIOLATED


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Something found in runs. what: in a few words. runs: in how many. run: the first of them."""

    oracle: str
    what: str
    runs: int
    run: int
    said: str = ""


class OfRuns(msgspec.Struct, frozen=True, kw_only=True):
    """A campaign with the rules in it. asked, differed: how often each replaced rule was asked in
    distinct steps, and answered otherwise than the correct one.
    """

    scenario: str
    seed: int
    runs: int
    asked: dict[str, int]
    differed: dict[str, int]
    broken: list[Finding]
    forbidden: list[Finding]
    undecided: list[str]


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """All that came of it. reasons: why it is broken or unknown."""

    verdict: str
    reasons: list[str]
    models: list[OfModel]
    runs: OfRuns | None


# -- Models


def try_models(
    own: OwnOverlay,
    manifest: Manifest,
    models: Sequence[Model],
    options: RunOptions,
    out: Path,
    timeout_s: float,
    told: Callable[[OfModel], None],
) -> list[OfModel]:
    """Check each model with the overlay in it; `told` hears of each as it comes."""
    found = []
    for model in models:
        reason = unsuitable(own, manifest, model)
        if reason:
            said = OfModel(model=model.name, verdict=LEFT_OUT, reason=reason)
        else:
            said = _try_model(own, manifest, model, options, out, timeout_s)
        found.append(said)
        told(said)
    return found


def _try_model(
    own: OwnOverlay,
    manifest: Manifest,
    model: Model,
    options: RunOptions,
    out: Path,
    timeout_s: float,
) -> OfModel:
    cfg = out / f"{model.name}.cfg"
    artifacts.write_whole(cfg, cfg_with(own, manifest, model))
    job = TlcJob(
        module=stories.root_module("Tried", [model.module, own.module], ""),
        cfg=cfg,
        libraries=[*manifest.libraries, own.path.parent],
        heap_mb=model.heap_mb,
        timeout_s=timeout_s,
        deadlock=model.deadlock,
        java=options.java,
        jar=options.jar,
    )
    result = run_tlc(job)
    if result.kind == "error":
        raise BadInput(f"{own.path}: TLC cannot use it in model {model.name}: {result.reason}")
    with_own = replace(model, overlays=(own.module,), config=str(cfg.absolute()))
    return OfModel(
        model=model.name,
        verdict=result.verdict,
        property=result.property or ("deadlock" if result.kind == "deadlock" else None),
        length=len(result.counterexample) or None,
        distinct=result.distinct,
        correct=model.distinct,
        seconds=round(result.seconds, 1),
        reason=result.reason,
        told=_story(own, manifest, with_own, result, options),
    )


def _story(
    own: OwnOverlay, manifest: Manifest, model: Model, result: TlcResult, options: RunOptions
) -> list[str]:
    states = result.counterexample
    if not states:
        return []
    try:
        ways = stories.ways(manifest, model, states, options, [own.path.parent])
    except ToolError:
        # The tellers know the steps of the correct protocol; one's own may be others.
        ways = None
    return [*stories.narrated(states, ways), *stories.ending(result)]


# -- Runs


def try_runs(own: OwnRules, runs: int, seed: int, out: Path) -> OfRuns:
    """A campaign with the rules in it, judged by every detector that needs runs.

    Raises BadInput: the rules fail, or answer what the simulator cannot use.
    """
    with known(own) as entry:
        hunt = Hunt(scenario=own.scenario, bug=entry.id, seed=seed)
        folder = out / entry.id / f"seed-{seed}-runs-{runs}"
        try:
            return _judged(hunt, runs, folder, out)
        except (ToolError, BadInput, OSError):
            raise
        except Exception as error:
            raise BadInput(_blamed(own, error)) from None


def _blamed(own: OwnRules, error: Exception) -> str:
    place, at = error.__traceback__, ""
    while place is not None:
        if place.tb_frame.f_code.co_filename == str(own.path):
            at = f", line {place.tb_lineno}"
        place = place.tb_next
    return f"{own.path}{at}: a run with it cannot be taken: {type(error).__name__}: {error}"


def _judged(hunt: Hunt, runs: int, folder: Path, out: Path) -> OfRuns:
    watched = record(folder, hunt, WATCHED, runs, Pool(1))
    unwatched = record(folder, hunt, UNWATCHED, runs, Pool(1))
    broken, undecided = [*_invariants(watched)], list[str]()
    levels, reason = lost_levels(unwatched)
    broken += levels
    undecided += reason
    stuck = oracles.judge("progress", unwatched)
    if stuck.run is not None:
        what = f"a healed cluster stays stuck: {stuck.said}"
        count = len(stuck.found_runs)
        broken.append(Finding(oracle="progress", what=what, runs=count, run=stuck.run))
    forbidden, reason = _forbidden(watched)
    undecided += reason
    for each in [*broken, *forbidden]:
        kind = UNWATCHED if each.oracle in ("histories", "progress") else WATCHED
        text = "\n".join(narrate(hunt.run(kind, each.run)))
        artifacts.write_whole(out / f"{each.oracle}-run-{each.run}.txt", text + "\n")
    consulted = consult(hunt, range(runs), until_effective=False)
    return OfRuns(
        scenario=hunt.scenario,
        seed=hunt.seed,
        runs=runs,
        asked=dict(sorted(consulted.asked.items())),
        differed=dict(sorted(consulted.differed.items())),
        broken=broken,
        forbidden=forbidden,
        undecided=undecided,
    )


def _invariants(folder: Path) -> list[Finding]:
    """One for each invariant that some run violates."""
    rows = [row for row in oracles.run_rows(folder, ["run", "violations"]) if row["violations"]]
    first: dict[str, tuple[int, str]] = {}
    for row in rows:
        for each in row["violations"]:
            first.setdefault(each["invariant"], (row["run"], each["explanation"]))
    counts = Counter(
        name for row in rows for name in {each["invariant"] for each in row["violations"]}
    )
    return [
        Finding(oracle="invariants", what=name, runs=counts[name], run=run, said=said)
        for name, (run, said) in first.items()
    ]


def lost_levels(folder: Path) -> tuple[list[Finding], list[str]]:
    """One for each pair of a level that was promised and one that was kept."""
    judged, _ = judge_trace(folder, Options())
    lost: dict[str, list[Any]] = {}
    for each in judged[1:]:
        if each.verdict == "violated":
            what = f"promised {each.promised}, kept {each.level or 'no level'}"
            lost.setdefault(what, []).append(each)
    found = [
        Finding(
            oracle="histories",
            what=what,
            runs=len(bad),
            run=int(bad[0].file.rpartition("#")[2]),
            said=bad[0].certificate.sentence if bad[0].certificate else bad[0].reason or "",
        )
        for what, bad in lost.items()
    ]
    unknown = judged[0].verdict == "unknown"
    return found, [f"histories: {judged[0].reason or 'undecided'}"] if unknown else []


def _forbidden(folder: Path) -> tuple[list[Finding], list[str]]:
    """One for each action of which the correct spec forbids a step."""
    options = ConformOptions(backend=Pool(1), explain=oracles.EXPLAINED)
    summary = conform(folder, options).summary
    by_action: dict[str, list[dict[str, Any]]] = {}
    for each in summary["rejections"]:
        by_action.setdefault(each["action"], []).append(each)
    found = []
    for action, steps in by_action.items():
        first = steps[0]
        said = (first.get("differences") or [first.get("reason") or ""])[0]
        runs = max(each["runs"] for each in steps)
        found.append(Finding(oracle="steps", what=action, runs=runs, run=first["run"], said=said))
    unjudged = summary["unknown_steps"]
    return found, [f"steps: {unjudged} could not be judged"] if unjudged else []


# -- Together


def concluded(models: list[OfModel], runs: OfRuns | None) -> Tried:
    """The verdict on all of it."""
    broken = [f"{each.property} (model {each.model})" for each in models if _breaks(each)]
    undecided = [f"model {m.model}: {m.reason}" for m in models if m.verdict == UNKNOWN]
    if runs is not None:
        broken += [f"{each.what} ({each.oracle})" for each in runs.broken]
        undecided += runs.undecided
    verdict, reasons = NO_DIFFERENCE, []
    if broken:
        verdict, reasons = BROKEN, broken
    elif undecided:
        verdict, reasons = UNKNOWN, undecided
    elif not seen(models, runs):
        verdict, reasons = UNKNOWN, ["the change was never there: nothing explored depends on it"]
    elif any(each.differs for each in models) or (runs is not None and runs.forbidden):
        verdict = OTHER_STEPS
    return Tried(verdict=verdict, reasons=reasons, models=models, runs=runs)


def _breaks(found: OfModel) -> bool:
    return found.verdict == VIOLATED


def seen(models: Sequence[OfModel], runs: OfRuns | None) -> bool:
    """Whether the change made a difference to anything: a state, or an answer of a rule."""
    answered = runs is not None and any(runs.differed.values())
    return answered or any(each.differs for each in models)
