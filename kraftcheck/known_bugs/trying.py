"""`try`: every detector asked of a substitution of one's own, against the correct protocol.

The models of the kit are checked with the overlay in them; a campaign of the simulator, and stored
schedules, run with the rules in them (own_runs.py). So what comes out is a difference to the
correct protocol, or none that was found.

    broken               a property is violated, a promise is lost, a healed cluster stays stuck
    other steps          nothing of the kind, and steps or states that the correct spec forbids
    no difference found  neither, in what was explored
    unknown              a search did not end, or never met the change; or it takes other steps and
                         nothing tells that this search would find what they break (related.py)

Law of this file: that nothing is broken, or nothing differs, is said of what was explored; it is no
proof, and what was explored stands beside it. Who never met the change has nothing to say of it.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from time import monotonic

import msgspec

from kraftcheck import artifacts, exits
from kraftcheck.exits import BadInput
from kraftcheck.known_bugs.own_bounds import OWN_BOUNDS
from kraftcheck.known_bugs.own_overlay import (
    OwnOverlay,
    cfg_with,
    copied,
    is_instantiated,
    unsuitable,
)
from kraftcheck.known_bugs.own_runs import OfRuns
from kraftcheck.known_bugs.related import Known
from kraftcheck.known_bugs.stories import tell
from kraftcheck.known_bugs.violations import root_module
from kraftcheck.picture import picture, write_page
from tla_utils import Manifest, Model, RunOptions, run_tlc
from tla_utils.config import cfg_text, read_config
from tla_utils.models import job_of

BROKEN, UNKNOWN = "broken", "unknown"
OTHER_STEPS, NO_DIFFERENCE = "other steps, nothing broken", "no difference found"
CODES = {
    BROKEN: exits.VIOLATED,
    OTHER_STEPS: exits.HOLDS,
    NO_DIFFERENCE: exits.HOLDS,
    UNKNOWN: exits.UNKNOWN,
}

VIOLATED, HOLDS, LEFT_OUT = "violated", "holds", "left out"
NEVER_THERE = "the change was never there"
NOT_BEGUN = "not begun within the time limit"
ALLOWED = "the correct spec allows every step, but the runs went otherwise"
LONGER = "give it longer with --minutes, or say with --model which are enough"
LEAST_S = 1.0
"""In less time than a JVM takes to start no model is begun."""


class OfModel(msgspec.Struct, frozen=True, kw_only=True):
    """One model with the overlay in it."""

    model: str
    verdict: str
    property: str | None = None
    length: int | None = None
    distinct: int | None = None
    correct: int | None = None
    """The distinct states of the correct protocol."""
    seconds: float = 0.0
    reason: str = ""
    told: list[str] = []
    """The counterexample in words."""

    @builtins.property
    def differs(self) -> bool:
        """Whether it reaches other states than the correct protocol, as far as counts tell."""
        if self.verdict == HOLDS:
            return self.correct is not None and self.distinct != self.correct
        return self.verdict == VIOLATED


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """All that came of it."""

    verdict: str
    reasons: list[str]
    """Why it is broken or unknown."""
    models: list[OfModel]
    runs: OfRuns | None
    """Of the replaced class's own protocol."""
    known: Known
    """The known bugs of the rules that are replaced."""
    others: list[OfRuns] = []
    """Of protocols that ask the class, too."""

    @builtins.property
    def campaigns(self) -> list[OfRuns]:
        return [*([] if self.runs is None else [self.runs]), *self.others]


# -- Models


def try_models(
    own: OwnOverlay,
    manifest: Manifest,
    models: Sequence[Model],
    options: RunOptions,
    out: Path,
    timeout_s: float,
    told: Callable[[OfModel], None],
    fail_fast: bool = False,
    bug: str | None = None,
) -> list[OfModel]:
    """Check each model with the overlay in it; `told` hears of each as it comes.

    bug: what the change is called in the reference, which then follows counterexamples with it.
    timeout_s: for all of them. A model has half of what is left for as long as others wait.
    fail_fast: check none after the first that is violated.
    """
    found, end = [], monotonic() + timeout_s
    for at, model in enumerate(models):
        left = end - monotonic()
        reason = unsuitable(own, model)
        if reason:
            said = OfModel(model=model.name, verdict=LEFT_OUT, reason=reason)
        elif left < LEAST_S:
            said = OfModel(model=model.name, verdict=UNKNOWN, reason=NOT_BEGUN)
        else:
            share = round(left if at + 1 == len(models) else left / 2, 1)
            said = _try_model(own, manifest, model, options, out, share, bug)
        found.append(said)
        told(said)
        if fail_fast and said.verdict == VIOLATED:
            break
    return found


def _try_model(
    own: OwnOverlay,
    manifest: Manifest,
    model: Model,
    options: RunOptions,
    out: Path,
    timeout_s: float,
    bug: str | None,
) -> OfModel:
    cfg = out / f"{model.name}.cfg"
    copy = is_instantiated(own, manifest, model)
    text = cfg_text(model.config) if copy else cfg_with(own, manifest, model)
    config = read_config(text)
    artifacts.write_whole(cfg, text)
    if copy:
        libraries = [copied(own, manifest.libraries, out), *manifest.libraries]
    else:
        libraries = [*manifest.libraries, own.path.parent]
    job = replace(
        job_of(manifest, model, options),
        module=root_module("Tried", [model.module, *([] if copy else [own.module])]),
        cfg=cfg,
        libraries=libraries,
        workers=1,
        timeout_s=timeout_s,
        long=False,
    )
    result = run_tlc(job)
    if result.kind == "error" and copy:
        # It may use what the module defines further below, or have other constants there.
        reason = f"it instantiates {', '.join({of for of, _ in own.replaced.values()})}, and TLC "
        reason += f"cannot use the change there: {result.reason}"
        return OfModel(model=model.name, verdict=LEFT_OUT, reason=reason)
    if result.kind == "error":
        raise BadInput(f"{own.path}: TLC cannot use it in model {model.name}: {result.reason}")
    correct = model.distinct
    if model.tier == OWN_BOUNDS and result.verdict == HOLDS:
        job = replace(job, module=root_module("Correct", [model.module]))
        job = replace(job, cfg=cfg_text(model.config), libraries=manifest.libraries)
        correct = run_tlc(job).distinct
    with_own = replace(model, overlays=() if copy else (own.module,), config=config)
    story = tell(manifest, with_own, result, bug)
    if story.run is not None:
        page = out / drawn_in(model.name)
        write_page(page, picture(str(page), story.run, {}, story.lines[-1:]))
    return OfModel(
        model=model.name,
        verdict=result.verdict,
        property=result.property or ("deadlock" if result.kind == "deadlock" else None),
        length=len(result.counterexample) or None,
        distinct=result.distinct,
        correct=correct,
        seconds=round(result.seconds, 1),
        reason=result.reason,
        told=story.lines,
    )


def drawn_in(model: str) -> str:
    """The name of the file that draws the counterexample of a model."""
    return f"{model}.html"


# -- Together


def concluded(
    models: list[OfModel],
    runs: OfRuns | None,
    known: Known,
    others: Sequence[OfRuns] = (),
    *,
    chosen: bool = False,
) -> Tried:
    """The verdict on all of it. chosen: somebody said how far it is to look."""
    campaigns = [*([] if runs is None else [runs]), *others]
    broken = [f"{each.property} (model {each.model})" for each in models if _breaks(each)]
    late = [each for each in models if each.verdict == UNKNOWN and "time limit" in each.reason]
    undecided = [
        f"model {m.model}: {m.reason}" for m in models if m.verdict == UNKNOWN and m not in late
    ]
    if late:
        undecided.append(f"not searched to the end in time: {', '.join(m.model for m in late)}")
    ended = [each for each in models if each.verdict not in (UNKNOWN, LEFT_OUT)]
    if models and all(each.verdict == LEFT_OUT for each in models):
        undecided.append(f"models: all are left out: {models[0].reason}")
    if ended and not any(each.differs for each in ended):
        which = "they" if len(ended) == len(models) else "those that ended"
        undecided.append(f"models: {NEVER_THERE}: {which} have the states of the correct protocol")
    for of in campaigns:
        broken += [f"{each.what} ({each.oracle}{_of(of, runs)})" for each in of.broken]
        undecided += of.undecided
    if campaigns and all(of.never for of in campaigns):
        undecided.append(f"runs: {NEVER_THERE}: {campaigns[0].never}")
    other = any(each.differs for each in models) or any(of.differs for of in campaigns)
    if other and not chosen:
        undecided += _worthless(known)
    verdict, reasons = NO_DIFFERENCE, []
    if late or not all(of.ended for of in campaigns):
        undecided.append(LONGER)
    if broken:
        verdict, reasons = BROKEN, broken
    elif undecided:
        verdict, reasons = UNKNOWN, undecided
    elif other:
        verdict = OTHER_STEPS
    elif any(of.measures for of in campaigns):
        reasons = [ALLOWED]
    return Tried(
        verdict=verdict,
        reasons=reasons,
        models=models,
        runs=runs,
        known=known,
        others=[*others],
    )


def _of(found: OfRuns, own: OfRuns | None) -> str:
    """Whose runs they are, where they are not those of the replaced class's own protocol."""
    return "" if found is own else f" of {found.scenario}"


def _worthless(known: Known) -> Iterator[str]:
    """Why that nothing was broken says nothing."""
    further = "look further with --tier medium, or say with --model what is far enough"
    if not known.bugs:
        yield f"it takes other steps, and no known bug tells how far one has to look: {further}"
    elif known.missed:
        missed = ", ".join(known.missed)
        yield f"it takes other steps, and this search does not find {missed} either: {further}"


def _breaks(found: OfModel) -> bool:
    return found.verdict == VIOLATED
