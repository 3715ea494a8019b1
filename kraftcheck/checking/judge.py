"""Judges one history by the checker of its model: a `JudgedHistory`.

Here histories (traces/formats), checkers (traces/checkers) and the page (traces/report) meet; none
of them knows the others. objects.py is about models that need a search, properties.py about those
that need none, isolation.py about transactions over several objects, logs.py about partition logs.
"""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import msgspec

from kraftcheck.checking.objects import judge_objects
from kraftcheck.checking.options import AUTO, Options, PageWriter, facts_of
from kraftcheck.checking.properties import judge_property
from kraftcheck.exits import BadInput
from kraftcheck.traces.checkers.isolation.transactions import spans_several
from kraftcheck.traces.checkers.properties import PROPERTIES
from kraftcheck.traces.formats import detect
from kraftcheck.traces.history import PARTITION_LOG, History
from kraftcheck.traces.report.judged import JudgedHistory

if TYPE_CHECKING:
    from kraftcheck.traces.rows import Rows


def judge_file(path: Path, options: Options, writer: PageWriter | None = None) -> JudgedHistory:
    """Raises HistoryError: it is no history, or a damaged one. BadInput: no model fits it."""
    begin = perf_counter()
    name = detect.detect(path) if options.format == AUTO else options.format
    judged = None
    if writer is None and options.model in (AUTO, PARTITION_LOG):
        rows = detect.rows_of(path, name)
        judged = None if rows is None else _judge_log(rows, options)
    if judged is None:
        history = detect.read(path, name)
        judged = judge(history, options)
        if writer is not None:
            judged = _timed(judged, begin)
            writer.write(history, judged)
            return judged
    return _timed(judged, begin)


def _judge_log(history: History | Rows, options: Options) -> JudgedHistory:
    # Late: other models need neither Arrow nor NumPy.
    from kraftcheck.checking.logs import judge_log

    return judge_log(history, facts_of(history, PARTITION_LOG, options), options)


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
    if name == PARTITION_LOG:
        return _judge_log(history, options)
    facts = facts_of(history, name, options)
    if name in PROPERTIES:
        return judge_property(history, facts, options)
    if options.level is None and not spans_several(history):
        return judge_objects(history, facts, options)
    # Late: few histories have transactions.
    from kraftcheck.checking import isolation

    if isolation.applies(history, name, options):
        return isolation.judge_isolation(history, facts, options)
    if name == "register" and options.level == isolation.CAUSAL:
        return isolation.judge_causal(history, facts, options)
    return judge_objects(history, facts, options)
