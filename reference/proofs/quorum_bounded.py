"""Reachable counterexamples of what the quorum's logs hold: the moves of quorum_moves.py, unrolled
from the state in which nobody knows anything.

What Z3 finds is run again on the handlers with numbers, and judged by core/properties.py; only what
they confirm is reported. The search is complete up to its bound for these moves, logs of few
records and epochs that a cache has a place for; a bound reached without a counterexample is "none
within the bound", not "none".
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from time import monotonic
from typing import Any, Final

import z3

from reference.core.messages import (
    Append,
    Crash,
    ElectionTimeout,
    FetchTimeout,
    Flush,
    Restart,
)
from reference.core.properties import INVARIANTS, history_init, history_next
from reference.core.quorum import QuorumHandlers
from reference.core.rules import QuorumRules
from reference.core.types import AWAITING, Constants, initial_row
from reference.proofs.bounded import Found
from reference.proofs.moves import Done
from reference.proofs.quorum_moves import ALONE, PROPERTIES, TOGETHER, VALUE, QuorumMoves
from reference.proofs.replaying import Disabled, searched
from reference.proofs.unrolled import Unrolled


class QuorumReplay:
    """A quorum that does moves with its handlers, from the first state."""

    def __init__(self, voters: int, rules: type[QuorumRules]) -> None:
        self.constants = Constants(tuple(range(voters)), 1)
        self._handlers = QuorumHandlers(self.constants, rules(self.constants))
        self.rows = {v: initial_row(self.constants) for v in self.constants.voters}
        self.before = dict(self.rows)
        self.history = history_init(self.constants)
        self.network: set[Any] = set()

    def _step(self, n: int, input: Any) -> tuple[Any, ...]:
        outcome = self._handlers.step(n, self.rows[n], input)
        if outcome is None or outcome.ignored:
            raise Disabled(f"voter {n} does not do {type(input).__name__}")
        self.before = dict(self.rows)
        self.rows[n] = outcome.row
        self.history = history_next(self.history, self.rows)
        self.network.update(outcome.sent)
        return outcome.sent

    def do(self, done: Done, keep: int) -> None:
        """One move; keep: where the log ends after a crash. Raises Disabled where the handlers do
        not do it.
        """
        for part in TOGETHER.get(done.name, (done.name,)):
            if part in ALONE:
                _STEPS[part](self, done.node, keep)
            else:
                self._exchange(done.node, done.peer)

    def _times_out(self, n: int, keep: int) -> None:
        follows = self.rows[n].role == "Follower"
        self._step(n, FetchTimeout() if follows else ElectionTimeout())

    def _appends(self, n: int, keep: int) -> None:
        self._step(n, Append(VALUE))

    def _flushes(self, n: int, keep: int) -> None:
        self._step(n, Flush())

    def _crashes(self, n: int, keep: int) -> None:
        self._step(n, Crash(keep))
        self._step(n, Restart())

    def _exchange(self, n: int, peer: int) -> None:
        request: Any = self._handlers.request_in_flight(n, self.rows[n], peer)
        awaits = self.rows[n].connections[self.constants.voters.index(peer)] == AWAITING
        if not awaits or request not in self.network or request.destination != peer:
            raise Disabled(f"no request of voter {n} is on its way to {peer}")
        replies = self._step(peer, request)
        for m in replies:
            if m.destination == n and getattr(m, "request", None) == request:
                self._step(n, m)

    def wrong(self, property: str) -> str | None:
        """How one of PROPERTIES is broken now, if it is."""
        (check,) = (each.check for each in INVARIANTS if each.name == property)
        return check(self.before, self.rows, self.history)

    def tell(self, done: Done) -> str:
        """A line on a move and what came of it."""
        told = []
        for v in sorted({done.node, done.peer} & set(self.rows)):
            row = self.rows[v]
            log = " ".join(f"{entry.value}~{entry.epoch}" for entry in row.log)
            told.append(
                f"voter {v}: {row.role} of epoch {row.epoch}, log <{log}>, flushed {row.flushed}, "
                f"high watermark {row.high_watermark}"
            )
        return f"{done} -> {'; '.join(told)}; committed {len(self.history.committed)}"


_STEPS: Final[dict[str, Callable[[QuorumReplay, int, int], None]]] = {
    "TimesOut": QuorumReplay._times_out,
    "Appends": QuorumReplay._appends,
    "Flushes": QuorumReplay._flushes,
    "Crashes": QuorumReplay._crashes,
}


def find_in_logs(
    voters: int,
    rules: type[QuorumRules],
    property: str,
    bound: int,
    timeout_s: float = 300.0,
    least: int = 1,
    names: Collection[str] = (),
) -> Found:
    """A shortest reachable state that breaks one of PROPERTIES, within `bound` moves.

    least: shorter ones are not looked for. timeout_s: for all questions together. names: of moves,
    if not all are looked at.
    """
    assert property in PROPERTIES, f"{property} is not looked for in logs"
    begin = monotonic()
    found = Found(property, bound)
    moves = QuorumMoves(voters, rules, names)
    unrolled = Unrolled(moves.first, moves.moves)

    def wanted(so_far: Unrolled) -> z3.BoolRef:
        return moves.broken(property, so_far.at(so_far.depth))

    left = timeout_s - (monotonic() - begin)
    replay = searched(unrolled, wanted, found, left, least, lambda _: QuorumReplay(voters, rules))
    wrong = None if replay is None else replay.wrong(property)
    if wrong is not None:
        found.confirmed = True
        found.steps.append(wrong)
    found.seconds = monotonic() - begin
    return found
