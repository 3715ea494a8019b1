"""Guided campaigns against plain ones, at equal CPU time: what they meet, and bugs they find.

    python -m benchmarks.guided [--scenario S | --file F.toml] [--seconds N] [--seeds N]
                                [--generation N] [--bugs ID ...]

Both simulate the same numbers of runs at a time, in one process that knows nothing yet, and find
the classes of their steps; the guided one also looks for what is new and makes its next generation.
That is timed, and nothing else: not the judges, which are the same for both. Without --bugs, by CPU
second: distinct classes, answers of rules and conditions that were met (the plain campaign's runs
are watched after the clock has stopped). With --bugs: CPU seconds until a generation holds a run
that breaks an invariant or makes no progress, or a step that TLC refuses. TLC is asked about steps
that the correct reference, in the same row, would not have taken; what it does take is allowed.

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
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from reference.bugs.catalog import UnknownBug, bug, bugs_of
from reference.runner.run import forget, simulate_genomes, simulate_part
from reference.sim.choices import run_seed
from reference.sim.genomes import Genome, decode
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

SECONDS, SEEDS, GENERATION = 10.0, 3, 96
WAYS = ("plain", "guided")


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
    size, corpus = campaign.guided, Corpus(campaign, "")
    options, spent, first = dict(campaign.options), 0.0, 0
    while True:
        gc.collect()
        gc.disable()
        begin = time.process_time()
        decided: list[frozenset[str]] = []
        if way == "guided":
            generation = corpus.generation(first // size)
            genomes = [
                Genome(decode(made.choices) if made.choices else (), run_seed(campaign.seed, run))
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
        if way == "guided":
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
    classes: int
    named: int


def curve(campaign: Campaign, way: str, seconds: float) -> list[Point]:
    seen: set[int] = set()
    named: set[tuple[str, str]] = set()
    points: list[Point] = []
    for each in generations(campaign, way):
        seen.update(np.unique(each.classes.numbers()[each.part.taken]).tolist())
        decided = each.decided
        if way == "plain":
            # The same runs, watched; their seconds are not counted.
            first = len(points) * campaign.guided
            seeds = range(first, first + campaign.guided)
            genomes = [Genome((), run_seed(campaign.seed, run)) for run in seeds]
            decided = simulate_genomes(
                campaign.scenario, campaign.seed, first, genomes, None, dict(campaign.options)
            )[2]
        named |= novelty.sometimes(each.part, campaign.scenario).keys()
        named |= novelty.rules(each.part, decided).keys()
        runs = (len(points) + 1) * campaign.guided
        points.append(Point(each.seconds, runs, len(seen), len(named)))
        if each.seconds >= seconds:
            return points
    raise AssertionError("generations have no end")


def reached(points: Sequence[Point], count: int, field: str) -> float | None:
    """The CPU seconds after which so many were met."""
    found = [point.seconds for point in points if getattr(point, field) >= count]
    return found[0] if found else None


def spread(values: Sequence[float | None], form: str = ",.1f") -> str:
    """The median with the least and the largest; None is larger than any."""
    ordered = sorted(float("inf") if value is None else value for value in values)
    told = [
        "never" if each == float("inf") else format(each, form)
        for each in (median(ordered), ordered[0], ordered[-1])
    ]
    return f"{told[0]} ({told[1]} to {told[2]})"


def compare(campaign: Campaign, seconds: float, seeds: int) -> None:
    curves: dict[str, list[list[Point]]] = {way: [] for way in WAYS}
    for seed in range(1, seeds + 1):
        for way in WAYS:
            own = Campaign(**{**_fields(campaign), "seed": seed})
            curves[way].append(curve(own, way, seconds))
    for share in (0.25, 0.5, 1.0):
        for way in WAYS:
            at = [_at(points, share * seconds) for points in curves[way]]
            print(
                f"{way:<8} after {share * seconds:>6,.0f} s: "
                f"{spread([p.runs for p in at], ',.0f'):>28} runs, "
                f"{spread([p.classes for p in at], ',.0f'):>32} classes, "
                f"{spread([p.named for p in at], ',.0f'):>20} named",
                flush=True,
            )
    for field in ("classes", "named"):
        ratios = [
            None
            if (needed := reached(guided, getattr(_at(plain, seconds), field), field)) is None
            else needed / _first(plain, field)
            for plain, guided in zip(*(curves[way] for way in WAYS), strict=True)
        ]
        print(f"{field}: what plain ones reach, guided ones reach in {spread(ratios, '.2f')} of it")


def _at(points: Sequence[Point], seconds: float) -> Point:
    return next((point for point in points if point.seconds >= seconds), points[-1])


def _first(points: Sequence[Point], field: str) -> float:
    found = reached(points, getattr(points[-1], field), field)
    assert found is not None, "what was reached was reached some time"
    return found


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


def detect(campaign: Campaign, ids: Sequence[str], seconds: float, seeds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for id in ids:
            for way in WAYS:
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
                    f"{id:<6}{way:<8} {by} of {seeds} seeds within {seconds:,.0f} s, "
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
    parser.add_argument("--scenario", default="partition")
    parser.add_argument("--file", type=Path)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--generation", type=int, default=GENERATION)
    parser.add_argument("--bugs", nargs="*", metavar="ID", help="all of the scenario, if none")
    asked = parser.parse_args(arguments)
    campaign = _campaign(asked.scenario, asked.file, asked.generation)
    if asked.bugs is None:
        compare(campaign, asked.seconds, asked.seeds)
        return
    there = [each.id for each in bugs_of(campaign.scenario) if each.in_scope]
    try:
        ids = [bug(id).id for id in asked.bugs] or there
    except UnknownBug as error:
        parser.error(str(error))
    detect(campaign, ids, asked.seconds, asked.seeds)


if __name__ == "__main__":
    main(sys.argv[1:])
