"""Transactions, as one protocol: the transaction log, data partitions and producers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from kraftcheck.reference.kit.protocol import (
    Calm,
    ClientPromise,
    CoordinatorLog,
    Handlers,
    NodeKind,
    Protocol,
    Substitution,
    Witness,
    World,
)
from kraftcheck.reference.transactions.client import ClientHandlers, may_send_again
from kraftcheck.reference.transactions.coordinator import CoordinatorHandlers, current
from kraftcheck.reference.transactions.judged import (
    LOGS,
    LOGS_OF_OFFSETS,
    SEEN,
    UNMENTIONED,
    compared,
    epochs_of_ids,
)
from kraftcheck.reference.transactions.messages import (
    ANSWERS,
    COORDINATOR,
    COORDINATOR_INPUTS,
    MESSAGES,
    NO_CLIENT,
    PARTITION_INPUTS,
    PRODUCER_INPUTS,
    READER_INPUTS,
    Abort,
    AbortListed,
    Acknowledged,
    AddPartitions,
    AppendTimeout,
    ApplyMarker,
    Ask,
    BumpEpoch,
    ChangeLeader,
    Commit,
    Elect,
    EndTxn,
    Expire,
    Fence,
    FindLeader,
    GiveUp,
    Initialize,
    InitProducerId,
    Input,
    ListTimedOut,
    Loaded,
    LoseLeader,
    MarkerRefused,
    MarkersAgain,
    MarkersDone,
    Message,
    Poll,
    Produce,
    Replicate,
    Retry,
    Send,
    SendMore,
    Sweep,
    TransactionTimeout,
    Verified,
    Verify,
    WriteTxnMarkers,
)
from kraftcheck.reference.transactions.partition import PartitionHandlers
from kraftcheck.reference.transactions.promise import OUTCOMES, client_events
from kraftcheck.reference.transactions.properties import PROPERTIES, history_next
from kraftcheck.reference.transactions.reader import ReaderHandlers
from kraftcheck.reference.transactions.rules import COMPLETED, TransactionRules, prepared
from kraftcheck.reference.transactions.sometimes import sometimes
from kraftcheck.reference.transactions.story import transactions_told
from kraftcheck.reference.transactions.types import (
    UNKNOWN,
    Client,
    Constants,
    Coordinators,
    Follower,
    NoOffsets,
    PartitionLeader,
    Reader,
    initial_client,
    initial_coordinators,
    initial_offsets_partition,
    initial_partition,
    initial_reader,
    is_replicated,
)

COORDINATOR_KIND: Final = NodeKind(
    name="transaction-log",
    module="TransactionNodes",
    row=Coordinators,
    inputs=COORDINATOR_INPUTS,
    initial=initial_coordinators,
    first_row="InitialCoordinators",
    role=lambda row: current(row).txn.state if current(row).active else "Loading",
    operators="Node_",
    ranked=epochs_of_ids,
    renames=True,
)
PARTITION_KIND: Final = NodeKind(
    name="transaction-partition",
    module="TransactionNodes",
    row=PartitionLeader,
    inputs=PARTITION_INPUTS,
    initial=initial_partition,
    first_row="InitialPartition",
    role=lambda row: "Open" if row.producer.open else "Closed",
    operators="Node_",
    ranked=compared,
    beginning=LOGS,
)
OFFSETS_KIND: Final = PARTITION_KIND._replace(
    name="transaction-offsets",
    initial=initial_offsets_partition,
    first_row="InitialOffsetsPartition",
    beginning=LOGS_OF_OFFSETS,
)
"""One that keeps the offsets of groups."""
PRODUCER_KIND: Final = NodeKind(
    name="transaction-producer",
    module="TransactionNodes",
    row=Client,
    inputs=PRODUCER_INPUTS,
    initial=lambda constants: initial_client(constants, "Ready"),
    first_row="FirstProducer",
    role=lambda row: row.status,
    operators="Node_",
    ranked=compared,
    renames=True,
)
"""The first instance, which has its epoch already."""
INSTANCE_KIND: Final = PRODUCER_KIND._replace(
    name="transaction-instance",
    initial=lambda constants: initial_client(constants, "Off"),
    first_row="FurtherProducer",
)
READER_KIND: Final = NodeKind(
    name="transaction-reader",
    module="TransactionNodes",
    row=Reader,
    inputs=READER_INPUTS,
    initial=initial_reader,
    first_row="InitialReader",
    role=lambda row: "Reader",
    operators="Node_",
    renames=True,
    beginning=SEEN,
)


def readers(constants: Constants) -> tuple[int, ...]:
    return (*constants.read_committed, *constants.read_uncommitted)


def _kind_of(constants: Constants, node: int) -> NodeKind:
    if node == COORDINATOR:
        return COORDINATOR_KIND
    if node in readers(constants):
        return READER_KIND
    if node in constants.partitions:
        return OFFSETS_KIND if node in constants.offsets else PARTITION_KIND
    return PRODUCER_KIND if node == constants.clients[0] else INSTANCE_KIND


def _handlers(constants: Constants, of: Substitution) -> Handlers:
    rules: TransactionRules = of(TransactionRules)(constants)
    coordinators, partitions = of(CoordinatorHandlers)(rules), of(PartitionHandlers)(rules)
    clients, reading = of(ClientHandlers)(rules), of(ReaderHandlers)(rules)
    of_node: dict[int, Any] = {
        **dict.fromkeys(constants.partitions, partitions),
        **dict.fromkeys(constants.clients, clients),
        **dict.fromkeys(readers(constants), reading),
    }

    def step(n: int, row: Any, input: Any) -> Any:
        if n == COORDINATOR:
            return coordinators.step(row, input)
        return of_node[n].step(n, row, input)

    return step


# --- What comes to nodes by itself


def _local(constants: Constants, node: int, row: Any) -> Iterable[Input]:
    if node == COORDINATOR:
        return _of_coordinators(constants, row)
    if node in readers(constants):
        return map(Poll, constants.partitions)
    return (
        _of_partition(constants, row)
        if node in constants.partitions
        else _of_producer(constants, node, row)
    )


def _of_coordinators(constants: Constants, row: Coordinators) -> Iterable[Input]:
    c = current(row)
    if not c.active:
        yield Loaded()
    elif c.pending.logged:
        yield from (Acknowledged(), AppendTimeout())
    elif c.pending.state == "PrepareEpochFence":
        yield Fence()
    elif c.pending.state in COMPLETED:
        yield MarkersAgain() if c.to_mark else MarkersDone()
    elif c.txn.state == "Ongoing":
        yield TransactionTimeout()
    if constants.ids_expire and c.active and c.pending.state == "None" and c.txn.state != "Dead":
        yield Expire()
    if constants.markers_refused:
        yield from map(MarkerRefused, c.to_mark)
    if row.leader_epoch < constants.max_coordinators:
        yield from map(Elect, row.log.tails)
    yield from map(FindLeader, row.leaderless)
    yield from (LoseLeader(p) for p in constants.partitions if p not in row.leaderless)
    if c.listed != UNKNOWN:
        yield AbortListed()
    elif c.active and c.txn.state == "Ongoing" and c.pending.state == "None":
        yield ListTimedOut()


def _of_partition(constants: Constants, row: PartitionLeader) -> Iterable[Input]:
    for v in row.verifying:
        if v.answered:
            yield Verified(v)
        else:
            yield from (Ask(v, behind) for behind in range(constants.max_coordinators))
    yield Sweep()
    if not isinstance(row.offsets, NoOffsets) and row.offsets.marker != "None":
        yield ApplyMarker()
    if constants.replicas == 2:
        yield ChangeLeader()
        if not is_replicated(row):
            yield Replicate()


def _of_producer(constants: Constants, c: int, row: Client) -> Iterable[Input]:
    if row.status in ("Off", "Initializing"):
        return (Initialize(),)
    if row.status in ("Ending", "Recovering", "Bumping"):
        return (Retry(),)
    if row.status == "Abortable":
        return (Commit(), Abort())
    if row.status not in ("Ready", "Open"):
        return ()
    left = [
        p for p in constants.partitions if p not in row.sent or may_send_again(constants, row, p)
    ]
    txn = row.txn if row.status == "Open" else next_txn(constants, c, row)
    ends: tuple[Input, ...] = ()
    if row.status == "Open":
        ends = (Commit(),) if row.acked == row.sent else (Retry(),)
        ends = (*ends, Abort())
        if constants.recovers:
            ends = (*ends, *[GiveUp(p) for p in row.sent if p not in row.acked])
        ends = (*ends, *[SendMore(p) for p in row.sent if p not in constants.offsets])
    return (*[Send(p, txn) for p in left], *ends)


def next_txn(constants: Constants, c: int, row: Client) -> int:
    """A number that no other transaction has, and no earlier one of its producer is above."""
    # An epoch that a producer asked for itself begins with no sequences.
    epoch = row.epoch * BATCHES_OF_EPOCH if constants.recovers else row.epoch
    return (epoch + sum(row.sequences)) * len(constants.clients) + c


BATCHES_OF_EPOCH: Final = 1000
"""More than a run sends in an epoch."""


# --- Runs


def _awaited(constants: Constants, rows: Mapping[int, Any], node: int, input: Input) -> bool:
    """Whether its sender still waits for an answer."""
    match input:
        case Verified():
            return _awaited(constants, rows, node, input.verification.request)
        case Produce():
            row, at = rows[input.client], constants.partitions.index(input.partition)
            last = row.sequences[at] - 1
            is_one = input.sequence == last if input.partition in constants.offsets else True
            return bool((row.status, row.txn) == ("Open", input.txn) and is_one)
        case EndTxn():
            row = rows[input.client]
            return row.status in ("Ending", "Recovering") and bool(row.txn == input.txn)
        case BumpEpoch():
            row = rows[input.client]
            return (row.status, row.epoch) == ("Bumping", input.epoch)
        case InitProducerId():
            return bool(rows[input.client].status == "Initializing")
        case AddPartitions() if input.client != NO_CLIENT:
            row, p = rows[input.client], input.partition
            asks = row.status == "Open" and row.epoch == input.epoch
            return asks and p in row.sent and p not in row.added
        case WriteTxnMarkers():
            c = current(rows[COORDINATOR])
            stands = (c.coordinator_epoch, c.txn.state, c.txn.epoch)
            wanted = (input.coordinator_epoch, prepared(input.decision), input.epoch)
            return input.partition in c.to_mark and stands == wanted
    return True


def _at_once(m: Message) -> bool:
    """Answers, and what a partition's leader asks."""
    asks = isinstance(m, Verify) or (isinstance(m, AddPartitions) and m.client == NO_CLIENT)
    return asks or isinstance(m, ANSWERS)


LATE_V1: Final = (
    *("TxnAtomic", "AckedCommit", "AbortedInvisible", "CommitWasAsked"),
    "OffsetsAtomicWithRecords",
)
"""What version 1 does not promise by contract where requests are late."""
ENDLESS: Final = 32766
"""The last epoch of a producer id in Kafka, to which no run comes."""


def _unpromised(options: Any) -> Collection[str]:
    # What is appended behind a decision that timed out may be elected (transactions-older-epoch).
    left = ["OnePreparedDecision", "EpochMonotonic"] if options.append_timeout else []
    if options.version == 1 and options.recovers and options.max_epoch < ENDLESS:
        # Who was given the next id, and hears that from no answer, is fenced by its third request
        # (transactions-third-bump).
        left.append("FencedByOthers")
    return [*left, *LATE_V1] if options.version == 1 and options.late else left


def _missing(constants: Constants, rows: Mapping[int, Any]) -> str:
    """Judge NoHangingTransaction, DecisionCompletes and LsoProgress when all is at rest.

    They are those of MCTransactionsLiveness.tla.
    """
    c = current(rows[COORDINATOR])
    if not c.active:
        return "the coordinator has not loaded its log"
    if c.txn.state not in ("Empty", "Dead", *COMPLETED):
        return f"the transaction stays in {c.txn.state}"
    for p in constants.partitions:
        row = rows[p]
        if row.producer.open:
            return f"a transaction stays open in partition {p}"
        if isinstance(row.follower, Follower) and row.follower.stable < len(row.log):
            return f"partition {p} shows {row.follower.stable} of {len(row.log)} records"
    return ""


CALM: Final = Calm(
    inputs=(
        *(Acknowledged, Fence, Loaded, MarkersDone, MarkersAgain, Replicate, FindLeader),
        *(TransactionTimeout, ApplyMarker),
    ),
    missing=_missing,
)
"""What is fair there."""


TRANSACTIONS: Final = Protocol(
    name="transactions",
    sentence="a producer writes to partitions all or nothing, as coordinators decide",
    constants=Constants,
    kinds=(
        *(COORDINATOR_KIND, PARTITION_KIND, OFFSETS_KIND, PRODUCER_KIND, INSTANCE_KIND),
        READER_KIND,
    ),
    messages=MESSAGES,
    alike="partitions",
    peers=lambda constants: constants.partitions,
    apart=lambda constants: (constants.offsets,) if constants.offsets else (),
    nodes=lambda constants: (
        *(COORDINATOR, *constants.clients, *constants.partitions),
        *readers(constants),
    ),
    kind_of=_kind_of,
    handlers=_handlers,
    rules=(TransactionRules,),
    handler_classes=(CoordinatorHandlers, PartitionHandlers, ClientHandlers, ReaderHandlers),
    sometimes=tuple(sometimes.all),
    witness=Witness(
        "TransactionCoordinator, with its state manager and its sender of markers",
        fewest=1,
        most=2,
        usual=2,
    ),
    unmentioned=UNMENTIONED,
    coordinated=CoordinatorLog(COORDINATOR, Elect, lambda record: {"transaction": record}),
    world=World(
        constants={
            "partitions": ((11, 12),),
            "version": (2, 1),
            "clients": ((1, 2),),
            "max_coordinators": (3,),
            "max_epoch": (ENDLESS, 1),
            "hears_errors": (False, True),
            "replicas": (1, 2),
            "offsets": ((), (12,)),
            "recovers": (False, True),
            "ids_expire": (False, True),
            "read_committed": ((), (21,)),
            "read_uncommitted": ((), (31,)),
            "markers_refused": (False,),
        },
        # In a run of one transactional id nothing stands before it in a list.
        on_request={"list_timed_out": (200,), "send_more": (200,)},
        local=_local,
        properties=PROPERTIES,
        moves=(300, 500),
        history=history_next,
        unpromised=_unpromised,
        promises=ClientPromise(lambda: OUTCOMES, client_events),
        at_once=_at_once,
        disturbances={
            Elect: (0, 100, 300),
            TransactionTimeout: (0, 50, 200),
            AppendTimeout: (0, 50, 200),
            LoseLeader: (0, 100),
            ChangeLeader: (0, 50, 200),
            Sweep: (0, 50),
            Initialize: (0, 100, 300),
            Ask: (300, 600),
            Abort: (20, 100),
            Retry: (50, 200),
            Expire: (50, 200),
            GiveUp: (50, 200),
            Poll: (100, 300),
            ListTimedOut: (0,),
            AbortListed: (20, 100),
            SendMore: (),
        },
        awaited=_awaited,
        calm=CALM,
        story=transactions_told,
    ),
)
PROTOCOL: Final = TRANSACTIONS
