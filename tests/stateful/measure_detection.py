"""`make detection`: how soon the machines find each bug; writes docs/measured/detection.md.

    python -m tests.stateful.measure_detection [--seeds N] [--correct N] [--minutes M] [--again]
                                               [--table] [BUG ...]
    python -m tests.stateful.measure_detection --rules FILE [--seeds N] [--minutes M]

Seed by seed, each bug in turn is searched for, hunted in a campaign, and shrunk; `--correct N` has
N examples with the correct reference first. What is stored is not measured again, except with
`--again` what an earlier version of a machine left behind. `--table` only writes the page.
`--rules FILE` searches for a change of one's own, a class as for `kraftcheck try`, and says what
came of each seed; nothing is stored.

Exit codes: 0 all that was asked is measured, 2 the time was up before, 3 a bug that is none, 1
something was found with the correct reference.
"""

from __future__ import annotations

import argparse
import platform
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Final, NamedTuple

from kraftcheck.exits import BadInput
from kraftcheck.known_bugs.own_rules import OwnRules, known, read_rules
from kraftcheck.reference.drivers import script
from kraftcheck.reference.runner.run import forget
from tests.stateful.detecting import (
    BUGS,
    MACHINES,
    SHARES,
    Searched,
    budget,
    campaign,
    search,
    shrunk,
)
from tests.stateful.detection_page import PAGE, page, tables
from tests.stateful.detection_store import (
    STORED,
    Correct,
    DamagedStore,
    Detection,
    Sample,
    Samples,
    load,
    store,
    version_of,
)
from tests.stateful.partition_schedule import memos
from tests.steady import draw_no_local_constants

EXAMPLES: Final = 400
CAMPAIGN_SECONDS: Final = 8.0
"""About what a search of EXAMPLES takes that finds nothing."""
SEEDS: Final = 20
SHRINKS: Final = 3
"""Only what the first seeds found that found anything is shrunk, with so many attempts at most:"""
ATTEMPTS: Final = 1000
BATCH: Final = 1000
"""Examples of the correct reference at once, and so many that TLC is asked about together."""
DONE, FOUND, UNFINISHED, BAD_INPUT = 0, 1, 2, 3


_latest: dict[tuple[str, str, int], Searched] = {}
"""The last search, by (machine, bug, seed): it need not be made again to be shrunk."""


class Piece(NamedTuple):
    machine: str
    bug: str
    kind: str
    """"search", "campaign" or "shrunk"."""
    number: int


def machine_in_words() -> str:
    """The processor, as far as the system tells, and the versions that matter."""
    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        models = [line for line in info.read_text("utf-8").splitlines() if "model name" in line]
        name = models[0].partition(":")[2].strip() if models else name
    return f"{name}, {platform.system()}, Python {platform.python_version()}"


def pieces(seeds: int, bugs: Sequence[str]) -> Iterator[Piece]:
    """Everything to be measured, seed by seed: a table of few seeds is soon complete."""
    for number in range(1, seeds + 1):
        for machine in MACHINES:
            for bug in BUGS[machine]:
                if not bugs or bug in bugs:
                    yield Piece(machine, bug, "search", number)
                    yield Piece(machine, bug, "campaign", number)
                    yield Piece(machine, bug, "shrunk", number)


def _sample(found: Searched) -> Sample:
    return Sample(*found._replace(seconds=round(found.seconds, 3))[:6])


def measure(piece: Piece) -> Sample:
    """What is stored of a piece. Of one that is shrunk the search has found something."""
    machine, bug, kind, number = piece
    if kind == "search":
        searched = search(machine, bug, number, budget(EXAMPLES))
        _latest.clear()
        _latest[machine, bug, number] = searched
        return _sample(searched)
    if kind == "campaign":
        return _sample(campaign(machine, bug, number, CAMPAIGN_SECONDS))
    again = _latest.pop((machine, bug, number), None)
    again = again or search(machine, bug, number, budget(EXAMPLES))
    left = shrunk(again, ATTEMPTS)
    if left is None:
        return Sample(None, again.tried, again.moves, 0.0, again.how, 0)
    return _sample(again._replace(length=left))


def samples_of(detection: Detection, piece: Piece, again: bool) -> Samples:
    """Where the piece belongs. Samples of an earlier machine stay unless asked for `again`."""
    of = detection.samples.setdefault(piece.machine, {})
    version = version_of(piece.machine)
    if piece.bug not in of or (again and of[piece.bug].version != version):
        of[piece.bug] = Samples(version=version)
    return of[piece.bug]


def is_found(samples: Samples) -> bool:
    """Whether the first seed found the bug."""
    return any(each.examples is not None for each in samples.search[:1])


def is_missing(piece: Piece, samples: Samples) -> bool:
    """Whether this is the next sample of its kind that there is to have."""
    if piece.kind != "shrunk":
        return len(getattr(samples, piece.kind)) < piece.number
    finders = [number for number, each in enumerate(samples.search, 1) if each.examples is not None]
    done = len(samples.shrunk)
    return done < SHRINKS and finders[done : done + 1] == [piece.number]


def forget_steps() -> None:
    """Frees what the simulator and the machines remember of steps."""
    forget()
    script.memos.forget()
    memos.forget()


def run_pieces(
    detection: Detection, seeds: int, bugs: Sequence[str], again: bool, end: float, path: Path
) -> bool:
    """Whether all was measured before the end. Each sample is stored as soon as it is there."""
    patient = False
    # What the first seed did not find takes longest and tells least, so it comes last.
    listed_pieces = list(pieces(seeds, bugs))
    first = [piece for piece in listed_pieces if piece.number == 1]
    for piece in (*first, *listed_pieces, None, *listed_pieces):
        if piece is None:
            patient = True
            continue
        samples = samples_of(detection, piece, again)
        if piece.number > 1 and not patient and not is_found(samples):
            continue
        listed: list[Sample] = getattr(samples, piece.kind)
        if not is_missing(piece, samples) or samples.version != version_of(piece.machine):
            continue
        if monotonic() > end:
            return False
        listed.append(measure(piece))
        forget_steps()
        told(f"{piece.machine} {piece.bug} {piece.kind} seed {piece.number}: {listed[-1]}")
        keep(detection, path)
    return True


def _unfinished(detection: Detection, examples: int, again: bool) -> list[tuple[str, Correct]]:
    """The machines that have not had their share of examples with the correct reference. What was
    found with an earlier version of a machine counts, unless asked for `again`.
    """
    waiting = []
    for machine in SHARES if examples else ():
        version = version_of(machine)
        have = detection.correct.get(machine)
        if have is None or (again and have.version != version):
            have = detection.correct[machine] = Correct(version=version)
        done = have.examples >= examples * SHARES[machine] or have.found
        if have.version == version and not done:
            waiting.append((machine, have))
    return waiting


def run_correct(detection: Detection, asked: argparse.Namespace, end: float, path: Path) -> bool:
    """Searches with the correct reference, by turns, until each machine had its share."""
    while True:
        waiting = _unfinished(detection, asked.correct, asked.again)
        if not waiting:
            return True
        for machine, have in waiting:
            if monotonic() > end:
                return False
            have.batches += 1
            found = search(machine, None, have.batches, budget(BATCH))
            have.examples += 0 if found.how else BATCH
            have.tried += found.tried
            have.moves += found.moves
            have.seconds = round(have.seconds + found.seconds, 1)
            if found.how:
                have.found.append(f"seed {have.batches}: {found.how}")
            forget_steps()
            told(f"{machine}, correct: {have}")
            keep(detection, path)


def search_rules(own: OwnRules, seeds: int, end: float) -> int:
    """Searches for a change of one's own, seed by seed; returns 0, or 2 when the time was up."""
    found = 0
    with known(own) as entry:
        for number in range(1, seeds + 1):
            if monotonic() > end:
                told(f"found by {found} of {number - 1} seeds; the time is up")
                return UNFINISHED
            sample = _sample(search(own.scenario, entry.id, number, budget(EXAMPLES)))
            found += sample.examples is not None
            forget_steps()
            told(f"{own.path.name} seed {number}: {sample}")
    told(f"found by {found} of {seeds} seeds")
    return DONE


def keep(detection: Detection, path: Path) -> None:
    """Figures of other machines stay, and so do their names; which is whose is told by hand."""
    if machine_in_words() not in detection.machine:
        detection.machine = "; ".join(filter(None, (detection.machine, machine_in_words())))
    detection.date = datetime.now(UTC).strftime("%Y-%m-%d")
    store(detection, path)


def told(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def main(arguments: Sequence[str], path: Path = STORED, target: Path = PAGE) -> int:
    parser = argparse.ArgumentParser(
        prog="make detection", description="see docs/measured/detection.md"
    )
    parser.add_argument("bugs", nargs="*", metavar="BUG", type=str.upper)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--correct", type=int, default=0, metavar="N")
    parser.add_argument("--minutes", type=float, default=None)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--rules", type=Path, metavar="FILE")
    asked = parser.parse_args(arguments)
    end = monotonic() + (float("inf") if asked.minutes is None else 60 * asked.minutes)
    if asked.rules:
        try:
            return search_rules(read_rules(asked.rules.absolute()), asked.seeds, end)
        except BadInput as error:
            told(str(error))
            return BAD_INPUT
    every = {bug for bugs in BUGS.values() for bug in bugs}
    if unknown := [bug for bug in asked.bugs if bug not in every]:
        told(
            f"{unknown[0]} is no bug that a machine can have; there are {min(every)} to "
            f"{max(every)}, see `kraftcheck bugs list`"
        )
        return BAD_INPUT
    try:
        detection = load(path)
    except DamagedStore as error:
        told(str(error))
        return BAD_INPUT
    if detection is None:
        detection = Detection(examples=EXAMPLES, campaign_seconds=CAMPAIGN_SECONDS)
    complete = True
    if not asked.table:
        complete = run_correct(detection, asked, end, path)
        complete &= run_pieces(detection, asked.seeds, asked.bugs, asked.again, end, path)
    for machine, of in detection.samples.items():
        if old := sorted(bug for bug, each in of.items() if each.version != version_of(machine)):
            told(f"the {machine} machine has changed since these were measured: {', '.join(old)}")
    if asked.table:
        sys.stdout.write(f"{tables(detection)}\n")
    target.write_text(page(detection), encoding="utf-8")
    if any(each.found for each in detection.correct.values()):
        return FOUND
    return DONE if complete else UNFINISHED


if __name__ == "__main__":
    draw_no_local_constants()
    sys.exit(main(sys.argv[1:]))
