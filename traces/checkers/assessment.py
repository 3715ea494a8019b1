"""Partition logs against what was promised to their clients, in columns.

A log breaks its promise when the level that holds is weaker than the promised one, or when an
anomaly happened that no row of the table of promises allows (reference/clients/promises.py). A
level that is only an upper bound, because the history leaves open who wrote what, is enough to
refuse a history and never to pass it. Who wants to judge one history asks check.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Final, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from kraftcheck.reference.clients.promises import Level, Promise, level_named
from kraftcheck.traces.checkers import log
from kraftcheck.traces.checkers.anomalies import (
    JEPSEN,
    NAMES as ANOMALIES,
    OURS,
    Anomalies,
    anomalies_of,
)
from kraftcheck.traces.checkers.certificates import certificate_of
from kraftcheck.traces.checkers.columns import Flags, Ints, LogBatch
from kraftcheck.traces.checkers.findings import EXAMPLES_MAX
from kraftcheck.traces.checkers.levels import levels_of, staleness
from kraftcheck.traces.checkers.verdict import (
    HOLDS,
    INCONCLUSIVE,
    UNKNOWN,
    VIOLATED,
    Anomaly,
    Certificate,
    Staleness,
)

UNSEEN: Final = "unseen"
UNREAD: Final = "unread"
"""Acknowledged and never read: though somebody began to read at or before it, or before all did."""
NEVER_READ: Final = (UNSEEN, UNREAD)
STOPPED: Final = "consumers stopped before the end, and this verdict covers only what they read"
NOTHING_PROMISED: Final = "nothing"


Texts: TypeAlias = npt.NDArray[np.str_]


def name_of(level: Level) -> str:
    """A level as options and reports name it: ordered-sequential."""
    return level.name.lower().replace("_", "-")


NAMES: Final[Texts] = np.array([name_of(level) for level in Level])
"""By a level's number."""


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on one object: a topic-partition, a key of a map, or all there is."""

    key: str | None
    verdict: str
    operations: int
    level: str | None = None
    """That held, by name; None where it is not known."""
    certificate: Certificate | None = None
    """The smallest evidence against it."""
    reason: str | None = None
    """Why it is unknown."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on a history. Printed, it says in a few lines what an engineer wants to know."""

    verdict: str
    """Holds, violated or unknown (which is no pass)."""
    model: str
    level: str | None
    """The weakest that held for any part, by name; None where it is not known."""
    promised: str
    """The level that it is held against."""
    because: str = ""
    """Why not more."""
    parts: tuple[Part, ...] = ()
    """Each by itself."""
    anomalies: tuple[Anomaly, ...] = ()
    """Of partition logs, whether allowed or not."""
    staleness: tuple[Staleness, ...] = ()
    """Of each partition with reads that missed something."""
    transactions: int = 0
    """How many it has."""

    @property
    def holds(self) -> bool:
        return self.verdict == HOLDS

    def __str__(self) -> str:
        lines = [f"{self.verdict}: held {self.level or 'not known'}, promised {self.promised}"]
        lines += [f"  {self.because}"] if self.because else []
        for part in self.parts:
            place = "" if part.key is None else f"{part.key}: "
            if part.certificate is not None:
                among = ", ".join(str(each) for each in part.certificate.operations)
                lines += [f"{place}{part.certificate.sentence}", f"  [operations {among}]"]
            elif part.reason is not None:
                lines.append(f"{place}{part.reason}")
        sorted_by: dict[str, list[str]] = {"not allowed": [], "inconclusive": [], "allowed": []}
        for each in self.anomalies:
            open_ = INCONCLUSIVE in each.reason
            word = "inconclusive" if open_ else "allowed" if each.allowed else "not allowed"
            sorted_by[word].append(f"{each.name} {each.count:,}")
        lines += [f"{word}: {', '.join(found)}" for word, found in sorted_by.items() if found]
        return "\n".join(lines)


def worst(verdicts: Iterable[str]) -> str:
    found = set(verdicts)
    return next((each for each in (VIOLATED, UNKNOWN) if each in found), HOLDS)


def together(reports: Iterable[Report]) -> Report:
    """The report on the partitions of several batches, the smallest evidence first."""
    reports = list(reports)
    told: dict[str, list[Anomaly]] = {}
    for each in (anomaly for report in reports for anomaly in report.anomalies):
        told.setdefault(each.name, []).append(each)
    anomalies = [_joined(told[name]) for name in ANOMALIES if name in told]
    level = None
    if all(each.level is not None for each in reports):
        level = name_of(min(level_named(str(each.level)) for each in reports))
    return msgspec.structs.replace(
        reports[0],
        verdict=worst([each.verdict for each in reports]),
        level=level,
        parts=tuple(part for each in reports for part in each.parts),
        anomalies=tuple(sorted(anomalies, key=lambda each: each.allowed)),
        staleness=tuple(part for each in reports for part in each.staleness),
    )


def _joined(anomalies: Sequence[Anomaly]) -> Anomaly:
    """One anomaly of several batches. Those that are not allowed are evidence."""
    shown = [each for each in anomalies if not each.allowed] or anomalies
    examples = islice((one for each in shown for one in each.certificates), EXAMPLES_MAX)
    return msgspec.structs.replace(
        shown[0],
        count=sum(each.count for each in anomalies),
        certificates=tuple(sorted(examples, key=lambda each: len(each.operations))),
    )


def assess(
    batch: LogBatch,
    promises: Sequence[Promise],
    *,
    level: Level | None = None,
    gaps: bool = False,
    complete: bool | None = None,
) -> Assessment:
    """Check each segment against its guarantee.

    If one guarantee allows copies, all segments are judged as at-least-once; copies are anomalies
    nevertheless.

    Args:
        batch: the segments.
        promises: the guarantee of each segment.
        level: a level to check in place of all guarantees. Then anomalies are reported and do not
            count.
        gaps: as for `check_history`.
        complete: as for `check_history`.

    Raises:
        ValueError: a guarantee is missing.
    """
    if len(promises) != batch.segments:
        raise ValueError(f"{len(promises)} promises for {batch.segments} partitions")
    loose = any(not (each.exactly_once or each.nothing) for each in promises)
    found = log.judge(batch, at_least_once=loose, gaps=gaps)
    return Assessment(found, promises, level, complete)


class Assessment:
    """A judged batch against its promises.

    Of each segment, violated: whether it breaks its own; nothing: whether nothing was promised to
    it; decided: whether the level that holds is known, as far as the promise asks for it.
    """

    def __init__(
        self,
        found: log.Judgement,
        promises: Sequence[Promise],
        level: Level | None,
        complete: bool | None,
    ) -> None:
        self.found, self.promises, self.level, self.complete = found, promises, level, complete
        self.levels = levels_of(found)
        subscribed = any("group" in each.rows for each in promises)
        self.anomalies: Anomalies = anomalies_of(found, subscribed=subscribed)
        self._cap_lost()
        wanted = [level if level is not None else each.level for each in promises]
        self.wanted = np.array([int(each) for each in wanted], np.int64)
        self.violated: Flags = self.levels.held < self.wanted
        self.forbidden: dict[str, Flags] = {}
        for name in self.anomalies.names:
            self.forbidden[name] = self._forbidden(name)
            if level is None:
                self.violated |= self.forbidden[name]
        nothing = [level is None and each.nothing for each in promises]
        self.nothing: Flags = np.array(nothing, np.bool_)
        # An append without a place may be lost; then only who wrote what must be known.
        attributed = (found.batch.operations > 0) & ~found.guessed
        weak = self.wanted <= Level.CONSISTENT_PREFIX
        self.decided: Flags = np.where(weak, attributed, self.levels.exact)
        self.unread = self._unread()

    def _cap_lost(self) -> None:
        """Who read to the end and missed an acknowledged record found a log that had lost it."""
        if not self.complete:
            return
        held = self.levels.held.copy()
        lost = self.anomalies.counts(UNSEEN) > 0
        held[lost] = np.minimum(held[lost], int(Level.CONSISTENT_PREFIX))
        self.levels = self.levels._replace(held=held)

    def _unread(self) -> Ints:
        """Count the acknowledged records of each segment that may be lost.

        Nobody read them, and it is not known that somebody would have.
        """
        found = np.zeros(self.found.batch.segments, np.int64)
        if self.complete is False or self.level is not None:
            return found
        found += self.anomalies.counts(UNSEEN) + self.anomalies.counts(UNREAD)
        for segment in np.flatnonzero(found).tolist():
            if self.promises[segment].allows(UNSEEN):
                found[segment] = 0
        return found

    def _forbidden(self, name: str) -> Flags:
        """The segments in which an anomaly happened that they do not allow."""
        happened: Flags = self.anomalies.counts(name) > 0
        if self.level is not None:
            return happened & self.violated
        if name == UNREAD or (name == UNSEEN and not self.complete):
            return np.zeros(len(happened), bool)
        for segment in np.flatnonzero(happened).tolist():
            happened[segment] = not self.promises[segment].allows(name)
        return happened

    @property
    def segments(self) -> range:
        return range(self.found.batch.segments)

    @cached_property
    def verdicts(self) -> Texts:
        """Of each segment: holds, violated or unknown."""
        passed = np.where(self.nothing | (self.decided & (self.unread == 0)), HOLDS, UNKNOWN)
        return np.where(self.violated, VIOLATED, passed)

    @cached_property
    def promises_made(self) -> Texts:
        """Of each segment the promised level by its name, or `nothing`."""
        return np.where(self.nothing, NOTHING_PROMISED, NAMES[self.wanted])

    def verdict(self, segment: int) -> str:
        return str(self.verdicts[segment])

    def promised(self, segment: int) -> str:
        return str(self.promises_made[segment])

    def because(self, segment: int) -> str:
        if self.level is not None:
            return "this level was asked for"
        return self.promises[segment].because

    def certificate(self, segment: int) -> Certificate | None:
        """The smallest evidence against a segment: of the gravest anomaly that is not allowed."""
        if not self.violated[segment]:
            return None
        for name in self.anomalies.names:
            if self.forbidden[name][segment]:
                examples = islice(self.anomalies.certificates(name, segment), EXAMPLES_MAX)
                return min(examples, key=lambda each: len(each.operations))
        return certificate_of(self.found, segment)

    def part(self, segment: int) -> Part:
        verdict = self.verdict(segment)
        undecided = self._undecided(segment)
        level = self.levels.level(segment)
        return Part(
            key=self.found.batch.label(segment),
            verdict=verdict,
            operations=int(self.found.batch.operations[segment]),
            level=name_of(level) if self.levels.exact[segment] else None,
            certificate=self.certificate(segment),
            reason=undecided if verdict == UNKNOWN else None,
        )

    def _undecided(self, segment: int) -> str:
        """Why a segment that is unknown is."""
        unread = int(self.unread[segment])
        if not self.decided[segment] or not unread:
            return self.found.reason(segment) or "who wrote what is open"
        many = (
            "1 acknowledged record was" if unread == 1 else f"{unread:,} acknowledged records were"
        )
        if self.complete:
            return f"{many} never read, since every reader began after that"
        asked = "say whether consumers read to the end (--complete) or not (--no-complete)"
        return f"{many} never read: {asked}"

    def report(self) -> Report:
        """All segments as one history, whose parts have been promised the same: for `together`."""
        parts = tuple(self.part(segment) for segment in self.segments)
        exact = bool(self.levels.exact.all())
        return Report(
            verdict=worst([each.verdict for each in parts]),
            model=log.MODEL,
            level=name_of(Level(int(self.levels.held.min()))) if exact else None,
            promised=self.promised(0),
            because=self.because(0),
            parts=parts,
            anomalies=tuple(self.reported()),
            staleness=tuple(self.staleness()),
        )

    def reported(self) -> Iterator[Anomaly]:
        """The anomalies of all segments, the gravest first, those that are not allowed before."""
        found = [self._told(name) for name in self.anomalies.names]
        yield from (each for each in found if not each.allowed)
        yield from (each for each in found if each.allowed)

    def _told(self, name: str) -> Anomaly:
        counts, forbidden = self.anomalies.counts(name), self.forbidden[name]
        allowed = not forbidden.any()
        # Of those that are not allowed first.
        happened = np.flatnonzero(forbidden if not allowed else counts > 0).tolist()
        examples = (
            each for segment in happened for each in self.anomalies.certificates(name, segment)
        )
        return Anomaly(
            name=name,
            count=int(counts.sum()),
            allowed=allowed,
            reason=f"{JEPSEN.get(name) or OURS[name]}; {self.why(name, happened[0])}",
            certificates=tuple(islice(examples, EXAMPLES_MAX)),
        )

    def why(self, name: str, segment: int) -> str:
        """Why an anomaly that happened in a segment is allowed there, or that it is not."""
        promise, allowed = self.promises[segment], not self.forbidden[name][segment]
        if self.level is not None:
            how = "holds in spite of it" if allowed else "does not hold"
            return f"{name_of(self.level)} {how}"
        if not allowed:
            return "nothing allows it here"
        if name in NEVER_READ and not promise.allows(UNSEEN):
            if self.complete is False:
                return f"{INCONCLUSIVE}{STOPPED}"
            if self.complete:
                return f"{INCONCLUSIVE}every reader began after it"
            return f"{INCONCLUSIVE}it is not known that everything was read in the end"
        return promise.allowed.get(name, promise.because)

    def staleness(self) -> Iterator[Staleness]:
        """Of each segment with stale reads, how stale they were."""
        rows = staleness(self.found)
        # Rows are in the order of their segments.
        ends = np.searchsorted(rows.segment, np.arange(self.found.batch.segments + 1)).tolist()
        for segment in self.segments:
            begin, end = ends[segment], ends[segment + 1]
            lag, missed = rows.lag[begin:end], rows.missed[begin:end]
            stale = missed > 0
            if stale.any():
                yield Staleness(
                    key=self.found.batch.label(segment),
                    reads=end - begin,
                    delays=tuple(lag[stale].tolist()),
                    missed=tuple(missed[stale].tolist()),
                )
