"""A partition's log as a sequential object: the arbiter for the columnar checker (log.py) on small
histories.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kraftcheck.traces.checkers.sequential import REFUSED, Effect, Model
from kraftcheck.traces.history import OK, Operation


class PartitionLog(Model):
    """A partition's log, as slow and as obvious as can be: every value in the order of its offset.

    The state is (start, values): offsets count from 0 and none is left out, so that an offset below
    a known one belongs to some append. `append` adds at the end and answers where; one that was not
    told its offset may be anywhere, and so may one of unknown outcome (an offset that came without
    an acknowledgement binds nothing). `fetch` from o answers what stands from o on, and nothing
    only if the end is not beyond o; from None it begins anywhere. `end`, where it was told, is the
    end; `to`, where the consumer stood after it, is not beyond what it was shown.
    `latest` is the end; `earliest` the start, which retention moves forward, at any time.
    """

    name = "partition-log"
    verbs = ("append", "fetch", "latest", "earliest")

    def initial(self) -> tuple[int, tuple[Any, ...]]:
        return 0, ()

    def step(self, state: tuple[int, tuple[Any, ...]], operation: Operation) -> Any:
        start, values = state
        if operation.f == "append":
            fits = _anywhere(operation) or operation.result == len(values)
            return (start, (*values, operation.argument)) if fits else REFUSED
        if operation.f == "latest":
            return state if operation.result == len(values) else REFUSED
        if operation.f == "earliest":
            moved: int = operation.result
            return (moved, values) if start <= moved <= len(values) else REFUSED
        return state if self._shows(start, values, operation) else REFUSED

    @staticmethod
    def _shows(start: int, values: tuple[Any, ...], fetch: Operation) -> bool:
        if fetch.end is not None and fetch.end != len(values):
            return False
        asked, records = fetch.argument, fetch.result or ()
        first = records[0][0] if records else asked
        if first is None:
            return True
        if fetch.to is not None and fetch.to > first + len(records):
            return False
        if not records:
            return bool(first >= len(values))
        if (asked is not None and asked != first) or first < start:
            return False
        shown = tuple((first + at, v) for at, v in enumerate(values[first : first + len(records)]))
        return tuple(map(tuple, records)) == shown

    def effect(self, operation: Operation) -> Effect:
        if operation.f in ("append", "earliest"):
            return Effect.TOTAL if operation.f == "append" and _anywhere(operation) else Effect.ANY
        return Effect.READ

    def judges(self, operation: Operation) -> bool:
        """An `earliest` without an answer says nothing."""
        silent = operation.f == "earliest" and operation.outcome != OK
        return not silent and super().judges(operation)

    def can_lead(self, state: tuple[int, tuple[Any, ...]], operation: Operation) -> bool:
        """A log only grows: what is at an offset stays there."""
        start, values = state
        if operation.f == "append":
            return _anywhere(operation) or operation.result >= len(values)
        if operation.f == "latest":
            return bool(operation.result >= len(values))
        if operation.f == "fetch":
            if operation.end is not None and operation.end < len(values):
                return False
            return all(o >= len(values) or values[o] == v for o, v in operation.result or ())
        return bool(operation.result >= start)

    def foreseeing(self, operations: Sequence[Operation]) -> Model:
        return _KnownLog(operations)


def _anywhere(append: Operation) -> bool:
    """Whether nothing binds an append to an offset."""
    return append.result is None or append.outcome != OK


class _KnownLog(PartitionLog):
    """Refuses an append at an offset at which a fetch or an acknowledgement tells another value.

    A fetch of that offset cannot come before the append, which made it, nor after it.
    """

    def __init__(self, operations: Sequence[Operation]) -> None:
        self.known: dict[int, Any] = {}
        for each in operations:
            if each.f == "append" and not _anywhere(each):
                self.known.setdefault(each.result, each.argument)
            elif each.f == "fetch":
                for offset, value in each.result or ():
                    self.known.setdefault(offset, value)

    def step(self, state: tuple[int, tuple[Any, ...]], operation: Operation) -> Any:
        if operation.f == "append":
            at = len(state[1])
            if at in self.known and self.known[at] != operation.argument:
                return REFUSED
        return super().step(state, operation)

    def effect(self, operation: Operation) -> Effect:
        return Effect.ANY if operation.f == "append" else super().effect(operation)
