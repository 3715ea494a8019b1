"""Is a small history linearizable? A third opinion, from constraints that Z3 solves.

Nothing here steps a model or searches: what each answer says of the order is written down as
formulas over two families of unknowns, and the solver looks for an order.

    before(i, j)    i stands ahead of j: a strict total order (antisymmetry, transitivity)
    effective(i)    i took effect: true of what was acknowledged, open for what is indeterminate

Real time: if i had completed before j was invoked, before(i, j). Then, by kind of object,

    partition-log   an append's offset is the number of effective appends before it; a record that
                    was fetched is an effective append of that value, before the fetch and at that
                    offset; nothing was fetched only if no more than `from` appends came before;
                    `latest`, and the end that came with a fetch, is the number before it; starts
                    (`earliest`) never go back, and nothing is fetched from before a start
    register, cas   a value was seen if the last effective writer before wrote it
    kv              with the last put before a get as base, each append after it stands in the
                    answer where the lengths of those before it say, and the lengths add up

Offsets count from 0 and none is left out, as in PartitionLog: so an offset below a known one
(a hole) must be filled by an append of unknown outcome.

Sizes: meant for up to some ten operations; nothing breaks beyond, it takes longer (`unknown` after
`milliseconds`). The order's axioms are asserted once for each number of operations and kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import permutations
from typing import Any, Final

import z3

from kraftcheck.traces.checkers import witness
from kraftcheck.traces.checkers.models import MODELS
from kraftcheck.traces.checkers.sequential import Model
from kraftcheck.traces.checkers.verdict import HOLDS, UNKNOWN, VIOLATED, Certificate, Verdict
from kraftcheck.traces.history import FAIL, INDETERMINATE, Operation

MILLISECONDS: Final = 10_000


class Order:
    """A strict total order of `size` operations, some of which took effect, and its solver."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.solver = z3.SolverFor("QF_FD")
        self._pairs = {(i, j): z3.Bool(f"before_{i}_{j}") for j in range(size) for i in range(j)}
        self._counts: dict[tuple[int, int], Any] = {}
        self._bounds: dict[tuple[int, int], Any] = {}
        self.effective = [z3.Bool(f"effective_{i}") for i in range(size)]
        self.counted = [z3.Bool(f"counted_{i}") for i in range(size)]
        """Effective appends: what offsets count."""
        self._ahead = [
            [(self._ahead_of(j, i), 1) for j in range(size) if j != i] for i in range(size)
        ]
        for i, j, k in permutations(range(size), 3):
            cycle = z3.And(self.before(i, j), self.before(j, k), self.before(k, i))
            self.solver.add(z3.Not(cycle))

    def before(self, i: int, j: int) -> Any:
        return self._pairs[i, j] if i < j else z3.Not(self._pairs[j, i])

    def _ahead_of(self, j: int, i: int) -> Any:
        return z3.And(self.counted[j], self.before(j, i))

    def exactly(self, i: int, count: int) -> Any:
        """`count` effective appends stand ahead of i."""
        if not 0 <= count < max(self.size, 1):
            return z3.BoolVal(False)
        if (i, count) not in self._counts:
            ahead = self._ahead[i]
            found = z3.PbEq(ahead, count) if ahead else z3.BoolVal(count == 0)
            self._counts[i, count] = found
        return self._counts[i, count]

    def at_most(self, i: int, count: int) -> Any:
        if count >= self.size - 1:
            return z3.BoolVal(count >= 0)
        if (i, count) not in self._bounds:
            self._bounds[i, count] = z3.PbLe(self._ahead[i], count)
        return self._bounds[i, count]

    def positions(self, found: Any) -> list[int]:
        """All that took effect, in the order of a model that the solver found."""

        def ahead(i: int) -> int:
            return sum(
                z3.is_true(found.eval(self.before(j, i), model_completion=True))
                for j in range(self.size)
                if j != i
            )

        taken = [
            i
            for i in range(self.size)
            if z3.is_true(found.eval(self.effective[i], model_completion=True))
        ]
        return sorted(taken, key=ahead)


@cache
def order_of(size: int) -> Order:
    return Order(size)


Meaning = Callable[[Order, Sequence[Operation]], Iterator[Any]]


def check_object(
    operations: Sequence[Operation], model: Model, milliseconds: int = MILLISECONDS
) -> Verdict:
    """The verdict on one object, in the operations' order of invocation.

    Raises ValueError: no operation, or a model without an encoding (see ENCODED).
    """
    if not operations:
        raise ValueError("an empty history is no history")
    if model.name not in ENCODED or type(model) is not MODELS[model.name]:
        raise ValueError(f"no constraints for {model.name}; there are: {', '.join(ENCODED)}")
    judged = [each for each in operations if model.judges(each)]
    order = order_of(len(judged))
    solver, key = order.solver, operations[0].key
    solver.set("timeout", milliseconds)
    solver.push()
    try:
        solver.add(*_real_time(order, judged))
        solver.add(*_outcomes(order, judged))
        solver.add(*ENCODED[model.name](order, judged))
        answer = solver.check()
        if answer == z3.unknown:
            reason = f"the solver says: {solver.reason_unknown()}"
            return Verdict(verdict=UNKNOWN, model=model.name, key=key, reason=reason)
        if answer == z3.unsat:
            said = Certificate(
                operations=(), kind="unsatisfiable", sentence="no order meets all answers", key=key
            )
            return Verdict(verdict=VIOLATED, model=model.name, key=key, certificate=said)
        found = [judged[i] for i in order.positions(solver.model())]
    finally:
        solver.pop()
    witness.prove(found, operations, model)
    taken = tuple(each.index for each in found)
    return Verdict(verdict=HOLDS, model=model.name, key=key, witness=taken)


def _real_time(order: Order, judged: Sequence[Operation]) -> Iterator[Any]:
    for i, first in enumerate(judged):
        if first.outcome == INDETERMINATE or first.completed is None:
            continue
        for j, second in enumerate(judged):
            if first.completed < second.invoked:
                yield order.before(i, j)


def _outcomes(order: Order, judged: Sequence[Operation]) -> Iterator[Any]:
    for i, each in enumerate(judged):
        if each.outcome != INDETERMINATE:
            yield order.effective[i]


# -- Partition logs


def _partition_log(order: Order, judged: Sequence[Operation]) -> Iterator[Any]:
    for i, each in enumerate(judged):
        if each.f == "append":
            yield order.counted[i] == order.effective[i]
            if each.result is not None and each.outcome != INDETERMINATE:
                yield order.exactly(i, each.result)
        else:
            yield z3.Not(order.counted[i])
        if each.f == "latest":
            yield order.exactly(i, each.result)
        elif each.f == "earliest":
            # No more than the end, and no less than what any before it said.
            yield z3.Or(*(order.exactly(i, n) for n in range(each.result, order.size + 1)))
            for j, other in enumerate(judged):
                if other.f == "earliest" and other.result > each.result:
                    yield order.before(i, j)
        elif each.f == "fetch":
            yield from _fetched(order, judged, i, each)


def _fetched(order: Order, judged: Sequence[Operation], i: int, fetch: Operation) -> Iterator[Any]:
    if fetch.end is not None:
        yield order.exactly(i, fetch.end)
    records = fetch.result or ()
    if fetch.to is not None:
        first = records[0][0] if records else fetch.argument
        yield z3.BoolVal(first is None or fetch.to <= first + len(records))
    if not records:
        if fetch.argument is not None:
            yield order.at_most(i, fetch.argument)
        return
    first = records[0][0]
    in_order = [offset for offset, _ in records] == list(range(first, first + len(records)))
    yield z3.BoolVal(in_order and fetch.argument in (None, first))
    for offset, value in records:
        yield z3.Or(
            *(
                z3.And(order.effective[j], order.before(j, i), order.exactly(j, offset))
                for j, other in enumerate(judged)
                if other.f == "append" and other.argument == value
            )
        )
    for j, other in enumerate(judged):
        if other.f == "earliest" and other.result > first:
            yield order.before(i, j)


# -- Registers

_WRITERS: Final = ("write", "cas")


def _register(order: Order, judged: Sequence[Operation]) -> Iterator[Any]:
    writers = [
        (j, each.argument[1] if each.f == "cas" else each.argument)
        for j, each in enumerate(judged)
        if each.f in _WRITERS and each.outcome != FAIL
    ]
    for i, each in enumerate(judged):
        if each.f == "read":
            yield _saw(order, i, each.result, writers)
        elif each.f == "cas":
            saw = _saw(order, i, each.argument[0], writers)
            yield z3.Not(saw) if each.outcome == FAIL else z3.Implies(order.effective[i], saw)


def _saw(order: Order, i: int, value: Any, writers: list[tuple[int, Any]]) -> Any:
    """The last effective writer before i wrote `value`; none, if that is the initial one."""
    others = [(j, written) for j, written in writers if j != i]
    ways = [
        z3.And(
            order.effective[j],
            order.before(j, i),
            *(
                z3.Not(z3.And(order.effective[k], order.before(j, k), order.before(k, i)))
                for k, _ in others
                if k != j
            ),
        )
        for j, written in others
        if written == value
    ]
    if value is None:
        ways.append(
            z3.Not(z3.Or(*(z3.And(order.effective[j], order.before(j, i)) for j, _ in others)))
        )
    return z3.Or(*ways)


# -- Maps of strings


def _key_value(order: Order, judged: Sequence[Operation]) -> Iterator[Any]:
    puts = [j for j, each in enumerate(judged) if each.f == "put"]
    for i, each in enumerate(judged):
        if each.f == "get":
            bases = [_base(order, i, base, puts) for base in (None, *puts)]
            yield z3.Or(
                *(
                    z3.And(is_base, *_appended(order, judged, i, base))
                    for base, is_base in zip((None, *puts), bases, strict=True)
                )
            )


def _base(order: Order, i: int, base: int | None, puts: list[int]) -> Any:
    """The last effective put before i; None: there is none."""
    later = [
        z3.Not(
            z3.And(
                order.effective[k],
                order.before(k, i),
                *(() if base is None else (order.before(base, k),)),
            )
        )
        for k in puts
        if k != base
    ]
    if base is None:
        return z3.And(*later)
    return z3.And(order.effective[base], order.before(base, i), *later)


def _appended(order: Order, judged: Sequence[Operation], i: int, base: int | None) -> Iterator[Any]:
    """The answer of get i is the base, and what was appended since, end to end."""
    answer = judged[i].result or ""
    start = "" if base is None else judged[base].argument
    if not answer.startswith(start):
        yield z3.BoolVal(False)
        return
    appends = [j for j, each in enumerate(judged) if each.f == "append"]
    within = {
        j: z3.And(
            order.effective[j],
            order.before(j, i),
            *(() if base is None else (order.before(base, j),)),
        )
        for j in appends
    }
    whole = [(within[j], len(judged[j].argument)) for j in appends]
    yield _adds_up(whole, len(answer) - len(start))
    for j in appends:
        text = judged[j].argument
        ahead = [
            (z3.And(within[k], order.before(k, j)), len(judged[k].argument))
            for k in appends
            if k != j
        ]
        places = [
            at
            for at in range(len(start), len(answer) - len(text) + 1)
            if answer.startswith(text, at)
        ]
        stands = z3.Or(*(_adds_up(ahead, at - len(start)) for at in places))
        yield z3.Implies(within[j], stands)


def _adds_up(lengths: list[tuple[Any, int]], total: int) -> Any:
    return z3.PbEq(lengths, total) if lengths else z3.BoolVal(total == 0)


ENCODED: Final[dict[str, Meaning]] = {
    "partition-log": _partition_log,
    "register": _register,
    "cas-register": _register,
    "kv": _key_value,
}
"""What each object's answers say, by the model's name."""
