"""Whether the columnar checker and the twin that tries every execution agree, over 100,000 logs.

Histories come from small.py by seed: logs of seven kinds (plain, holes, duplicates, unknown
appends, list-valued fetches, ends, positions). A row for each kind counts verdicts; no class of a
kind may be empty. Every disagreement is printed with its seed, and is a failure. A checker that
cannot decide a history says `unknown`, and agrees with all.

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

from kraftcheck.traces.checkers.certificates import check_history
from kraftcheck.traces.checkers.verdict import HOLDS, UNKNOWN, VERDICTS, VIOLATED
from kraftcheck.traces.history import History
from tests.traces.checkers.slow_logs import TooLarge, linearizable
from tests.traces.checkers.small import log_history

LOGS: Final = 100_000
CHUNK: Final = 1_000
PROCESSES: Final = 2


class Tally(NamedTuple):
    """verdicts: by (kind, verdict), of the columnar checker. reasons: by (kind, why)."""

    verdicts: Counter[tuple[str, str]]
    reasons: Counter[tuple[str, str]]
    disagreements: list[str]


def by_executions(history: History) -> str:
    """The twin's verdict."""
    try:
        return HOLDS if linearizable(history) else VIOLATED
    except TooLarge:
        return UNKNOWN


def judge(begin: int, end: int) -> Tally:
    """The histories of the seeds from `begin` to before `end`."""
    tally = Tally(Counter(), Counter(), [])
    for seed in range(begin, end):
        kind, history = log_history(seed)
        (found,), twin = check_history(history), by_executions(history)
        tally.verdicts[kind, found.verdict] += 1
        if len({found.verdict, twin} - {UNKNOWN}) > 1:
            said = f"columnar {found.verdict}, twin {twin}"
            tally.disagreements.append(f"seed {seed} ({kind}): {said}")
        if found.certificate is not None:
            tally.reasons[kind, found.certificate.kind] += 1
    return tally


def tallied(count: int) -> Tally:
    """All seeds below `count`, by processes."""
    total = Tally(Counter(), Counter(), [])
    begins = range(0, count, CHUNK)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(PROCESSES, mp_context=context) as pool:
        ends = [min(begin + CHUNK, count) for begin in begins]
        for tally in pool.map(judge, begins, ends):
            total.verdicts.update(tally.verdicts)
            total.reasons.update(tally.reasons)
            total.disagreements.extend(tally.disagreements)
    return total


def report(tally: Tally) -> bool:
    """Prints the counts; whether all is as it should be."""
    empty = []
    click.echo(f"  {'kind':<14}{' / '.join(VERDICTS)}")
    for kind in sorted({kind for kind, _ in tally.verdicts}):
        counts = [tally.verdicts[kind, verdict] for verdict in VERDICTS]
        empty += [] if counts[0] and counts[1] else [kind]
        why = [f"{name} {n:,}" for (each, name), n in tally.reasons.most_common() if each == kind]
        said = " / ".join(f"{count:,}" for count in counts)
        click.echo(f"  {kind:<14}{said}; refused for: {', '.join(why)}")
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
