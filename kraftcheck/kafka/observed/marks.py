"""Do the offsets that brokers named fit together, and with what clients were promised?

Of a partition, by answers that do not overlap in time:

- within an epoch neither high watermark nor the leader's end falls, and a broker's first offset
  never does;
- a leader's end is not below a high watermark that it named before, in the same epoch;
- where an epoch ends, its successor says the same each time; of its own epoch it says no less;
- who leads names a high watermark above every record of its epoch or an older one that had been
  acknowledged with acks=all (an acknowledgement says that the record is committed).

For the last one has to know a record's epoch, which the dumped logs tell; and it is only asked
where clean elections and disks that lose nothing were promised. A leader that is cut off, and does
not know of its successor, is held to its own epoch only.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kraftcheck.kafka.observed import views
from kraftcheck.kafka.observed.answers import (
    EARLIEST,
    EPOCH_END,
    HIGH_WATERMARK,
    LOG_END,
    UNKNOWN,
    Answer,
)
from kraftcheck.kafka.observed.logs import Replica
from kraftcheck.kafka.observed.verdicts import Defect, first_of_each


class Acked(NamedTuple):
    """A record that was acknowledged with acks=all."""

    key: str
    offset: int
    time: int
    """When its client knew, ns."""


class Report(NamedTuple):
    """What came of the answers."""

    asked: Counter[str]
    """How often each rule was asked; the rest: what is wrong."""
    defects: list[Defect]


Place = tuple[str, int, str, int]
"""Partition, epoch (of the first offset, instead: the broker), what was asked, and of epoch-end
which epoch.
"""


def judge(
    answers: Sequence[Answer],
    acked: Iterable[Acked] = (),
    replicas: Sequence[Replica] = (),
) -> Report:
    """acked: empty where nothing was promised. replicas: tell the epochs of records."""
    told = [a for a in answers if a.error is None and a.epoch != UNKNOWN and a.offset >= 0]
    leads = views.leaders(answers)
    own = [a for a in told if a.what == EARLIEST or leads.get((a.key, a.epoch)) == a.broker]
    asked: Counter[str] = Counter()
    found = (*_steady(own, asked), *_committed(own, list(acked), replicas, asked))
    return Report(asked, first_of_each(found))


def _steady(answers: Sequence[Answer], asked: Counter[str]) -> Iterator[Defect]:
    last: dict[Place, Answer] = {}
    marks: dict[tuple[str, int], Answer] = {}
    for answer in answers:
        if answer.what not in (EARLIEST, HIGH_WATERMARK, LOG_END, EPOCH_END):
            continue
        within = answer.broker if answer.what == EARLIEST else answer.epoch
        place = (answer.key, within, answer.what, answer.asked)
        before = last.get(place)
        if before is not None and before.end <= answer.begin:
            asked["not below what was named before"] += 1
            yield from _compared(before, answer)
        if before is None or answer.offset >= before.offset:
            last[place] = answer
        if answer.what == HIGH_WATERMARK:
            marks[answer.key, answer.epoch] = answer
        mark = marks.get((answer.key, answer.epoch))
        if answer.what == LOG_END and mark is not None and mark.end <= answer.begin:
            asked["the end not below the high watermark"] += 1
            if answer.offset < mark.offset:
                reason = f"the log ends at {answer.offset}, after high watermark {mark.offset}"
                yield _defect("high watermark above the end", answer, reason)


def _compared(before: Answer, answer: Answer) -> Iterator[Defect]:
    reason = f"{answer.offset} after {before.offset}"
    reason += "" if answer.what == EARLIEST else f" in epoch {answer.epoch}"
    if answer.offset < before.offset:
        names = {HIGH_WATERMARK: "high watermark falls", LOG_END: "the leader's end falls"}
        name = names.get(answer.what, f"{answer.what} falls")
        yield _defect(name, answer, reason)
        return
    ended = answer.what == EPOCH_END and answer.asked < answer.epoch
    if ended and (answer.found, answer.offset) != (before.found, before.offset):
        reason = f"epoch {answer.asked}: {reason}"
        yield _defect("the end of an epoch moves", answer, reason)


def _committed(
    answers: Sequence[Answer],
    acked: Sequence[Acked],
    replicas: Sequence[Replica],
    asked: Counter[str],
) -> Iterator[Defect]:
    highest = _highest(acked, _epochs(replicas))
    for answer in answers:
        if answer.what != HIGH_WATERMARK:
            continue
        offset = max(
            (
                _before(steps, answer.begin)
                for (key, epoch), steps in highest.items()
                if key == answer.key and epoch <= answer.epoch
            ),
            default=UNKNOWN,
        )
        if offset == UNKNOWN:
            continue
        asked["the high watermark above what was acknowledged"] += 1
        if answer.offset <= offset:
            reason = f"{answer.offset} in epoch {answer.epoch}, after offset {offset} was acked"
            yield _defect("high watermark below what was acked", answer, reason)


Steps = tuple[list[int], list[int]]
"""Times, growing, and from each on the highest offset that had been acknowledged."""


def _highest(
    acked: Sequence[Acked], epochs: Mapping[tuple[str, int], int]
) -> dict[tuple[str, int], Steps]:
    """By partition and epoch. Records that lie on no disk are not judged here, but by `check`."""
    found: dict[tuple[str, int], Steps] = defaultdict(lambda: ([], []))
    for each in sorted(acked, key=lambda each: each.time):
        epoch = epochs.get((each.key, each.offset))
        if epoch is None:
            continue
        times, offsets = found[each.key, epoch]
        times.append(each.time)
        offsets.append(max(each.offset, offsets[-1] if offsets else UNKNOWN))
    return dict(found)


def _before(steps: Steps, time: int) -> int:
    at = bisect_right(steps[0], time) - 1
    return steps[1][at] if at >= 0 else UNKNOWN


def _epochs(replicas: Sequence[Replica]) -> dict[tuple[str, int], int]:
    return {
        (replica.key, offset): epoch for replica in replicas for offset, epoch, _ in replica.records
    }


def _defect(name: str, answer: Answer, reason: str) -> Defect:
    return Defect(name, answer.key, (answer.broker,), reason)
