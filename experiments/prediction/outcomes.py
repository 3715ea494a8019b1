"""What came of a trial, by what each client API showed: the same question to reference and Kafka.

A trial is one partition with a producer, a consumer and somebody who asks where the log ends. Each
API is asked what was wrong; nothing wrong has a name of its own, so that it must be predicted too.

    produce  what the producer was told, against the log as it stands when all is well again
    fetch    what the consumer read, against that log and against what it had read before
    latest   the ends that were named, against acknowledgements and against each other
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

CLASSES: Final = {
    "produce": {
        "kept": "every acknowledged value stands once, in order, where it was said to",
        "lost": "an acknowledged value is not there",
        "misplaced": "an acknowledged value stands elsewhere than was said",
        "doubled": "a value is there twice",
        "reordered": "a value stands behind one that was begun after it had been acknowledged",
    },
    "fetch": {
        "steady": "what was read stands where it was read, and was read once and without gaps",
        "vanished": "what was read does not stand there any more",
        "back": "the consumer was given an offset at or below one that it had been given",
        "skipped": "the consumer was given an offset above the one that was next",
    },
    "latest": {
        "fresh": "no end was below a record acknowledged before, or below an end named before",
        "behind": "an end was named that is not above a record acknowledged before the question",
        "shrunk": "an end was named that is below one named before the question",
    },
}
"""By API: the outcome classes, that of nothing wrong first."""

APIS: Final = tuple(CLASSES)
FINE: Final = {api: next(iter(classes)) for api, classes in CLASSES.items()}


SENT: Final = 1 << 62
"""When a value counts as acknowledged that acks=0 has sent: nobody knows, so never too early."""


class Append(NamedTuple):
    """A value that a producer was asked to write. Times are of one clock.

    completed: when it was acknowledged; None: it was not. offset: where, if it was told. With
    acks=0 all that is sent counts as acknowledged, at SENT.
    """

    value: int
    invoked: int
    completed: int | None
    offset: int | None


class Named(NamedTuple):
    """An end of the log (exclusive) that somebody was told."""

    invoked: int
    completed: int
    end: int


class Seen(NamedTuple):
    """A trial. log: values by offset, in the end. reads: by consumer, (offset, value) as given."""

    appends: tuple[Append, ...]
    reads: tuple[tuple[tuple[int, int], ...], ...]
    named: tuple[Named, ...]
    log: Mapping[int, int]


Outcomes = dict[str, tuple[str, ...]]
"""By API: classes, in the order of CLASSES; one alone if it is that of nothing wrong."""


def outcomes_of(seen: Seen) -> Outcomes:
    """Of each API."""
    found = {
        "produce": _produced(seen.appends, seen.log),
        "fetch": {name for reads in seen.reads for name in _read(reads, seen.log)},
        "latest": _named(seen.named, seen.appends),
    }
    return {
        api: tuple(each for each in CLASSES[api] if each in names) or (FINE[api],)
        for api, names in found.items()
    }


def _produced(appends: Sequence[Append], log: Mapping[int, int]) -> set[str]:
    found = set()
    values = [log[offset] for offset in sorted(log)]
    if len(set(values)) < len(values):
        found.add("doubled")
    standing = set(values)
    for each in appends:
        if each.completed is None:
            continue
        if each.value not in standing:
            found.add("lost")
        elif each.offset is not None and log.get(each.offset) != each.value:
            found.add("misplaced")
    if _is_reordered(values, {each.value: each for each in appends}):
        found.add("reordered")
    return found


def _is_reordered(values: Iterable[int], appends: Mapping[int, Append]) -> bool:
    latest = -1
    for value in values:
        append = appends.get(value)
        if append is None:
            continue
        if append.completed is not None and append.completed < latest:
            return True
        latest = max(latest, append.invoked)
    return False


def _read(reads: Iterable[tuple[int, int]], log: Mapping[int, int]) -> set[str]:
    """By one consumer, which begins at offset 0."""
    found = set()
    due = 0
    for offset, value in reads:
        if log.get(offset) != value:
            found.add("vanished")
        if offset < due:
            found.add("back")
        if offset > due:
            found.add("skipped")
        due = offset + 1
    return found


def _named(named: Sequence[Named], appends: Sequence[Append]) -> set[str]:
    """Ends are held against what was known for certain when they were asked for."""
    acked = sorted(
        (each.completed, each.offset + 1)
        for each in appends
        if each.completed is not None and each.offset is not None
    )
    told = sorted((each.completed, each.end) for each in named)
    found = set()
    floor = {"behind": 0, "shrunk": 0}
    places = {"behind": 0, "shrunk": 0}
    for each in sorted(named):
        for name, known in (("behind", acked), ("shrunk", told)):
            at = places[name]
            while at < len(known) and known[at][0] < each.invoked:
                floor[name] = max(floor[name], known[at][1])
                at += 1
            places[name] = at
            if each.end < floor[name]:
                found.add(name)
    return found
