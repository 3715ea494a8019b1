"""Partition logs by search: small histories, one partition after the other.

Two levels are told apart here. *Linearizable*: all operations, in real time. *Consistent prefix*:
appends in real time, and every read shows the log as it was at some moment before it answered
(reads from followers, or right after a leader failed, may be that old).

Offsets that nobody is known to have written are filled with control records (leader changes,
transaction markers), of which a history says nothing: they may appear at any time. So a hole is no
violation here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import msgspec

from kraftcheck.exits import BadInput
from kraftcheck.judgement import Options, PageWriter, facts_of
from traces.checkers.models import PartitionLog
from traces.checkers.search import Limits, check_object
from traces.checkers.verdict import HOLDS, UNKNOWN, VIOLATED, Certificate, Verdict
from traces.formats import trace
from traces.history import FAIL, INDETERMINATE, LOG_OPERATIONS, OK, History, Operation
from traces.report.judged import Anomaly, Judged, Object

LINEARIZABLE, PREFIX, DIVERGENT = "linearizable", "consistent-prefix", "divergent"
LEVELS = (LINEARIZABLE, PREFIX)
INCONSISTENT = "inconsistent-offsets"
PAGES_MAX = 20
"""Of a trace, so many runs get a page."""
CONTROL = "control record"


def judge_log(history: History, facts: dict[str, Any], options: Options) -> Judged:
    """Each partition of a history. Raises BadInput for a level that is none."""
    promised = options.level or LINEARIZABLE
    if promised not in LEVELS:
        raise BadInput(f"no level {promised!r}; there are {', '.join(LEVELS)}")
    parts: dict[str | None, list[Operation]] = {}
    for operation in history.operations:
        if operation.f in LOG_OPERATIONS:
            parts.setdefault(operation.key, []).append(operation)
    if not parts:
        raise BadInput("no operation on a partition's log")
    limits = Limits(seconds=options.budget)
    found = [_partition(key, part, promised, limits) for key, part in parts.items()]
    objects = tuple(found)
    verdicts = {each.verdict for each in objects}
    verdict = next((each for each in (VIOLATED, UNKNOWN) if each in verdicts), HOLDS)
    certificates = [each.certificate for each in objects if each.certificate is not None]
    certificate = min(certificates, key=lambda each: len(each.operations), default=None)
    divergent = [each for each in certificates if each.kind == INCONSISTENT]
    anomalies = (
        Anomaly(
            name=INCONSISTENT,
            count=len(divergent),
            allowed=False,
            reason="an offset holds one value for ever",
            certificates=tuple(divergent),
        ),
    )
    return Judged(
        **facts,
        verdict=verdict,
        level=_weakest(objects) if verdict != UNKNOWN else None,
        promised=promised,
        certificate=certificate,
        reason=next((each.reason for each in objects if each.verdict == UNKNOWN), None),
        objects=objects,
        anomalies=anomalies if divergent else (),
    )


def _weakest(objects: Sequence[Object]) -> str | None:
    """The level of the worst object; None if not even the weakest holds for it."""
    order = (LINEARIZABLE, PREFIX, None, DIVERGENT)
    return max((each.level for each in objects), key=order.index)


# -- One partition


class _Known(NamedTuple):
    """Who says which value is at an offset first, and the first who says another."""

    value: Any
    operation: Operation


def _partition(
    key: str | None, operations: Sequence[Operation], promised: str, limits: Limits
) -> Object:
    """The strongest level that holds, and the verdict on the one that was promised."""
    known: dict[int, _Known] = {}
    for operation in operations:
        for offset, value in _said(operation):
            first = known.setdefault(offset, _Known(value, operation))
            if first.value != value:
                return _divergent(key, operations, offset, first, value, operation)
    dense = _dense(operations, known)
    held = failed = found = None
    for level in LEVELS if dense else ():
        judged = dense if level == LINEARIZABLE else [_relaxed(each) for each in dense]
        found = check_object(judged, PartitionLog(), limits)
        if found.verdict != VIOLATED:
            held = level if found.verdict == HOLDS else None
            break
        failed = found if level == promised else failed
    if found is None:
        # Nothing was answered: nothing can contradict anything.
        return Object(key=key, verdict=HOLDS, level=LINEARIZABLE, operations=len(operations))
    verdict = UNKNOWN if found.verdict == UNKNOWN else _held(held, promised)
    return Object(
        key=key,
        verdict=VIOLATED if failed is not None else verdict,
        level=held,
        operations=len(operations),
        certificate=_certificate(failed, key) if failed is not None else None,
        reason=found.reason,
        witness=tuple(at for at in found.witness or () if at >= 0) or None,
        prefix=failed.prefix if failed is not None else None,
    )


def _held(level: str | None, promised: str) -> str:
    enough = level is not None and LEVELS.index(level) <= LEVELS.index(promised)
    return HOLDS if enough else VIOLATED


def _certificate(found: Verdict, key: str | None) -> Certificate | None:
    if found.certificate is None:
        return None
    named = tuple(at for at in found.certificate.operations if at >= 0)
    return msgspec.structs.replace(found.certificate, operations=named, key=key)


def _said(operation: Operation) -> Iterator[tuple[int, Any]]:
    """(offset, value) of what an operation proves to be in the log."""
    if operation.f == "append" and operation.outcome == OK and operation.result is not None:
        yield operation.result, operation.argument
    elif operation.f == "fetch":
        yield from operation.result or ()


def _divergent(
    key: str | None,
    operations: Sequence[Operation],
    offset: int,
    first: _Known,
    value: Any,
    operation: Operation,
) -> Object:
    sentence = (
        f"offset {offset} held {first.value!r:.60} for operation {first.operation.index} (process "
        f"{first.operation.process}: {first.operation.f}) and {value!r:.60} for operation "
        f"{operation.index} (process {operation.process}: {operation.f})"
    )
    accused = (first.operation.index, operation.index)
    certificate = Certificate(operations=accused, kind=INCONSISTENT, sentence=sentence, key=key)
    count = len(operations)
    return Object(
        key=key, verdict=VIOLATED, level=DIVERGENT, operations=count, certificate=certificate
    )


def _dense(operations: Sequence[Operation], known: dict[int, _Known]) -> list[Operation]:
    """The operations on a log without holes: control records where nobody is known to have written.

    Operations that say nothing are left out: reads without an answer, appends that failed.
    """
    ends = [o.end for o in operations if o.end is not None]
    ends += [o.result for o in operations if o.f == "latest" and o.outcome == OK]
    length = max([*(offset + 1 for offset in known), *ends], default=0)
    holes = [offset for offset in range(length) if offset not in known]
    begin = min(operation.invoked for operation in operations) - 1
    control = [_control(at, offset, begin) for at, offset in enumerate(holes, 1)]
    missing = set(holes)
    told = [o for o in operations if o.outcome != FAIL and not _silent(o)]
    return [*control, *(_filled(each, missing) for each in told)]


def _silent(operation: Operation) -> bool:
    return operation.f != "append" and (operation.outcome != OK or operation.result is None)


def _control(at: int, offset: int, begin: int) -> Operation:
    return Operation(
        index=-at,
        process=-at,
        f="append",
        argument=(CONTROL, offset),
        result=offset,
        invoked=begin,
        completed=None,
        outcome=INDETERMINATE,
        group=-at,
    )


def _filled(operation: Operation, missing: set[int]) -> Operation:
    """A fetch with the control records that it passed over in its answer."""
    if operation.f != "fetch" or not missing:
        return operation
    values = dict(operation.result or ())
    asked = [] if operation.argument is None else [operation.argument]
    if not values and not (asked and operation.end is not None):
        return operation
    start = min([*values, *asked])
    stop = max(values) + 1 if operation.end is None else operation.end
    for offset in range(start, stop):
        if offset in missing:
            values[offset] = (CONTROL, offset)
    return msgspec.structs.replace(operation, result=tuple(sorted(values.items())))


def _relaxed(operation: Operation) -> Operation:
    """A read that may show the log as it was at any time before its answer."""
    if operation.f == "append":
        return operation
    return msgspec.structs.replace(operation, invoked=-(2**63))


# -- The runs of a trace


def judge_trace(
    directory: Path, options: Options, writer: PageWriter | None = None
) -> tuple[tuple[Judged, ...], tuple[str, ...]]:
    """The trace as a whole, then each of its runs that does not hold; with what was left out.

    Clients of a simulated quorum ask any of its nodes, so a consistent prefix is what they are
    promised. Raises HistoryError: the trace is damaged, or has no such run.
    """
    begin = perf_counter()
    options = options._replace(level=options.level or PREFIX)
    if options.run is not None:
        history = trace.history(directory, options.run)
        judged = judge_log(history, facts_of(history, trace.MODEL, options), options)
        judged = msgspec.structs.replace(judged, seconds=round(perf_counter() - begin, 4))
        if writer is not None:
            writer.write(history, judged)
        return (judged,), ()
    runs = operations = 0
    bad: list[Judged] = []
    for _, history in trace.histories(directory):
        runs += 1
        operations += len(history.operations)
        if not history.operations:
            continue
        judged = judge_log(history, facts_of(history, trace.MODEL, options), options)
        if judged.verdict != HOLDS:
            bad.append(judged)
            if writer is not None and len(bad) <= PAGES_MAX:
                writer.write(trace.history(directory, _run_of(history)), judged)
    whole = _whole(directory, runs, operations, bad, options)
    left = len(bad) - PAGES_MAX
    notes = (f"{directory}: {left:,} more runs get no page",) if writer and left > 0 else ()
    return (msgspec.structs.replace(whole, seconds=round(perf_counter() - begin, 4)), *bad), notes


def _run_of(history: History) -> int:
    return int(history.source.rpartition("#")[2])


def _whole(
    directory: Path, runs: int, operations: int, bad: Sequence[Judged], options: Options
) -> Judged:
    verdicts = {each.verdict for each in bad}
    verdict = next((each for each in (VIOLATED, UNKNOWN) if each in verdicts), HOLDS)
    first = next((each for each in bad if each.verdict == verdict), None)
    reason = None
    if first is not None:
        reason = f"{len(bad):,} of {runs:,} runs, the first of them {first.file}"
    return Judged(
        file=str(directory),
        format=trace.NAME,
        model=trace.MODEL,
        verdict=verdict,
        level=options.level if verdict == HOLDS else None,
        promised=options.level,
        because="clients ask any node of the quorum",
        reason=reason,
        operations=operations,
        runs=runs,
    )
