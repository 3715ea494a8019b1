"""Objects that need a search: registers, maps, sets, queues and models of the user's own."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

import msgspec

from kraftcheck.checking.options import Options
from kraftcheck.exits import BadInput
from kraftcheck.traces.checkers import models
from kraftcheck.traces.checkers.models import MultiRegister, Register, as_transactions
from kraftcheck.traces.checkers.properties import PROPERTIES
from kraftcheck.traces.checkers.search import Limits, check
from kraftcheck.traces.checkers.sequential import Model
from kraftcheck.traces.checkers.verdict import HOLDS, UNKNOWN, VIOLATED, Certificate, Verdict
from kraftcheck.traces.formats.keys import key_named
from kraftcheck.traces.history import COMPARED, PARTITION_LOG, History
from kraftcheck.traces.report.history_words import ends
from kraftcheck.traces.report.judged import JudgedHistory, Object

LINEARIZABLE = "linearizable"
NOTHING_SEEN = "no answer says anything about what was done: nothing was looked at"


def model_named(name: str) -> Model:
    """A model of ours by name, or of the user's own as `module:Class`. Raises BadInput."""
    if name in models.MODELS:
        return models.model_named(name)
    module, colon, attribute = name.partition(":")
    if not colon:
        known = [*models.MODELS, PARTITION_LOG, *PROPERTIES]
        near = get_close_matches(name, known, 1)
        there = ", ".join(known)
        if near:
            raise BadInput(f"no model {name!r}: did you mean {near[0]}? There are {there}")
        raise BadInput(f"no model {name!r}; there are {there}, and your own as module:Class")
    with _modules_here():
        try:
            found = getattr(importlib.import_module(module), attribute)()
        except Exception as error:
            # Whatever it is: it was raised by code that is not ours.
            raise BadInput(f"no model {name!r}: {one_line(error)}") from None
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


def one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


def judge_objects(history: History, facts: dict[str, Any], options: Options) -> JudgedHistory:
    refuse_level(facts["model"], options)
    model = configured(model_named(facts["model"]), history, options)
    if isinstance(model, MultiRegister):
        history = as_transactions(history)
    try:
        verdicts = check(history, model, Limits(seconds=options.budget))
    except Exception as error:
        if type(model).__module__ == models.__name__:
            raise
        raise BadInput(f"the model {facts['model']} failed: {one_line(error)}") from error
    judged = combined(history, facts, verdicts)
    if judged.verdict == HOLDS and not any(map(model.observes, history.operations)):
        return msgspec.structs.replace(judged, verdict=UNKNOWN, level=None, reason=NOTHING_SEEN)
    return judged


def configured(model: Model, history: History, options: Options) -> Model:
    """The model as the options, or else the history's format, have it. Raises BadInput."""
    if isinstance(model, Register):
        compared = (options.failed_cas or history.failed_cas) == COMPARED
        return type(model)(initial_of(history, options), compared=compared)
    if type(model) is MultiRegister:
        return MultiRegister(initial_of(history, options))
    if options.initial is not None:
        raise BadInput(f"--initial is of registers; a {model.name} has a beginning of its own")
    return model


def initial_of(history: History, options: Options) -> Any:
    """The value of a register that nobody wrote."""
    return history.initial if options.initial is None else key_named(options.initial)


def refuse_level(model: str, options: Options) -> None:
    if options.level not in (None, LINEARIZABLE):
        raise BadInput(f"level {options.level} is of partition logs; of a {model} only")


def combined(history: History, facts: dict[str, Any], verdicts: Sequence[Verdict]) -> JudgedHistory:
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
    return JudgedHistory(
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
