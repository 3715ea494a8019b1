"""Whether columnar checker, search, twin and enumeration agree, over 100,000 small logs.

Histories come from small.py by seed: logs of seven kinds (plain, holes, duplicates, unknown
appends, list-valued fetches, ends, positions). A row for each kind counts verdicts; no class of a
kind may be empty. Every disagreement is printed with its seed, and is a failure.

    python -m tests.traces.checkers.agreement [LOGS]       default 100000, some minutes
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from typing import Final, NamedTuple

import click

from kraftcheck.traces.checkers.verdict import VERDICTS
from tests.traces.checkers.opinions import differ, opinions
from tests.traces.checkers.small import log_history

LOGS: Final = 100_000
CHUNK: Final = 1_000
PROCESSES: Final = 2


class Tally(NamedTuple):
    """verdicts: by (kind, checker, verdict). reasons: by (kind, why). seconds: by checker."""

    verdicts: Counter[tuple[str, str, str]]
    reasons: Counter[tuple[str, str]]
    disagreements: list[str]

    def add(self, other: Tally) -> None:
        self.verdicts.update(other.verdicts)
        self.reasons.update(other.reasons)
        self.disagreements.extend(other.disagreements)


def judge(begin: int, end: int) -> Tally:
    """The histories of the seeds from `begin` to before `end`."""
    tally = Tally(Counter(), Counter(), [])
    for seed in range(begin, end):
        kind, history = log_history(seed)
        found = opinions(history)
        for checker, opinion in found.items():
            tally.verdicts[kind, checker, opinion.verdict] += 1
        if differ(found):
            said = ", ".join(f"{name} {each.verdict}" for name, each in found.items())
            tally.disagreements.append(f"seed {seed} ({kind}): {said}")
        if found["columnar"].certificate is not None:
            tally.reasons[kind, found["columnar"].certificate.kind] += 1
    return tally


def tallied(count: int) -> Tally:
    """All seeds below `count`, by processes."""
    total = Tally(Counter(), Counter(), [])
    begins = range(0, count, CHUNK)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(PROCESSES, mp_context=context) as pool:
        ends = [min(begin + CHUNK, count) for begin in begins]
        for tally in pool.map(judge, begins, ends):
            total.add(tally)
    return total


def report(tally: Tally) -> bool:
    """Prints the counts; whether all is as it should be."""
    checkers = sorted({checker for _, checker, _ in tally.verdicts})
    empty = []
    click.echo(f"  {'kind':<14}" + "".join(f"{checker:>26}" for checker in checkers))
    for kind in sorted({kind for kind, _, _ in tally.verdicts}):
        cells = []
        for checker in checkers:
            counts = [tally.verdicts[kind, checker, verdict] for verdict in VERDICTS]
            cells.append("/".join(f"{count:,}" for count in counts))
            if sum(counts) and not (counts[0] and counts[1]):
                empty.append(f"{kind} by {checker}")
        click.echo(f"  {kind:<14}" + "".join(f"{cell:>26}" for cell in cells))
    click.echo(f"  ({' / '.join(VERDICTS)})")
    for kind in sorted({kind for kind, _ in tally.reasons}):
        why = [f"{name} {n:,}" for (each, name), n in tally.reasons.most_common() if each == kind]
        click.echo(f"  {kind:<14}refused for: {', '.join(why)}")
    for line in tally.disagreements[:20]:
        click.echo(f"  DISAGREE {line}")
    for each in empty:
        click.echo(f"  EMPTY class: {each}")
    return not tally.disagreements and not empty


def main(arguments: list[str] | None = None) -> None:
    count = int(arguments[0]) if arguments else LOGS
    begin = time.monotonic()
    tally = tallied(count)
    seconds = time.monotonic() - begin
    click.echo(
        f"{count:,} logs, seeds 0 to {count - 1:,}, {PROCESSES} processes, {seconds:,.0f} s: "
        f"{len(tally.disagreements)} disagreements"
    )
    if not report(tally):
        raise SystemExit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
