"""Objects that need a search: registers, maps, sets, queues and models of the user's own."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec

from kraftcheck.check.options import PAGES_MAX, Options, PageWriter, facts_of
from kraftcheck.exits import BadInput
from kraftcheck.traces.checkers import models
from kraftcheck.traces.checkers.search import Limits, check
from kraftcheck.traces.checkers.sequential import Model
from kraftcheck.traces.checkers.verdict import HOLDS, UNKNOWN, VIOLATED, Certificate, Verdict
from kraftcheck.traces.formats import trace
from kraftcheck.traces.history import History, HistoryError
from kraftcheck.traces.jobs import promised
from kraftcheck.traces.report.history_words import ends
from kraftcheck.traces.report.judged import Judged, Object

LINEARIZABLE = "linearizable"


def model_named(name: str) -> Model:
    """A model of ours by name, or of the user's own as `module:Class`. Raises BadInput."""
    if name in models.MODELS:
        return models.model_named(name)
    module, colon, attribute = name.partition(":")
    if not colon:
        known = ", ".join(models.MODELS)
        raise BadInput(f"no model {name!r}; there are {known}, and your own as module:Class")
    with _modules_here():
        try:
            found = getattr(importlib.import_module(module), attribute)()
        except Exception as error:
            # Whatever it is: it was raised by code that is not ours.
            raise BadInput(f"no model {name!r}: {_one_line(error)}") from None
    if not isinstance(found, Model):
        raise BadInput(f"{name} is no Model (traces/checkers/sequential.py)")
    return found


@contextmanager
def _modules_here() -> Iterator[None]:
    """Modules of the working directory can be imported, which is not so in a console script."""
    before = sys.path[:]
    sys.path.insert(0, os.getcwd())
    try:
        yield
    finally:
        sys.path[:] = before


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


def judge_objects(history: History, facts: dict[str, Any], options: Options) -> Judged:
    _refuse_level(facts["model"], options)
    model = model_named(facts["model"])
    try:
        verdicts = check(history, model, Limits(seconds=options.budget))
    except Exception as error:
        if type(model).__module__ == models.__name__:
            raise
        raise BadInput(f"the model {facts['model']} failed: {_one_line(error)}") from error
    return _combined(history, facts, verdicts)


def _refuse_level(model: str, options: Options) -> None:
    if options.level not in (None, LINEARIZABLE):
        raise BadInput(f"level {options.level} is of partition logs; of a {model} only")


def judge_runs_of_objects(
    directory: Path,
    scenario: str,
    seen: Sequence[Model | None],
    options: Options,
    writer: PageWriter | None,
) -> tuple[tuple[Judged, ...], tuple[str, ...]]:
    """A trace whose clients see objects: as a whole, then each run that does not hold; or one run.

    Raises HistoryError: damaged, or no such run. BadInput: nothing is promised, or nobody asked
    anything.
    """
    if not any(seen):
        raise BadInput(f"nothing is promised to clients of {scenario}: there is nothing to judge")
    begin = perf_counter()
    names = ", ".join(dict.fromkeys(each.name for each in seen if each is not None))
    _refuse_level(names, options)
    found, runs, operations = list[Judged](), 0, 0
    for run, recorded in _recorded(directory, options.run):
        runs, operations = runs + 1, operations + len(recorded)
        history = trace.objects_of(directory, run, recorded, names)
        judged = _of_run(history, names, seen, options._replace(run=run))
        if options.run is not None or judged.verdict != HOLDS:
            found.append(judged)
            if writer is not None and len(found) <= PAGES_MAX:
                writer.write(history, judged)
    if options.run is not None and not runs:
        raise HistoryError(str(directory), 0, f"has no run {options.run}")
    if not operations:
        raise BadInput("no client asked anything in these runs: there is nothing to judge")
    if options.run is not None:
        return tuple(found), ()
    whole = _of_trace(directory, names, found, runs, operations)
    left = len(found) - PAGES_MAX
    notes = (f"{directory}: {left:,} more runs get no page",) if writer and left > 0 else ()
    return (msgspec.structs.replace(whole, seconds=round(perf_counter() - begin, 4)), *found), notes


def _recorded(directory: Path, wanted: int | None) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    for table in trace.tables(directory):
        rows = zip(table["run"].to_pylist(), table["history"].to_pylist(), strict=True)
        yield from ((run, recorded) for run, recorded in rows if wanted in (None, run))


def _of_run(history: History, names: str, seen: Sequence[Model | None], options: Options) -> Judged:
    facts = facts_of(history, names, options)
    try:
        verdicts = promised.judge_objects(history, seen, Limits(seconds=options.budget))
    except HistoryError:
        raise
    except Exception as error:  # What others wrote may raise anything.
        raise BadInput(f"the model {names} failed: {_one_line(error)}") from error
    return _combined(history, facts, verdicts)


def _of_trace(
    directory: Path, names: str, bad: Sequence[Judged], runs: int, operations: int
) -> Judged:
    verdicts = {each.verdict for each in bad}
    verdict = next((each for each in (VIOLATED, UNKNOWN) if each in verdicts), HOLDS)
    first = next((each for each in bad if each.verdict == verdict), None)
    told = None
    if first is not None:
        told = f"{len(bad):,} of {runs:,} runs, the first of them {first.file}"
    return Judged(
        file=str(directory),
        format=trace.NAME,
        model=names,
        verdict=verdict,
        level=LINEARIZABLE if verdict == HOLDS else None,
        promised=LINEARIZABLE,
        reason=told,
        operations=operations,
        runs=runs,
    )


def _combined(history: History, facts: dict[str, Any], verdicts: Sequence[Verdict]) -> Judged:
    """The verdict on a history from those on its objects, each of which is judged alone."""
    counts: dict[str | None, int] = {}
    for operation in history.operations:
        counts[operation.key] = counts.get(operation.key, 0) + 1
    objects = tuple(
        Object(
            key=each.key,
            verdict=each.verdict,
            level=LINEARIZABLE if each.verdict == HOLDS else None,
            operations=counts.get(each.key, len(history.operations)),
            certificate=each.certificate,
            reason=each.reason,
            witness=each.witness,
            prefix=each.prefix,
        )
        for each in verdicts
    )
    found = {each.verdict for each in objects}
    verdict = next((each for each in (VIOLATED, UNKNOWN) if each in found), HOLDS)
    return Judged(
        **facts,
        verdict=verdict,
        level=LINEARIZABLE if verdict == HOLDS else None,
        promised=LINEARIZABLE,
        certificate=smallest(objects),
        reason=_undecided(objects) if verdict == UNKNOWN else None,
        objects=objects,
    )


def smallest(objects: Sequence[Object]) -> Certificate | None:
    """The certificate with the fewest operations, and of those the earliest victim's."""
    found = [each.certificate for each in objects if each.certificate is not None]
    return min(found, key=lambda each: (len(each.operations), each.operations[-1:]), default=None)


def _undecided(objects: Sequence[Object]) -> str:
    undecided = [each for each in objects if each.verdict == UNKNOWN]
    first = undecided[0]
    place = "" if first.key is None else f"{ends(first.key)}: "
    more = f" (and {len(undecided) - 1} more objects)" if len(undecided) > 1 else ""
    return f"{place}{first.reason or 'not decided'}{more}"
