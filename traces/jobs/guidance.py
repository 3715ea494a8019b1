"""A campaign that learns: which runs are kept, and what the next generation is made of.

A guided campaign is made of *generations* of so many runs (`Campaign.guided`). Before one begins,
the driver draws its genomes (reference/sim/genomes.py) from the corpus and writes them down:

    guided/generation-000012.json    how each of its runs comes about, the choices it begins with

Its runs are then simulated and judged in ranges, as those of any campaign are. Each range says what
its runs have met (`.met`, novelty.py) and which choices they made (`.genomes`). What was new in a
generation is put into the corpus in the order of its runs.

* What r runs have met counts 1/r, as in AFLFast and in entropic schedules: what is rare is worth
  much, however often the rest is met again.
* A run *owns* what it was the first to meet; who owns anything is kept. A parent is drawn among the
  owners, by what that counts.
* How a run comes about (of a seed, with one setting; or of kept runs) is a bandit with many arms:
  what a way has brought lately, for each step, against that of the best, and a bonus that shrinks
  the more often it was tried. UCB1, with the largest variance that a share has (Auer, Cesa-Bianchi,
  Fischer: Finite-time Analysis of the Multiarmed Bandit Problem, Machine Learning 47, 2002, theorem
  1 and section 4); what was long ago fades (Garivier, Moulines: On Upper-Confidence Bound Policies
  for Switching Bandit Problems, ALT 2011), since all ways bring less as time goes.
* Before all else come, once each, the walks that take the steps of the models' graphs: short runs.
* The next generation is plain, and so are half of the steps of all others: no way was found that
  meets what plain runs are likely to meet sooner than they do.

Nothing here knows of a protocol, a bug or a verdict: a run that breaks something is kept as any
other is.

Law of this file: a generation is a function of the campaign and of what the ranges of all earlier
generations say, in whole numbers. So who worked on them, and when, does not matter.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa

from kraftcheck.reference.runner.scenarios import family
from kraftcheck.reference.sim.choices import SeededStream, Stream, pick, run_seed
from kraftcheck.reference.sim.genomes import (
    FRESH,
    MUTATIONS,
    Choices,
    Genome,
    Parent,
    decode,
    encode,
    settings,
)
from kraftcheck.traces.schema import TraceError
from kraftcheck.traces.sealed import sealed
from kraftcheck.traces.steps.record import Ints
from kraftcheck.traces.store import Campaign, read_versioned, write_file

GUIDED: Final = "guided"
"""The folder of generations in a trace's own."""
BEGUN: Final = "begin"
"""How runs come about that are made of their seed and begin in the middle of something: a way for
each thing to which that leads."""
WALK: Final = "walk"
"""How runs come about that walk through a graph, each once and early."""
GENERATION_VERSION: Final = 3
FADES: Final = (9, 10)
"""What a way has brought counts so much less with each generation."""
_WHOLE: Final = 1 << 32
_UNIT: Final = 1 << 20
"""Of shares, and of logarithms."""
_LOG_2: Final = round(math.log(2) * _UNIT)
_RUN: Final = 1000
"""Counts are thousandths, since they fade."""

GENOMES: Final = pa.schema([("run", pa.int64()), ("steps", pa.int64()), ("choices", pa.binary())])
"""The choices that a run made (reference/sim/genomes.py), and how many steps that was."""


class RunOrigin(msgspec.Struct, frozen=True, array_like=True):
    """How a run comes about.

    It has one of `ways_of`, the runs it is made from, the choices that it begins with, and the
    options that it does not draw.
    """

    how: str = FRESH
    parents: tuple[int, ...] = ()
    choices: bytes = b""
    options: dict[str, Any] = {}

    def genome(self, seed: int) -> Genome:
        """Raises ValueError: its choices are none."""
        return Genome(decode(self.choices) if self.choices else (), seed, self.options)


def of_a_seed(campaign: Campaign) -> dict[str, dict[str, Any]]:
    """Give the options that a run of a seed does not draw, by the way it is made.

    None of them is fixed by the campaign.
    """
    ways = settings(family(campaign.scenario).on_request)
    return {how: own for how, own in ways.items() if not own.keys() & campaign.options.keys()}


def beginnings_of(campaign: Campaign) -> dict[str, Sequence[Mapping[str, Any]]]:
    """By way of making a run that begins in the middle of something, options of such runs.

    None leads to the bug that the campaign has, or changes what it fixes.
    """
    found = {
        f"{BEGUN} {of}": [own for own in begins if _agrees(campaign, own)]
        for of, begins in family(campaign.scenario).beginnings.items()
        if of != campaign.bug
    }
    return {how: own for how, own in found.items() if own}


def walks_of(campaign: Campaign) -> list[Mapping[str, Any]]:
    """Options of runs that walk through the models' graphs; none that changes what is fixed."""
    return [own for own in family(campaign.scenario).walks if _agrees(campaign, own)]


def _agrees(campaign: Campaign, own: Mapping[str, Any]) -> bool:
    return all(campaign.options.get(name, value) == value for name, value in own.items())


def ways_of(campaign: Campaign) -> tuple[str, ...]:
    """The ways to make runs: of a seed, of kept ones, and the walks."""
    walks = [WALK] if walks_of(campaign) else []
    return (*MUTATIONS, *of_a_seed(campaign), *beginnings_of(campaign), *walks)


class Generation(msgspec.Struct, frozen=True, kw_only=True):
    generation_version: int = GENERATION_VERSION
    recorded_with: str
    """sha256 of the reference that simulates."""
    scenario: str
    first_run: int
    runs: tuple[RunOrigin, ...]
    """From first_run on."""


def genomes_table(first_run: int, lengths: Sequence[int], made: Sequence[Choices]) -> pa.Table:
    runs = np.arange(first_run, first_run + len(made))
    columns = [runs, np.asarray(lengths, dtype=np.int64), list(map(encode, made))]
    return pa.table(columns, schema=GENOMES)


# --- On disk


def generation_path(trace: Path, campaign: Campaign, run: int) -> Path:
    """Where the generation of a run stands."""
    return trace / GUIDED / f"generation-{run // campaign.guided:06d}.json"


def read_generation(
    trace: Path, campaign: Campaign, run: int, recorded_with: str = ""
) -> Generation:
    """The generation of a run. recorded_with: unless empty, the reference that it must be for.

    Raises TraceError: there is none, it is damaged, or of another version or scenario.
    """
    path = generation_path(trace, campaign, run)
    missing = "the same campaign again makes it"
    found = read_versioned(path, Generation, "generation", GENERATION_VERSION, missing)
    if found.scenario != campaign.scenario:
        raise TraceError(f"{path}: a generation of {found.scenario}, not of {campaign.scenario}")
    if recorded_with and found.recorded_with != recorded_with:
        raise TraceError(f"{path}: made by another version of the reference; name a new folder")
    at = run - run % campaign.guided
    if found.first_run != at or len(found.runs) != campaign.guided:
        raise TraceError(f"{path}: a generation of other runs: remove it")
    return found


def genome_of(trace: Path, campaign: Campaign, run: int) -> Genome:
    """What a run is made of: in a campaign that is not guided, its seed.

    Raises TraceError, as `read_generation` does; or its choices are none.
    """
    return genomes_of(trace, campaign, run, 1)[0]


def genomes_of(trace: Path, campaign: Campaign, first_run: int, runs: int) -> list[Genome]:
    """Those of several runs of one generation."""
    seeds = [run_seed(campaign.seed, run) for run in range(first_run, first_run + runs)]
    if not campaign.guided:
        return [Genome((), seed) for seed in seeds]
    generation = read_generation(trace, campaign, first_run)
    at = first_run - generation.first_run
    found = []
    for number, (made, seed) in enumerate(
        zip(generation.runs[at : at + runs], seeds, strict=True), first_run
    ):
        try:
            found.append(made.genome(seed))
        except ValueError as error:
            path = generation_path(trace, campaign, number)
            raise TraceError(f"{path}: run {number}: {error}") from None
    return found


# --- The corpus


class _Lot(NamedTuple):
    """Runs to be drawn, with the sum of the weights up to each."""

    runs: Sequence[int]
    sums: Ints

    def draw(self, stream: Stream) -> int:
        at = stream.below(_WHOLE) * int(self.sums[-1]) >> 32
        return self.runs[int(np.searchsorted(self.sums, at, side="right"))]


class Brought(NamedTuple):
    """What runs made in one way have brought, in thousandths.

    It says how rare what they met was, the steps, and how many runs there were.
    """

    worth: int = 0
    steps: int = 0
    runs: int = 0


class Corpus:
    """What the generations so far have left of one configuration."""

    def __init__(self, campaign: Campaign, recorded_with: str) -> None:
        self._campaign = campaign
        self._recorded_with = recorded_with
        self._met: Counter[int] = Counter()
        """By thing, in how many runs it was met."""
        self._owner: dict[int, int] = {}
        """By thing, who met it first."""
        self._kept: dict[int, tuple[bytes, dict[str, Any]]] = {}
        """Of runs that own anything, the choices, and the options that were not drawn."""
        self._of_a_seed = of_a_seed(campaign)
        self._beginnings = beginnings_of(campaign)
        self._walks = walks_of(campaign)
        self._first = -(-len(self._walks) // campaign.guided)
        """The generation that has the first runs without their walks."""
        self.brought = {way: Brought() for way in ways_of(campaign) if way != WALK}
        """By way of making runs, fading."""

    def take(self, generation: Generation, met: pa.Table, genomes: pa.Table) -> None:
        """What the ranges of a generation say: MET and GENOMES, in any order."""
        met, genomes = met.sort_by("run"), genomes.sort_by("run")
        things: list[int] = met["thing"].to_pylist()
        self._met.update(things)
        worth: Counter[int] = Counter()
        for run, thing in zip(met["run"].to_pylist(), things, strict=True):
            self._owner.setdefault(thing, run)
            worth[run] += _UNIT // self._met[thing]
        kept, of = FADES
        brought = {way: [each * kept // of for each in was] for way, was in self.brought.items()}
        owners = set(self._owner.values())
        # In the first generation all is new, whichever way runs are made.
        counts = generation.first_run > self._first * self._campaign.guided
        for each in genomes.to_pylist():
            made = generation.runs[each["run"] - generation.first_run]
            if each["run"] in owners:
                self._kept[each["run"]] = each["choices"], made.options
            if counts:
                for at, more in enumerate((worth[each["run"]], each["steps"], 1)):
                    brought[made.how][at] += _RUN * more
        self.brought = {way: Brought(*each) for way, each in brought.items()}

    def generation(self, number: int) -> Generation:
        """The next generation, when all before it were taken."""
        campaign = self._campaign
        first = number * campaign.guided
        owned = sorted(self._owner)
        weights = np.array([_WHOLE // self._met[thing] for thing in owned], dtype=np.int64)
        lot = _Lot([self._owner[thing] for thing in owned], np.cumsum(weights))
        walks = self._walks[first : first + campaign.guided]
        others = campaign.guided - len(walks)
        # At first nothing is known, and most of what is wrong plain runs find at once.
        known = owned and number > self._first
        ways = self._ways(others) if known else [FRESH] * others
        made = [self._made(run, how, lot) for run, how in enumerate(ways, first + len(walks))]
        return Generation(
            recorded_with=self._recorded_with,
            scenario=campaign.scenario,
            first_run=first,
            runs=(*[RunOrigin(WALK, options=dict(own)) for own in walks], *made),
        )

    def _ways(self, runs: int) -> Iterator[str]:
        """Choose how so many runs are made.

        Half of the steps are made as plain campaigns do, which bounds what guidance can cost. The
        others are chosen by UCB1, as if those before had brought what others of their way have.
        """
        rates = {
            how: each.worth * _UNIT // max(1, each.steps) for how, each in self.brought.items()
        }
        best = max(1, *rates.values())
        tried = {how: each.runs for how, each in self.brought.items()}
        steps = {how: max(1, each.steps) for how, each in self.brought.items()}
        usual = max(1, sum(steps.values()) // max(1, sum(tried.values())))

        def bound(how: str) -> int:
            if tried[how] < _RUN:
                return _WHOLE
            log = max(1, sum(tried.values()) // _RUN).bit_length() * _LOG_2
            # By steps, not runs: ways that bring as much have as much time, not as many runs.
            share = math.isqrt(_UNIT * log * _RUN * usual // (4 * steps[how]))
            return rates[how] * _UNIT // best + share

        plain = others = 0
        for _ in range(runs):
            how = FRESH if plain <= others else max(tried, key=bound)
            own = self.brought[how]
            length = _RUN * own.steps // own.runs if own.runs else _RUN * usual
            tried[how] += _RUN
            steps[how] += length
            plain, others = (plain + length, others) if how == FRESH else (plain, others + length)
            yield how

    def _made(self, run: int, how: str, lot: _Lot) -> RunOrigin:
        if how in self._of_a_seed:
            return RunOrigin(how, options=self._of_a_seed[how])
        key = blake2b(f"{self._campaign.seed}/{run}/genome".encode(), digest_size=16).digest()
        stream = SeededStream(key)
        if how in self._beginnings:
            return RunOrigin(how, options=dict(pick(stream, self._beginnings[how])))
        one, other = lot.draw(stream), lot.draw(stream)
        made = MUTATIONS[how](self._parent(one), self._parent(other), stream)
        of = (one, other) if how == "splice" else (one,)
        return RunOrigin(how, of, encode(made.choices), dict(made.options))

    def _parent(self, run: int) -> Parent:
        choices, options = self._kept[run]
        return Parent(decode(choices), options)


def made_or_read(
    trace: Path, corpus: Corpus, campaign: Campaign, first_run: int, recorded_with: str
) -> Generation:
    """Give the generation from this run on.

    It is read if it stands on disk, where its runs were made from it; else it is made now and
    written down.

    Raises TraceError: it is damaged, or of another version; it cannot be written.
    """
    path = generation_path(trace, campaign, first_run)
    if path.exists():
        return read_generation(trace, campaign, first_run, recorded_with)
    made = corpus.generation(first_run // campaign.guided)
    write_file(path, sealed(msgspec.json.encode(made)))
    return made
