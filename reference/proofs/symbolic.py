"""Symbols that the reference's own code can compute with, and all ways that it takes on them.

A number, a truth value or a set of voters is a Z3 term behind Python's operators. Where the code
asks whether something is so (`if`, `in`, `len`), the symbol forks: the code is run once for each
answer that is possible, and each run is a *path*: the conjunction of the answers, and what the code
returned. The paths of a call are disjoint and cover everything (each fork adds a term and its
negation), so together they are the relation of the code that ran, with nothing written down a
second time.

Law of this file: nothing is decided here. An answer is taken as impossible only if Z3 has shown
that it contradicts the answers before it; a solver that does not know raises, and nothing is
claimed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

import z3

T = TypeVar("T")

MOST_PATHS: Final = 200_000


class Unknown(Exception):
    """The solver did not say; or there are too many paths."""


@dataclass(frozen=True)
class Path(Generic[T]):
    condition: list[z3.BoolRef]
    """What must hold of the symbols for the code to go this way."""
    result: T
    """What it made."""


class _Fork:
    """One run of the code: answers to repeat, then answers to find."""

    def __init__(
        self, solver: z3.Solver, prefix: Sequence[bool], nodes: Sequence[int] = ()
    ) -> None:
        self.solver = solver
        self.nodes = nodes
        self.prefix = prefix
        self.answers: list[bool] = []
        self.condition: list[z3.BoolRef] = []
        self.other: list[list[bool]] = []
        self.fresh = 0

    def possible(self, term: z3.BoolRef) -> bool:
        answer = self.solver.check(*self.condition, term)
        if answer == z3.unknown:
            raise Unknown(f"the solver cannot tell a way of the code: {term}")
        return bool(answer == z3.sat)

    def ask(self, term: z3.BoolRef) -> bool:
        term = z3.simplify(term)
        if z3.is_true(term) or z3.is_false(term):
            return bool(z3.is_true(term))
        at = len(self.answers)
        if at < len(self.prefix):
            answer = self.prefix[at]
        elif not self.possible(term):
            answer = False
        else:
            answer = True
            if self.possible(z3.Not(term)):
                self.other.append([*self.answers, False])
        self.answers.append(answer)
        self.condition.append(term if answer else z3.Not(term))
        return answer


_running: list[_Fork] = []


def paths(
    code: Callable[[], T], given: Sequence[z3.BoolRef] = (), nodes: Sequence[int] = ()
) -> list[Path[T]]:
    """All paths of the code under what is given of the symbols; nodes: what may be looked up."""
    solver = z3.Solver()
    solver.set("timeout", 10_000)
    solver.add(*given)
    waiting: list[list[bool]] = [[]]
    found: list[Path[T]] = []
    while waiting:
        fork = _Fork(solver, waiting.pop(), nodes)
        _running.append(fork)
        try:
            result = code()
        finally:
            _running.pop()
        found.append(Path(fork.condition, result))
        waiting += fork.other
        if len(found) > MOST_PATHS:
            raise Unknown(f"more than {MOST_PATHS} paths")
    return found


def folded(found: Sequence[Path[z3.ExprRef]], depth: int = 0) -> z3.ExprRef:
    """Give what the code makes, over all its paths, as one term.

    It is the tree of its answers, in which paths that make the same from here on are one.

    The ways must be those of code that assumes nothing: then every condition is an answer.
    """
    if len(found) == 1:
        return found[0].result
    split = found[0].condition[depth]
    here = [path for path in found if path.condition[depth].eq(split)]
    there = [path for path in found if not path.condition[depth].eq(split)]
    yes = folded(here, depth + 1)
    if not there:
        return yes
    no = folded(there, depth + 1)
    if yes.eq(no):
        return yes
    if z3.is_not(split):
        return z3.simplify(z3.If(split.arg(0), no, yes))
    return z3.simplify(z3.If(split, yes, no))


def summary(code: Callable[[], Any], nodes: Sequence[int] = ()) -> Truth:
    """Whether the code answers yes, as one term: all its paths at once, and so no fork."""
    found = paths(lambda: truth_of(code()), (), nodes)
    return Truth(folded(found))


def summarised_number(code: Callable[[], Any], nodes: Sequence[int] = ()) -> Number:
    """A number that the code computes, as one term over all its paths."""
    return Number(folded(paths(lambda: term_of(code()), (), nodes)))


def summarised_set(code: Callable[[], Any], nodes: Sequence[int]) -> dict[int, z3.BoolRef]:
    """A set of nodes that the code computes, as one term for each node."""
    found = paths(lambda: bits_of(code(), nodes), (), nodes)
    return {
        node: folded([Path(path.condition, path.result[node]) for path in found]) for node in nodes
    }


def assume(term: z3.BoolRef) -> None:
    """Adds to the path's condition what is known of a new symbol."""
    _running[-1].condition.append(term)


def fresh(name: str) -> Number:
    """A new symbol of this path: for what the abstraction leaves open."""
    fork = _running[-1]
    fork.fresh += 1
    return Number(z3.Int(f"{name}!{fork.fresh}"))


def term_of(value: Any) -> z3.ArithRef:
    """The term of a number, symbolic or not."""
    return value.term if isinstance(value, Number) else z3.IntVal(int(value))


class Truth:
    """A truth value; asking for it forks."""

    __slots__ = ("term",)

    def __init__(self, term: z3.BoolRef) -> None:
        self.term = term

    def __bool__(self) -> bool:
        return _running[-1].ask(self.term)

    def __eq__(self, other: object) -> Any:
        return Truth(self.term == truth_of(other))

    def __ne__(self, other: object) -> Any:
        return Truth(self.term != truth_of(other))

    __hash__ = None  # type: ignore[assignment]


def truth_of(value: object) -> z3.BoolRef:
    return value.term if isinstance(value, Truth) else z3.BoolVal(bool(value))


class Number:
    """An integer; comparing it gives a Truth."""

    __slots__ = ("term",)

    def __init__(self, term: z3.ArithRef) -> None:
        self.term = term

    def __add__(self, other: Any) -> Number:
        return Number(self.term + term_of(other))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Number:
        return Number(self.term - term_of(other))

    def __rsub__(self, other: Any) -> Number:
        return Number(term_of(other) - self.term)

    def __neg__(self) -> Number:
        return Number(-self.term)

    def __eq__(self, other: object) -> Any:
        return Truth(self.term == term_of(other))

    def __ne__(self, other: object) -> Any:
        return Truth(self.term != term_of(other))

    def __lt__(self, other: Any) -> Truth:
        return Truth(self.term < term_of(other))

    def __le__(self, other: Any) -> Truth:
        return Truth(self.term <= term_of(other))

    def __gt__(self, other: Any) -> Truth:
        return Truth(self.term > term_of(other))

    def __ge__(self, other: Any) -> Truth:
        return Truth(self.term >= term_of(other))

    def __hash__(self) -> int:
        """A voter is looked up in a table: one way for each that it may be."""
        fork = _running[-1]
        for node in fork.nodes:
            if fork.ask(self.term == node):
                return hash(node)
        raise AssertionError(f"{self.term} is looked up in a table, but is no voter")


class Choice:
    """One of some words, as its position among them."""

    __slots__ = ("term", "words")

    def __init__(self, term: z3.ArithRef, words: Sequence[str]) -> None:
        self.term = term
        self.words = words

    def __eq__(self, other: object) -> Any:
        return Truth(self.term == choice_of(other, self.words))

    def __ne__(self, other: object) -> Any:
        return Truth(self.term != choice_of(other, self.words))

    __hash__ = None  # type: ignore[assignment]


def choice_of(value: object, words: Sequence[str]) -> z3.ArithRef:
    return value.term if isinstance(value, Choice) else z3.IntVal(words.index(str(value)))


class NodeSet:
    """A set of voters, one truth value for each; looking into it forks, voter by voter."""

    __slots__ = ("bits",)

    def __init__(self, bits: dict[int, z3.BoolRef]) -> None:
        self.bits = bits

    def __contains__(self, node: int) -> bool:
        return node in self.bits and bool(Truth(self.bits[node]))

    def __iter__(self) -> Iterator[int]:
        return iter([node for node, bit in self.bits.items() if Truth(bit)])

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __add__(self, other: NodeSet) -> NodeSet:
        more = bits_of(other, list(self.bits))
        return NodeSet({node: z3.Or(bit, more[node]) for node, bit in self.bits.items()})

    __radd__ = __add__


def with_bit(nodes: Any, node: int, bit: bool) -> NodeSet:
    """The set with one voter put in or taken out."""
    assert isinstance(nodes, NodeSet), "sets of voters are symbols here"
    return NodeSet({**nodes.bits, node: z3.BoolVal(bit)})


def bits_of(nodes: Any, voters: Sequence[int]) -> dict[int, z3.BoolRef]:
    """A set of voters as one truth value for each."""
    if isinstance(nodes, NodeSet):
        return nodes.bits
    there = tuple(nodes)
    return {voter: z3.BoolVal(voter in there) for voter in voters}


class Log:
    """A log, or the records of a response: how long it is, and the epoch of its latest record.

    What it holds besides is abstracted away. `top` bounds the epochs of all records in it.
    """

    __slots__ = ("length", "top")

    def __init__(self, length: Number, top: Number) -> None:
        self.length = length
        self.top = top

    def __bool__(self) -> bool:
        return bool(self.length > 0)

    def __iter__(self) -> Iterator[Any]:
        # `(*log, entry)` is how a handler appends: what was there goes in whole.
        return iter([self])

    def __add__(self, more: Log) -> Log:
        if not more:
            return self
        return Log(self.length + more.length, largest(self.top, more.top))


class Cache:
    """An epoch cache: its latest epoch, 0 when it is empty. Entries below are abstracted away."""

    __slots__ = ("latest",)

    def __init__(self, latest: Number) -> None:
        self.latest = latest


def largest(a: Number, b: Any) -> Number:
    other = term_of(b)
    return Number(z3.If(a.term >= other, a.term, other))
