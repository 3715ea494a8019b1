"""Whether valid histories of objects hold and those with one change do not, by model and faults.

Of each kind of object under each setting of faults, N histories that are valid by construction
(made_objects.py) are judged, two of five after they were written to a file and read again. None
may be violated. Then N small ones with one change each: what is called violated is found; what
holds must be harmless, by enumeration of every order with an object that shares no code with the
models (object_twins.py), and else is MISSED. What is violated though some order explains it is a
false alarm as well, and looked for among the smallest. Objects promise one level: linearizable.

    python -m tests.traces.checkers.valid_objects [N] [--seed S] [--json]     default 2000, seed 0
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import count, islice
from pathlib import Path
from typing import Final

import click
from msgspec.structs import replace

from kraftcheck.traces.checkers.check import check_history
from kraftcheck.traces.checkers.sequential import Model
from kraftcheck.traces.checkers.verdict import HOLDS, UNKNOWN, VIOLATED
from kraftcheck.traces.formats import jepsen, jsonlines
from kraftcheck.traces.history import History, HistoryError, Operation
from tests.traces.checkers import made_objects as made
from tests.traces.checkers.enumerate import OPERATIONS_MAX, linearization
from tests.traces.checkers.object_twins import twin

COUNT: Final = 2_000
CHUNK: Final = 500
PROCESSES: Final = 2
BUDGET_S: Final = 30.0
LARGE, SMALL = 30, 5
"""Operations of a client, at most, of valid histories and of those that are changed."""
ENUMERATED_MAX: Final = 5
"""Of so many operations on an object, every order is tried, to see that a violation is one."""
FOUND, REFUSED, HARMLESS, MISSED, FALSE = "found", "refused", "harmless", "MISSED", "FALSE ALARM"
VALID: Final = (HOLDS, VIOLATED, UNKNOWN, REFUSED)
CHANGED: Final = (FOUND, REFUSED, HARMLESS, UNKNOWN, MISSED, FALSE)
WRONG: Final = (("valid", VIOLATED), ("valid", REFUSED), ("changed", MISSED), ("changed", FALSE))
"""What there may be none of."""

Counts = Counter[tuple[str, str, str, str]]
"""By (valid or changed, kind, faults, what came of it)."""


def verdict_of(history: History) -> str:
    return check_history(history, budget_s=BUDGET_S).verdict


# -- Valid histories


def through_a_file(history: History, folder: Path, seed: int) -> History:
    """The history as it is, or written and read again in EDN or, where that can say it, JSON."""
    format = {0: jepsen, 1: jsonlines}.get(seed % 5)
    if format is None:
        return history
    try:
        text = "".join(format.write(history))
    except HistoryError:
        format, text = jepsen, "".join(jepsen.write(history))
    path = folder / "history"
    path.write_text(text, encoding="utf-8")
    read: History = format.read(path)
    told = {"format": read.format, "time_unit": read.time_unit, "operations": read.operations}
    return replace(history, **told)


def judged_valid(kind: str, faults: str, seed: int, folder: Path) -> str:
    history = made.history(kind, faults, seed, LARGE if seed % 2 else 2 * SMALL)
    try:
        return verdict_of(through_a_file(history, folder, seed))
    except HistoryError:
        return REFUSED


# -- Histories with one change


def changes(kind: str, faults: str, seed: int) -> Iterator[tuple[str, History]]:
    """Of the seeds from `seed` on, those histories that can be changed, and are small enough."""
    model = twin(made.model_of(kind))
    for number in count(seed):
        valid = made.history(kind, faults, -number - 1, SMALL)
        found = made.changed(valid)
        if found is not None and _largest(found[1], model) <= OPERATIONS_MAX - 1:
            yield found


def _parts(history: History) -> list[list[Operation]]:
    parts: dict[str | None, list[Operation]] = {}
    for each in history.operations:
        parts.setdefault(each.key, []).append(each)
    return list(parts.values())


def _largest(history: History, model: Model) -> int:
    return max(sum(map(model.judges, part)) for part in _parts(history))


def judged_changed(kind: str, history: History) -> str:
    model = twin(made.model_of(kind))
    try:
        verdict = verdict_of(history)
    except HistoryError:
        return REFUSED
    if verdict == UNKNOWN:
        return UNKNOWN
    if verdict == VIOLATED and _largest(history, model) > ENUMERATED_MAX:
        return FOUND
    explained = all(linearization(part, model) is not None for part in _parts(history))
    if verdict == VIOLATED:
        return FALSE if explained else FOUND
    return HARMLESS if explained else MISSED


# -- All of them


def judge(kind: str, faults: str, begin: int, end: int) -> tuple[Counts, list[str]]:
    """Both, for the seeds from `begin` to before `end`; and which were wrong."""
    found: Counts = Counter()
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(begin, end):
            said = judged_valid(kind, faults, seed, Path(folder))
            found["valid", kind, faults, said] += 1
            if ("valid", said) in WRONG:
                wrong.append(f"{said}: {kind}, faults {faults}, seed {seed}")
    # Seeds are far apart where some cannot be changed.
    for which, history in islice(changes(kind, faults, begin * 100), end - begin):
        said = judged_changed(kind, history)
        found["changed", kind, faults, said] += 1
        if ("changed", said) in WRONG:
            wrong.append(f"{said}: {history.source}, {which}")
    return found, wrong


def tallied(number: int, seed: int) -> tuple[Counts, list[str]]:
    """`number` of each kind and setting, by processes. Raises ValueError: none."""
    if number < 1:
        raise ValueError(f"{number} histories: at least one")
    first = seed * number
    begins = range(first, first + number, CHUNK)
    tasks = [
        (kind, faults, begin, min(begin + CHUNK, first + number))
        for kind in made.KINDS
        for faults in made.FAULTS
        for begin in begins
    ]
    found: Counts = Counter()
    wrong: list[str] = []
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(PROCESSES, mp_context=context) as pool:
        for counts, seeds in pool.map(judge, *zip(*tasks, strict=True)):
            found.update(counts)
            wrong += seeds
    return found, wrong


def table(found: Counts) -> Iterator[str]:
    """Lines: a row for each kind and setting."""
    said = [("valid", each) for each in VALID] + [("changed", each) for each in CHANGED]
    yield f"{'':<28}" + "".join(f"{name:>12}" for _, name in said)
    for kind in made.KINDS:
        for faults in made.FAULTS:
            cells = "".join(f"{found[what, kind, faults, name]:>12,}" for what, name in said)
            yield f"{kind + ', ' + faults:<28}{cells}"


def as_json(found: Counts, wrong: Sequence[str], number: int, seed: int) -> str:
    rows = [
        {"model": kind, "level": "linearizable", "faults": faults}
        | {
            what: {name: found[what, kind, faults, name] for name in names}
            for what, names in (("valid", VALID), ("changed", CHANGED))
        }
        for kind in made.KINDS
        for faults in made.FAULTS
    ]
    return json.dumps({"number": number, "seed": seed, "rows": rows, "wrong": list(wrong)})


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.traces.checkers.valid_objects")
    parser.add_argument("number", nargs="?", type=int, default=COUNT)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    begin = time.monotonic()
    found, wrong = tallied(given.number, given.seed)
    if given.json:
        click.echo(as_json(found, wrong, given.number, given.seed))
    else:
        click.echo("\n".join(table(found)))
        seconds = time.monotonic() - begin
        click.echo(
            f"{found.total():,} histories, seed {given.seed}, {seconds:,.0f} s: {len(wrong)} wrong"
        )
        click.echo("\n".join(wrong[:20]))
    if wrong:
        raise SystemExit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
