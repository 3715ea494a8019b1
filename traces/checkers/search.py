"""Is a history linearizable? For every model; each object is judged alone.

`check` takes a history apart by the model's keys, decides registers that are written once in each
value by their zones (registers.py), and everything else by the search (jit.py). What is said comes
with its evidence: a linearization that was replayed through the model, or the operation that has no
place in any order, with the one before it.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from typing import Any, Final

import msgspec

from kraftcheck.traces.checkers import witness
from kraftcheck.traces.checkers.jit import Compiled, Failure, Gave, Search
from kraftcheck.traces.checkers.models import REGISTERS
from kraftcheck.traces.checkers.sequential import Effect, Model
from kraftcheck.traces.checkers.verdict import HOLDS, UNKNOWN, VIOLATED, Certificate, Verdict, shown
from kraftcheck.traces.history import FAIL, INDETERMINATE, History, HistoryError, Operation

WIDTHS: Final = (128, 4096)
"""How many configurations are kept, one attempt after the other; then as many as are allowed."""
NONLINEARIZABLE: Final = "nonlinearizable"
"""The kind of a certificate: no order of the operations explains what they answered."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """When to give up: `unknown`, with the limit as reason."""

    seconds: float | None = None
    """On the clock, for one object; None: never."""
    configurations: int = 200_000
    """At one event of the search."""


NO_LIMITS: Final = Limits()


def check(history: History, model: Model, limits: Limits = NO_LIMITS) -> tuple[Verdict, ...]:
    """Return a verdict for each object, in order of its first operation.

    Args:
        history: what the clients requested and received.
        model: the sequential model of an object.
        limits: of the search for each object.

    Raises:
        HistoryError: there is no operation, or one that the model does not have.
    """
    if not history.operations:
        raise HistoryError(history.source, 0, "no operation to judge")
    return tuple(check_object(part, model, limits) for part in objects_of(history, model))


def objects_of(history: History, model: Model) -> list[list[Operation]]:
    """The operations of each object, in order of their first ones.

    Raises HistoryError: one that the model does not have.
    """
    parts: dict[Hashable, list[Operation]] = {}
    for each in history.operations:
        wrong = model.malformed(each)
        if wrong is not None:
            raise HistoryError(history.source, each.line, wrong)
        parts.setdefault(model.key(each), []).append(each)
    return [*parts.values()]


def check_objects(
    objects: Sequence[Sequence[Operation]], model: Model, limits: Limits = NO_LIMITS
) -> list[Verdict]:
    """As `check_object` of each, be they of one history or of several."""
    found = model.judged_all(objects)
    return [check_object(each, model, limits) for each in objects] if found is None else found


def check_object(
    operations: Sequence[Operation], model: Model, limits: Limits = NO_LIMITS
) -> Verdict:
    """Return the verdict on all operations of one object.

    Args:
        operations: in order of invocation.
        model: the sequential model of the object.
        limits: of the search.

    Raises:
        ValueError: there are no operations.
    """
    if not operations:
        raise ValueError("an empty history is no history")
    key = operations[0].key
    whole = model.judged_all([operations])
    if whole is not None:
        return whole[0]
    if type(model) in REGISTERS:
        # Late: NumPy takes longer to import than a small history takes to judge.
        from kraftcheck.traces.checkers import registers

        if registers.applies(operations, model):
            return registers.check_object(operations, model)
    deadline = None if limits.seconds is None else time.monotonic() + limits.seconds
    try:
        compiled = Compiled(operations, model)
        result = _search(compiled, deadline, limits)
    except Gave as given_up:
        return Verdict(verdict=UNKNOWN, model=model.name, key=key, reason=str(given_up))
    if isinstance(result, Failure):
        exact = _without_foresight(operations, model, deadline)
        return _violated(operations, *(exact or (compiled, result)), model)
    order = witness.linearization(compiled, result)
    witness.prove(order, operations, model)
    found = tuple(each.index for each in order)
    return Verdict(verdict=HOLDS, model=model.name, key=key, witness=found)


def _search(compiled: Compiled, deadline: float | None, limits: Limits) -> Any:
    """A chain or a Failure. Raises Gave.

    Narrow first: a linearization is most often found without going every way, and a violation
    mostly leaves few ways open. A narrow attempt that failed costs little beside the wide one.
    """
    most = limits.configurations
    for width in (*(each for each in WIDTHS if each < most), most):
        search = Search(compiled, width, deadline)
        result = search.run()
        if not isinstance(result, Failure) or not search.cut:
            return result
    raise Gave(f"more than {most:,} configurations at one event")


# -- Evidence of a violation


def _without_foresight(
    operations: Sequence[Operation], model: Model, deadline: float | None
) -> tuple[Compiled, Failure] | None:
    """The event before which everything can be explained, and at which nothing can.

    With foresight a way is given up as soon as a later answer speaks against it, which may be long
    before that answer; the blame would fall on an operation that did nothing wrong. None if it
    takes too long to tell: the earlier event is a proof as well.
    """
    compiled = Compiled(operations, model, foresight=False)
    search = Search(compiled, WIDTHS[-1], deadline)
    try:
        result = search.run()
    except Gave:
        return None
    return (compiled, result) if isinstance(result, Failure) and not search.cut else None


def _violated(
    operations: Sequence[Operation], compiled: Compiled, failure: Failure, model: Model
) -> Verdict:
    victim = compiled.operations[compiled.events[failure.event].returned.operation]
    before = compiled.operations[failure.chain[1].operation] if failure.chain else None
    assert victim.completed is not None
    known = [each for each in operations if each.invoked <= victim.completed]
    certificate = Certificate(
        operations=(victim.index,) if before is None else (before.index, victim.index),
        kind=NONLINEARIZABLE,
        sentence=_sentence(victim, before, failure, model),
        key=victim.key,
    )
    return Verdict(
        verdict=VIOLATED,
        model=model.name,
        key=victim.key,
        certificate=certificate,
        prefix=len(known) - 1,
    )


def _sentence(victim: Operation, before: Operation | None, failure: Failure, model: Model) -> str:
    said = f"no linearization explains {described(victim)}"
    if model.effect(victim) is Effect.READ and 0 < len(failure.states) <= 4:
        said += f": the {model.name} can only be {' or '.join(map(shown, failure.states))}"
    if before is not None:
        said += f", after {described(before)}"
    return said


def described(operation: Operation) -> str:
    """An operation as a sentence names it."""
    asked = "" if operation.argument is None else f" {shown(operation.argument)}"
    said = {INDETERMINATE: ", outcome unknown", FAIL: ", which failed"}.get(operation.outcome)
    if said is None:
        blind = operation.result is None and operation.argument is not None
        said = "" if blind else f" returned {shown(operation.result)}"
    return f"operation {operation.index} (process {operation.process}: {operation.f}{asked}{said})"
