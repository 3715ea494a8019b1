"""Which operations of a history are drawn around the evidence against it.

The operations of the certificate are always drawn, then those that were under way at the same time
on the same object, then the nearest. What is left out is counted in words.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Final, NamedTuple

from kraftcheck.traces.history import INDETERMINATE, OK, History, Operation
from kraftcheck.traces.report import history_words as words

OPERATIONS_MAX: Final = 60
PROCESSES_MAX: Final = 24


class Choice(NamedTuple):
    """drawn, related: the operations that are drawn, and all on the same object."""

    drawn: list[Operation]
    related: list[Operation]
    notes: list[str]
    """What is left out, in words."""


def choice(history: History, certificate: Sequence[int], key: str | None) -> Choice:
    """The operations around the certificate's; from the beginning if it has none.

    key: the object that the certificate is about; operations on others are not drawn.
    """
    related = [o for o in history.operations if key is None or o.key in (key, None)]
    drawn, dropped = _few_processes(_chosen(related, certificate), certificate)
    return Choice(drawn, related, _notes(history, related, drawn, dropped, certificate, key))


def until(operation: Operation) -> float:
    """When it was over; an indeterminate operation never is."""
    completed = operation.completed
    return inf if completed is None or operation.outcome == INDETERMINATE else completed


def _chosen(related: Sequence[Operation], certificate: Sequence[int]) -> list[Operation]:
    if len(related) <= OPERATIONS_MAX:
        return list(related)
    wanted = set(certificate)
    accused = [o for o in related if o.index in wanted]
    if not accused:
        return list(related[:OPERATIONS_MAX])
    ordered = sorted(related, key=lambda each: _distance(each, accused))
    return sorted(ordered[:OPERATIONS_MAX], key=lambda each: each.index)


def _distance(operation: Operation, accused: Sequence[Operation]) -> tuple[float, float, int]:
    """How near an operation is to one of the accused: theirs, at the same time, then by time."""
    if any(operation.index == each.index for each in accused):
        return (0, 0, operation.index)
    apart = min(_apart(operation, each) for each in accused)
    # An indeterminate operation is under way for ever: where it began is what brings it near.
    weight = 1 if operation.outcome == OK else 2
    if operation.outcome == INDETERMINATE:
        apart = max(apart, min(abs(operation.invoked - each.invoked) for each in accused))
    near = min(abs(operation.index - each.index) for each in accused)
    # What began when all was over has no part in it.
    later = all(operation.invoked > until(each) for each in accused)
    rank = 3 if later else 1 if apart == 0 else 2
    return (rank, apart if apart else weight * near, operation.index)


def _apart(one: Operation, other: Operation) -> float:
    """The time between them; 0 for operations that were under way at the same time."""
    return max(0, one.invoked - until(other), other.invoked - until(one))


def _few_processes(
    chosen: list[Operation], certificate: Sequence[int]
) -> tuple[list[Operation], int]:
    """Operations of at most PROCESSES_MAX processes, and how many processes were left out."""
    processes = list(dict.fromkeys(o.process for o in chosen))
    if len(processes) <= PROCESSES_MAX:
        return chosen, 0
    first = [o.process for o in chosen if o.index in set(certificate)]
    kept = set(list(dict.fromkeys((*first, *processes)))[:PROCESSES_MAX])
    return [o for o in chosen if o.process in kept], len(processes) - len(kept)


def _notes(
    history: History,
    related: Sequence[Operation],
    chosen: Sequence[Operation],
    dropped: int,
    certificate: Sequence[int],
    key: str | None,
) -> list[str]:
    notes = []
    if len(chosen) < len(related):
        notes.append(
            f"drawn are {len(chosen):,} of {len(related):,} operations (at most {OPERATIONS_MAX}), "
            + ("those nearest to the evidence" if certificate else "the first of them")
        )
    if dropped:
        notes.append(f"{dropped:,} more processes were active here (at most {PROCESSES_MAX} rows)")
    if key is not None and len(related) < len(history.operations):
        others = len(history.operations) - len(related)
        notes.append(f"{others:,} operations on other objects than {words.ends(key)} are left out")
    return notes
