"""Declare the quorum as a system (reference/core/system.py).

What may come to a voter by itself, how often, and what its runs must satisfy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from kraftcheck.reference.kit.properties import Check, Property
from kraftcheck.reference.kit.protocol import HISTORY, World
from kraftcheck.reference.quorum.invariants import check_step
from kraftcheck.reference.quorum.messages import (
    Append,
    BeginQuorumEpochTimeout,
    CheckQuorumTimeout,
    Crash,
    ElectionTimeout,
    FetchMaxWait,
    FetchTimeout,
    Flush,
    RequestTimeout,
    Resign,
    Restart,
)
from kraftcheck.reference.quorum.properties import (
    INVARIANTS,
    QuorumHistory,
    history_init,
    history_next,
)
from kraftcheck.reference.quorum.types import READY, is_running

LONGEST: Final = 8
"""Of logs of runs, for clients' records; those of leaders come on top."""


def _local(wait: type[Any]) -> Callable[[Any, int, Any], Iterator[Any]]:
    """The inputs of a voter's own. wait: the end of a parked fetch's wait."""

    def local(constants: Any, node: int, row: Any) -> Iterator[Any]:
        if row.role == "Down":
            yield Restart()
        if not is_running(row):
            return
        yield from (Crash(keep) for keep in range(row.flushed, len(row.log) + 1))
        yield from (ElectionTimeout(), FetchTimeout(), Flush())
        for peer, connection in zip(constants.voters, row.connections, strict=True):
            if connection != READY:
                yield RequestTimeout(peer)
        yield from map(wait, row.parked)
        if row.role == "Leader":
            yield from (BeginQuorumEpochTimeout(), CheckQuorumTimeout(), Resign())
            if len(row.log) < LONGEST:
                yield Append(len(row.log) + 1)

    return local


def _of_voters(rows: Mapping[int, Any]) -> dict[int, Any]:
    return {n: row for n, row in rows.items() if n != HISTORY}


def _history(constants: Any, before: Mapping[int, Any], after: Mapping[int, Any]) -> QuorumHistory:
    return history_next(before[HISTORY] or history_init(constants), _of_voters(after))


def _checked(check: Check) -> Check:
    """Called with the arguments of a property of runs."""

    def checked(constants: Any, before: Mapping[int, Any], after: Mapping[int, Any]) -> str | None:
        return check(_of_voters(before), _of_voters(after), after[HISTORY])

    return checked


PROPERTIES: Final = tuple(
    [Property(each.name, each.sentence, _checked(each.check)) for each in INVARIANTS]
)
_BY_NAME: Final = {each.name: each for each in PROPERTIES}


class Incremental:
    """The properties, asked only where a step may have broken one (invariants.py)."""

    def __init__(self, nodes: Any) -> None:
        self._constants, self.history = nodes.constants, history_init(nodes.constants)
        self.settled = True

    def __call__(
        self, step: Any, before: Mapping[int, Any], after: Mapping[int, Any]
    ) -> tuple[Property, str] | None:
        history = self.history
        broken = check_step(self._constants, before, after, step.before.node, history)
        self.settled = history.committed_before is history.committed
        if broken is None:
            return None
        return _BY_NAME[broken.name], str(broken.check(before, after, history))


def world(wait: type[Any] = FetchMaxWait, simulated: bool = False) -> World:
    """What may happen to the voters of a quorum. wait: the end of a parked fetch's wait."""
    return World(
        constants={
            "voters": ((1, 2, 3), (1, 2), (1, 2, 3, 4, 5)),
            "fetch_max_records": (2, 1),
        },
        local=_local(wait),
        properties=PROPERTIES,
        moves=(400, 800),
        history=_history,
        judge=Incremental,
        simulated=simulated,
        disturbances={
            Crash: (0, 50, 200),
            ElectionTimeout: (100, 300),
            FetchTimeout: (20, 100),
            RequestTimeout: (50, 200),
            BeginQuorumEpochTimeout: (100,),
            wait: (100, 400),
            CheckQuorumTimeout: (0, 20, 100),
            Resign: (0, 20, 100),
        },
    )
