"""`bugs campaigns`: how many runs each oracle needs to find each bug, measured for hours.

A campaign is a seed and a limit; in it every oracle is asked until each has found the bug or the
limit is reached (hunting.py), the step relation about all campaigns of a bug together. What a
campaign found is written at once, so that the work goes on where it was stopped, and a partial
measurement is a measurement with fewer campaigns. TLC needs no seed: its counterexamples are
searched from the beginning and stored, once.

Law of this file: a campaign that was not finished counts for nothing.
"""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from time import monotonic

import msgspec

from kraftcheck import artifacts, exits
from kraftcheck.known_bugs import figures, violations
from kraftcheck.known_bugs.detecting import expected
from kraftcheck.known_bugs.entries import models_of, selected
from kraftcheck.known_bugs.figures import Figure, Measured
from kraftcheck.known_bugs.hunting import first_refused, hunt_down
from kraftcheck.known_bugs.oracles import Oracle
from kraftcheck.known_bugs.witnesses import Hunt, Witness, hunt_of
from kraftcheck.reference.bugs.bug import Bug
from kraftcheck.reference.runner.run import forget
from kraftcheck.screen import Screen
from kraftcheck.specs import SPECS
from kraftcheck.traces.jobs.allowed import Allowed
from kraftcheck.traces.jobs.campaigns import STORE
from tla_utils import Manifest, RunOptions, ToolError, find_jar, find_java, read_manifest


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What is measured."""

    oracles: tuple[Oracle, ...] = ()
    """None is all that are expected of a bug."""
    campaigns: int = figures.CAMPAIGNS
    limit: int = 1000
    """Runs of a campaign."""
    seconds: float | None = None
    """No campaign begins after so long; None: until all are done."""
    out: Path


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """One campaign to be done, or done: of which bug, with which seed, asked of whom."""

    entry: Bug
    seed: int
    oracles: tuple[Oracle, ...]


Found = dict[str, int | None]
Told = Callable[[Piece, Found], None]


def of_entry(entry: Bug, asked: Asked) -> tuple[Oracle, ...]:
    """The oracles whose campaigns are measured: those expected, as far as they were asked for."""
    wanted = asked.oracles or expected(entry)
    known = set(expected(entry)) - {"tlc"}
    return tuple(oracle for oracle in wanted if oracle in known)


def pieces(entries: Sequence[Bug], asked: Asked) -> Iterator[Piece]:
    """Every campaign, bug by bug. Negative controls have none: nothing is to be found in them."""
    for entry in entries:
        oracles = of_entry(entry, asked)
        if oracles and not entry.is_control and hunt_of(entry) is not None:
            for seed in range(1, asked.campaigns + 1):
                yield Piece(entry=entry, seed=seed, oracles=oracles)


def measure(entries: Sequence[Bug], asked: Asked, told: Told) -> bool:
    """Do the campaigns that are missing; returns whether all are done.

    Of each bug, first those of the step relation, side by side, then the others one by one.
    Raises BadInput: a file of a campaign is damaged; ToolError: TLC cannot be used.
    """
    begin = monotonic()

    def in_time() -> bool:
        return asked.seconds is None or monotonic() - begin <= asked.seconds

    allowed: Allowed | None = None
    for _, own in groupby(pieces(entries, asked), key=lambda piece: piece.entry.id):
        of_bug = list(own)
        open_ones = [piece for piece in of_bug if "steps" in missing_of(piece, asked)]
        if open_ones:
            allowed = allowed or Allowed(asked.out / STORE)
            if not _measure_steps(open_ones, asked, allowed, in_time):
                return False
        for piece in of_bug:
            missing = missing_of(piece, asked)
            if missing:
                if not in_time():
                    return False
                found = hunt_down(_hunt(piece), missing, asked.limit)
                _note(piece, asked, {each: _runs(found.get(each)) for each in missing})
                forget()
            told(piece, read(piece, asked))
    return True


def missing_of(piece: Piece, asked: Asked) -> list[Oracle]:
    """The oracles whose campaign is not done. Raises BadInput."""
    done = read(piece, asked)
    return [oracle for oracle in piece.oracles if oracle not in done]


def _measure_steps(
    of_bug: Sequence[Piece], asked: Asked, allowed: Allowed, in_time: Callable[[], bool]
) -> bool:
    """The campaigns of one bug and the step relation; whether all were decided in time."""
    by_seed = {piece.seed: piece for piece in of_bug}

    def decided(hunt: Hunt, number: int | None) -> None:
        _note(by_seed[hunt.seed], asked, {"steps": None if number is None else number + 1})

    hunts = [_hunt(piece) for piece in of_bug]
    return first_refused(hunts, asked.limit, allowed, decided, in_time)


def _hunt(piece: Piece) -> Hunt:
    hunt = hunt_of(piece.entry, piece.seed)
    assert hunt is not None, "pieces have one"
    return hunt


def _runs(witness: Witness | None) -> int | None:
    return None if witness is None else witness.run + 1


def _note(piece: Piece, asked: Asked, found: Found) -> None:
    path = path_of(piece, asked)
    path.parent.mkdir(parents=True, exist_ok=True)
    artifacts.write_sealed(path, {**read(piece, asked), **found})


def path_of(piece: Piece, asked: Asked) -> Path:
    folder = asked.out / piece.entry.id / f"limit-{asked.limit}"
    return folder / f"seed-{piece.seed}.json"


def read(piece: Piece, asked: Asked) -> Found:
    """What a campaign found, by oracle; empty when it was not done. Raises BadInput."""
    return msgspec.convert(artifacts.read_json(path_of(piece, asked)), Found)


# -- What they come to


def gathered(entries: Sequence[Bug], asked: Asked) -> dict[str, dict[str, Figure]]:
    """The figures of all campaigns that are done, by bug and oracle."""
    runs: dict[str, dict[str, list[int | None]]] = {}
    for piece in pieces(entries, asked):
        for oracle, number in read(piece, asked).items():
            if oracle in piece.oracles:
                runs.setdefault(piece.entry.id, {}).setdefault(oracle, []).append(number)
    return {
        bug: {oracle: Figure(limit=asked.limit, runs=each) for oracle, each in found.items()}
        for bug, found in runs.items()
    }


def merged(old: Measured, fresh: dict[str, dict[str, Figure]]) -> Measured:
    """The stored figures with these in the place of their own, and where and when they were made.

    What has fewer campaigns than the stored one does not replace it.
    """
    all_of_them = {bug: dict(found) for bug, found in old.figures.items()}
    for bug, found in fresh.items():
        known = all_of_them.setdefault(bug, {})
        for oracle, figure in found.items():
            if oracle not in known or len(figure.runs) >= len(known[oracle].runs):
                known[oracle] = figure
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return Measured(machine=machine(), date=today, figures=all_of_them)


def machine() -> str:
    """This machine in words: system, kind of processor, number of cores."""
    name = platform.machine()
    try:
        text = Path("/proc/cpuinfo").read_text("utf-8")
    except OSError:
        text = ""
    for line in text.splitlines():
        if line.startswith("model name"):
            name = line.partition(":")[2].strip()
            break
    return f"{platform.system()}, {name}, {os.cpu_count()} cores"


# -- TLC


def search(
    entries: Sequence[Bug],
    manifest: Manifest,
    options: RunOptions,
    seconds: float | None,
    told: Callable[[str, str], None],
) -> bool:
    """Search the counterexamples that are not stored, or of other specs; say whether all are found.

    told: (model, what came of it). seconds: for each model; None is what the manifest says.
    """
    complete = True
    for entry in entries:
        for model in models_of(manifest, entry.id):
            if violations.is_current(manifest, model):
                continue
            try:
                found = violations.search(manifest, model, options, seconds)
            except ToolError as error:
                complete = False
                told(model.name, str(error))
            else:
                told(model.name, f"{found.property}, {found.length} states")
    return complete


# -- On a screen

HEAD = ("bug", "oracle", "runs to the first detection")


def run(
    ids: Sequence[str],
    *,
    oracles: Sequence[Oracle] = (),
    count: int,
    limit: int,
    minutes: float | None,
    store: bool,
    out: Path,
    jar: str | None = None,
    java: str | None = None,
    screen: Screen,
) -> int:
    """Measure what is not measured yet; returns 0 when all is done, 2 when time was up before.

    Raises UnknownBug, OutOfScope; BadInput: the folder is not ours, a file in it is damaged, or
    there is no checkout to store in.
    """
    if store or "tlc" in oracles:
        artifacts.checkout()
    entries = selected(ids)
    asked = Asked(
        oracles=tuple(oracles),
        campaigns=count,
        limit=limit,
        seconds=None if minutes is None else minutes * 60,
        out=artifacts.claim(out),
    )
    total, done = sum(1 for _ in pieces(entries, asked)), 0
    with exits.resumable(), screen.progress("campaigns", total) as meter:

        def report(piece: Piece, found: Found) -> None:
            nonlocal done
            done += 1
            meter.update(done, f"{piece.entry.id}, seed {piece.seed}")

        complete = measure(entries, asked, report)
    if "tlc" in oracles:
        manifest = read_manifest(SPECS / "models.toml")
        options = RunOptions(jar=find_jar(jar), java=find_java(java))

        def searched(model: str, said: str) -> None:
            screen.line(f"{model}: {said}")

        complete = search(entries, manifest, options, None, searched) and complete
    fresh = gathered(entries, asked)
    measured = merged(figures.load(), fresh) if fresh else figures.load()
    figures.store(measured, out / figures.STORED.name)
    if store:
        figures.store(measured)
    rows = [
        (bug, oracle, figures.in_words(figure))
        for bug, found in fresh.items()
        for oracle, figure in found.items()
    ]
    screen.table(HEAD, rows)
    screen.line(f"{done} of {total} campaigns are done; {out / figures.STORED.name}")
    screen.document(msgspec.to_builtins(fresh))
    return exits.HOLDS if complete else exits.UNKNOWN
