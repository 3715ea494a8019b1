"""What clients saw that spans partitions: transactions, and the offsets that groups committed.

*Transactions* are as the wire shows them. The first request of a producer (an id and an epoch) that
is of a transaction begins one, whichever it is; EndTxn ends it, and what comes later is of the next
one. A producer is whoever was given an epoch: by InitProducerId, of somebody new, or by the end of
its last transaction (KIP-890). An EndTxn that comes again is the same end. What a reader of what is
committed shows its application is found as Kafka's consumer finds it, by the aborted transactions
that the answer names (org.apache.kafka.clients.consumer.internals.CompletedFetch).

*Offsets*: each commit and each answer about what is committed is an operation of its own, and the
committed offset is a register (traces/checkers/offsets.py). An answer that was not asked to be
stable (KIP-447) says nothing of a group that commits within transactions. Nor does one of a broker
that another has replaced as coordinator without its knowledge: it takes no quorum to answer.

Not judged: which fetches were the input of a transaction, and who is a member of a group, since the
wire does not tell; groups of which somebody asked to delete something.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from kraftcheck.kafka.serve.apis import ERRORS
from kraftcheck.kafka.serve.codec import Message
from kraftcheck.kafka.serve.partition import ServedPartition
from kraftcheck.kafka.serve.requests import Request
from kraftcheck.kafka.serve.world import ServedWorld
from kraftcheck.traces.history import FAIL, INDETERMINATE, OK

TV2_END: Final = 5
"""The version of EndTxn from which on its answer has the next epoch."""
_REFUSED: Final = frozenset(
    ERRORS[name]
    for name in (
        *("ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID", "STALE_MEMBER_EPOCH"),
        *("REBALANCE_IN_PROGRESS", "GROUP_ID_NOT_FOUND", "COORDINATOR_LOAD_IN_PROGRESS"),
        *("UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID", "INVALID_GROUP_ID"),
        *("GROUP_AUTHORIZATION_FAILED", "TOPIC_AUTHORIZATION_FAILED"),
        *("INVALID_PRODUCER_EPOCH", "INVALID_TXN_STATE", "INVALID_PRODUCER_ID_MAPPING"),
        *("PRODUCER_FENCED", "CONCURRENT_TRANSACTIONS", "TRANSACTION_ABORTABLE"),
        "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
    )
)
"""Errors of OffsetCommit, TxnOffsetCommit and EndTxn that say that nothing was written."""


def partitions(
    world: ServedWorld,
    topics: Iterable[Message],
    name: str = "name",
    within: str = "partitions",
    index: str = "partition_index",
) -> Iterator[tuple[Message, ServedPartition, Message]]:
    """List the partitions of clients' topics that a request or an answer names.

    Each has the topic as it is named, the partition, and what is said of it. name, within, index:
    what the message calls a topic's name, its partitions and their numbers.
    """
    for topic in topics:
        of = world.topic_of_clients(topic, name)
        for said in topic[within] if of is not None else ():
            if of is not None and 0 <= said[index] < len(of.partitions):
                yield topic, of.partitions[said[index]], said


class Transaction:
    """process: its producer.

    asked: when its end was asked for first; ended: when it was answered well. times, refused: how
    often the end was asked for, and refused.
    """

    def __init__(self, number: int, process: int, begun: int) -> None:
        self.number = number
        self.process = process
        self.begun = begun
        self.decision = ""
        self.asked: int | None = None
        self.ended: int | None = None
        self.times = self.refused = 0
        self.is_late = False
        """Whether it was ended by version 1 while something of it was not answered, which then may
        count for the next one (KIP-890).
        """
        self.open: set[int] = set()
        """Requests of it that are not answered: batches and commits, by identity."""


class Commit(msgspec.Struct, eq=False):
    """Of one partition, by a group."""

    group: str
    partition: ServedPartition
    offset: int
    invoked: int
    transaction: Transaction | None
    """That it is of, if any."""
    completed: int | None = None
    is_refused: bool = False


class ReportedOffset(NamedTuple):
    """A committed offset that somebody was told; -1: that there is none."""

    group: str
    partition: ServedPartition
    offset: int
    invoked: int
    completed: int
    is_stable: bool


class Init(NamedTuple):
    id: str
    process: int
    invoked: int
    completed: int


class _Epoch:
    """A producer's id in one epoch, and whose it is."""

    def __init__(self, process: int) -> None:
        self.process = process
        self.open: Transaction | None = None
        self.last: Transaction | None = None


class Across:
    """What was asked and told of transactions and groups."""

    def __init__(self) -> None:
        self.transactions: list[Transaction] = []
        self.inits: list[Init] = []
        self.commits: list[Commit] = []
        self.told: list[ReportedOffset] = []
        self.deleted: set[str] = set()
        """Groups of which somebody asked to delete something."""
        self._epochs: dict[tuple[int, int], _Epoch] = {}
        self._pending: dict[int, list[Commit]] = {}
        """By connection."""
        self._processes = 0
        self._busy: set[int] = set()
        """Processes that have an open transaction."""

    def requested(self, now: int, world: ServedWorld, request: Request) -> None:
        body, api = request.body, request.api
        if api == "AddPartitionsToTxn" and request.version <= 3:
            ids = body["v3_and_below_producer_id"], body["v3_and_below_producer_epoch"]
            self.transaction_of(ids, now)
        elif api == "AddOffsetsToTxn":
            self.transaction_of((body["producer_id"], body["producer_epoch"]), now)
        elif api == "EndTxn":
            self._end(now, request)
        elif api == "TxnOffsetCommit":
            transaction = self.transaction_of((body["producer_id"], body["producer_epoch"]), now)
            self._commit(now, world, request, transaction)
        elif api == "OffsetCommit":
            self._commit(now, world, request, None)
        elif api == "DeleteGroups":
            self.deleted.update(body["groups_names"])
        elif api == "OffsetDelete":
            self.deleted.add(body["group_id"])

    def answered(
        self, now: int, world: ServedWorld, request: Request, body: Message, invoked: int
    ) -> None:
        api = request.api
        if (
            api == "InitProducerId"
            and not body.get("error_code")
            and request.body["transactional_id"]
        ):
            process = self._process()
            self._epochs[body["producer_id"], body["producer_epoch"]] = _Epoch(process)
            self.inits.append(Init(request.body["transactional_id"], process, invoked, now))
        elif api == "EndTxn":
            self._ended(now, request, body)
        elif api in ("OffsetCommit", "TxnOffsetCommit"):
            self._committed(now, world, body, self._pending.pop(request.connection, []))
        elif api == "OffsetFetch":
            self._fetched(now, world, request, body, invoked)

    # --- Transactions

    def transaction_of(self, producer: tuple[int, int], now: int) -> Transaction:
        """The transaction of what a producer asks, which begins now if none is open."""
        epoch = self._epochs.get(producer)
        if epoch is None:
            epoch = self._epochs[producer] = _Epoch(self._process())
        if epoch.open is None:
            # Who has gone on to the next epoch is somebody else from what still comes of this one.
            process = self._process() if epoch.process in self._busy else epoch.process
            self._busy.add(process)
            epoch.open = Transaction(len(self.transactions) + 1, process, now)
            self.transactions.append(epoch.open)
        return epoch.open

    def begun(self, now: int) -> Transaction:
        """One of a producer of which nobody will hear again."""
        self.transactions.append(Transaction(len(self.transactions) + 1, self._process(), now))
        return self.transactions[-1]

    def decided(self, transaction: Transaction, decision: str, now: int) -> None:
        transaction.decision, transaction.times = decision, 1
        transaction.asked = transaction.ended = now

    def kept(self, group: str, partition: ServedPartition, offset: int, now: int) -> None:
        """A commit that was answered."""
        commit = Commit(group, partition, offset, now - 1, None)
        commit.completed = now
        self.commits.append(commit)

    def _process(self) -> int:
        self._processes += 1
        return self._processes

    def _of_end(self, body: Message) -> tuple[_Epoch | None, Transaction | None]:
        epoch = self._epochs.get((body["producer_id"], body["producer_epoch"]))
        return epoch, None if epoch is None else epoch.open or epoch.last

    def _end(self, now: int, request: Request) -> None:
        epoch, transaction = self._of_end(request.body)
        if epoch is None or transaction is None:
            return
        transaction.times += 1
        if transaction is epoch.open:
            transaction.asked = now
            transaction.decision = "commit" if request.body["committed"] else "abort"
            transaction.is_late = request.version < TV2_END and bool(transaction.open)
            epoch.last, epoch.open = transaction, None
            self._busy.discard(transaction.process)

    def _ended(self, now: int, request: Request, body: Message) -> None:
        epoch, transaction = self._of_end(request.body)
        if epoch is None or transaction is None:
            return
        error = body.get("error_code", 0)
        transaction.refused += error in _REFUSED
        if error:
            return
        decision = "commit" if request.body["committed"] else "abort"
        if transaction.ended is None and decision == transaction.decision:
            transaction.ended = now
        if request.version >= TV2_END:
            following = body["producer_id"], body["producer_epoch"]
            self._epochs.setdefault(following, _Epoch(epoch.process))

    # --- Offsets

    def _commit(
        self, now: int, world: ServedWorld, request: Request, transaction: Transaction | None
    ) -> None:
        group, topics = request.body["group_id"], request.body["topics"]
        made = [
            Commit(group, partition, asked["committed_offset"], now, transaction)
            for _, partition, asked in partitions(world, topics)
        ]
        if transaction is not None:
            transaction.open.update(map(id, made))
        self.commits += made
        self._pending[request.connection] = made

    def _committed(self, now: int, world: ServedWorld, body: Message, asked: list[Commit]) -> None:
        by = {commit.partition: commit for commit in asked}
        for _, partition, told in partitions(world, body["topics"]):
            commit = by.get(partition)
            if commit is None:
                continue
            if commit.transaction is not None:
                commit.transaction.open.discard(id(commit))
            commit.is_refused = told.get("error_code") in _REFUSED
            if not told.get("error_code"):
                commit.completed = now

    def _fetched(
        self, now: int, world: ServedWorld, request: Request, body: Message, invoked: int
    ) -> None:
        if request.broker != world.offsets.controller.partition.leader:
            return
        is_stable = bool(request.body.get("require_stable"))
        groups = body["groups"] if request.version >= 8 else [body]
        for group in groups:
            name = group["group_id"] if request.version >= 8 else request.body["group_id"]
            for _, partition, told in partitions(world, group["topics"]):
                if not told.get("error_code", 0):
                    offset = told["committed_offset"]
                    self.told.append(
                        ReportedOffset(name, partition, offset, invoked, now, is_stable)
                    )


# --- As operations of a history (traces/history.py)

Said: TypeAlias = tuple[int, dict[str, Any]]
"""When an operation was invoked, and its fields, but for index, group and that time. Without a
process it is of somebody of whom nothing else is known.
"""
Called: TypeAlias = Callable[[ServedPartition], str]


def of_transactions(across: Across, called: Called) -> list[Said]:
    """Read who produces, how transactions begin and end, and what groups consumed within them.

    These groups commit in no other way.
    """
    plain = {each.group for each in across.commits if each.transaction is None}
    groups = {each.group for each in across.commits} - plain - across.deleted
    found: list[Said] = []
    for init in across.inits:
        said = {"f": "init", "process": init.process, "argument": init.id}
        found.append((init.invoked, said | _ended(OK, init.completed)))
    found += _begun_and_ended(across.transactions)
    return [*found, *_of_offsets(across, groups, groups, called)]


def of_groups(across: Across, called: Called) -> list[Said]:
    """What groups committed, the transactions of that, and what was told of it."""
    groups = {each.group for each in across.commits} - across.deleted
    mine = [each for each in across.commits if each.group in groups and each.transaction]
    numbered = {each.transaction.number: each.transaction for each in mine if each.transaction}
    stable = {each.group for each in mine}
    return [
        *_begun_and_ended(numbered.values()),
        *_of_offsets(across, groups, stable, called, apart=True),
    ]


def _begun_and_ended(transactions: Iterable[Transaction]) -> Iterator[Said]:
    for each in transactions:
        of = {"process": each.process, "txn": each.number}
        yield each.begun, {"f": "begin", **of} | _ended(OK, each.begun)
        if each.asked is not None:
            outcome = INDETERMINATE if each.ended is None else OK
            if each.times == each.refused:
                outcome = FAIL
            said = {"f": "end", **of, "argument": each.decision}
            yield each.asked, said | _ended(outcome, each.ended)


def _of_offsets(
    across: Across, groups: Set[str], stable: Set[str], called: Called, apart: bool = False
) -> Iterator[Said]:
    """stable: groups of which only an answer that was asked to be stable tells anything.

    apart: a commit that was not answered is of no transaction, since nobody knows of which it is.
    """
    for commit in across.commits:
        if commit.group not in groups:
            continue
        outcome = INDETERMINATE if commit.completed is None else OK
        if commit.is_refused:
            outcome = FAIL
        consumed = (commit.group, ((called(commit.partition), commit.offset),))
        said: dict[str, Any] = {"f": "commit-offsets", "argument": consumed}
        if commit.transaction is not None and not (apart and outcome == INDETERMINATE):
            of = {"process": commit.transaction.process, "txn": commit.transaction.number}
            said |= {"f": "send-offsets", **of}
        yield commit.invoked, said | _ended(outcome, commit.completed)
    for told in across.told:
        if told.group in groups and (told.is_stable or told.group not in stable):
            result = ((called(told.partition), told.offset),)
            said = {"f": "committed", "argument": told.group, "result": result}
            yield told.invoked, said | _ended(OK, told.completed)


def _ended(outcome: str, completed: int | None) -> dict[str, Any]:
    return {"outcome": outcome, "completed": completed}
