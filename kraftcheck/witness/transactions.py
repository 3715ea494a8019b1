"""Transactions whose coordinators are Kafka's. What is ours is in docs/witness.md.

Law of this file: a step of Kafka's is taken as it stands; the schedule chooses among moves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

import msgspec

from kraftcheck.witness.chance import walk
from kraftcheck.witness.comparing import Differing, compared
from kraftcheck.witness.following import Impossible
from kraftcheck.witness.kafka import Kafka
from kraftcheck.witness.speech import Outcome, Speech, Taken
from live.witness.host import REFUSED, THROWN, Host
from reference.kit.protocol import Protocol
from reference.sim.choices import Stream, chance, pick
from reference.sim.interning import KnownInput
from reference.sim.memo import Step
from reference.sim.plain import PlainMachine, PlainMemo, options_of
from reference.steered.moves import Move
from reference.steered.plain import AGAIN, LOST, PlainSchedule
from reference.transactions.messages import (
    COORDINATOR,
    AppendTimeout,
    ChangeLeader,
    Elect,
    Initialize,
    LoseLeader,
    MarkersDone,
    Sweep,
    TransactionTimeout,
)
from reference.transactions.protocol import TRANSACTIONS
from reference.transactions.types import Constants
from traces.counterexamples.moves import alike
from traces.foreign.reading import ForeignTrace
from traces.foreign.verdicts import Finding

LAST_EPOCH: Final = 32766
"""Of a producer id: Kafka's own constant."""

METHODS: Final = {
    "HandleInitProducerId": "TransactionCoordinator.handleInitProducerId",
    "HandleAddPartitions": "TransactionCoordinator.handleAddPartitionsToTransaction",
    "HandleVerify": "TransactionCoordinator.handleVerifyPartitionsInTransaction",
    "HandleEndTxn": "TransactionCoordinator.handleEndTransaction",
    "HandleTransactionTimeout": "TransactionCoordinator.abortTimedOutTransactions",
    "HandleFence": "TransactionCoordinator.endTransaction",
    "HandleAcknowledged": "TransactionStateManager.appendTransactionToLog, its callback",
    "HandleAppendTimeout": "TransactionStateManager.appendTransactionToLog, its callback",
    "HandleMarkersAgain": "TransactionMarkerRequestCompletionHandler.onComplete, disconnected",
    "HandleMarkerReply": "TransactionMarkerRequestCompletionHandler.onComplete",
    "HandleMarkersDone": "TransactionMarkerChannelManager.maybeWriteTxnCompletion",
    "HandleElect": "TransactionCoordinator.onResignation, onElection",
    "HandleLoaded": "TransactionStateManager.loadTransactionsForTxnTopicPartition",
    "HandleLoseLeader": "KRaftMetadataCache.getPartitionLeaderEndpoint",
    "HandleFindLeader": "KRaftMetadataCache.getPartitionLeaderEndpoint",
}
"""Where Kafka does what an action of the spec says."""


class _Machine(PlainMachine):
    """Nodes of which the coordinators' steps are asked for elsewhere."""

    def __init__(self, memo: PlainMemo, constants: Any, taken: Callable[..., Any]) -> None:
        super().__init__(memo, constants)
        self._taken = taken

    def outcome(self, node: int, row: Any, input: Any) -> Any:
        if node == COORDINATOR:
            return self._taken(row, input, super().outcome)
        return super().outcome(node, row, input)


class _Memo(PlainMemo):
    """Of one run: what Kafka does depends on more than the row, so nothing is remembered."""

    def __init__(self, taken: Callable[..., Any]) -> None:
        super().__init__(TRANSACTIONS, None, enabled=False)
        self._taken = taken

    def new_machine(self, constants: Any) -> PlainMachine:
        return _Machine(self, constants, self._taken)


class KafkaTransactions(PlainSchedule):
    """As PlainSchedule, with a witness in place of the reference's coordinators."""

    def __init__(self, options: Any, host: Host, compares: bool = False) -> None:
        self.compares = compares
        self.differing: list[Differing] = []
        self.lines: list[tuple[str, int]] = []
        """The steps, as lines of a trace, each with how many moves had been made by then."""
        self.thrown: list[str] = []
        self.moves = []
        self._host = host
        self._follows: list[Taken] = []
        [said] = host.ask(["new"])
        assert said == "", said
        super().__init__(TRANSACTIONS, options, None, _Memo(self._taken))
        self._speech = Speech(self.constants)

    # --- Steps

    def _taken(self, row: Any, input: Any, reference: Callable[..., Any]) -> Outcome | None:
        step = self._follows.pop(0) if self._follows else self._asked(input)
        if step is None:
            return None
        if self.compares:
            other = reference(COORDINATOR, row, input)
            if found := compared(step.outcome, [] if other is None else [other]):
                action = f"Handle{type(input).__name__}"
                self.differing.append(Differing(len(self.lines) + 1, action, found))
        return step.outcome

    def _asked(self, input: Any) -> Taken | None:
        """The first of the steps that Kafka takes; what it has done besides follows."""
        [said] = self._host.ask([f"{COORDINATOR} {self._speech.text(input)}"])
        if said.startswith(REFUSED):
            raise Impossible(said.removeprefix(REFUSED))
        parts = said.split("\t") if said else []
        self.thrown.extend(each.removeprefix(THROWN) for each in parts if each.startswith(THROWN))
        steps = [self._speech.taken(each) for each in parts if not each.startswith(THROWN)]
        self._follows = steps[1:]
        return steps[0] if steps else None

    def _take(self, time: int, step: Step) -> bool:
        goes_on = super()._take(time, step)
        while self._follows and step.before.node == COORDINATOR:
            known = self._machine.interner.input(self._follows[0].input)
            then = self._machine.step(self._states[COORDINATOR], known)
            assert then is not None, "it has been taken"
            goes_on = super()._take(time, then)
        return goes_on

    def _record(self, time: int, step: Step) -> None:
        super()._record(time, step)
        before, sent = step.before, tuple([each.value for _, each in step.sent])
        outcome = Outcome(step.after.row, sent, step.ignored)
        line = self._speech.line(before.node, before.row, step.input.value, outcome)
        self.lines.append((line, len(self.moves)))

    # --- As schedules of a witness are (kraftcheck/witness/following.py)

    @property
    def parts(self) -> tuple[KafkaTransactions]:
        return (self,)

    def attempt(self, words: str, later: Sequence[str]) -> int:
        """Kafka writes the completion in the step of the last marker."""
        move = alike(self, words)
        if move is None:
            return 1 if words == f"{COORDINATOR} {MarkersDone.__name__}" else 0
        try:
            move.make()
        except Impossible:
            return 0
        return 1

    def possible(self) -> Iterator[Move]:
        """Kafka is not asked what it would do: it would do it."""
        for node, message in dict.fromkeys(self.mail()):
            words = self._said(node, message)
            yield Move(words, partial(self.deliver, node, message))
            yield Move(f"{words}{AGAIN}", partial(self.deliver, node, message, True))
        for node, message in dict.fromkeys(self.held()):
            words = f"{self._said(node, message)} late"
            yield Move(words, partial(self.deliver_held, node, message))
        for node, input in self.own():
            words = self._said(node, input)
            yield Move(words, partial(self.give, node, input))
            yield Move(f"{words}{LOST}", partial(self.give, node, input, True))

    def give(self, node: int, input: KnownInput, lost: bool = False) -> None:
        """Raises Impossible: nothing comes of it."""
        if not self.act(node, input, lost):
            raise Impossible(f"nothing comes of {self._said(node, input)}")


# -- Moves by chance

RARE: Final = (
    *(Elect, TransactionTimeout, AppendTimeout, LoseLeader, ChangeLeader, Sweep, Initialize),
)
"""What disturbs."""


def _deliver(schedule: KafkaTransactions, stream: Stream) -> bool:
    if not (there := schedule.mail()):
        return False
    node, message = there[0] if chance(stream, 500) else pick(stream, there)
    schedule.deliver(node, message)
    return True


def _again(schedule: KafkaTransactions, stream: Stream) -> bool:
    if not (there := schedule.mail()):
        return False
    schedule.deliver(*pick(stream, there), again=True)
    return True


def _late(schedule: KafkaTransactions, stream: Stream) -> bool:
    if not (there := schedule.held()):
        return False
    schedule.deliver_held(*pick(stream, there))
    return True


def _given(
    schedule: KafkaTransactions, stream: Stream, there: list[tuple[int, KnownInput]], lost: bool
) -> bool:
    """One of a node that is drawn first: partitions have many more than others."""
    nodes = list(dict.fromkeys(node for node, _ in there))
    while nodes:
        node = pick(stream, nodes)
        among = [each for of, each in there if of == node]
        while among:
            input = pick(stream, among)
            if schedule.act(node, input, lost):
                return True
            among.remove(input)
        nodes.remove(node)
    return False


def _own(schedule: KafkaTransactions, stream: Stream, lost: bool = False) -> bool:
    there = [each for each in schedule.own() if not isinstance(each[1].value, RARE)]
    return _given(schedule, stream, there, lost)


def _lose(schedule: KafkaTransactions, stream: Stream) -> bool:
    return _own(schedule, stream, True)


def _rare(*kinds: type) -> Callable[[KafkaTransactions, Stream], bool]:
    def make(schedule: KafkaTransactions, stream: Stream) -> bool:
        there = [each for each in schedule.own() if isinstance(each[1].value, kinds)]
        return _given(schedule, stream, there, False)

    return make


MOVES: Final[dict[Callable[[KafkaTransactions, Stream], bool], tuple[int, ...]]] = {
    _deliver: (40, 80),
    _own: (40, 60),
    _rare(Initialize): (1, 5, 10),
    _rare(TransactionTimeout): (0, 3, 8),
    _rare(AppendTimeout): (0, 3, 8),
    _rare(Elect): (0, 1, 3),
    _rare(LoseLeader): (0, 2),
    _rare(ChangeLeader, Sweep): (0, 2),
    _again: (0, 5, 15),
    _late: (0, 5, 15),
    _lose: (0, 3, 8),
}
"""How often each kind may be taken, of which a run draws one."""


class _Coordinators:
    """See driving.Component."""

    protocol: Protocol = TRANSACTIONS
    methods: Mapping[str, str] = METHODS

    @property
    def parts(self) -> tuple[_Coordinators]:
        return (self,)

    def settings(self, nodes: int, seed: int) -> Any:
        """In every third run messages come late."""
        return self.setting({"partitions": list(range(11, 11 + nodes)), "late": int(seed % 3 == 0)})

    def setting(self, options: Mapping[str, Any]) -> Any:
        made = msgspec.convert({"watched": False, **options}, options_of(TRANSACTIONS).of)
        if made.max_epoch != LAST_EPOCH:
            raise msgspec.ValidationError(f"max_epoch: Kafka's is {LAST_EPOCH}")
        return made

    def constants(self, setting: Any) -> Constants:
        return Constants(**{name: getattr(setting, name) for name in Constants.__struct_fields__})

    def begin(
        self, setting: Any, host: Host, watched: bool, compares: bool = False
    ) -> KafkaTransactions:
        return KafkaTransactions(msgspec.structs.replace(setting, watched=watched), host, compares)

    def walk(self, schedule: KafkaTransactions, seed: int, moves: int) -> None:
        walk(schedule, seed, moves, MOVES)

    def left_open(self, trace: ForeignTrace) -> list[Finding]:
        return []


TRANSACTION_COORDINATORS: Final = _Coordinators()


def component(kafka: Kafka) -> _Coordinators:
    """Those of all versions that are driven are driven alike."""
    return TRANSACTION_COORDINATORS
