"""Whether logs that are valid by construction hold, and each that was made invalid is found out.

For each setting of clients and each fault (log_world.py): N histories that a world with the row's
mechanism made, which may not be called violated; and N small ones with one thing changed, which are
found to be violated, or are harmless: the twin that tries every order (slow_logs.py) explains
them. What it does not explain and is not found is MISSED. Of those that were found, one in TWINNED
is asked of the twin as well: if it explains them, that is a false alarm.

    python -m tests.traces.checkers.valid_logs [N] [--seed S] [--level LEVEL ...]
                                                       default 200, seed 1

Exit code 1 if a valid log was violated, or an invalid one missed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Final, NamedTuple

import click

from kraftcheck.traces.checkers.assessment import Assessment, assess
from kraftcheck.traces.checkers.columns import compacted, from_history
from kraftcheck.traces.checkers.log import gaps_in
from kraftcheck.traces.checkers.verdict import HOLDS, UNKNOWN, VIOLATED
from kraftcheck.traces.history import History
from tests.traces.checkers.calls import together
from tests.traces.checkers.log_world import SETTINGS, Setting, damaged, log_history
from tests.traces.checkers.slow_logs import TooLarge, explained

HISTORIES: Final = 200
CHUNK: Final = 250
PROCESSES: Final = 2
SIZES: Final = (6, 12, 30, 80)
"""Operations of a valid history, in turn."""
SMALL: Final = 7
"""Of one that is changed: every order of it is tried."""
TWINNED: Final = 8
FALSE, MISSED, FOUND, HARMLESS, OPEN = "FALSE ALARM", "MISSED", "found", "harmless", "too large"


class Tally(NamedTuple):
    """valid, changed: how often each verdict came. wrong: seeds, with what is wrong."""

    setting: Setting
    valid: Counter[str]
    changed: Counter[str]
    wrong: list[str]


def judged(setting: Setting, histories: Sequence[History]) -> list[str]:
    """The verdicts, of those with gaps in one batch and of the others in another."""
    found = dict.fromkeys(range(len(histories)), "")
    for gaps in (False, True):
        rows = [i for i in found if gaps_in(histories[i], setting.configuration) is gaps]
        if rows:
            each = _assessed(setting, [histories[i] for i in rows], gaps)
            found |= dict(zip(rows, (str(v) for v in each.verdicts), strict=True))
    return list(found.values())


def _assessed(setting: Setting, histories: Sequence[History], gaps: bool) -> Assessment:
    batch = together(*map(from_history, histories))
    if setting.configuration.compaction != "none":
        batch = compacted(batch, keyed=setting.configuration.compaction == "keyed")
    return assess(batch, [setting.promise] * batch.segments, gaps=gaps, complete=False)


def tally(setting: Setting, begin: int, end: int) -> Tally:
    """The histories of the seeds from `begin` to before `end`."""
    seeds = range(begin, end)
    found = Tally(setting, Counter(), Counter(), [])
    valid = [log_history(setting, seed, SIZES[seed % len(SIZES)]) for seed in seeds]
    for seed, verdict in zip(seeds, judged(setting, valid), strict=True):
        found.valid[verdict] += 1
        if verdict == VIOLATED:
            found.wrong.append(f"seed {seed}: a valid log is violated")
    changed = [damaged(log_history(setting, seed, SMALL), seed) for seed in seeds]
    for seed, each, verdict in zip(seeds, changed, judged(setting, changed), strict=True):
        named = _named(setting, each, verdict, seed)
        found.changed[named] += 1
        if named in (FALSE, MISSED):
            found.wrong.append(f"seed {seed}: a changed log: {named}")
    return found


def _named(setting: Setting, history: History, verdict: str, seed: int) -> str:
    if verdict == VIOLATED and seed % TWINNED:
        return FOUND
    compaction = setting.configuration.compaction
    gaps = gaps_in(history, setting.configuration)
    try:
        fine = explained(history, setting.promise, gaps=gaps, compaction=compaction)
    except TooLarge:
        return OPEN
    if verdict == VIOLATED:
        return FALSE if fine else FOUND
    if verdict == UNKNOWN:
        return UNKNOWN
    return HARMLESS if fine else MISSED


def report(found: Sequence[Tally]) -> bool:
    """Prints a row for each setting; whether all is as it should be."""
    changed = (FOUND, HARMLESS, UNKNOWN, OPEN, MISSED, FALSE)
    verdicts = (HOLDS, UNKNOWN, VIOLATED)
    click.echo(f"{'':<32}{'valid logs':<30}with one change")
    head = "".join(f"{name:>10}" for name in verdicts) + "".join(f"{n:>12}" for n in changed)
    click.echo(f"{'level':<22}{'fault':<10}{head}")
    total = Tally(SETTINGS[0], Counter(), Counter(), [])
    for each in found:
        _print(each.setting.level, each.setting.fault, each, verdicts, changed)
        total.valid.update(each.valid)
        total.changed.update(each.changed)
    _print("all", "", total, verdicts, changed)
    wrong = [(each.setting, line) for each in found for line in each.wrong]
    for setting, line in wrong[:40]:
        click.echo(f"  WRONG {setting.level!r} {setting.fault!r} {line}")
    return not wrong


def _print(
    level: str, fault: str, each: Tally, verdicts: Sequence[str], changed: Sequence[str]
) -> None:
    cells = "".join(f"{each.valid[name]:>10,}" for name in verdicts)
    cells += "".join(f"{each.changed[name]:>12,}" for name in changed)
    click.echo(f"{level:<22}{fault:<10}{cells}")


def tallied(settings: Sequence[Setting], count: int, seed: int) -> list[Tally]:
    """`count` valid and as many changed histories for each setting, by processes."""
    total = {each: Tally(each, Counter(), Counter(), []) for each in settings}
    first = seed * 1_000_000
    jobs = [
        (setting, begin, min(begin + CHUNK, first + count))
        for setting in settings
        for begin in range(first, first + count, CHUNK)
    ]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(PROCESSES, mp_context=context) as pool:
        for each in pool.map(_job, jobs):
            kept = total[each.setting]
            kept.valid.update(each.valid)
            kept.changed.update(each.changed)
            kept.wrong.extend(each.wrong)
    return list(total.values())


def _job(job: tuple[Setting, int, int]) -> Tally:
    return tally(*job)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.traces.checkers.valid_logs")
    parser.add_argument("count", nargs="?", type=int, default=HISTORIES, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--level", action="append", help="of the settings; may be repeated")
    options = parser.parse_args(arguments or [])
    settings = [s for s in SETTINGS if not options.level or s.level in options.level]
    if not settings or options.count < 1:
        parser.error("there is no such setting, or nothing to do")
    begin = time.monotonic()
    found = tallied(settings, options.count, options.seed)
    good = report(found)
    click.echo(f"{options.count:,} of each, seed {options.seed}, {time.monotonic() - begin:,.0f} s")
    if not good:
        raise SystemExit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
