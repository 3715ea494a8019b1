"""What a proof by induction consists of, how each part is discharged, and how it ended.

An invariant holds in the first states; every action keeps it; and it implies properties. Each of
these is an obligation with a name of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from time import process_time
from typing import Any, Final, Literal, NamedTuple, TypeVar

import z3

from kraftcheck.reference.proofs.judging import judge
from kraftcheck.reference.proofs.symbolic import Unknown

Status = Literal["proved", "failed", "unknown"]
FIRST: Final = "Init"
"""The obligation of the first states."""
IMPLIES: Final = "the invariant implies "
"""Before a property: the obligation of that property."""
T = TypeVar("T")


class Proof(NamedTuple):
    """What is proved of a protocol: the value PROOF of `proof/proof.py` in its folder."""

    properties: tuple[str, ...]
    obligations: Callable[[Sequence[str]], list[str]]
    """The names of those that some of the properties need."""
    discharge: Callable[[int, str, type[Any], int], Obligation]
    """One of them, by the number of nodes, its name, the rules that the handlers have, and
    milliseconds for a question.
    """


@dataclass
class Obligation:
    """status."""

    name: str
    """What is to be shown."""
    status: Status = "proved"
    seconds: float = 0.0
    """Of processor time, the solver's and the paths'."""
    paths: int = 0
    """How many were looked at."""
    broken: str = ""
    """The parts that fail, if any do, on the first path on which one does."""
    state: list[str] = field(default_factory=list)
    """The counterexample to induction, in readable lines."""
    reason: str = ""
    """Why it is unknown."""
    asked: list[str] = field(default_factory=list)
    """Which rules of a bug's it came to."""

    def unknown(self, reason: str) -> None:
        """Notes why it is not known whether it holds."""
        self.status, self.reason = "unknown", reason

    def judge(
        self,
        solver: z3.Solver,
        goals: Mapping[str, z3.BoolRef],
        timeout_ms: int,
        readable: Callable[[z3.ModelRef], list[str]],
        simpler: Sequence[z3.BoolRef] = (),
    ) -> bool:
        """Say whether all goals follow.

        Else note those that do not, with a state in which one fails, or those of which it is not
        known. timeout_ms, simpler: as of `judging.judge`.
        """
        verdict = judge(solver, goals, timeout_ms, simpler)
        if verdict.broken:
            self.status = "failed"
            self.broken = ", ".join(verdict.broken)
            self.state = [] if verdict.model is None else readable(verdict.model)
        elif verdict.undecided:
            self.unknown(f"the solver: {verdict.reason} ({', '.join(verdict.undecided)})")
        return not (verdict.broken or verdict.undecided)

    def each(self, paths: Iterable[T], keeps: Callable[[T], bool], called: str = "path") -> None:
        """Every path of a handler keeps the invariant; ends at the first that does not.

        called: what a path is to the reader.
        """
        try:
            for path in paths:
                self.paths += 1
                if not keeps(path):
                    break
        except Unknown as error:
            self.unknown(str(error))
        if not self.paths and self.status == "proved":
            self.unknown(f"the handler has no {called}: nothing was shown")

    def possible(self, solver: z3.Solver) -> bool:
        """Whether what is assumed has a model; if not, it would imply anything."""
        if solver.check() == z3.sat:
            return True
        self.unknown("the invariant itself has no model")
        return False


def obligation_names(actions: Iterable[str], properties: Iterable[str]) -> list[str]:
    """The names of all obligations; each can be discharged for itself."""
    return [FIRST, *actions, *(f"{IMPLIES}{name}" for name in properties)]


def discharged(
    name: str,
    initially: Callable[[Obligation], object],
    kept: Callable[[str, Obligation], object],
    implied: Callable[[str, Obligation], object],
    prefix: str = "",
) -> Obligation:
    """One obligation by its name.

    initially: for the first states. kept, implied: for an action and for a property, by name.
    prefix: before the name, for the reader.
    """
    begin = process_time()
    done = Obligation(name)
    of = name.removeprefix(prefix)
    if of == FIRST:
        initially(done)
    elif of.startswith(IMPLIES):
        implied(of.removeprefix(IMPLIES), done)
    else:
        kept(of, done)
    done.seconds = process_time() - begin
    return done
