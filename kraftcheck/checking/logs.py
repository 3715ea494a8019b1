"""Partition logs: what the columnar checkers find, as a `JudgedHistory`.

A file is held against its terms (terms.py). The runs of a trace are in traces.py.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from kraftcheck.checking.objects import NOTHING_SEEN
from kraftcheck.checking.options import Options
from kraftcheck.checking.terms import Terms, terms_of
from kraftcheck.exits import BadInput
from kraftcheck.reference.clients.promises import Level, level_named
from kraftcheck.traces import grouplog
from kraftcheck.traces.checkers.assessment import Report, name_of
from kraftcheck.traces.checkers.check import check_log
from kraftcheck.traces.checkers.verdict import HOLDS, UNKNOWN
from kraftcheck.traces.grouplog import Entry
from kraftcheck.traces.history import LOG_OPERATIONS, SHARE_POLL, History
from kraftcheck.traces.report.judged import JudgedHistory, Object
from kraftcheck.traces.rows import Rows, rows_of


def level_asked(options: Options) -> Level | None:
    """Raises BadInput for a level that is none."""
    if options.level is None:
        return None
    try:
        return level_named(options.level)
    except KeyError as error:
        raise BadInput(str(error.args[0])) from None


def judge_log(
    history: History | Rows, facts: dict[str, Any], options: Options, terms: Terms | None = None
) -> JudgedHistory:
    """Each partition of a history, against `terms`, or what is known of it where it lies.

    Raises BadInput: no such level, no operation on a log, or a damaged recording beside it.
    """
    level = level_asked(options)
    path = Path(history.source)
    try:
        rows = rows_of(history)
        of_log = rows.f.any_of((*LOG_OPERATIONS, SHARE_POLL))
        if not of_log.any():
            raise BadInput("no operation on a partition's log")
        terms = terms or terms_of(path, rows, options)
        found = check_log(
            rows,
            terms.promise,
            terms.configuration,
            level=level,
            gaps=terms.gaps,
            complete=terms.complete,
            groups=_groups_beside(path),
        )
    except ValueError as error:
        raise BadInput(str(error)) from None
    judged = _judged(found, facts, terms)
    if judged.verdict == HOLDS and not (of_log & rows.outcome.are("ok")).any():
        return msgspec.structs.replace(judged, verdict=UNKNOWN, level=None, reason=NOTHING_SEEN)
    told = rows.objects
    if told is None:
        return judged
    if not told.real_time:
        judged = _without_real_time(judged)
    if judged.verdict == UNKNOWN and judged.reason and told.omissions.reads:
        # It may have been said already that consumers read to the end.
        reason = f"{judged.reason.partition(': say ')[0]}; but not every read was recorded"
        return msgspec.structs.replace(judged, reason=reason)
    if told.omissions.dropped and judged.verdict == HOLDS:
        reason = f"not everything was recorded: {told.omissions.dropped}"
        return msgspec.structs.replace(judged, verdict=UNKNOWN, reason=reason)
    return judged


def _without_real_time(judged: JudgedHistory) -> JudgedHistory:
    """What was not looked at is not said to hold."""
    most = Level.SEQUENTIAL
    held = None if judged.level is None else min(most, level_named(judged.level))
    wanted = None if judged.promised is None else min(most, level_named(judged.promised))
    return msgspec.structs.replace(
        judged,
        level=None if held is None else name_of(held),
        promised=None if wanted is None else name_of(wanted),
    )


def _groups_beside(path: Path) -> tuple[Entry, ...]:
    """The log of consumer groups that was recorded with a history. Raises HistoryError: damaged."""
    with suppress(FileNotFoundError, NotADirectoryError):
        return grouplog.read(path.parent / grouplog.GROUPS)
    return ()


def _judged(found: Report, facts: dict[str, Any], terms: Terms) -> JudgedHistory:
    guilty = [each.certificate for each in found.parts if each.certificate is not None]
    undecided = (each.reason for each in found.parts if each.verdict == UNKNOWN)
    return JudgedHistory(
        **facts,
        verdict=found.verdict,
        level=found.level,
        promised=found.promised,
        because=found.because,
        certificate=min(guilty, key=lambda each: len(each.operations), default=None),
        reason=next(undecided, None),
        objects=tuple(Object(**msgspec.structs.asdict(each)) for each in found.parts),
        anomalies=found.anomalies,
        staleness=found.staleness,
        transactions=found.transactions,
        configuration=terms.assumed,
    )
