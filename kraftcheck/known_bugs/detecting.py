"""`bugs run`: is each bug found again by everybody who is expected to find it?

By default from stored runs (witnesses.py); with a number of runs, in a campaign of one's own. A
verdict on one bug and one oracle is one of

    found     as expected
    missed    expected, and not found: the detector sleeps
    clean     not expected, and not found: the catalogue says why it cannot be seen so
    surprise  found, though the catalogue does not expect it
    apart     a negative control: its own promise holds, Kafka's default promise does not
    unknown   nothing can be said, with the reason; above all, that the bug was never there

Law of this file: "missed" and "clean" are said only when the bug was there to be found. The verdict
is unknown if nothing ran, and if what the bug replaces was never asked in the runs, or always
answered as the correct rule does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter

import msgspec

from kraftcheck import exits
from kraftcheck.known_bugs import controls, oracles, schedules
from kraftcheck.known_bugs.entries import is_asked_in, manifest_of, models_of, scenario_of
from kraftcheck.known_bugs.oracles import FOUND, KINDS, NOTHING, UNKNOWN, Opinion, Oracle
from kraftcheck.known_bugs.runs import consult, differs, record, record_numbers
from kraftcheck.known_bugs.witnesses import Hunt, Witness, hunt_of
from kraftcheck.osutil.commands import command
from kraftcheck.reference.bugs.bug import Bug
from kraftcheck.reference.bugs.catalog import bug as known_bug
from kraftcheck.reference.runner.run import forget
from kraftcheck.reference.steered.scripts import Script
from kraftcheck.traces.jobs.backends import Pool
from tla_utils import RunOptions

MISSED, CLEAN, SURPRISE, APART = "missed", "clean", "surprise", "apart"

_CODES = {MISSED: exits.VIOLATED, UNKNOWN: exits.UNKNOWN}


class Detection(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one bug and one oracle."""

    bug: str
    oracle: str
    verdict: str
    said: str = ""
    opinion: Opinion | None = None
    replay: str = ""
    """The command that tells the run."""

    @property
    def code(self) -> int:
        return _CODES.get(self.verdict, exits.HOLDS)


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of `bugs run`."""

    oracles: tuple[Oracle, ...] = ()
    runs: int | None = None
    """Of a campaign; None takes the stored runs."""
    seed: int = 1
    scenario: str | None = None
    """Another than the bug's own."""
    full: bool = False
    """TLC searches from the beginning."""
    only_stored: bool = False
    """Detections of which no run is stored are left out."""
    out: Path


Told = Callable[[Detection], None]


def expected(entry: Bug) -> tuple[Oracle, ...]:
    """The oracles that the catalogue expects to find the bug, in the order of ORACLES."""
    return tuple(oracle for oracle in oracles.ORACLES if oracle in entry.detectors)


def wanted_of(
    entry: Bug, asked: Asked, stored: dict[str, dict[str, Witness]]
) -> tuple[Oracle, ...]:
    """The oracles to be asked of a bug.

    Controls are not stored: their first runs show them, to those who can tell them apart; to others
    they are runs as any.
    """
    wanted = asked.oracles or expected(entry)
    if entry.is_control:
        return tuple(oracle for oracle in wanted if oracle in entry.detectors)
    if not asked.only_stored:
        return wanted
    known: set[str] = set(stored.get(entry.id, {}))
    if "tlc" in wanted and models_of(manifest_of(entry.protocol), entry.id):
        known.add("tlc")
    return tuple(oracle for oracle in wanted if oracle in known)


def detect(
    entries: Sequence[Bug],
    asked: Asked,
    stored: dict[str, dict[str, Witness]],
    options: RunOptions,
    told: Told,
) -> list[Detection]:
    """Ask the oracles of these bugs; `told` hears of each detection as it comes."""
    found: list[Detection] = []

    def note(detection: Detection) -> None:
        found.append(detection)
        told(detection)

    for entry in entries:
        for oracle in wanted_of(entry, asked, stored):
            if oracle != "tlc":
                note(_in_runs(entry, oracle, asked, stored.get(entry.id, {})))
        forget()
    by_tlc = [entry for entry in entries if "tlc" in (asked.oracles or expected(entry))]
    if by_tlc:
        _by_tlc(by_tlc, options, asked, note)
    return found


# -- Models


def _by_tlc(entries: Sequence[Bug], options: RunOptions, asked: Asked, note: Told) -> None:
    manifest = manifest_of(*{entry.protocol for entry in entries})
    expects = {entry.id: "tlc" in entry.detectors for entry in entries}
    answered = set()
    for bug, opinion in oracles.tlc(list(expects), manifest, options, asked.full):
        answered.add(bug)
        verdict = _verdict(opinion.verdict, expects[bug])
        if known_bug(bug).is_control and verdict == FOUND:
            verdict = APART
        note(Detection(bug=bug, oracle="tlc", verdict=verdict, said=opinion.said, opinion=opinion))
    for bug in [] if asked.only_stored else sorted(expects.keys() - answered):
        note(_unknown(known_bug(bug), "tlc", "no model is to show this bug"))


def _verdict(said: str, expects: bool) -> str:
    if said == FOUND:
        return FOUND if expects else SURPRISE
    if said == NOTHING:
        return MISSED if expects else CLEAN
    return UNKNOWN


# -- Runs


def _in_runs(entry: Bug, oracle: Oracle, asked: Asked, stored: dict[str, Witness]) -> Detection:
    own = scenario_of(entry)
    hunt = hunt_of(entry, asked.seed)
    if hunt is None:
        return _unknown(entry, oracle, "its protocol has no scenario yet")
    if asked.scenario not in (None, own):
        return _elsewhere(entry, oracle, asked, asked.scenario)
    if entry.is_control:
        return _control(entry, oracle, asked, hunt)
    if asked.runs is not None:
        return _in_campaign(entry, oracle, asked, hunt)
    witness = stored.get(oracle)
    if witness is None:
        said = "no run is stored" if oracle in entry.detectors else "not expected; no run is stored"
        return _unknown(entry, oracle, f"{said}: look for one with --runs")
    folder = asked.out / entry.id / oracle
    if witness.schedule:
        return _in_schedule(entry, oracle, folder, schedules.stored(witness.schedule))
    hunt = witness.hunt_of(hunt)
    place = record_numbers(folder, hunt, KINDS[oracle], [witness.run])
    numbers = range(witness.run, witness.run + 1)
    return _judged(entry, oracle, place, lambda: never_there(entry, hunt, numbers))


def _elsewhere(entry: Bug, oracle: Oracle, asked: Asked, scenario: str) -> Detection:
    """In another scenario than that of the bug's own protocol, of which nothing is stored."""
    own = scenario_of(entry)
    if not is_asked_in(entry, scenario):
        names = ", ".join(entry.replaces) or entry.id
        said = f"scenario {scenario} never asks {names}; try --scenario {own}"
        return _unknown(entry, oracle, said)
    if entry.is_control:
        said = f"it is a configuration of scenario {own}, and told apart there"
        return _unknown(entry, oracle, said)
    if asked.runs is None:
        said = f"no run of scenario {scenario} is stored: look for one with --runs"
        return _unknown(entry, oracle, said)
    return _in_campaign(
        entry, oracle, asked, Hunt(scenario=scenario, bug=entry.id, seed=asked.seed)
    )


def _in_campaign(entry: Bug, oracle: Oracle, asked: Asked, hunt: Hunt) -> Detection:
    assert asked.runs is not None
    of = "" if hunt.scenario == scenario_of(entry) else f"{hunt.scenario}-"
    folder = asked.out / entry.id / f"{of}seed-{asked.seed}-runs-{asked.runs}"
    place = record(folder, hunt, KINDS[oracle], asked.runs, Pool(1))
    numbers = range(asked.runs)
    return _judged(entry, oracle, place, lambda: never_there(entry, hunt, numbers))


def _in_schedule(entry: Bug, oracle: Oracle, folder: Path, script: Script) -> Detection:
    def absent() -> str:
        there = schedules.differs(script, script.bug)
        return "" if there else "the bug was never there: the correct protocol does the same"

    place = schedules.record(folder, script, KINDS[oracle], script.bug)
    return _judged(entry, oracle, place, absent)


def _judged(entry: Bug, oracle: Oracle, place: Path, absent: Callable[[], str]) -> Detection:
    """absent: why these runs say nothing of the bug; empty if it was there."""
    opinion = oracles.judge(oracle, place)
    verdict, said = _verdict(opinion.verdict, oracle in entry.detectors), opinion.said
    if verdict in (MISSED, CLEAN):
        why = absent()
        if why:
            verdict, said = UNKNOWN, why
    replay = ""
    if opinion.run is not None:
        replay = command("replay", place, "--run", opinion.run)
    return Detection(
        bug=entry.id, oracle=oracle, verdict=verdict, said=said, opinion=opinion, replay=replay
    )


def never_there(entry: Bug, hunt: Hunt, numbers: range) -> str:
    """Why these runs say nothing of the bug; empty if it was there."""
    consulted = consult(hunt, numbers)
    if consulted.effective or any(differs(hunt, number) for number in numbers):
        return ""
    names = ", ".join(entry.replaces)
    runs = f"{len(numbers):,} run{'s' if len(numbers) > 1 else ''}"
    if not any(consulted.asked.values()):
        return f"the bug was never there: nobody asked {names} in {runs}"
    times = sum(consulted.asked.values())
    return (
        f"the bug was never there: {names}, asked {times:,} times in {runs}, always answered as "
        "the correct rule does"
    )


def _unknown(entry: Bug, oracle: str, said: str) -> Detection:
    return Detection(bug=entry.id, oracle=oracle, verdict=UNKNOWN, said=said)


# -- Negative controls


def _control(entry: Bug, oracle: Oracle, asked: Asked, hunt: Hunt) -> Detection:
    """A configuration under which less is promised: is the difference seen, and nothing more?"""
    begin = perf_counter()
    runs = asked.runs or controls.RUNS
    found = controls.told_apart(oracle, hunt, runs, asked.out / entry.id)
    if found is None:
        said = f"in {runs} runs nothing breaks what the default configuration promises"
        return Detection(bug=entry.id, oracle=oracle, verdict=MISSED, said=said)
    seconds = round(perf_counter() - begin, 3)
    opinion = msgspec.structs.replace(found, seconds=seconds)
    verdict = APART if found.verdict == FOUND else MISSED
    return Detection(
        bug=entry.id,
        oracle=oracle,
        verdict=verdict,
        said=found.said,
        opinion=opinion,
        replay=command("replay", found.folder, "--run", found.run),
    )
