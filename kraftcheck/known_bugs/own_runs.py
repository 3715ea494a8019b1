"""Runs with rules of one's own in them, held against the correct protocol by every detector.

A campaign of the simulator, and every stored schedule of the protocol (schedules.py). Their steps
are held against the correct spec, their clients against what they were promised. Where neither met
the change, inputs that no run gave are tried on rows of runs (attempts.py): that is a hint and no
verdict, since perhaps no cluster comes there.

Law of this file: what the correct protocol shows as well, in the run of the same seed or in the
same schedule, is not the change's, and is told apart.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from itertools import chain
from math import inf
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from kraftcheck import artifacts, exits
from kraftcheck.exits import BadInput
from kraftcheck.known_bugs import attempts, schedules
from kraftcheck.known_bugs.oracles import (
    HISTORIES,
    INVARIANTS,
    JUDGES,
    KINDS,
    PROGRESS,
    STEPS,
    Shown,
)
from kraftcheck.known_bugs.own_measures import Measure, measured
from kraftcheck.known_bugs.own_overlay import OwnOverlay, under
from kraftcheck.known_bugs.own_rules import OwnRules, known
from kraftcheck.known_bugs.runs import consult_runs, differs, record, record_numbers
from kraftcheck.known_bugs.witnesses import UNWATCHED, WATCHED, Hunt
from kraftcheck.picture import picture, write_page
from kraftcheck.reference.bugs.bug import BASES
from kraftcheck.reference.bugs.catalog import handlers_for
from kraftcheck.reference.bugs.probing import Consulted
from kraftcheck.reference.protocols import PROTOCOLS, asks, parts_of
from kraftcheck.reference.runner.narrate import narrate, render_input
from kraftcheck.reference.runner.run import Run
from kraftcheck.reference.runner.scenarios import FAMILIES
from kraftcheck.reference.steered.scripts import Script
from kraftcheck.replay import annotated, conclusion, rejected_steps
from kraftcheck.screen import Screen
from kraftcheck.traces.counterexamples.departures import departs
from kraftcheck.traces.jobs.backends import Pool
from kraftcheck.traces.jobs.conform import ConformOptions, conform
from tla_utils import ToolError

QUIET: Final = Screen(quiet=True)


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Something found."""

    oracle: str
    what: str
    """In a few words."""
    runs: int
    """In how many."""
    run: int
    """The first of them."""
    said: str = ""
    schedule: str = ""
    """Where they are schedules and not runs of the campaign, the first's name."""

    @property
    def told_in(self) -> str:
        """The name of the file that tells it; the page that draws it is beside, as `.html`."""
        of = self.schedule.removesuffix(".moves") or f"run-{self.run}"
        return f"{self.oracle}-{of}.txt"


class OfRuns(msgspec.Struct, frozen=True, kw_only=True):
    """A campaign, and so many stored schedules, with the rules in them.

    runs, schedules: how many were judged for violations; steps may be unjudged, as `undecided`
    says. asked, differed: how often each replaced rule was asked in distinct steps, and answered
    otherwise than the correct one.
    """

    scenario: str
    seed: int
    runs: int
    schedules: int
    asked: dict[str, int]
    differed: dict[str, int]
    broken: list[Finding]
    forbidden: list[Finding]
    shared: list[Finding]
    """What the correct protocol shows as well, and so is not the change's."""
    undecided: list[str]
    ended: bool = True
    """Whether all of them were judged within the time."""
    never: str = ""
    """Why all of this says nothing of the change; empty if it was met."""
    measures: list[Measure] = []
    """Of a change that was met and broke nothing."""
    judges_steps: bool = True
    """Whether a specification judges all steps."""

    @property
    def differs(self) -> bool:
        """Say whether the change takes other steps than the correct protocol.

        Where no specification judges them: whether rules answered otherwise.
        """
        return bool(self.forbidden) or (not self.judges_steps and any(self.differed.values()))


class Wanted(NamedTuple):
    """What is to be tried of a change.

    runs, seed: of the campaign.
    """

    runs: int
    seed: int
    scenario: str = ""
    """Whose runs; empty: those of the replaced class's own protocol."""
    options: Mapping[str, Any] = {}
    """That all runs have."""
    fail_fast: bool = False
    """Nothing is judged after the first violation."""


def scenarios_of(own: OwnRules) -> list[str]:
    """The scenario of the replaced class's protocol, and those of protocols that ask the class."""
    if beside := BASES[own.base].beside:
        return [own.scenario, *beside]
    others = [p.name for p in PROTOCOLS if asks(p, own.scenario) and p.name in FAMILIES]
    return [own.scenario, *(each for each in others if each != own.scenario)]


def not_begun(wanted: Wanted) -> OfRuns:
    """A campaign for which there was no time."""
    return OfRuns(
        scenario=wanted.scenario,
        seed=wanted.seed,
        runs=0,
        schedules=0,
        asked={},
        differed={},
        broken=[],
        forbidden=[],
        shared=[],
        undecided=[f"runs of {wanted.scenario}: not begun within the time limit"],
        ended=False,
    )


def try_runs(
    own: OwnRules,
    wanted: Wanted,
    out: Path,
    overlay: OwnOverlay | None = None,
    screen: Screen = QUIET,
    timeout_s: float = inf,
) -> OfRuns:
    """A campaign and the stored schedules with the rules in them, judged by every detector.

    Args:
        own: the rules.
        wanted: which runs.
        out: the folder for them.
        overlay: what is said to be the same change on the side of the specs.
        screen: shows progress, and violations as they are found.
        timeout_s: what is not judged by then is not.

    Raises:
        BadInput: the rules fail, or answer what the simulator cannot use, or take a step that the
            overlay forbids.
    """
    with known(own) as entry:
        hunt = Hunt(
            scenario=wanted.scenario or own.scenario,
            bug=entry.id,
            seed=wanted.seed,
            options=dict(wanted.options),
        )
        try:
            return _tried(own, hunt, wanted, out, overlay, screen, timeout_s)
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


def _tried(
    own: OwnRules,
    hunt: Hunt,
    wanted: Wanted,
    out: Path,
    overlay: OwnOverlay | None,
    screen: Screen,
    timeout_s: float,
) -> OfRuns:
    scripts = {} if hunt.options else dict(schedules.every(hunt.scenario))
    runs, played = wanted.runs, False
    found, consulted, never = _Findings(screen, wanted.fail_fast), Consulted(), ""
    measures = list[Measure]()
    try:
        with exits.within(timeout_s), screen.progress("runs and schedules", 3) as meter:
            other = {
                name: script
                for name, script in scripts.items()
                if schedules.differs(script, hunt.bug)
            }
            # First what is soon over: where time is short, it tells of what is known to go wrong.
            if other:
                say = partial(meter.update, 0)
                _schedules(other, hunt.bug, out).judge(found, overlay, say)
            played = True
            if not found.enough:
                _campaign(hunt, runs, out).judge(found, overlay, partial(meter.update, 1))
            if not found.enough:
                meter.update(2, "what asked the rules")
                consulted, met = _consulted(hunt, runs, scripts)
                met = met or bool(other)
                of = f"{runs:,} runs and {len(scripts)}"
                never = "" if met else _never(own, hunt, consulted, of)
                if met and all(each.oracle == STEPS for each in found.own):
                    measures = [e for e in measured(hunt, runs) if e.correct != e.changed]
            meter.update(3)
        ended = True
    except exits.TimeOver:
        ended = False
        of = "the campaign" if played else "the stored schedules"
        found.undecided.append(
            f"runs of {hunt.scenario}: stopped after the time limit of {timeout_s:.0f} s, within "
            f"{of}; fewer runs (--runs) take less"
        )
    # Told is first what anybody meets.
    own_found = sorted(found.own, key=lambda each: bool(each.schedule))
    return OfRuns(
        scenario=hunt.scenario,
        seed=hunt.seed,
        runs=found.runs,
        schedules=len(scripts) if played else 0,
        asked=dict(sorted(consulted.asked.items())),
        differed=dict(sorted(consulted.differed.items())),
        broken=[each for each in own_found if each.oracle != STEPS],
        forbidden=[each for each in own_found if each.oracle == STEPS],
        shared=found.shared,
        undecided=found.undecided,
        ended=ended,
        never=never,
        measures=measures,
    )


def _consulted(hunt: Hunt, runs: int, scripts: Mapping[str, Script]) -> tuple[Consulted, bool]:
    """How often the rules were asked, and whether any run met the change."""
    steered = (schedules.run(script, WATCHED, hunt.bug) for script in scripts.values())
    taken = (hunt.run(WATCHED, number) for number in range(runs))
    found = consult_runs(hunt.bug, chain(taken, steered), until_effective=False)
    return found, found.effective or any(differs(hunt, number) for number in range(runs))


def _never(own: OwnRules, hunt: Hunt, consulted: Consulted, of: str) -> str:
    """What was asked in vain, and whether the change shows on inputs that no run gave."""
    names, times = ", ".join(own.names), sum(consulted.asked.values())
    asked = f"{names}, asked {times:,} times in {of} stored schedules, always answered alike"
    if not times:
        asked = f"nobody asked {names} in {of} stored schedules"
    assert hunt.bug is not None
    [protocol] = parts_of(hunt.scenario)
    tried = attempts.differing(protocol.rules[0].__name__, hunt.bug, hunt.seed)
    of_them = f"{len(tried.steps):,} of {tried.tried:,} inputs that no run gave"
    if not tried.steps:
        return f"{asked}; it makes no difference to {tried.tried:,} inputs that no run gave"
    first = tried.steps[0]
    return f"{asked}; it makes a difference to {of_them}, such as {render_input(first.input)}"


# -- The campaign, or the schedules


class _Source(NamedTuple):
    """Runs with the change, and those of the correct protocol that are their control."""

    recorded: Callable[[str], Path]
    """The trace of a kind."""
    control: Callable[[str, Iterable[int]], Path]
    """The same, of the correct protocol and these runs alone."""
    run: Callable[[str, int], Run]
    """One of them."""
    out: Path
    taken: int = 0
    """How many there are."""
    schedules: Sequence[str] = ()
    """Their names by number, where they are schedules."""

    def judge(
        self, found: _Findings, overlay: OwnOverlay | None, progress: Callable[[str], None]
    ) -> None:
        """Ask every detector; what the control shows too is told apart."""
        of = f"{len(self.schedules)} schedules: " if self.schedules else "runs: "

        def say(what: str) -> None:
            progress(of + what)

        say("are taken")
        for kind in (WATCHED, UNWATCHED):
            folder = self.recorded(kind)
            say("invariants" if kind == WATCHED else "what clients saw")
            self._violations(kind, folder, found)
        found.runs += 0 if self.schedules else self.taken
        if found.enough:
            return
        if overlay is not None:
            say("against the overlay")
            self._hold_together(overlay)
        say("steps")
        forbidden, undecided = _forbidden(self.recorded(WATCHED), self._is_correct)
        found.undecided += undecided
        for each, is_correct in forbidden:
            self._note(found.shared if is_correct else found.own, each)
            found.tell()

    def _violations(self, kind: str, folder: Path, found: _Findings) -> None:
        """What is broken in these runs, and not in those of the correct protocol."""
        shown, undecided = _shown(kind, folder)
        found.undecided += undecided
        control = list[Shown]()
        if red := {run for each in shown for run in each.said}:
            control, undecided = _shown(kind, self.control(kind, red))
            found.undecided += [f"the correct protocol: {each}" for each in undecided]
        for each in shown:
            too = {run for other in control if _alike(each, other) for run in other.said}
            self._note(found.own, each._replace(said=_without(each.said, too)))
            self._note(
                found.shared, each._replace(said=_without(each.said, each.said.keys() - too))
            )
            found.tell()

    def _is_correct(self, run: int, number: int) -> bool:
        """Whether the correct protocol takes this step, too."""
        made = self.run(WATCHED, run)
        return not departs(made.steps[number], handlers_for(None, made.result.constants))

    def _named(self, run: int) -> str:
        return self.schedules[run] if self.schedules else ""

    def _hold_together(self, overlay: OwnOverlay) -> None:
        """Raises BadInput: the two sides of a change are not the same, and where they part."""
        folder = self.recorded(WATCHED)
        place = artifacts.claim(folder / "overlay")
        options = ConformOptions(
            backend=Pool(1), explain=1, out=place, under=partial(under, overlay, place)
        )
        for each in conform(folder, options).summary["rejections"]:
            run = each["run"]
            where = f"schedule {self._named(run)}" if self.schedules else f"run {run}"
            said = (each.get("differences") or [each.get("reason") or ""])[0]
            raise BadInput(
                f"{overlay.path.name} and the rules are two changes: {where}, step {each['step']}: "
                f"the rules take {each['action']} otherwise than the overlay: {said}"
            )

    def _note(self, findings: list[Finding], shown: Shown) -> None:
        if not shown.said:
            return
        first = min(shown.said)
        finding = Finding(
            oracle=shown.oracle,
            what=shown.what,
            runs=max(shown.runs, len(shown.said)),
            run=first,
            said=shown.said[first],
            schedule=self._named(first),
        )
        findings.append(finding)
        run = self.run(KINDS[shown.oracle], first)
        notes = rejected_steps(self.recorded(WATCHED), first) if shown.oracle == STEPS else {}
        # What invariants and steps say, the run and the notes say.
        what = [finding.what] if shown.oracle in (HISTORIES, PROGRESS) else []
        what += [finding.said] if what and finding.said else []
        text = "\n".join([*annotated(narrate(run), notes), *conclusion(run, notes)])
        told = self.out / finding.told_in
        artifacts.write_whole(told, text + "\n")
        write_page(told.with_suffix(".html"), picture(str(told), run, notes, what))


class _Findings:
    """All findings: those of the change, and those that it shares with the correct protocol.

    runs: of the campaign, judged for violations.
    """

    def __init__(self, screen: Screen, fail_fast: bool) -> None:
        self.own: list[Finding] = []
        self.shared: list[Finding] = []
        self.undecided: list[str] = []
        self.runs = 0
        self._screen, self._fail_fast, self._told = screen, fail_fast, 0

    @property
    def enough(self) -> bool:
        """Whether nobody wants to know of more."""
        return self._fail_fast and any(each.oracle != STEPS for each in self.own)

    def tell(self) -> None:
        """Show the findings that were not shown yet, before all else is judged."""
        for each in self.own[self._told :]:
            where = each.schedule or f"run {each.run}"
            label = "other step" if each.oracle == STEPS else "violated"
            self._screen.note(f"{label}: {each.what} ({each.oracle}, first in {where})")
        self._told = len(self.own)


def _alike(one: Shown, other: Shown) -> bool:
    """Whether what is broken is the same: the invariant, the promise, or the progress."""
    same = one.oracle != INVARIANTS or one.what == other.what
    return one.oracle == other.oracle and same


def _without(said: dict[int, str], runs: Iterable[int]) -> dict[int, str]:
    left_out = set(runs)
    return {run: words for run, words in said.items() if run not in left_out}


def _campaign(hunt: Hunt, runs: int, out: Path) -> _Source:
    assert hunt.bug is not None
    given = "".join(f"-{name}-{value}" for name, value in sorted(hunt.options.items()))
    place = f"{hunt.scenario}-seed-{hunt.seed}-runs-{runs}{re.sub('[^A-Za-z0-9.-]', '_', given)}"
    folder = artifacts.claim(out / hunt.bug / place)
    twin = msgspec.structs.replace(hunt, bug=None)

    def control(kind: str, numbers: Iterable[int]) -> Path:
        return record_numbers(folder / "correct", twin, kind, numbers)

    def own(kind: str) -> Path:
        return record(folder, hunt, kind, runs, Pool(1))

    return _Source(own, control, hunt.run, out, runs)


def _schedules(scripts: Mapping[str, Script], bug: str | None, out: Path) -> _Source:
    assert bug is not None
    machine = next(iter(scripts.values())).machine
    folder = artifacts.claim(out / bug / f"schedules-{machine}")
    numbered = dict(enumerate(scripts.values()))

    @cache
    def own(kind: str) -> Path:
        return schedules.record_all(folder, numbered, kind, bug)

    def control(kind: str, numbers: Iterable[int]) -> Path:
        wanted = {number: numbered[number] for number in numbers}
        return schedules.record_all(folder / "correct", wanted, kind, None)

    def run(kind: str, number: int) -> Run:
        return schedules.run(numbered[number], kind, bug)

    return _Source(own, control, run, out, len(scripts), [*scripts])


# -- What the detectors say


def _shown(kind: str, folder: Path) -> tuple[list[Shown], list[str]]:
    """What all but the step relation say of runs of this kind; and what could not be judged."""
    found, undecided = list[Shown](), list[str]()
    for oracle in (INVARIANTS, HISTORIES, PROGRESS):
        if KINDS[oracle] == kind:
            shown, left = JUDGES[oracle](folder)
            found += shown
            undecided += [f"{oracle}: {left}"] if left else []
    return found, undecided


def _forbidden(
    folder: Path, is_correct: Callable[[int, int], bool]
) -> tuple[list[tuple[Shown, bool]], list[str]]:
    """List the actions of which the correct spec forbids a step.

    Each says whether the correct protocol takes that step, too. Also gives what could not be
    judged.
    """
    shown, undecided = JUDGES[STEPS](folder)
    found: dict[tuple[str, bool], Shown] = {}
    for each in shown:
        [(run, said)] = each.said.items()
        assert each.step is not None, "a step is refused"
        key = each.what, is_correct(run, each.step)
        known_of = found.setdefault(key, each)
        known_of.said.setdefault(run, said)
        found[key] = known_of._replace(runs=max(known_of.runs, each.runs))
    left = [f"{STEPS}: {undecided}"] if undecided else []
    return [(each, shared) for (_, shared), each in found.items()], left
