"""Judges one history by the checker of its model: a `JudgedHistory`.

Here histories (traces/formats), checkers (traces/checkers) and the page (traces/report) meet; none
of them knows the others. objects.py is about models that need a search, properties.py about those
that need none, isolation.py about transactions over several objects, logs.py about partition logs.
"""

from __future__ import annotations

from pathlib import Path
from time import perf_counter

import msgspec

from kraftcheck.checking.logs import judge_log
from kraftcheck.checking.objects import judge_objects
from kraftcheck.checking.options import AUTO, Options, PageWriter, facts_of
from kraftcheck.checking.properties import judge_property
from kraftcheck.exits import BadInput
from kraftcheck.traces.checkers.log import MODEL
from kraftcheck.traces.checkers.properties import PROPERTIES
from kraftcheck.traces.formats import detect
from kraftcheck.traces.history import History
from kraftcheck.traces.report.judged import JudgedHistory


def judge_file(path: Path, options: Options, writer: PageWriter | None = None) -> JudgedHistory:
    """Raises HistoryError: it is no history, or a damaged one. BadInput: no model fits it."""
    begin = perf_counter()
    name = detect.detect(path) if options.format == AUTO else options.format
    judged = None
    if writer is None and options.model in (AUTO, MODEL):
        rows = detect.rows_of(path, name)
        judged = None if rows is None else judge_log(rows, facts_of(rows, MODEL, options), options)
    if judged is None:
        history = detect.read(path, name)
        judged = judge(history, options)
        if writer is not None:
            judged = _timed(judged, begin)
            writer.write(history, judged)
            return judged
    return _timed(judged, begin)


def _timed(judged: JudgedHistory, begin: float) -> JudgedHistory:
    """With the seconds so far; a page says what the terminal says."""
    return msgspec.structs.replace(judged, seconds=round(perf_counter() - begin, 4))


def judge(history: History, options: Options) -> JudgedHistory:
    """Raises HistoryError for operations that its model cannot try; BadInput without a model."""
    name = history.model if options.model == AUTO else options.model
    if name is None:
        verbs = sorted({operation.f for operation in history.operations})[:8]
        said = ", ".join(verb[:40] for verb in verbs)
        raise BadInput(f"no model is known by the operations {said}: name one with --model")
    facts = facts_of(history, name, options)
    if name == MODEL:
        return judge_log(history, facts, options)
    if name in PROPERTIES:
        return judge_property(history, facts, options)
    # Late: few histories have transactions.
    from kraftcheck.checking import isolation

    if isolation.applies(history, name, options):
        return isolation.judge_isolation(history, facts, options)
    if name == "register" and options.level == isolation.CAUSAL:
        return isolation.judge_causal(history, facts, options)
    return judge_objects(history, facts, options)
