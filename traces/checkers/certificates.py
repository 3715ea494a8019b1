"""Why a log is not linearizable, in at most two operations and one sentence.

Work is done for one segment at a time and only for those that were rejected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import numpy as np

from kraftcheck.traces.checkers.columns import EARLIEST, LATEST, Ints, LogBatch
from kraftcheck.traces.checkers.log import BROKEN, Judgement
from kraftcheck.traces.checkers.owners import Clash
from kraftcheck.traces.checkers.records import Records
from kraftcheck.traces.checkers.segments import BEFORE
from kraftcheck.traces.checkers.unplaced import culprit
from kraftcheck.traces.checkers.verdict import Certificate
from kraftcheck.traces.values import name

VALUE_MAX = 60


def certificate_of(judgement: Judgement, segment: int) -> Certificate | None:
    """The smallest evidence against a segment; of those, the one that needs no clock."""
    return certify(judgement, segment) if judgement.verdicts[segment] == BROKEN else None


def certify(judgement: Judgement, segment: int) -> Certificate:
    """The evidence against a rejected segment: contradictions first, then those in real time."""
    found = next(evidence(judgement, segment), None)
    if found is None:
        raise ValueError(f"segment {segment} was not rejected")
    return found


def evidence(judgement: Judgement, segment: int) -> Iterator[Certificate]:
    """A certificate for each kind of violation of a segment, the most telling first."""
    records = judgement.records
    for clash in sorted(records.clashes, key=lambda each: each.level):
        rows = np.flatnonzero(clash.segment == segment)
        if len(rows) and not (clash.kind == "duplicate" and records.at_least_once):
            yield of_clash(records.batch, clash, int(rows[0]))
    if records.overfull[segment]:
        yield of_overfull(judgement, segment)
    for found in judgement.found:
        rows = np.flatnonzero(found.segments == segment)
        if len(rows):
            victim = int(found.victims[rows[0]])
            yield of_victim(judgement, found.kind, segment, victim)


def of_overfull(judgement: Judgement, segment: int) -> Certificate:
    sentence = "more offsets hold records than appends can have written"
    return _certificate(judgement.batch, segment, "hole", (), sentence)


def of_victim(judgement: Judgement, kind: str, segment: int, victim: int) -> Certificate:
    """Give the evidence that a slot, read or append contradicts real time.

    kind: as of `BrokenCondition`.
    """
    return _FINDERS[kind](judgement, segment, victim)


def _certificate(
    batch: LogBatch, segment: int, kind: str, operations: tuple[int, ...], sentence: str
) -> Certificate:
    return Certificate(
        operations=operations, kind=kind, sentence=sentence, key=batch.label(segment)
    )


def shown(batch: LogBatch, number: int) -> str:
    """A value as it is printed in sentences: on one line, its end left out if it is long."""
    said = name(batch.value(number))
    said = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in said)
    return said if len(said) <= VALUE_MAX else said[: VALUE_MAX - 1] + "…"


# -- Without a clock


def of_clash(batch: LogBatch, clash: Clash, row: int) -> Certificate:
    first, second = int(clash.first[row]), int(clash.second[row])
    ours: dict[str, Any] = {"append": batch.appends, "read": batch.reads}
    operations = [int(ours[clash.second_of].operation[second])]
    if first >= 0:
        operations.insert(0, int(ours[clash.first_of].operation[first]))
    if len(operations) == 2 and operations[0] == operations[1]:
        del operations[0]
    sentence = _clash_sentence(batch, clash, row, first)
    return _certificate(batch, int(clash.segment[row]), clash.kind, tuple(operations), sentence)


def _clash_sentence(batch: LogBatch, clash: Clash, row: int, first: int) -> str:
    offset, value = int(clash.offset[row]), int(clash.value[row])
    if clash.kind == "inconsistent-offsets":
        if clash.first_of == "append":
            other = shown(batch, int(batch.appends.value[first]))
            verb = "acknowledged" if clash.second_of == "append" else "read"
            return f"offset {offset} was acknowledged for {other} and {verb} as " + (
                shown(batch, value)
            )
        return f"offset {offset} was read as {shown(batch, value)} and as another value"
    if clash.kind == "offset-acked-twice":
        return f"offset {offset} was acknowledged to two appends of {shown(batch, value)}"
    if clash.kind == "duplicate":
        known = int(batch.appends.offset[first]) if first >= 0 else -1
        at = f"acknowledged at offset {known} and " if known >= 0 else ""
        return f"the record {shown(batch, value)} was {at}read at offset {offset} once too often"
    if clash.kind == "G1a":
        return f"{shown(batch, value)} was read at offset {offset} though its append had failed"
    if clash.kind == "phantom":
        return f"{shown(batch, value)} was read at offset {offset} and nobody had appended it"
    if clash.kind == "int-nonmonotonic-poll":
        return f"one fetch returned offset {offset} after one that is not below it"
    if clash.kind == "poll-before-position":
        return f"a fetch returned offset {offset}, before the position it had asked for"
    if first >= 0:
        over = shown(batch, int(batch.appends.value[first]))
        return f"a fetch passed over {over} at or before offset {offset}"
    return f"a fetch passed over records at or before offset {offset}"


# -- In real time


def _late(judgement: Judgement, segment: int, slot: int) -> Certificate:
    """An append that was over before something that it must come after had begun."""
    records, batch = judgement.records, judgement.batch
    victim = int(records.owner[slot])
    bound = int(judgement.alone.earliest[slot])
    if bound < records.end[slot]:
        bound = int(judgement.scan.earliest[slot])
    place = int(records.offset[slot])
    victim_op = int(batch.appends.operation[victim])
    culprit, is_read = source(records, segment, slot, bound)
    if is_read:
        read = int(batch.reads.operation[culprit])
        sentence = (
            f"the {_verb(batch, culprit)} missed the record at offset {place}, "
            "whose append had returned before it began"
        )
        return _certificate(batch, segment, "stale-read", (victim_op, read), sentence)
    other = int(batch.appends.operation[culprit])
    behind = _place_of(records, culprit)
    sentence = (
        f"append of {behind} was invoked only after the append of offset {place} had been acked"
    )
    return _certificate(batch, segment, "append-order", (victim_op, other), sentence)


def _future(judgement: Judgement, segment: int, read: int) -> Certificate:
    """A read that was over before what it saw can have been there."""
    records, batch = judgement.records, judgement.batch
    bound = int(judgement.alone.low_bound[read])
    if bound < records.r_end[read]:
        bound = int(judgement.scan.low_bound[read])
    last = int(records.low[read]) - 1
    culprit, is_read = source(records, segment, last, bound)
    seen = int(records.offset[last])
    if is_read:
        sentence = (
            f"the {_verb(batch, read)} saw offset {seen}, and the {_verb(batch, culprit)} "
            "that began after it was over did not see as far"
        )
        operations = (int(batch.reads.operation[read]), int(batch.reads.operation[culprit]))
        return _certificate(batch, segment, "stale-read", operations, sentence)
    sentence = (
        f"the {_verb(batch, read)} saw offset {seen} and was over before "
        f"the append of {_place_of(records, culprit)} was invoked"
    )
    operations = (int(batch.appends.operation[culprit]), int(batch.reads.operation[read]))
    return _certificate(batch, segment, "future-read", operations, sentence)


def _hole(kind: str, judgement: Judgement, segment: int, slot: int) -> Certificate:
    """An offset that nobody can have filled; the operation whose end bounds it."""
    records, batch = judgement.records, judgement.batch
    place = int(records.offset[slot])
    bound = int(judgement.scan.latest[slot])
    holder = _bounded_by(judgement, segment, slot, bound)
    sentence = (
        f"offset {place} must hold a record, and no append is left that can have written it "
        f"before operation {holder} was over"
    )
    return _certificate(batch, segment, kind, (holder,), sentence)


def _bounded_by(judgement: Judgement, segment: int, slot: int, bound: int) -> int:
    """A log without gaps ends where an append was acknowledged, or a read has proved an end."""
    records, batch = judgement.records, judgement.batch
    end = int(records.base[segment + 1])
    at = slot + np.flatnonzero(records.end[slot:end] == bound)
    at = at[records.owner[at] >= 0]
    if len(at):
        return int(batch.appends.operation[records.owner[at[0]]])
    rows = _rows(batch.reads.segment, segment)
    found = rows[records.judged[rows] & (records.low[rows] > slot) & (records.r_end[rows] == bound)]
    if len(found):
        return int(batch.reads.operation[found[0]])
    # Nothing bounds it in time: whoever proved that it is there.
    found = rows[records.judged[rows] & (records.low[rows] > slot)]
    if len(found):
        return int(batch.reads.operation[found[0]])
    at = slot + np.flatnonzero(records.owner[slot:end] >= 0)
    return int(batch.appends.operation[records.owner[at[0]]])


def _start(judgement: Judgement, segment: int, read: int) -> Certificate:
    reads = judgement.batch.reads
    other = _below(judgement, "start-regress", read)
    sentence = (
        f"the log began at offset {int(reads.end[read])} when that was told, and the "
        f"{_verb(judgement.batch, other)} that began later read below it"
    )
    operations = (int(reads.operation[read]), int(reads.operation[other]))
    return _certificate(judgement.batch, segment, "start-regress", operations, sentence)


def _start_missed(judgement: Judgement, segment: int, read: int) -> Certificate:
    """Who read below a start did so before that was told; a later read missed what it saw."""
    records, reads = judgement.records, judgement.batch.reads
    other = _below(judgement, "start-missed", read)
    bound = int(judgement.scan.low_bound[other])
    missed, _ = source(records, segment, int(records.low[other]) - 1, bound)
    sentence = (
        f"the {_verb(judgement.batch, missed)} began after the log's start had been told as "
        f"{int(reads.end[read])}, and missed what operation {int(reads.operation[other])} had "
        "seen, which read below that start"
    )
    operations = (int(reads.operation[read]), int(reads.operation[missed]))
    return _certificate(judgement.batch, segment, "stale-read", operations, sentence)


def _below(judgement: Judgement, kind: str, read: int) -> int:
    """The read below the start that `read` told."""
    before, told = judgement.starts[kind]
    return int(before[np.flatnonzero(told == read)[0]])


def _unplaced(judgement: Judgement, segment: int, append: int) -> Certificate:
    appends = judgement.batch.appends
    sentence = (
        f"the append of {shown(judgement.batch, int(appends.value[append]))} returned, "
        "and its record can stand nowhere in the log that was seen"
    )
    operations = (int(appends.operation[append]),)
    return _certificate(judgement.batch, segment, "unplaced-append", operations, sentence)


def _unplaced_and_missed(
    kind: str, own: bool, judgement: Judgement, segment: int, append: int
) -> Certificate:
    """An append that would have a place, did a read that began after it had returned not count."""
    batch = judgement.batch
    operations = [int(batch.appends.operation[append])]
    value = shown(batch, int(batch.appends.value[append]))
    sentence = f"the append of {value} returned, and a later read found no place where it can stand"
    read = culprit(judgement.records, segment, append, own)
    if read is not None:
        operations.append(int(batch.reads.operation[read]))
        who = "its process" if own else "somebody"
        sentence = (
            f"the append of {value} had returned before the {_verb(batch, read)} of {who} "
            "began, which missed it: nothing that it saw can be that record"
        )
    return _certificate(batch, segment, kind, tuple(operations), sentence)


_FINDERS: Final[dict[str, Callable[[Judgement, int, int], Certificate]]] = {
    "append-order": _late,
    "late-missed": _late,
    "future-read": _future,
    "future-missed": _future,
    "hole": partial(_hole, "hole"),
    "hole-order": partial(_hole, "append-order"),
    "start-regress": _start,
    "start-missed": _start_missed,
    "unplaced-append": _unplaced,
    "unplaced-own": partial(_unplaced_and_missed, "session-regress", True),
    "unplaced-missed": partial(_unplaced_and_missed, "stale-read", False),
}


def source(records: Records, segment: int, slot: int, bound: int) -> tuple[int, bool]:
    """What gave a slot its bound: (row of an append, False), or (row of a read, True)."""
    begin = int(records.base[segment])
    at = begin + np.flatnonzero(records.begin[begin : slot + 1] == bound)
    owners = records.owner[at]
    if bound != BEFORE and (owners >= 0).any():
        return int(owners[owners >= 0][0]), False
    if bound != BEFORE and len(at):
        # Of an aborted record.
        sent = _rows(records.batch.appends.segment, segment)
        return int(sent[records.a_begin[sent] == bound][0]), False
    rows = _rows(records.batch.reads.segment, segment)
    fitting = records.judged[rows] & (records.high[rows] <= slot)
    return int(rows[fitting & (records.r_begin[rows] == bound)][0]), True


def _rows(segments: Ints, segment: int) -> Ints:
    begin, end = np.searchsorted(segments, [segment, segment + 1])
    return np.arange(begin, end)


def _place_of(records: Records, append: int) -> str:
    """Where an append's record stands; of an aborted one what it is."""
    appends = records.batch.appends
    known, slot = int(appends.offset[append]), int(records.append_slot[append])
    if known < 0 and slot < 0:
        return shown(records.batch, int(appends.value[append]))
    return f"offset {known if known >= 0 else int(records.offset[slot])}"


def _verb(batch: LogBatch, read: int) -> str:
    kind = int(batch.reads.kind[read])
    return "latest" if kind == LATEST else "earliest" if kind == EARLIEST else "fetch"
