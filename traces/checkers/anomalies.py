"""Anomalies of partition logs, by Jepsen's names and definitions, and those that only we look for.

    anomalies_of(judgement)   what happened in each segment of a batch, with certificates

A level says how consistent a log was; an anomaly says what happened, so that a reader knows what to
look for. Some break no level (a consumer that skips records under `subscribe`), and a level may be
broken in ways that Jepsen has no name for: those bear the names of log.py. Whether a configuration
allows an anomaly is the promises' to say (reference/clients/promises.py).

Everything is found in columns, for all segments at once; certificates are made one at a time, of at
most two operations and a sentence each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, NamedTuple

import numpy as np

from kraftcheck.traces.checkers import certificates
from kraftcheck.traces.checkers.anomalies_moves import move_anomalies
from kraftcheck.traces.checkers.anomalies_values import value_anomalies
from kraftcheck.traces.checkers.columns import Ints, LogBatch
from kraftcheck.traces.checkers.findings import NOBODY, Finding, finding
from kraftcheck.traces.checkers.log import BrokenCondition, Judgement
from kraftcheck.traces.checkers.owners import Clash
from kraftcheck.traces.checkers.verdict import Certificate
from kraftcheck.traces.checkers.version_order import version_order

JEPSEN: Final[dict[str, str]] = {
    "G1a": "a read returned a record whose append had failed (an aborted read)",
    "inconsistent-offsets": "one offset has two values",
    "lost-write": "a record was acknowledged and never read, though consumers read beyond it",
    "duplicate": "a value is at more offsets than times it was appended",
    "precommitted-read": "an operation read a record that it appended itself",
    "int-nonmonotonic-poll": "within an operation, a poll went back, or repeated a record",
    "int-poll-skip": "within an operation, a poll skipped records",
    "nonmonotonic-poll": "a consumer's poll began at or before the end of its last one",
    "poll-skip": "a consumer's poll began after the next record or the requested offset,"
    " or ended after a record that it did not show",
    "nonmonotonic-send": "a process' (or a mark's) append is before one of its earlier appends",
    "int-nonmonotonic-send": "within an operation, an append is before an earlier one",
    "int-send-skip": "within an operation, other records are between two appends",
    "unseen": "a record was acknowledged, and nobody ever read it",
}
"""Jepsen's names. What each means exactly: anomalies_values.py and anomalies_moves.py."""

OURS: Final[dict[str, str]] = {
    "phantom": "a read returned a value that nobody had appended",
    "offset-acked-twice": "one offset was acknowledged to two appends of one value",
    "append-order": "an append is before another that was acknowledged before it was invoked",
    "future-read": "a read ended before the append of a record that it saw was invoked",
    "stale-read": "a read missed a record that had been acknowledged, or seen, before it began",
    "session-regress": "a process saw less of the log than it knew from its own appends and reads",
    "poll-before-position": "a fetch returned a record from before the requested offset",
    "hole": "an offset holds a record that no append can have written by the time it was seen",
    "unplaced-append": "an append returned, and no offset is possible for its record",
    "start-regress": "a read saw the log begin before a start that a client had received",
    "unread": "a record was acknowledged and never read, and every reader began after it",
}
"""What Jepsen's checker has no name for: contradictions, and real time."""

_GRAVITY: Final = (
    *("G1a", "phantom", "inconsistent-offsets", "lost-write", "duplicate", "offset-acked-twice"),
    *("append-order", "precommitted-read", "future-read", "session-regress", "hole"),
    "unplaced-append",
    *("int-nonmonotonic-poll", "int-poll-skip", "poll-before-position", "nonmonotonic-poll"),
    *("poll-skip", "stale-read", "start-regress", "nonmonotonic-send"),
    *("int-nonmonotonic-send", "int-send-skip", "unseen", "unread"),
)
NAMES: Final = _GRAVITY
"""All names, the gravest first."""


class _Part(NamedTuple):
    """Anomalies of one name from one source: their segments, which ascend, and how to certify."""

    segment: Ints
    certify: Callable[[int], Certificate]


class Anomalies:
    """What happened in the segments of a batch. names: of those that did, the gravest first."""

    def __init__(self, batch: LogBatch, parts: dict[str, list[_Part]]) -> None:
        self._segments = batch.segments
        self._parts = parts
        self.names = tuple(name for name in NAMES if name in parts)

    def counts(self, name: str) -> Ints:
        """How often an anomaly happened, of each segment."""
        found = np.zeros(self._segments, np.int64)
        for part in self._parts.get(name, ()):
            found += np.bincount(part.segment, minlength=self._segments)
        return found

    def certificates(self, name: str, segment: int) -> Iterator[Certificate]:
        """The evidence of an anomaly in one segment, made as it is asked for."""
        for part in self._parts.get(name, ()):
            begin, end = np.searchsorted(part.segment, (segment, segment + 1))
            for row in range(begin, end):
                yield part.certify(row)


def anomalies_of(judgement: Judgement, *, subscribed: bool = False) -> Anomalies:
    """Return all anomalies of a judged batch; every rejected segment has one.

    Args:
        judgement: of `log.judge`.
        subscribed: whether consumers subscribe, so that a rebalance may come between two polls.
    """
    batch = judgement.batch
    order = version_order(batch, at_least_once=judgement.records.at_least_once)
    parts: dict[str, list[_Part]] = {}
    found: Finding
    for found in (
        *value_anomalies(batch, order),
        *move_anomalies(batch, order, subscribed),
        _regressed(judgement),
    ):
        if len(found.segment):
            part = _Part(found.segment, partial(_certificate, batch, found))
            parts.setdefault(found.name, []).append(part)
    for clash in judgement.records.clashes:
        _add_clash(batch, clash, parts)
    for each in judgement.found:
        _add_found(judgement, each, parts)
    overfull = np.flatnonzero(judgement.records.overfull)
    if len(overfull):

        def certify(at: int) -> Certificate:
            return certificates.of_overfull(judgement, int(overfull[at]))

        parts.setdefault("hole", []).append(_Part(overfull, certify))
    return Anomalies(batch, parts)


# -- From the judgement


def _add_clash(batch: LogBatch, clash: Clash, parts: dict[str, list[_Part]]) -> None:
    """Contradictions, in segments where the same is not known by Jepsen's rule already."""
    known = np.zeros(batch.segments, bool)
    for part in parts.get(clash.kind, ()):
        known[part.segment] = True
    rows = np.flatnonzero(~known[clash.segment])
    rows = rows[np.argsort(clash.segment[rows], kind="stable")]

    def certify(at: int) -> Certificate:
        return certificates.of_clash(batch, clash, int(rows[at]))

    parts.setdefault(clash.kind, []).append(_Part(clash.segment[rows], certify))


def _add_found(judgement: Judgement, found: BrokenCondition, parts: dict[str, list[_Part]]) -> None:
    """What contradicts real time."""
    rows = np.argsort(found.segments, kind="stable")
    segments, victims = found.segments[rows], found.victims[rows]

    def certify(at: int) -> Certificate:
        return certificates.of_victim(judgement, found.kind, int(segments[at]), int(victims[at]))

    parts.setdefault(_CALLED.get(found.kind, found.kind), []).append(_Part(segments, certify))


_CALLED: Final = {
    "late-missed": "stale-read",
    "future-missed": "stale-read",
    "start-missed": "stale-read",
    "hole-order": "append-order",
    "unplaced-own": "session-regress",
    "unplaced-missed": "stale-read",
}


def _regressed(judgement: Judgement) -> Finding:
    """session-regress; a read that contradicts itself is a poll-skip already."""
    # Whoever keeps to real time has seen enough, however the clocks of its processes touch.
    rejected = judgement.disordered
    if not rejected.any():
        none = np.zeros(0, np.int64)
        return finding("session-regress", none, none)
    own = judgement.sessions
    some = rejected[own.segment] & (own.victim != own.culprit)
    return finding("session-regress", own.segment[some], own.victim[some], first=own.culprit[some])


# -- By Jepsen's rules


def _certificate(batch: LogBatch, found: Finding, row: int) -> Certificate:
    first, second = int(found.first[row]), int(found.second[row])
    operations = (first, second) if first not in (NOBODY, second) else (second,)
    offset, other, value = int(found.offset[row]), int(found.other[row]), int(found.value[row])
    words = {"offset": offset, "other": other, "at": f" at offset {offset}" if offset >= 0 else ""}
    if found.name in _OF_VALUES:
        words["value"] = certificates.shown(batch, value)
    if found.name == "inconsistent-offsets":
        words["other"] = certificates.shown(batch, other)
    return Certificate(
        operations=operations,
        kind=found.name,
        sentence=_SENTENCES[found.name].format_map(words),
        key=batch.label(int(found.segment[row])),
    )


_SENTENCES: Final = {
    "inconsistent-offsets": "offset {offset} has the values {value} and {other}",
    "duplicate": "the record {value} stands at offset {offset} and again at offset {other}",
    "lost-write": "{value} was acknowledged{at} and never read, and this fetch passed over it",
    "unseen": "{value} was acknowledged{at}, and nobody ever read it",
    "unread": "{value} was acknowledged{at}, and nobody read that far back",
    "G1a": "{value} was read{at} though its append had failed",
    "precommitted-read": "the operation read {value}{at}, which it appends itself",
    "poll-skip": "a fetch began at offset {offset}, and the one before it had ended at offset "
    "{other}: it passed over records in between",
    "nonmonotonic-poll": "a fetch began at offset {offset}, and the one before it had ended at "
    "offset {other} already",
    "int-poll-skip": "one operation read offset {offset} right after offset {other}, and passed "
    "over records in between",
    "int-nonmonotonic-poll": "one operation read offset {offset} after offset {other}",
    "nonmonotonic-send": "an append stands at offset {offset}, and an earlier one of the same "
    "process or producer at offset {other}",
    "int-nonmonotonic-send": "an operation's append stands at offset {offset}, and an earlier one "
    "of the same operation at offset {other}",
    "session-regress": "the process knew from the first of these that the log was longer than the "
    "second of them found it",
    "int-send-skip": "an operation's appends stand at offsets {other} and {offset}, with records "
    "of others in between",
}
_OF_VALUES: Final = frozenset(name for name, said in _SENTENCES.items() if "{value}" in said)
