"""Transactions whose coordinators are Kafka's (docs/reference/witness-classes.md has what is not).

Law of this file: a step of Kafka's is taken as it stands; the schedule chooses among moves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from kraftcheck.kafka.witness import covering, histories
from kraftcheck.kafka.witness.chance import walk
from kraftcheck.kafka.witness.coordinator_graphs import Walk
from kraftcheck.kafka.witness.kafka import Kafka
from kraftcheck.kafka.witness.steered import Declared, KafkaSteered, again, deliver
from kraftcheck.reference.sim.choices import Stream, pick
from kraftcheck.reference.sim.interning import KnownInput
from kraftcheck.reference.transactions.messages import (
    COORDINATOR,
    Abort,
    AbortListed,
    AppendTimeout,
    Ask,
    ChangeLeader,
    Elect,
    Expire,
    Initialize,
    ListTimedOut,
    LoseLeader,
    MarkersDone,
    Retry,
    SendMore,
    Sweep,
    TransactionTimeout,
)
from kraftcheck.reference.transactions.protocol import COORDINATOR_KIND, TRANSACTIONS

LAST_EPOCH: Final = 32766
"""Of a producer id: Kafka's own constant."""
EARLY_END: Final = range(1, 1001)
"""Or one of these: the host passes over the epochs between an id's first one and its last ones."""


class KafkaTransactions(KafkaSteered):
    """Transactions with a witness in place of the reference's coordinators."""

    protocol = TRANSACTIONS
    kafkas = (COORDINATOR_KIND.name,)
    whole = True

    def attempt(self, words: str, later: Sequence[str]) -> int:
        """Kafka writes the completion in the step of the last marker."""
        made = super().attempt(words, later)
        return made or int(words == f"{COORDINATOR} {MarkersDone.__name__}")


# -- Moves by chance

RARE: Final = (
    *(Elect, TransactionTimeout, AppendTimeout, LoseLeader, Expire, ChangeLeader, Sweep),
    *(Initialize, ListTimedOut, AbortListed, Ask, Retry, Abort, SendMore),
)
"""What disturbs, or may come again and again: among all moves these would be most, and no
transaction would ever be committed. Kafka's sweep lists and aborts in one call, so nothing is
listed here.
"""


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
        return _given(schedule, stream, schedule.given(*kinds), False)

    return make


MOVES: Final[dict[Callable[[KafkaTransactions, Stream], bool], tuple[int, ...]]] = {
    deliver(500): (40, 80),
    _own: (40, 60),
    _rare(Ask): (10, 20),
    _rare(Retry): (2, 6),
    _rare(Abort): (1, 4),
    _rare(SendMore): (0, 3, 8),
    _rare(Initialize): (1, 5, 10),
    _rare(TransactionTimeout): (0, 3, 8),
    _rare(AppendTimeout): (0, 3, 8),
    _rare(Elect): (0, 1, 3),
    _rare(LoseLeader, Expire): (0, 2),
    _rare(ChangeLeader, Sweep): (0, 2),
    again: (0, 5, 15),
    _late: (0, 5, 15),
    _lose: (0, 3, 8),
}
"""How often each kind may be taken, of which a run draws one."""
FORGETTING: Final = {**MOVES, _rare(Expire): (5, 15)}
"""Where ids are forgotten: often enough that one is while a producer has yet to ask for it."""


class _Coordinators(Declared):
    """See chance.Component."""

    protocol = TRANSACTIONS
    kinds = MOVES
    schedule = KafkaTransactions

    def settings(self, nodes: int, seed: int) -> Any:
        """In every third run messages come late."""
        return self.setting({"partitions": list(range(11, 11 + nodes)), "late": int(seed % 3 == 0)})

    def setting(self, options: Mapping[str, Any]) -> Any:
        return super().setting({"watched": False, **options})

    def problem(self, setting: Any) -> str:
        if setting.max_epoch != LAST_EPOCH and setting.max_epoch not in EARLY_END:
            early = f"{EARLY_END[0]} to {EARLY_END[-1]}"
            return f"max_epoch: Kafka's is {LAST_EPOCH}; or say {early}"
        return "markers_refused: Kafka's host refuses none" if setting.markers_refused else ""

    def walk(self, schedule: KafkaTransactions, seed: int, moves: int) -> None:
        walk(schedule, seed, moves, FORGETTING if schedule.constants.ids_expire else MOVES)


TRANSACTION_COORDINATORS: Final = _Coordinators()


def component(kafka: Kafka) -> _Coordinators:
    """Those of all versions that are driven are driven alike."""
    return TRANSACTION_COORDINATORS


cover = partial(
    covering.cover, partial(Walk, KafkaTransactions.kafkas), histories.drive, TRANSACTIONS.name
)
