"""What brokers said of transactions while they went on, against the logs that are there at rest.

A broker answers of the moment. What it says of a producer must be what some beginning of its log
comes to; what it says of a transactional id must be some row of the transaction log. Where leaders
changed, what a deposed one had may be cut off by now: what it said until then, and is found
nowhere, is counted and not judged.

UnifiedLog.lastStableOffset reads the first undecided offset and then the high watermark, without a
lock: an answer may be above a transaction that began in between, and LsoMonotonic then says so. No
fetch returns such records. It was not met in what was recorded.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from kraftcheck.kafka.observed import views
from kraftcheck.kafka.observed.answers import (
    HIGH_WATERMARK,
    PRODUCERS,
    STABLE,
    TRANSACTION,
    UNKNOWN,
    Answer,
)
from kraftcheck.kafka.observed.logs import Replica
from kraftcheck.kafka.observed.transactions import (
    Report,
    Written,
    following,
    open_in,
    producers_of,
    reported,
)
from kraftcheck.kafka.observed.txnlog import EMPTY, ONGOING, PREPARED, Log
from kraftcheck.kafka.observed.txnrows import STUCK
from kraftcheck.kafka.observed.verdicts import Defect

PRODUCER_STATE = "ProducerStateIsOfLog"
TRANSACTION_STATE = "TransactionIsOfLog"
BOUNDS = "LsoBounds"
MONOTONIC = "LsoMonotonic"
PROGRESS = "LsoProgress"

RULES: Final = {
    PRODUCER_STATE: "what a replica knows of a producer is what a beginning of its log comes to",
    TRANSACTION_STATE: "what a coordinator says of a transaction is a row of its log",
    BOUNDS: "no last stable offset is above a high watermark that is asked after it",
    MONOTONIC: "none is below an earlier one, unless the high watermark is as well",
    PROGRESS: "at rest it is where the first open transaction begins, or the high watermark",
}
"""Each check, and what it asks."""

MARKERS_NS: Final = 5_000_000_000
"""How long markers may take in a cluster at rest, on the history's clock."""
NOBODY: Final = -1

State = tuple[int, int, int, int]
"""Producer epoch, last sequence number, coordinator epoch, first offset of the transaction."""


def judge(
    answers: Sequence[Answer],
    data: Sequence[Replica],
    log: Log | None,
    *,
    at_rest: bool = True,
) -> Report:
    """answers: in the order of questions. data: disks with batches. log: None: not recorded."""
    asked: Counter[str] = Counter()
    left: dict[str, str] = {}
    told = [each for each in answers if each.error is None]
    found: list[Defect] = []
    if not any(each.what in (STABLE, PRODUCERS, TRANSACTION) for each in told):
        why = "brokers were not asked about transactions (`kraftcheck record --observe` does)"
        return Report(asked, [], dict.fromkeys(RULES, why))
    leads = views.leaders(answers)
    own = [a for a in told if leads.get((a.key, a.epoch)) == a.broker]
    found += _bounds(own, asked)
    found += _monotonic(own, asked)
    if data:
        found += _producers(told, leads, data, asked, left)
    else:
        left[PRODUCER_STATE] = "the recording has no producer epochs of batches"
    if not (data and at_rest):
        left[PROGRESS] = "it is not known where the logs end at rest"
    else:
        found += _progress(own, data, asked, left)
    if log is not None and log.whole:
        found += _transactions(told, log, asked)
    else:
        left[TRANSACTION_STATE] = "not every row of the transaction log was recorded"
    if at_rest:
        found += _stuck(told, asked)
    return reported(asked, found, left, RULES)


# -- Producers


def states(batches: Sequence[Written]) -> list[State]:
    """Of one producer, after each batch.

    (org.apache.kafka.storage.internals.log.ProducerAppendInfo.) A marker of another epoch makes
    forgotten what was written in the one before.
    """
    epoch, last, coordinator, first = NOBODY, NOBODY, NOBODY, NOBODY
    found = []
    for each in batches:
        if each.kind:
            last = last if each.epoch == epoch else NOBODY
            coordinator, first = each.coordinator, NOBODY
        else:
            last = following(each) - 1
            first = each.first if each.transactional and first == NOBODY else first
        epoch = each.epoch
        found.append((epoch, last, coordinator, first))
    return found


def _producers(
    told: Sequence[Answer],
    leads: Mapping[tuple[str, int], int],
    data: Sequence[Replica],
    asked: Counter[str],
    left: dict[str, str],
) -> Iterator[Defect]:
    known = {
        (replica.broker, replica.key): {
            producer: states(batches) for producer, batches in producers_of(replica).items()
        }
        for replica in data
    }
    since = _last_moves(told, leads)
    last = {(a.broker, a.key): a for a in told if a.what == PRODUCERS}
    cut = 0
    for answer in told:
        here = known.get((answer.broker, answer.key))
        if answer.what != PRODUCERS or here is None:
            continue
        for producer, *rest in answer.producers:
            asked[PRODUCER_STATE] += 1
            if tuple(rest) in here.get(producer, ()):
                continue
            moved, leader = since.get(answer.key, (0, UNKNOWN))
            of_leader = answer.broker == leader and answer.begin >= moved
            if of_leader or answer is last[answer.broker, answer.key]:
                epoch, sequence, coordinator, first = rest
                reason = (
                    f"producer {producer}: epoch {epoch}, sequence {sequence}, coordinator epoch "
                    f"{coordinator}, open since {first}, and its log never comes to that"
                )
                yield Defect(PRODUCER_STATE, answer.key, (answer.broker,), reason)
            else:
                cut += 1
    if cut:
        left[PRODUCER_STATE] = f"{cut} answers of what is in no log, before leaders changed"


def _last_moves(
    told: Sequence[Answer], leads: Mapping[tuple[str, int], int]
) -> dict[str, tuple[int, int]]:
    """By partition, when its last leader was first seen, and who that is."""
    newest: dict[str, int] = {}
    for key, epoch in leads:
        newest[key] = max(epoch, newest.get(key, UNKNOWN))
    found: dict[str, tuple[int, int]] = {}
    for each in told:
        if each.key in newest and each.epoch == newest[each.key]:
            found.setdefault(each.key, (each.end, leads[each.key, each.epoch]))
    return found


# -- The last stable offset


def _bounds(own: Sequence[Answer], asked: Counter[str]) -> Iterator[Defect]:
    stable: dict[tuple[str, int], Answer] = {}
    for answer in own:
        place = (answer.key, answer.epoch)
        if answer.what == STABLE:
            stable[place] = answer
        before = stable.get(place)
        if answer.what == HIGH_WATERMARK and before is not None and before.end <= answer.begin:
            asked[BOUNDS] += 1
            if before.offset > answer.offset:
                reason = f"{before.offset}, and then the high watermark is {answer.offset}"
                yield Defect(BOUNDS, answer.key, (answer.broker,), reason)


def _monotonic(own: Sequence[Answer], asked: Counter[str]) -> Iterator[Defect]:
    """Within an epoch at once.

    A later leader may begin with a high watermark that is behind, and so with a marker that it does
    not know to be replicated; so it is held to an earlier leader's offset once it has named a high
    watermark that is not below what that one had named after it.
    """
    best: dict[str, tuple[Answer, Answer]] = {}
    """By partition, the highest stable offset, and a high watermark of that leader after it."""
    highest: dict[tuple[str, int], Answer] = {}
    marks: dict[tuple[str, int], Answer] = {}
    for answer in own:
        place = (answer.key, answer.epoch)
        if answer.what == HIGH_WATERMARK:
            marks[place] = answer
            before = highest.get(place)
            if before is not None and before.end <= answer.begin:
                known = best.get(answer.key)
                if known is None or before.offset > known[0].offset:
                    best[answer.key] = (before, answer)
        if answer.what != STABLE:
            continue
        before = highest.get(place)
        if before is not None and before.end <= answer.begin:
            asked[MONOTONIC] += 1
            if answer.offset < before.offset:
                reason = f"{answer.offset} after {before.offset} in epoch {answer.epoch}"
                yield Defect(MONOTONIC, answer.key, (answer.broker,), reason)
        if before is None or answer.offset >= before.offset:
            highest[place] = answer
        yield from _than_earlier_leaders(answer, best.get(answer.key), marks.get(place), asked)


def _than_earlier_leaders(
    answer: Answer,
    best: tuple[Answer, Answer] | None,
    mark: Answer | None,
    asked: Counter[str],
) -> Iterator[Defect]:
    if best is None or mark is None or mark.end > answer.begin:
        return
    earlier, then = best
    if earlier.epoch >= answer.epoch or mark.offset < then.offset:
        return
    asked[MONOTONIC] += 1
    if answer.offset < earlier.offset:
        reason = (
            f"{answer.offset} in epoch {answer.epoch} with the high watermark at {mark.offset}, "
            f"after {earlier.offset} in epoch {earlier.epoch} with it at {then.offset}"
        )
        yield Defect(MONOTONIC, answer.key, (earlier.broker, answer.broker), reason)


def _progress(
    own: Sequence[Answer],
    data: Sequence[Replica],
    asked: Counter[str],
    left: dict[str, str],
) -> Iterator[Defect]:
    disks = {(replica.broker, replica.key): replica for replica in data}
    stable = {each.key: each for each in own if each.what == STABLE}
    marks = {each.key: each for each in own if each.what == HIGH_WATERMARK}
    for key, answer in sorted(stable.items()):
        mark, replica = marks.get(key), disks.get((answer.broker, key))
        end = replica.records[-1][0] + 1 if replica and replica.records else 0
        if replica is None or mark is None or mark.epoch != answer.epoch or mark.offset != end:
            left[PROGRESS] = f"{key}: nobody was asked after the last record"
            continue
        asked[PROGRESS] += 1
        right = min(open_in(replica).values(), default=end)
        if answer.offset != right:
            reason = f"{answer.offset} at rest, and by the log it is {right} (it ends at {end})"
            yield Defect(PROGRESS, key, (answer.broker,), reason)


# -- Transactional ids


def _transactions(told: Sequence[Answer], log: Log, asked: Counter[str]) -> Iterator[Defect]:
    known = {(row.id, row.state, *row.identity) for rows in log.rows.values() for row in rows} | {
        (each.row.id, each.row.state, *each.row.identity) for each in log.gone
    }
    aborted = {(id, *rest) for id, state, *rest in known if state == "PrepareAbort"}
    for answer in told:
        if answer.what != TRANSACTION:
            continue
        asked[TRANSACTION_STATE] += 1
        said = (answer.id, answer.state, answer.producer, answer.producer_epoch)
        # X6: a new id has no row yet. X8: of a TV1 client the epoch rises before the row does.
        new = answer.state == EMPTY and answer.producer_epoch == NOBODY
        fenced = answer.state == ONGOING and (answer.id, *said[2:]) in aborted
        if not (said in known or new or fenced):
            reason = (
                f"{answer.id} is {answer.state} of producer {answer.producer}, epoch "
                f"{answer.producer_epoch}, and its log never has that row"
            )
            yield Defect(TRANSACTION_STATE, answer.id, (answer.broker,), reason)


def _stuck(told: Sequence[Answer], asked: Counter[str]) -> Iterator[Defect]:
    """In the last answers of all: decided in the same way for so long, though nothing is wrong."""
    runs: dict[str, list[Answer]] = defaultdict(list)
    for answer in told:
        if answer.what != TRANSACTION:
            continue
        run = runs[answer.id]
        if run and _said(run[-1]) != _said(answer):
            run.clear()
        run.append(answer)
    for id, run in sorted(runs.items()):
        asked[STUCK] += 1
        if run[-1].state in PREPARED and run[-1].begin - run[0].end > MARKERS_NS:
            seconds = (run[-1].begin - run[0].end) // 1_000_000_000
            reason = f"{id} is {run[-1].state} for {seconds} s and to the end"
            yield Defect(STUCK, id, (run[-1].broker,), reason)


def _said(answer: Answer) -> tuple[str, int, int]:
    return answer.state, answer.producer, answer.producer_epoch
