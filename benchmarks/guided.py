"""Guided campaigns against plain ones, at equal CPU time: what they meet, and bugs they find.

    python -m benchmarks guided [--scenario S ... | --file F.toml] [--seconds N] [--seeds N]
                                [--generation N] [--ways WAY ...] [--bugs ID ...]

All simulate some runs at a time, in one process that knows nothing yet, and find the classes of
their steps; the guided one also looks for what is new and makes its next generation. That is timed,
and nothing else: not the judges, which are the same for both.

Without --bugs (then `plain` is one of the ways): how much each came to, and when it met what plain
campaigns meet *reliably*, which is what more than half of the plain campaigns of the other seeds
have met in the same time (of four seeds: two of the other three). Most classes of steps are of no
other campaign, so that no search can be asked for them. A plain campaign of another seed is the
measure: how many of these classes it meets, and after what share of the time another way has met as
many. Likewise of sometimes conditions, which are asked when the clock stands, where nobody is
guided by them.

With --bugs: CPU seconds until a generation holds a run that breaks an invariant or makes no
progress, or a step that TLC refuses. TLC is asked about steps that the correct reference, in the
same row, would not have taken; what it does take is allowed. With mutants for bugs:
tests/mutation/hunted.py.

Figures are medians over the seeds, each with an interval that holds that of all seeds with 95 %
(known_bugs/figures.py); of fewer than six, with the least and the largest.
"""

from __future__ import annotations

import argparse
import gc
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import permutations
from math import inf
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

import numpy as np

from kraftcheck.known_bugs.figures import interval, ranked
from kraftcheck.reference.bugs.catalog import UnknownBug, bug, bugs_of
from kraftcheck.reference.runner.run import forget, simulate_genomes, simulate_part
from kraftcheck.reference.sim.choices import run_seed
from kraftcheck.reference.steered.moves import NodeStep
from kraftcheck.reference.steered.scripts import Script
from kraftcheck.traces.counterexamples.relation import Relation
from kraftcheck.traces.cover.charts import ChartStore
from kraftcheck.traces.cover.models import of_scenario, read_covers, select
from kraftcheck.traces.jobs import novelty
from kraftcheck.traces.jobs.allowed import Allowed
from kraftcheck.traces.jobs.guidance import Corpus, genomes_table
from kraftcheck.traces.jobs.plan import read_file
from kraftcheck.traces.schema import PROGRESSED, STOPPED, PartTables
from kraftcheck.traces.steps.classes import Classes, forget as forget_classes
from kraftcheck.traces.steps.record import Part, decode_step_constants
from kraftcheck.traces.store import Campaign

SECONDS, SEEDS, GENERATION = 30.0, 3, 32
"""A generation is as large as that of a guided campaign of 1,280 runs at most."""
TIER: Final = "campaign"
CHARTS: Final = Path(__file__).resolve().parents[1] / "runs" / ".verdicts" / "charts"
PLAIN, GUIDED = WAYS = ("plain", "guided")
SCENARIOS = ("quorum", "partition", "cluster", "transactions")


class Generation(NamedTuple):
    """What came of a generation."""

    seconds: float
    """CPU time from the beginning, judges left out."""
    tables: PartTables
    part: Part
    classes: Classes
    decided: list[frozenset[str]]


def generations(campaign: Campaign, way: str) -> Iterator[Generation]:
    """One after the other, without end. The clock stands while whoever asked looks at one."""
    forget()
    forget_classes()
    guided, size, corpus = way == GUIDED, campaign.guided, Corpus(campaign, "")
    options, spent, first = dict(campaign.options), 0.0, 0
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
            named = novelty.sometimes(part, campaign.scenario, campaign.options)
            lengths = part.steps_of_run.lengths.tolist()
            met = novelty.met(part, decided, named)
            corpus.take(generation, met, genomes_table(first, lengths, made))
        spent += time.process_time() - begin
        gc.enable()
        yield Generation(spent, tables, part, classes, decided)
        first += size


# --- What is met

CLASSES, CONDITIONS = "classes", "conditions"


class Point(NamedTuple):
    """How much a campaign came to after so many CPU seconds."""

    seconds: float
    runs: int
    steps: int
    classes: int


class Met(NamedTuple):
    points: list[Point]
    """After each generation."""
    first: dict[str, dict[Any, float]]
    """By kind and thing, the CPU seconds after which it was met; within a generation by the share
    of its steps, or runs, that came before.
    """

    def after(self, seconds: float, kind: str) -> set[Any]:
        return {thing for thing, at in self.first[kind].items() if at <= seconds}

    def edges(self, seconds: float, of: Mapping[int, int]) -> int:
        """Of a graph, of whose edges so many are of each class."""
        return sum(of.get(number, 0) for number in self.after(seconds, CLASSES))

    def time_to_edges(self, count: int, of: Mapping[int, int]) -> float | None:
        """The CPU seconds after which so many edges were met; None: not at the end."""
        met = 0
        for at, number in sorted((at, n) for n, at in self.first[CLASSES].items() if n in of):
            met += of[number]
            if met >= count:
                return at
        return None

    def reaches(self, count: int, of: Set[Any], kind: str) -> float | None:
        """The CPU seconds after which so many of these were met; None: not at the end."""
        met = sorted(at for thing, at in self.first[kind].items() if thing in of)
        return met[count - 1] if 0 < count <= len(met) else None


def edges_of(scenario: str) -> dict[int, int]:
    """By number of a class, how many edges of the models' graphs it is (traces/cover).

    TLC charts the graphs, once: a minute or two.
    """
    found: Counter[int] = Counter()
    charts = ChartStore(CHARTS)
    for model in of_scenario(select(read_covers(), [], [TIER]), scenario):
        for each in charts.chart(model).classes:
            found[int.from_bytes(bytes.fromhex(each.key)[:8], "little")] += each.edges
    return found


def meets(campaign: Campaign, way: str, seconds: float) -> Met:
    points: list[Point] = []
    first: dict[str, dict[Any, float]] = {CLASSES: {}, CONDITIONS: {}}
    runs = steps = 0
    for each in generations(campaign, way):
        began = points[-1].seconds if points else 0.0
        numbers = each.classes.numbers()[each.part.taken]
        things, at = np.unique(numbers, return_index=True)
        places = (at + 1) / len(numbers)
        for number, place in zip(things.tolist(), places.tolist(), strict=True):
            first[CLASSES].setdefault(number, began + place * (each.seconds - began))
        for told, by in novelty.sometimes(each.part, campaign.scenario, campaign.options).items():
            place = (int(by[0]) + 1) / len(each.part.run)
            first[CONDITIONS].setdefault(told, began + place * (each.seconds - began))
        runs += len(each.part.run)
        steps += len(numbers)
        points.append(Point(each.seconds, runs, steps, len(first[CLASSES])))
        if each.seconds >= seconds:
            return Met(points, first)
    raise AssertionError("generations have no end")


def reliable(others: Sequence[Set[Any]]) -> set[Any]:
    """What more than half of these have met."""
    met = Counter(thing for each in others for thing in each)
    return {thing for thing, by in met.items() if 2 * by > len(others)}


def spread(values: Sequence[float | None], form: str = ",.1f") -> str:
    """Give the median, with two values that hold that of all seeds with 95 %.

    With fewer than six values these are the least and the largest. None is larger than any.
    """
    ordered = ranked(values)
    least, most = interval(values, 0.5) if len(ordered) > 5 else (ordered[0], ordered[-1])
    told = [
        "never" if each == inf else format(each, form) for each in (median(ordered), least, most)
    ]
    return f"{told[0]} ({told[1]} to {told[2]})"


def compare(campaign: Campaign, ways: Sequence[str], seconds: float, seeds: int) -> None:
    found: dict[str, list[Met]] = {way: [] for way in ways}
    for seed in range(1, seeds + 1):
        for way in ways:
            found[way].append(meets(Campaign(**{**_fields(campaign), "seed": seed}), way, seconds))
    for way, own in found.items():
        for field in Point._fields[1:]:
            ends = [float(np.interp(seconds, *_line(met.points, field))) for met in own]
            print(f"{way:<9} {field:<10} {spread(ends, ',.0f')}")
    edges = edges_of(campaign.scenario)
    counts = [met.edges(seconds, edges) for met in found[PLAIN]]
    for way, own in found.items():
        seen = [met.edges(seconds, edges) for met in own]
        of_plain = [
            met.time_to_edges(count, edges) for met, count in zip(found[PLAIN], counts, strict=True)
        ]
        times = [met.time_to_edges(count, edges) for met, count in zip(own, counts, strict=True)]
        shares = [
            taken / of if taken and of else None for taken, of in zip(times, of_plain, strict=True)
        ]
        print(
            f"{way:<9} edges       {spread(seen, ',.0f')} of {sum(edges.values()):,}, "
            f"CPU time to as many as plain {spread(shares, '.3f')}"
        )
    for kind in (CLASSES, CONDITIONS):
        plain = [met.after(seconds, kind) for met in found[PLAIN]]
        shared = [len(one & other) / len(one) for one, other in permutations(plain, 2)]
        print(f"of the {kind} of a plain campaign another has met {spread(shared, '.2f')}")
        for way, own in found.items():
            sizes, shares, times = [], [], []
            for at, met in enumerate(own):
                targets = reliable(plain[:at] + plain[at + 1 :])
                sizes.append(len(targets))
                shares.append(len(targets & met.after(seconds, kind)) / len(targets))
                want = len(targets & plain[at])
                taken = met.reaches(want, targets, kind)
                of = found[PLAIN][at].reaches(want, targets, kind)
                times.append(taken / of if taken and of else None)
            print(
                f"{way:<9} reliable {kind}: {spread(sizes, ',.0f')}, met {spread(shares, '.2f')}, "
                f"CPU time to as many as plain {spread(times, '.2f')}",
                flush=True,
            )


def _line(points: Sequence[Point], field: str) -> tuple[list[float], list[float]]:
    return [each.seconds for each in points], [getattr(each, field) for each in points]


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


def campaign_of(scenario: str, file: Path | None, generation: int) -> Campaign:
    options: Mapping[str, Any] = {}
    if file is not None:
        first = read_file(file).configurations[0]
        scenario, options = first.scenario, first.options
    return Campaign(scenario=scenario, seed=1, runs=0, options=dict(options), guided=generation)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks guided")
    parser.add_argument("--scenario", nargs="*", default=SCENARIOS)
    parser.add_argument("--file", type=Path)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--generation", type=int, default=GENERATION)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--bugs", nargs="*", metavar="ID", help="all of the scenario, if none")
    asked = parser.parse_args(arguments)
    ways = asked.ways
    if asked.bugs is None and PLAIN not in ways:
        parser.error("--ways: what others meet is held against what plain campaigns do")
    for scenario in [""] if asked.file else asked.scenario:
        campaign = campaign_of(scenario, asked.file, asked.generation)
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
