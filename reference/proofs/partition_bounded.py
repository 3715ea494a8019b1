"""Reachable counterexamples of a partition: the moves of partition_moves.py, unrolled from the
state in which the first leader is known to everybody.

What Z3 finds is run again on the handlers with numbers, records and metadata as they are, and only
what they confirm is reported. The search is complete up to its bound for these moves, logs of few
records and epochs that a cache has a place for; a bound reached without a counterexample is "none
within the bound", not "none".
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from time import monotonic
from typing import Any

import z3

from reference.core.broker import BrokerHandlers
from reference.core.controller import PartitionControllerHandlers
from reference.core.partition_log import UNDEFINED, RecordLog
from reference.core.partition_messages import (
    CONTROLLER,
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerCrash,
    BrokerRestart,
    ElectLeaders,
    HeartbeatResponse,
    IsrShrinkTimeout,
    MetadataRecords,
    MetadataUpdate,
    RegisterBrokerResponse,
    ReplicaFetchResponse,
    ReplicaFetchTimeout,
    ReplicaLagTimeout,
    SendAlterPartition,
    SendHeartbeat,
    SendRegistration,
    SendReplicaFetch,
    SessionTimeout,
)
from reference.core.partition_rules import PartitionRules
from reference.core.partition_types import (
    INITIAL_OFFSET,
    PartitionConstants,
    initial_controller,
    is_leader,
)
from reference.proofs.bounded import Found
from reference.proofs.moves import Done
from reference.proofs.partition_moves import PartitionMoves, first_rows, produced
from reference.proofs.partition_relation import MIN_ISR
from reference.proofs.replaying import Disabled, searched
from reference.proofs.unrolled import Unrolled

PROPERTY = "LeaderCandidateCompleteness"
VALID = "ValidControllerState"
PROPERTIES = (PROPERTY, VALID)
"""What may be looked for, by the names of specs/PartitionProperties.tla."""
WIDTH = 6
"""Bits of a number: the metadata log grows by a few records with each change."""


class Replay:
    """A partition that does moves with its handlers. committed: the longest log that a leader has
    ever called committed.
    """

    def __init__(self, constants: PartitionConstants, rules: type[PartitionRules]) -> None:
        self.constants = constants
        given = rules(constants)
        self._brokers = BrokerHandlers(constants, given)
        self._controller = PartitionControllerHandlers(constants, given)
        self.rows, self.controller = first_rows(constants, given)
        self.metadata: list[Any] = []
        self.ends: list[int] = [self.controller.offset]
        self.fetched: dict[int, ReplicaFetchResponse] = {}
        self.sent: dict[int, AlterPartitionRequest] = {}
        self.replies: dict[int, AlterPartitionResponse] = {}
        self.committed: RecordLog = ()
        self.values = 0

    # --- What nodes do.

    def _broker(self, n: int, input: Any) -> tuple[Any, ...]:
        outcome = self._brokers.step(n, self.rows[n], input)
        if outcome is None or outcome.ignored:
            raise Disabled(f"broker {n} does not do {type(input).__name__}")
        self.rows[n] = outcome.row
        if is_leader(outcome.row) and outcome.row.high_watermark > len(self.committed):
            self.committed = outcome.row.log[: outcome.row.high_watermark]
        return outcome.sent

    def _decide(self, input: Any) -> tuple[Any, ...]:
        outcome = self._controller.step(self.controller, input)
        if outcome is None:
            raise Disabled(f"the controller does not do {type(input).__name__}")
        self.controller = outcome.row
        for m in outcome.sent:
            if isinstance(m, MetadataRecords):
                self.metadata += m.records
                self.ends.append(self.controller.offset)
        return outcome.sent

    # --- Moves, by their names.

    def do(self, done: Done, keep: int) -> None:
        """One move. Raises Disabled where the handlers do not do it."""
        steps: dict[str, Callable[[], Any]] = {
            "Crashes": lambda: self._crashes(done.node, keep),
            "Serves": lambda: self._serves(done.node, done.peer),
            "Fetches": lambda: self._fetches(done.node, done.peer),
            "Lags": lambda: self._broker(done.node, ReplicaLagTimeout(done.peer)),
            "Elects": lambda: self._decide(ElectLeaders("PREFERRED")),
            "TimesOut": lambda: self._decide(SessionTimeout(done.peer)),
        }
        if done.name in steps:
            steps[done.name]()
        else:
            for each in ALONE[done.name]:
                each(self, done.node)

    def _shrinks(self, n: int) -> None:
        self._broker(n, IsrShrinkTimeout())

    def _produces(self, n: int) -> None:
        self.values += 1
        self._broker(n, produced(n, self.values))

    def _crashes(self, n: int, keep: int) -> None:
        self._broker(n, BrokerCrash(keep, UNDEFINED))
        self._broker(n, BrokerRestart())

    def _reads_one(self, n: int) -> None:
        offset = self.rows[n].image.offset
        self._reads_to(n, min((end for end in self.ends if end > offset), default=offset))

    def _reads_all(self, n: int) -> None:
        self._reads_to(n, self.controller.offset)

    def _reads_to(self, n: int, end: int) -> None:
        offset = self.rows[n].image.offset
        first = INITIAL_OFFSET
        records = tuple(self._written()[offset - first : end - first])
        self._broker(n, MetadataUpdate(offset, records))

    def _written(self) -> list[Any]:
        """All records of the metadata log, those of the first election among them."""
        elected = PartitionControllerHandlers(self.constants, self._controller.rules).step(
            initial_controller(self.constants), ElectLeaders("ONLINE")
        )
        assert elected is not None, "an election is never disabled"
        first: Any = elected.sent[0]
        return [*first.records, *self.metadata]

    def _serves(self, n: int, r: int) -> None:
        for waiting in self.rows[r].fetching:
            # What was asked before is not answered any more.
            self._broker(r, ReplicaFetchTimeout(waiting))
        (request,) = self._broker(r, SendReplicaFetch())
        replies = self._broker(n, request)
        (self.fetched[r],) = (m for m in replies if isinstance(m, ReplicaFetchResponse))

    def _uses(self, r: int) -> None:
        if r not in self.fetched:
            raise Disabled(f"no answer is on its way to broker {r}")
        self._broker(r, self.fetched.pop(r))

    def _fetches(self, n: int, r: int) -> None:
        self._serves(n, r)
        self._uses(r)

    def _asks(self, n: int) -> None:
        (request,) = self._broker(n, SendAlterPartition())
        self.sent[n] = request

    def _is_judged(self, n: int) -> None:
        if n not in self.sent:
            raise Disabled(f"no AlterPartition of broker {n} is on its way")
        replies = self._decide(self.sent.pop(n))
        (self.replies[n],) = (m for m in replies if isinstance(m, AlterPartitionResponse))

    def _hears(self, n: int) -> None:
        if n not in self.replies:
            raise Disabled(f"no answer is on its way to broker {n}")
        self._broker(n, self.replies.pop(n))

    def _registers(self, n: int) -> None:
        (request,) = self._broker(n, SendRegistration())
        replies = self._decide(request)
        (answer,) = (m for m in replies if isinstance(m, RegisterBrokerResponse))
        self._broker(n, answer)

    def _beats(self, n: int) -> None:
        (request,) = self._broker(n, SendHeartbeat())
        replies = self._decide(request)
        (answer,) = (m for m in replies if isinstance(m, HeartbeatResponse))
        self._broker(n, answer)

    # --- What is judged and told.

    def breaks(self, property: str) -> bool:
        """Whether one of PROPERTIES is broken now."""
        partition = self.controller.partition
        if property == VALID:
            known = zip(self.constants.brokers, self.controller.registrations, strict=True)
            return any(each.fenced and b in partition.isr for b, each in known)
        end = len(self.committed)
        return any(
            self.rows[b].status == "Running" and self.rows[b].log[:end] != self.committed
            for b in (*partition.isr, *partition.elr)
        )

    def tell(self, done: Done) -> str:
        """A line on a move and what came of it."""
        partition = self.controller.partition
        peer = f" ({done.peer})" if done.peer >= 0 else ""
        if done.node == CONTROLLER:
            who = "controller"
        else:
            row = self.rows[done.node]
            epochs = [record.epoch for record in row.log]
            who = f"broker {done.node}"
            told = f"{row.status} {row.role}, epoch {row.leader_epoch}, log of epochs {epochs}, "
            told += f"high watermark {row.high_watermark}"
        mine = "" if done.node == CONTROLLER else f"{told}; "
        return (
            f"{who}: {done.name}{peer} -> {mine}leader {partition.leader} of epoch "
            f"{partition.leader_epoch}, ISR {list(partition.isr)}, ELR {list(partition.elr)}, "
            f"committed {len(self.committed)}"
        )


ALONE: dict[str, Sequence[Any]] = {
    "Shrinks": [Replay._shrinks],
    "Produces": [Replay._produces],
    "ReadsOne": [Replay._reads_one],
    "ReadsAll": [Replay._reads_all],
    "Uses": [Replay._uses],
    "Asks": [Replay._asks],
    "IsJudged": [Replay._is_judged],
    "Hears": [Replay._hears],
    "AsksAndIsJudged": [Replay._asks, Replay._is_judged],
    "IsJudgedAndHears": [Replay._is_judged, Replay._hears],
    "AsksAndHears": [Replay._asks, Replay._is_judged, Replay._hears],
    "Registers": [Replay._registers],
    "Beats": [Replay._beats],
    "ComesBack": [Replay._registers, Replay._reads_all, Replay._beats],
}


def find_partition(
    brokers: int,
    rules: type[PartitionRules],
    bound: int,
    timeout_s: float = 300.0,
    least: int = 1,
    names: Collection[str] = (),
    property: str = PROPERTY,
) -> Found:
    """A shortest reachable state that breaks one of PROPERTIES, within `bound` moves, for any min
    ISR.

    least: shorter ones are not looked for. timeout_s: for all questions together. names: of moves,
    if not all are looked at.
    """
    begin = monotonic()
    found = Found(property, bound)
    moves = PartitionMoves(brokers, rules, names)
    unrolled = Unrolled(moves.first, moves.moves, WIDTH)
    unrolled.known.append(unrolled.finite.of(z3.And(MIN_ISR >= 1, brokers >= MIN_ISR)))

    def wanted(so_far: Unrolled) -> z3.BoolRef:
        at = so_far.at(so_far.depth)
        return moves.fenced_member(at) if property == VALID else moves.incomplete(at)

    def replay(model: z3.ModelRef) -> Replay:
        replicas, min_isr = tuple(range(brokers)), unrolled.value(model, 0, MIN_ISR)
        return Replay(PartitionConstants(replicas, min_isr, fetch_max_records=1), rules)

    left = timeout_s - (monotonic() - begin)
    after = searched(unrolled, wanted, found, left, least, replay)
    if after is not None:
        found.confirmed = after.breaks(property)
        min_isr = after.constants.min_insync_replicas
        found.steps.insert(0, f"{brokers} brokers, min ISR {min_isr}, broker 0 leads epoch 1")
    found.seconds = monotonic() - begin
    return found
