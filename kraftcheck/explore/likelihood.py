"""When did a failure become inevitable?

Futures are drawn from each prefix of a failing run. The share of them that fail is a curve over the
run; where it jumps, the decisive step was taken.

A run of a campaign is its choices (reference/sim/choices.py). A prefix is the choices that were
made before a step was recorded; another seed makes the rest. So futures have the run's faults, and
its healed end. A schedule's prefix is its first moves; futures are walks by chance, and one calm
future in which all faults end (`calm`).

Law of this file: a future fails if it violates a property, or makes no progress in its healed end.
The same run, seed and number of futures give the same curve.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from itertools import pairwise
from math import sqrt
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import pyarrow as pa
from markupsafe import Markup

from kraftcheck import exits
from kraftcheck.exits import BadInput
from kraftcheck.explore.played import Paths, Played, replace_moves
from kraftcheck.explore.walking import stream_of, walk
from kraftcheck.picture import picture, write_page
from kraftcheck.reference.runner.narrate import field_words, render_input
from kraftcheck.reference.runner.run import Run, simulate, taken
from kraftcheck.reference.runner.scenarios import family
from kraftcheck.reference.runner.scripted import ImpossibleMove, in_the_end
from kraftcheck.reference.sim.choices import (
    Choice,
    Chooser,
    ReplayChooser,
    SeededChooser,
    Stream,
    run_seed,
)
from kraftcheck.reference.sim.genomes import Genome
from kraftcheck.reference.sim.memo import Memos
from kraftcheck.reference.sim.recorder import Recorder, RunResult
from kraftcheck.reference.steered.failures import Failure
from kraftcheck.reference.steered.scripts import Script
from kraftcheck.schedules import drawn as drawn_schedule, load, schedule_of
from kraftcheck.screen import Columns, Screen
from kraftcheck.traces.jobs.backends import Pool
from kraftcheck.traces.jobs.guidance import genome_of
from kraftcheck.traces.jobs.steered import broken_promise
from kraftcheck.traces.report.run import Likelihood, Picture
from kraftcheck.traces.schema import PROGRESSED
from kraftcheck.traces.store import read_manifest

PREFIXES: Final = 100
"""Prefixes that are asked about first; of a longer run, then each step where the curve jumps."""
FUTURE_MOVES: Final = 40
"""Moves of a future of a schedule."""
Z_95: Final = 1.96
SCHEMA: Final = pa.schema([("at", pa.int64()), ("failed", pa.int64()), ("calm", pa.bool_())])


class Point(NamedTuple):
    """A prefix."""

    at: int
    """Its length, in steps or moves. low, high: 95 % interval of the share (Wilson)."""
    failed: int
    futures: int
    calm: bool | None
    """Whether it fails when all faults end here; None: not tried."""

    @property
    def share(self) -> float:
        return self.failed / self.futures

    @property
    def interval(self) -> tuple[float, float]:
        n, z = self.futures, Z_95
        middle = (self.share + z * z / (2 * n)) / (1 + z * z / n)
        half = z * sqrt(self.share * (1 - self.share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
        return max(0.0, middle - half), min(1.0, middle + half)


class Curve(NamedTuple):
    """The shares of all prefixes, and the decision at the largest rise."""

    unit: str
    """Step or move."""
    failure: str
    """How the run fails."""
    points: Sequence[Point]
    decided: Sequence[str]
    """What was done at each place of `points`, in words."""
    jump: int | None
    """The index of the point after the largest rise; None, if no rise is larger than chance."""

    @property
    def inevitable(self) -> int | None:
        """The index of the first point from which on the run fails although all faults end."""
        calm = [bool(each.calm) for each in self.points]
        return len(calm) - calm[::-1].index(False) if False in calm and calm[-1] else None

    def sentence(self) -> str:
        """What the curve says, in one or two sentences."""
        said = f"{self.failure}: no single {self.unit} decided; no rise is larger than chance."
        if self.jump is not None:
            before, after = self.points[self.jump - 1], self.points[self.jump]
            said = (
                f"{self.failure}: {self.place(self.jump)} decided ({self.decided[self.jump]}). "
                f"Before it, {before.share:.0%} of the futures fail; after it, {after.share:.0%}."
            )
        if (at := self.inevitable) is not None and at != self.jump:
            said += (
                f" From {self.place(at)} on ({self.decided[at]}), the run fails even if all faults "
                "end."
            )
        return said

    def number(self, index: int) -> int:
        """The last move (from 1) or step (from 0) of a prefix, as `replay` numbers them."""
        return self.points[index].at - (self.unit == "step")

    def place(self, index: int) -> str:
        """The move or step of a point; several, where those between were not asked about."""
        last, before = self.number(index), self.number(max(0, index - 1))
        if last - before <= 1:
            return f"{self.unit} {last}"
        return f"one of {self.unit}s {before + 1} to {last}"


Done: TypeAlias = Callable[[int, int], None]
"""Called with the number of prefixes that are done, and of all."""


# --- Runs of campaigns


_memos = Memos()
"""What this process remembers of steps, by scenario and bug."""


class _CountingStream:
    def __init__(self, name: str, inner: Stream, noted: list[tuple[int, Choice]], of: Recorder):
        self._name, self._inner, self._noted, self._of = name, inner, noted, of

    def below(self, bound: int) -> int:
        value = self._inner.below(bound)
        self._noted.append((len(self._of.steps.items), Choice(self._name, bound, value)))
        return value


class _CountingChooser:
    """Another chooser's choices, each with the number of steps that were recorded before it."""

    def __init__(self, inner: Chooser, recorder: Recorder) -> None:
        self._inner, self._recorder = inner, recorder
        self.noted: list[tuple[int, Choice]] = []
        self._streams: dict[str, _CountingStream] = {}

    def stream(self, name: str) -> Stream:
        if name not in self._streams:
            given = self._inner.stream(name), self.noted, self._recorder
            self._streams[name] = _CountingStream(name, *given)
        return self._streams[name]


class RunSource(NamedTuple):
    """A run of a campaign.

    Guided campaigns' runs are made of choices, others of a seed (`genome`).
    """

    scenario: str
    bug: str | None
    genome: Genome
    options: dict[str, Any]
    """Those that are not drawn."""

    def made(self, chooser: Chooser, recorder: Recorder) -> RunResult:
        """Raises ValueError: no such scenario, bug or option."""
        of = family(self.scenario)
        memo = _memos.memo((of.key, self.bug), lambda: of.memo(self.bug, True))
        simulate(of, chooser, memo, recorder, 0, self.genome.seed, self.options).take_apart()
        return recorder.results[0]

    def whole(self) -> tuple[Run, list[tuple[int, Choice]]]:
        recorder = Recorder(0)
        chooser = _CountingChooser(self.genome.chooser(), recorder)
        result = self.made(chooser, recorder)
        return Run(result, taken(recorder)), chooser.noted

    def points(self, places: Sequence[int], futures: int, item: int) -> pa.Table:
        """The point of one place: a task of a pool."""
        at = places[item]
        # The options are drawn before the first step; they are the run's in every future.
        begin = [choice for steps, choice in self.whole()[1] if steps < max(at, 1)]
        failed = 0
        for number in range(futures):
            seed = run_seed(self.genome.seed, number)
            result = self.made(ReplayChooser(begin, SeededChooser(seed)), Recorder(0))
            failed += bool(_failure_of(result))
        return pa.table([[at], [failed], [None]], schema=SCHEMA)


def _failure_of(result: RunResult) -> str:
    """How a run fails; empty: it does not."""
    if result.violations:
        return result.violations[0].invariant
    return "" if result.verdict == PROGRESSED else f"no progress: {result.verdict}"


class MovesSource(NamedTuple):
    """A schedule of moves."""

    script: Script
    healed: bool = False
    """Its failure shows only in the healed end, so each future has one."""

    def points(self, places: Sequence[int], futures: int, item: int) -> pa.Table:
        """The point of one place: a task of a pool."""
        at = places[item]
        begin = replace_moves(self.script, self.script.moves[:at])
        failed = 0
        for number in range(futures):
            played = _played(begin)
            walk(played, stream_of(played, number), FUTURE_MOVES)
            failed += (_healed(played) if self.healed else played.failure) is not None
        calm = _healed(_played(begin)) is not None
        return pa.table([[at], [failed], [calm]], schema=SCHEMA)


def _healed(played: Played) -> Failure | None:
    """How a run fails once all its faults have ended."""
    return played.failure or in_the_end(played.schedule, broken_promise)


def _played(script: Script) -> Played:
    return Paths().played(script)[0]


# --- The curve


def of_moves(
    script: Script, futures: int, most: int = PREFIXES, done: Done = lambda *_: None
) -> Curve:
    """The curve of a schedule.

    Args:
        most: how many prefixes are asked about first.
        done: hears how far the work is.

    Raises:
        BadInput: it violates nothing, or a move is not possible.
    """
    try:
        played = _played(script)
    except ImpossibleMove as error:
        raise BadInput(f"move {error.index + 1}: {error}") from None
    moves, healed = [*played.moves], played.failure is None
    failure = _healed(played)
    if failure is None:
        raise BadInput("it violates no property, so there is nothing to look back from")
    source = MovesSource(replace_moves(script, moves), healed)
    points = _points(source, len(moves), futures, most, done)
    decided = ["" if not each.at else moves[each.at - 1] for each in points]
    return Curve("move", failure.name, points, decided, _jump(points))


def of_run(source: RunSource, futures: int, done: Done = lambda *_: None) -> Curve:
    """The curve of a run of a campaign. Raises BadInput: it does not fail, or cannot be made."""
    try:
        run, _ = source.whole()
    except ValueError as error:
        raise BadInput(str(error)) from None
    failure = _failure_of(run.result)
    if not failure:
        raise BadInput("it does not fail, so there is nothing to look back from")
    points = _points(source, len(run.steps), futures, PREFIXES, done)
    last = [run.steps[each.at - 1] if each.at else None for each in points]
    decided = [
        f"{each.node} takes {render_input(each.input, field_words)}" if each else ""
        for each in last
    ]
    return Curve("step", failure, points, decided, _jump(points))


def _points(
    source: RunSource | MovesSource, length: int, futures: int, most: int, done: Done
) -> list[Point]:
    """Of prefixes that lie evenly, then of each prefix where the curve rises most."""
    count = min(length, most)
    places = sorted({length * number // count for number in range(count + 1)})
    points = _asked(source, places, futures, done)
    jump = _jump(points)
    if jump is not None and (inner := range(points[jump - 1].at + 1, points[jump].at)):
        points = sorted([*points, *_asked(source, [*inner], futures, done)])
    return points


def _asked(
    source: RunSource | MovesSource, places: list[int], futures: int, done: Done
) -> list[Point]:
    task = partial(source.points, places, futures)
    table = Pool().run(task, len(places), SCHEMA, lambda ready: done(ready, len(places)))
    return [Point(r["at"], r["failed"], futures, r["calm"]) for r in table.to_pylist()]


def _jump(points: Sequence[Point]) -> int | None:
    """The index of the point behind the largest rise, where intervals do not overlap."""
    rises = [after.share - before.share for before, after in pairwise(points)]
    at = max(range(len(rises)), key=rises.__getitem__) + 1
    clear = points[at].interval[0] > points[at - 1].interval[1]
    return at if clear else None


def as_json(curve: Curve) -> dict[str, Any]:
    return {
        "failure": curve.failure,
        "unit": curve.unit,
        "says": curve.sentence(),
        "decisive": None if curve.jump is None else curve.number(curve.jump),
        "points": [
            {
                "at": each.at,
                "failed": each.failed,
                "futures": each.futures,
                "low": each.interval[0],
                "high": each.interval[1],
                "calm_fails": each.calm,
                "decided": decided,
            }
            for each, decided in zip(curve.points, curve.decided, strict=True)
        ],
        "svg": drawn(curve),
    }


# --- As a figure, and the verb

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 640, 200, 44, 34, 12


def drawn(curve: Curve) -> str:
    """The curve as SVG, in the colours of the page: the interval, the share, the jump."""
    last = max(curve.points[-1].at, 1)

    def x(at: float) -> float:
        return round(LEFT + (WIDTH - LEFT - 10) * at / last, 1)

    def y(share: float) -> float:
        return round(TOP + (HEIGHT - TOP - BOTTOM) * (1 - share), 1)

    points = curve.points
    up = [f"{x(each.at)},{y(each.interval[1])}" for each in points]
    down = [f"{x(each.at)},{y(each.interval[0])}" for each in reversed(points)]
    line = [f"{x(each.at)},{y(each.share)}" for each in points]
    parts = [f'<polygon class="interval" points="{" ".join([*up, *down])}"/>']
    for share in (0, 0.5, 1):
        parts.append(f'<path class="grid" d="M{LEFT} {y(share)}H{WIDTH - 10}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y(share) + 4}" class="right">{share:.0%}</text>')
    parts.append(f'<polyline class="share" points="{" ".join(line)}"/>')
    for each in points:
        if each.calm:
            parts.append(f'<circle class="calm" cx="{x(each.at)}" cy="{y(0) + 6}" r="2.5"/>')
    if curve.jump is not None:
        here = points[curve.jump].at
        parts.append(f'<path class="jump" d="M{x(here)} {TOP}V{y(0)}"/>')
        anchor = "right" if here > last / 2 else "left"
        beside = x(here) + (-6 if here > last / 2 else 6)
        words = f"{curve.unit} {curve.number(curve.jump)}"
        parts.append(f'<text class="{anchor}" x="{beside}" y="{TOP + 12}">{words}</text>')
    for at in sorted({0, last // 2, last}):
        parts.append(f'<text class="middle" x="{x(at)}" y="{HEIGHT - 12}">{at}</text>')
    says = escape(curve.sentence())
    return (
        f'<svg class="likelihood" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">'
        f"<title>{says}</title>{''.join(parts)}</svg>"
    )


def show(path: Path, number: int | None, futures: int, page: Path | None, screen: Screen) -> int:
    """`likelihood`: prints the curve. Exit code 0: one place decided; 2: none stands out.

    Raises BadInput: no failing run or schedule.
    """
    with screen.progress("prefixes", PREFIXES) as meter:

        def done(ready: int, of: int) -> None:
            meter.update(ready, f"of {of}")

        curve, run = _of_path(path, number, futures, done)
    columns = Columns((f">{curve.unit}s", ">fail", ">95 %", "", f"the last {curve.unit}"))
    screen.line(columns.head)
    for at, (point, decided) in enumerate(zip(curve.points, curve.decided, strict=True)):
        low, high = point.interval
        mark = "<-" if at == curve.jump else ""
        cells = (point.at, f"{point.share:.1%}", f"{low:.0%} to {high:.0%}", mark, decided)
        screen.line(columns.row(cells))
    screen.line()
    screen.line(curve.sentence())
    screen.document(as_json(curve))
    if page is not None:
        write_page(page, run._replace(likelihood=_figure(curve)))
    return exits.HOLDS if curve.jump is not None else exits.UNKNOWN


def _of_path(path: Path, number: int | None, futures: int, done: Done) -> tuple[Curve, Picture]:
    """The curve, and the run that it belongs to."""
    if (moves := schedule_of(path)) is not None:
        try:
            curve = of_moves(load(moves).script, futures, done=done)
        except BadInput as error:
            raise BadInput(f"{path}: {error}") from None
        return curve, drawn_schedule(moves)
    if not path.is_dir():
        raise BadInput(f"{path}: neither a schedule of moves nor the folder of a campaign")
    if number is None:
        raise BadInput(f"{path}: of a campaign, which run? --run NUMBER")
    campaign = read_manifest(path).campaign
    if not 0 <= number < campaign.runs:
        raise BadInput(f"{path}: there is no run {number}; its runs are 0 to {campaign.runs - 1}")
    genome = genome_of(path, campaign, number)
    options = genome.options(campaign.options)
    source = RunSource(campaign.scenario, campaign.bug, genome, options)
    try:
        curve = of_run(source, futures, done)
    except BadInput as error:
        raise BadInput(f"run {number} of {path}: {error}") from None
    return curve, picture(f"run {number} of {path}", source.whole()[0], {}, ())


def _figure(curve: Curve) -> Likelihood:
    rows = []
    for at, (point, decided) in enumerate(zip(curve.points, curve.decided, strict=True)):
        low, high = point.interval
        of = f"{point.failed} of {point.futures}"
        rows.append((point.at, of, f"{low:.0%} to {high:.0%}", decided, at == curve.jump))
    return Likelihood(curve.sentence(), Markup(drawn(curve)), curve.unit, rows)
