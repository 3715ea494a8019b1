"""Guided campaigns against plain ones, at equal CPU time: what they meet, and bugs they find.

    python -m benchmarks.guided [--scenario S ... | --file F.toml] [--seconds N] [--seeds N]
                                [--generation N] [--stretch N ...] [--bugs ID ...]

All simulate some runs at a time, in one process that knows nothing yet, and find the classes of
their steps; the guided one also looks for what is new and makes its next generation. That is timed,
and nothing else: not the judges, which are the same for both. With --stretch, plain campaigns of
which every run is so many times as long are a third way, and a fourth: what guidance would come to
if it had known. Without --bugs, by CPU second: distinct classes, and sometimes conditions that were
met (asked when the clock has stopped, where nobody is guided by them). With --bugs: CPU seconds
until a generation holds a run that breaks an invariant or makes no progress, or a step that TLC
refuses. TLC is asked about steps that the correct reference, in the same row, would not have taken;
what it does take is allowed.

Figures are medians over the seeds, with the least and the largest: of six seeds these two hold the
median of all with a chance of 97 %.
"""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from reference.bugs.catalog import UnknownBug, bug, bugs_of
from reference.runner.run import forget, simulate_genomes, simulate_part
from reference.sim.choices import run_seed
from reference.sim.options import STRETCH
from reference.steered.moves import NodeStep
from reference.steered.scripts import Script
from traces.counterexamples.relation import Relation
from traces.jobs import distinct, novelty
from traces.jobs.allowed import Allowed
from traces.jobs.columns import Part
from traces.jobs.distinct import Classes
from traces.jobs.guidance import Corpus, genomes_table
from traces.jobs.plan import read_file
from traces.jobs.protocols import decode_step_constants
from traces.schema import PROGRESSED, STOPPED, PartTables
from traces.store import Campaign

SECONDS, SEEDS, GENERATION = 30.0, 3, 32
"""A generation is as large as that of a guided campaign of 1,280 runs at most."""
PLAIN, GUIDED = "plain", "guided"
SCENARIOS = ("quorum", "partition", "cluster", "transactions")


def stretched(times: int) -> str:
    """A plain campaign of which every run is so many times as long."""
    return f"{PLAIN} x{times}"


class Generation(NamedTuple):
    """What came of a generation. seconds: CPU time from the beginning, judges left out."""

    seconds: float
    tables: PartTables
    part: Part
    classes: Classes
    decided: list[frozenset[str]]


def generations(campaign: Campaign, way: str) -> Iterator[Generation]:
    """One after the other, without end. The clock stands while whoever asked looks at one."""
    forget()
    distinct.forget()
    guided, size, corpus = way == GUIDED, campaign.guided, Corpus(campaign, "")
    options, spent, first = dict(campaign.options), 0.0, 0
    if way not in (PLAIN, GUIDED):
        times = int(way.removeprefix(stretched(0)[:-1]))
        options[STRETCH] = times
        size = max(1, size // times)
    while True:
        gc.collect()
        gc.disable()
        begin = time.process_time()
        decided: list[frozenset[str]] = []
        if guided:
            generation = corpus.generation(first // size)
            genomes = [
                made.genome(run_seed(campaign.seed, run))
                for run, made in enumerate(generation.runs, first)
            ]
            tables, made, decided = simulate_genomes(
                campaign.scenario, campaign.seed, first, genomes, campaign.bug, options
            )
        else:
            tables = simulate_part(
                campaign.scenario, campaign.seed, first, size, campaign.bug, options
            )
        part = Part(tables)
        classes = Classes(part)
        if guided:
            named = novelty.sometimes(part, campaign.scenario) | novelty.rules(part, decided)
            lengths = part.steps_of_run.lengths.tolist()
            met = novelty.met(part, classes, named)
            corpus.take(generation, met, genomes_table(first, lengths, made))
        spent += time.process_time() - begin
        gc.enable()
        yield Generation(spent, tables, part, classes, decided)
        first += size


# --- What is met


class Point(NamedTuple):
    seconds: float
    runs: int
    steps: int
    classes: int
    conditions: int


def curve(campaign: Campaign, way: str, seconds: float) -> list[Point]:
    seen: set[int] = set()
    named: set[tuple[str, str]] = set()
    points = [Point(0.0, 0, 0, 0, 0)]
    for each in generations(campaign, way):
        seen.update(np.unique(each.classes.numbers()[each.part.taken]).tolist())
        named |= novelty.sometimes(each.part, campaign.scenario).keys()
        runs = points[-1].runs + len(each.part.run)
        steps = points[-1].steps + len(each.part.taken)
        points.append(Point(each.seconds, runs, steps, len(seen), len(named)))
        if each.seconds >= seconds:
            return points
    raise AssertionError("generations have no end")


def at(points: Sequence[Point], seconds: float, field: str) -> float:
    """How much was met after so many CPU seconds: on the line between two generations."""
    met = [getattr(point, field) for point in points]
    return float(np.interp(seconds, [point.seconds for point in points], met))


def reached(points: Sequence[Point], count: float, field: str) -> float | None:
    """The CPU seconds after which so much was met; None: not at the end."""
    for before, after in pairwise(points):
        low, high = getattr(before, field), getattr(after, field)
        if high >= count:
            share = (count - low) / (high - low) if high > low else 1.0
            return before.seconds + share * (after.seconds - before.seconds)
    return None


def spread(values: Sequence[float | None], form: str = ",.1f") -> str:
    """The median with the least and the largest; None is larger than any."""
    ordered = sorted(float("inf") if value is None else value for value in values)
    told = [
        "never" if each == float("inf") else format(each, form)
        for each in (median(ordered), ordered[0], ordered[-1])
    ]
    return f"{told[0]} ({told[1]} to {told[2]})"


def compare(campaign: Campaign, ways: Sequence[str], seconds: float, seeds: int) -> None:
    curves: dict[str, list[list[Point]]] = {way: [] for way in ways}
    for seed in range(1, seeds + 1):
        for way in ways:
            own = Campaign(**{**_fields(campaign), "seed": seed})
            curves[way].append(curve(own, way, seconds))
    for share in (0.25, 0.5, 1.0):
        for way in ways:
            told = [
                f"{spread([at(points, share * seconds, field) for points in curves[way]], form)} "
                f"{field}"
                for field, form in [(name, ",.0f") for name in Point._fields[1:]]
            ]
            print(f"{way:<9} after {share * seconds:>5,.0f} s: {', '.join(told)}", flush=True)
    for way in ways[1:]:
        pairs = list(zip(curves[PLAIN], curves[way], strict=True))
        more = [at(own, seconds, "classes") / at(p, seconds, "classes") for p, own in pairs]
        print(f"{way:<9} classes at equal CPU time, of plain: {spread(more, '.2f')}")
        for field in ("classes", "conditions"):
            ratios = [_share(plain, own, seconds, field) for plain, own in pairs]
            print(f"{way:<9} CPU time to the {field} of plain: {spread(ratios, '.2f')}", flush=True)


def _share(
    plain: Sequence[Point], other: Sequence[Point], seconds: float, field: str
) -> float | None:
    """The CPU time that another needs for what the plain one has met after so many seconds."""
    count = at(plain, seconds, field)
    of, needed = reached(plain, count, field), reached(other, count, field)
    return needed / of if needed and of else None


def _fields(campaign: Campaign) -> dict[str, Any]:
    return {name: getattr(campaign, name) for name in campaign.__struct_fields__}


# --- Bugs


class _Judge:
    """Whether a generation holds what somebody would refuse."""

    def __init__(self, campaign: Campaign, verdicts: Path) -> None:
        self._script = Script(machine=campaign.scenario, bug=campaign.bug, moves=())
        self._relation = Relation(Allowed(verdicts), campaign.bug, 1)
        self._known: set[int] = set()

    def refuses(self, each: Generation) -> str:
        """What it refuses; empty: nothing."""
        runs = each.tables.tables["runs"]
        for violations, verdict in zip(
            runs["violations"].to_pylist(), runs["verdict"].to_pylist(), strict=True
        ):
            if violations:
                return str(violations[0]["invariant"])
            if verdict not in (PROGRESSED, STOPPED):
                return "no progress"
        self._relation.put(self._new(each), self._script)
        refused = self._relation.ask()
        return refused.failure.name if refused else ""

    def _new(self, each: Generation) -> Iterator[NodeStep]:
        """A step of each class that was not seen before."""
        part, numbers = each.part, each.classes.numbers()
        for number in np.unique(part.taken).tolist():
            if int(numbers[number]) not in self._known:
                self._known.add(int(numbers[number]))
                step, text = part.step(number), part.constants_texts[part.step_constants[number]]
                taken = (step.before, step.input, step.after, step.sent, step.ignored)
                constants = decode_step_constants(text)
                yield NodeStep(constants, step.node, step.action, *taken)


def hunt(campaign: Campaign, way: str, seconds: float, verdicts: Path) -> tuple[float | None, str]:
    """CPU seconds until the bug is found, and how; None: not within so many."""
    judge = _Judge(campaign, verdicts)
    for each in generations(campaign, way):
        if how := judge.refuses(each):
            return each.seconds, how
        if each.seconds >= seconds:
            return None, ""
    raise AssertionError("generations have no end")


def detect(
    campaign: Campaign, ids: Sequence[str], ways: Sequence[str], seconds: float, seeds: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for id in ids:
            for way in ways:
                found = [
                    hunt(
                        Campaign(**{**_fields(campaign), "seed": seed, "bug": id}),
                        way,
                        seconds,
                        Path(folder),
                    )
                    for seed in range(1, seeds + 1)
                ]
                hows = sorted({how for _, how in found if how})
                times = [spent for spent, _ in found]
                by = sum(spent is not None for spent in times)
                print(
                    f"{id:<6}{way:<9} {by} of {seeds} seeds within {seconds:,.0f} s, "
                    f"after {spread(times)} s {', '.join(hows)}",
                    flush=True,
                )


def _campaign(scenario: str, file: Path | None, generation: int) -> Campaign:
    options: Mapping[str, Any] = {}
    if file is not None:
        first = read_file(file).configurations[0]
        scenario, options = first.scenario, first.options
    return Campaign(scenario=scenario, seed=1, runs=0, options=dict(options), guided=generation)


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.guided")
    parser.add_argument("--scenario", nargs="*", default=SCENARIOS)
    parser.add_argument("--file", type=Path)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--generation", type=int, default=GENERATION)
    parser.add_argument("--stretch", type=int, nargs="*", default=[], metavar="N")
    parser.add_argument("--bugs", nargs="*", metavar="ID", help="all of the scenario, if none")
    asked = parser.parse_args(arguments)
    ways = (PLAIN, *map(stretched, asked.stretch), GUIDED)
    for scenario in [""] if asked.file else asked.scenario:
        campaign = _campaign(scenario, asked.file, asked.generation)
        print(f"--- {campaign.scenario}")
        if asked.bugs is None:
            compare(campaign, ways, asked.seconds, asked.seeds)
            continue
        there = [each.id for each in bugs_of(campaign.scenario) if each.in_scope]
        try:
            ids = [bug(id).id for id in asked.bugs] or there
        except UnknownBug as error:
            parser.error(str(error))
        detect(campaign, ids, ways, asked.seconds, asked.seeds)


if __name__ == "__main__":
    main(sys.argv[1:])
