"""Judges one history, or all runs of a trace, by the checker of its model: a `Judged` for each.

This is where histories (traces/formats), checkers (traces/checkers) and the page (traces/report)
meet; none of them knows the others.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import msgspec

from kraftcheck import artifacts
from kraftcheck.exits import BadInput
from traces.checkers import models
from traces.checkers.models import Model
from traces.checkers.search import Limits, check
from traces.checkers.verdict import HOLDS, UNKNOWN, VIOLATED, Certificate, Verdict
from traces.formats import detect
from traces.history import FAIL, INDETERMINATE, History, Operation
from traces.report.judged import Judged, Object

AUTO = "auto"
LOG = "partition-log"
LINEARIZABLE = "linearizable"
PAGES_MAX = 20
"""Of a trace, so many runs get a page."""


class Options(NamedTuple):
    """What was asked for, besides the paths.

    format, model: by name, or auto. level: to be held against, in place of the one that the
    configuration promises. budget: seconds for each object of a history that needs a search.
    configuration: what the promises depend on, as given. run: of a trace, this one alone.
    """

    format: str = AUTO
    model: str = AUTO
    level: str | None = None
    budget: float = 60.0
    run: int | None = None
    configuration: Mapping[str, Any] = {}


class PageWriter:
    """Writes the page of a history, and what was found as JSON beside it, into a folder of ours."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.written: list[str] = []

    def write(self, history: History, judged: Judged) -> None:
        # Late: only who wants pages waits for the template engine.
        from traces.report.history import render

        name = page_name(judged.file)
        facts = json.dumps(msgspec.to_builtins(judged), indent=2, allow_nan=False)
        artifacts.write_whole(self._folder / f"{name}.json", facts + "\n")
        path = self._folder / f"{name}.html"
        artifacts.write_whole(path, render(history, judged))
        self.written.append(str(path))


def page_name(source: str) -> str:
    """A file's name for a page: readable, and its own for every source."""
    readable = re.sub(r"[^\w.-]+", "-", source).strip("-.")[-80:]
    return f"{readable}-{hashlib.sha256(source.encode()).hexdigest()[:8]}"


# -- A file


def judge_file(path: Path, options: Options, writer: PageWriter | None = None) -> Judged:
    """Raises HistoryError: it is no history, or a damaged one. BadInput: no model fits it."""
    begin = perf_counter()
    history = detect.read(path, options.format)
    judged = judge(history, options)
    judged = msgspec.structs.replace(judged, seconds=round(perf_counter() - begin, 4))
    if writer is not None:
        writer.write(history, judged)
    return judged


def judge(history: History, options: Options) -> Judged:
    """Raises HistoryError for operations that its model cannot try; BadInput without a model."""
    name = history.model if options.model == AUTO else options.model
    if name is None:
        verbs = sorted({operation.f for operation in history.operations})[:8]
        said = ", ".join(verb[:40] for verb in verbs)
        raise BadInput(f"no model is known by the operations {said}: name one with --model")
    facts = _facts(history, name, options)
    if name == LOG:
        from kraftcheck.judging_logs import judge_log

        return judge_log(history, facts, options)
    return _searched(history, facts, options)


def _facts(history: History, model: str, options: Options) -> dict[str, Any]:
    """What a judgement says of the history itself."""
    outcomes = [operation.outcome for operation in history.operations]
    return {
        "file": history.source,
        "format": history.format,
        "model": model,
        "operations": len(outcomes),
        "indeterminate": outcomes.count(INDETERMINATE),
        "failed": outcomes.count(FAIL),
        "processes": len({operation.process for operation in history.operations}),
        "command": command(history.source, options),
    }


def command(source: str, options: Options) -> str:
    """The command that judges this history again, and makes its page."""
    path, _, run = (
        source.rpartition("#") if source.rpartition("#")[2].isdigit() else (source, "", "")
    )
    words = ["kraftcheck", "check", path]
    words += ["--run", run] if run else []
    given = {"format": options.format, "model": options.model, "level": options.level or AUTO}
    for name, value in given.items():
        words += [f"--{name}", str(value)] if value != AUTO else []
    words += ["--budget", f"{options.budget:g}"] if options.budget != Options().budget else []
    for name, value in options.configuration.items():
        if value is True:
            words.append(f"--{name.replace('_', '-')}")
        elif value not in (None, False):
            words += [f"--{name.replace('_', '-')}", str(value)]
    return shlex.join([*words, "--html", "pages"])


# -- Models that need a search


def model_named(name: str) -> Model:
    """A model of ours by name, or of the user's own as `module:Class`. Raises BadInput."""
    if name in models.MODELS:
        return models.model_named(name)
    module, colon, attribute = name.partition(":")
    if not colon:
        known = ", ".join(models.MODELS)
        raise BadInput(f"no model {name!r}; there are {known}, and your own as module:Class")
    try:
        found = getattr(importlib.import_module(module), attribute)()
    except (ImportError, AttributeError, TypeError) as error:
        raise BadInput(f"no model {name!r}: {error}") from None
    if not isinstance(found, Model):
        raise BadInput(f"{name} is no Model (traces/checkers/models.py)")
    return found


def _searched(history: History, facts: dict[str, Any], options: Options) -> Judged:
    if options.level not in (None, LINEARIZABLE):
        raise BadInput(f"level {options.level} is of partition logs; of a {facts['model']} only")
    verdicts = check(history, model_named(facts["model"]), Limits(seconds=options.budget))
    return _combined(history, facts, verdicts)


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
        certificate=smallest(objects, history.operations),
        reason=_undecided(objects) if verdict == UNKNOWN else None,
        objects=objects,
    )


def smallest(objects: Sequence[Object], operations: Sequence[Operation]) -> Certificate | None:
    """The certificate with the fewest operations, and of those the earliest victim's."""
    found = [each.certificate for each in objects if each.certificate is not None]
    return min(found, key=lambda each: (len(each.operations), each.operations[-1:]), default=None)


def _undecided(objects: Sequence[Object]) -> str:
    undecided = [each for each in objects if each.verdict == UNKNOWN]
    first = undecided[0]
    place = "" if first.key is None else f"{first.key}: "
    more = f" (and {len(undecided) - 1} more objects)" if len(undecided) > 1 else ""
    return f"{place}{first.reason or 'not decided'}{more}"
