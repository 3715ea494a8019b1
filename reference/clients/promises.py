"""The one table of promises: what clients may count on, by configuration and by what went wrong.

Simulator, chaos tests, the checker of histories and reports all read it, and so do the tables of
docs/reference/protocol-rules.md. A promise begins with everything (linearizable, durable, exactly
once, in order); each row of `TABLE` whose condition applies takes something away and says why. A
property that is weakened anywhere else is a defect.

`promised(configuration, envelope)` is the whole interface. The envelope is what did happen, not
what could have: a run without crashes must keep the promise for runs without crashes. Who does
not know what happened asks with `ANYTHING_CLEAN`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final, Literal, NamedTuple

import msgspec


class Level(enum.IntEnum):
    """How consistent the reads of one partition are, strongest last; each implies those below it.

    Defined exactly in traces/checkers/levels.py. `words`: as reports print them.
    """

    DIVERGENT = 0
    CONSISTENT_PREFIX = 1
    DURABLE_PREFIX = 2
    SEQUENTIAL = 3
    ORDERED_SEQUENTIAL = 4
    BOUNDED_STALENESS = 5
    REGULAR_SESSIONS = 6
    LINEARIZABLE = 7

    @property
    def words(self) -> str:
        return _WORDS[self]


_WORDS: Final = (
    "divergent",
    "consistent prefix",
    "consistent prefix, durable",
    "sequential",
    "ordered sequential",
    "linearizable appends, bounded-stale session reads",
    "regular + sessions",
    "linearizable",
)


Compaction = Literal["none", "keys-unknown", "keyed"]
"""Whether a topic is compacted (cleanup.policy), and whether its history tells records' keys."""
Consumers = Literal["assign", "subscribe", "listen", "share"]
"""What consumers do to be given partitions, and what they tell of it."""
Reset = Literal["earliest", "latest", "none"]
"""Where a group begins in a partition of which it has committed nothing (auto.offset.reset)."""


class Configuration(msgspec.Struct, frozen=True, kw_only=True):
    """What the promises depend on. Defaults are Kafka's own since 4.1."""

    log: Literal["partition", "metadata"] = "partition"
    """A topic's partition, or the metadata log of the quorum (which has no acks, ISR or groups)."""
    acks: Literal["0", "1", "all"] = "all"
    idempotence: bool = True
    """The producer's; off, its retries may append twice."""
    retries: bool = True
    """Whether it retries at all."""
    transactions: bool = False
    """Some producer of the partition is transactional."""
    min_insync_replicas: int = 2
    replication_factor: int = 3
    elr: bool = True
    unclean_election: bool = False
    isolation: Literal["read_uncommitted", "read_committed"] = "read_uncommitted"
    reads_from: Literal["leader", "follower", "any"] = "leader"
    """The leader; one follower for each consumer (KIP-392); or any replica at each request."""
    consumers: Consumers = "assign"
    """Whether they subscribe, whether they then tell of their rebalances (listen), and whether
    some are a share group (share).
    """
    one_client: bool = True
    """Some process both appends and reads, so that it can miss its own record."""
    asks_latest: bool = False
    """Some process both asks where the log ends and reads, so that it can miss what it was told of.
    """
    goes_back: bool = False
    """Some process reads again from before where it had read to, so that it can miss what it has
    read.
    """
    compaction: Compaction = "none"
    """Whether a record may be gone once a later one has its key; keyed: each value is a pair (key,
    value).
    """
    late_requests: bool = False
    """Some transactional producer speaks TV1 (before KIP-890's second part) and goes on after an
    unanswered request without initialising again.
    """
    reset: Reset = "latest"
    """Of subscribers, and of share groups."""
    rebalance_s: float = 350.0
    """How long a partition may be without a member, in seconds: session.timeout.ms,
    max.poll.interval.ms and a heartbeat.
    """
    transaction_s: float = 60.0
    """transaction.timeout.ms of producers, in seconds."""
    ending_s: float = 130.0
    """How long a producer may wait for the end of its transaction, or for its turn: that, a sweep
    of its coordinator and max.block.ms.
    """
    lock_s: float = 30.0
    """group.share.record.lock.duration.ms of share groups, in seconds."""
    delivery_limit: int = 5
    """group.share.delivery.count.limit of share groups."""
    stall_s: float = 300.0
    """How long a share group may deliver nothing of a partition that has records to deliver, in
    seconds: all deliveries of a record, each until its lock ends, and as much for failovers.
    """


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """What went wrong."""

    leader_moves: int = 0
    """New leaders after the first, elected from the ISR or ELR, planned ones included."""
    unclean_moves: int = 0
    """From outside of both."""
    lossy: int = 0
    """Replicas that lost records which were not yet everywhere again: by a crash without page
    cache, or a torn write.
    """
    disks_lost: int = 0
    """Replicas that came back empty."""
    network_partitions: int = 0
    zombie: bool = False
    """A leader may have served reads after another was elected (network partition, pause)."""
    expired: bool = False
    """Producers were idle for longer than their state is kept."""


NOTHING: Final = Envelope()
ANYTHING_CLEAN: Final = Envelope(leader_moves=1, network_partitions=1, zombie=True)
"""Any faults short of lost data and unclean elections: what to assume of clusters unseen, unless
their configuration allows more (`unseen`)."""


def unseen(configuration: Configuration) -> Envelope:
    """The worst that may have happened to a cluster that nobody watched, short of lost data."""
    moves = int(configuration.unclean_election)
    return msgspec.structs.replace(ANYTHING_CLEAN, unclean_moves=moves)


class Row(NamedTuple):
    """What one cause takes away."""

    id: str
    """Names the row."""
    when: str
    """Its condition in words."""
    applies: Callable[[Configuration, Envelope], bool]
    """The same."""
    because: str
    """The mechanism."""
    source: str
    """Rule ids and KIPs."""
    level: Level = Level.LINEARIZABLE
    """Reads are at most so consistent."""
    durable: bool = True
    """Acknowledged appends survive."""
    ordered: bool = True
    """Appends keep the order of real time."""
    nothing: bool = False
    """Nothing is promised at all."""
    allows: tuple[str, ...] = ()
    """Anomalies by Jepsen's names (and ours)."""


def _partition(configuration: Configuration) -> bool:
    return configuration.log == "partition"


def _idempotent(configuration: Configuration) -> bool:
    """Whether what is sent again is appended once.

    With acks=1 nobody can be idempotent (T1); with acks=0 the client that says so has no answer to
    miss, and sends nothing again.
    """
    return configuration.idempotence and configuration.acks != "1"


def _moved(envelope: Envelope) -> bool:
    return envelope.leader_moves + envelope.unclean_moves > 0 or envelope.zombie


def spared(configuration: Configuration) -> int:
    """So many replicas may lose records without harm to what was committed.

    Without ELR none: the last member of the ISR stays in it, whatever it has lost (C10).
    """
    copies = min(configuration.min_insync_replicas, configuration.replication_factor)
    return copies - 1 if configuration.elr else 0


def _lost_records(envelope: Envelope) -> int:
    return envelope.lossy + envelope.disks_lost


def _only_acked_by_leader(configuration: Configuration, envelope: Envelope) -> bool:
    """Whether what one replica alone had acknowledged may be gone, and its offsets used again."""
    one = _partition(configuration) and configuration.acks == "1"
    return one and (_moved(envelope) or _lost_records(envelope) > 0)


_STALE: Final = ("stale-read",)
_BACK: Final = ("stale-read", "session-regress")
_AGAIN: Final = ("duplicate", "nonmonotonic-send", "int-nonmonotonic-send")
_HALVES: Final = ("torn-transaction", "lost-commit")
_UNREAD: Final = ("skipped-record", "wrong-start")
"""What comes of records that are gone."""
_FORKED: Final = (
    *("inconsistent-offsets", "lost-write", "unseen", "unread", "append-order"),
    "offset-acked-twice",
    *(*_HALVES, *_UNREAD, "unstable-fate"),
    *("nonmonotonic-send", "int-nonmonotonic-send", "int-poll-skip", "poll-skip"),
    *("stale-read", "session-regress", "start-regress", "future-read", "hole"),
    "unplaced-append",
)
"""What comes of acknowledged offsets that are used again. What was read stays as it was read."""

TABLE: Final[tuple[Row, ...]] = (
    Row(
        "unclean",
        "a leader was elected from outside ISR and ELR",
        lambda c, e: _partition(c) and e.unclean_moves > 0,
        "its log misses committed records, and their offsets are used again",
        "C9; unclean.leader.election.enable",
        nothing=True,
    ),
    Row(
        "lossy-elr",
        "at least min.insync.replicas replicas lost records, ELR on",
        lambda c, e: _partition(c) and c.elr and _lost_records(e) > spared(c),
        "a committed record is certainly on min.insync.replicas replicas, in page cache",
        "P6, P23, C3, C11; KIP-966",
        nothing=True,
    ),
    Row(
        "lossy-isr",
        "a replica lost records, ELR off",
        lambda c, e: _partition(c) and not c.elr and _lost_records(e) > 0,
        "the last member of the ISR stays in it and is elected again, even after it lost records",
        "C10; KIP-966",
        nothing=True,
    ),
    Row(
        "voter-disk",
        "a voter of the quorum came back with an empty disk",
        lambda c, e: c.log == "metadata" and e.disks_lost > 0,
        "it has forgotten its vote and the records that it had confirmed",
        "Q2; KIP-853",
        nothing=True,
    ),
    Row(
        "acks-none",
        "acks=0",
        lambda c, _: _partition(c) and c.acks == "0",
        "the client does not wait for a response: the record may arrive late, never, or after "
        "later ones, by another connection or at another leader",
        "P18",
        level=Level.CONSISTENT_PREFIX,
        durable=False,
        ordered=False,
        allows=(
            *("lost-write", "unseen", "unread", "unplaced-append", "append-order", *_BACK),
            *("nonmonotonic-send", "int-nonmonotonic-send", *_HALVES, *_UNREAD),
        ),
    ),
    Row(
        "acks-one",
        "acks=1",
        lambda c, _: _partition(c) and c.acks == "1",
        "the response precedes replication, and consumers see nothing above the high watermark",
        "P18, P20",
        level=Level.ORDERED_SEQUENTIAL,
        allows=_STALE,
    ),
    Row(
        "acks-one-own",
        "acks=1, and a process reads its own appends",
        lambda c, _: _partition(c) and c.acks == "1" and c.one_client,
        "its own record is invisible to it until it has been replicated",
        "P18, P20",
        level=Level.DURABLE_PREFIX,
        allows=_BACK,
    ),
    Row(
        "acks-one-moved",
        "acks=1, and the leader moved (planned moves included) or a replica lost records",
        _only_acked_by_leader,
        "records that only the old leader had are gone, and their offsets are used again",
        "P18; KAFKA-20554",
        level=Level.DIVERGENT,
        durable=False,
        ordered=False,
        allows=_FORKED,
    ),
    Row(
        "moved",
        "the leader moved (from the ISR or ELR)",
        lambda _, e: e.leader_moves > 0,
        "a new leader has every committed record, but exposes them only after its followers have "
        "confirmed them; it may also have deleted less",
        "P20, P21; KIP-207 covers latest only; S9",
        level=Level.ORDERED_SEQUENTIAL,
        allows=(*_STALE, "start-regress"),
    ),
    Row(
        "moved-own",
        "the leader moved, and a process reads its own appends",
        lambda c, e: _moved(e) and c.one_client,
        "until the new leader knows its high watermark, a client does not see its own record",
        "P20, P21",
        level=Level.DURABLE_PREFIX,
        allows=_BACK,
    ),
    Row(
        "moved-latest",
        "the leader moved, and a process that reads also requests the log's end, or goes back",
        lambda c, e: _moved(e) and (c.asks_latest or c.goes_back),
        "until the new leader knows its high watermark, a fetch returns less than the old leader "
        "had exposed; ListOffsets returns an error then, a fetch does not",
        "P20, P21; KIP-207 covers ListOffsets only",
        level=Level.DURABLE_PREFIX,
        allows=_BACK,
    ),
    Row(
        "zombie",
        "an old leader may have served reads beside the new one",
        lambda _, e: e.zombie,
        "reads need no quorum and no lease: an isolated leader answers until it is fenced, and a "
        "consumer may move to it from the new one",
        "P20; KIP-320 compares epochs only where the client sends one",
        level=Level.DURABLE_PREFIX,
        allows=(*_BACK, "start-regress"),
    ),
    Row(
        "follower",
        "each consumer reads from one follower",
        lambda c, _: c.reads_from == "follower",
        "a follower exposes committed records one fetch later than the leader, and deletes old "
        "records on its own",
        "P20; KIP-392",
        level=Level.ORDERED_SEQUENTIAL,
        allows=(*_STALE, "start-regress"),
    ),
    Row(
        "follower-own",
        "consumers read from a follower, and one of them also appends, or requests the log's end",
        lambda c, _: c.reads_from == "follower" and (c.one_client or c.asks_latest),
        "the follower exposes a client's own record, and the end that the leader returned, only "
        "when it has fetched that far",
        "P20; KIP-392",
        level=Level.DURABLE_PREFIX,
        allows=_BACK,
    ),
    Row(
        "any-replica",
        "reads go to any replica",
        lambda c, _: c.reads_from == "any",
        "each replica has its own high watermark, so a client may go back in time between replicas",
        "P20; KIP-392",
        level=Level.DURABLE_PREFIX,
        allows=(*_BACK, "start-regress"),
    ),
    Row(
        "read-committed",
        "isolation=read_committed, and some producer is transactional",
        lambda c, _: _partition(c) and c.isolation == "read_committed" and c.transactions,
        "the visible end is the last stable offset, held back by any open transaction",
        "P20, X17; KIP-98",
        level=Level.ORDERED_SEQUENTIAL,
        allows=_STALE,
    ),
    Row(
        "read-committed-own",
        "the same, and a process reads its own appends",
        lambda c, _: (
            _partition(c) and c.isolation == "read_committed" and c.transactions and c.one_client
        ),
        "an open transaction of another producer hides its own record",
        "P20, X17; KIP-98",
        level=Level.DURABLE_PREFIX,
        allows=_BACK,
    ),
    Row(
        "read-uncommitted",
        "isolation=read_uncommitted, and some producer is transactional",
        lambda c, _: _partition(c) and c.isolation == "read_uncommitted" and c.transactions,
        "records of open and of aborted transactions are visible",
        "P20; KIP-98",
        level=Level.DIVERGENT,
        allows=("G1a", "precommitted-read"),
    ),
    Row(
        "late-request",
        "a producer of TV1 continues after a request without a response",
        lambda c, _: _partition(c) and c.transactions and c.late_requests,
        "its end, marker or append may arrive during a later transaction of the same epoch, and "
        "count for that one; a new InitProducerId, or TV2, prevents it",
        "X13, X14; KIP-890",
        level=Level.DIVERGENT,
        durable=False,
        allows=(
            "G1a",
            "lost-write",
            *("unseen", "unread"),
            "future-read",
            *_HALVES,
            "G1c",
            *("torn-offsets", "stale-offset", "unknown-offset", "offset-lost"),
            "refused-transaction",
        ),
    ),
    Row(
        "failure",
        "something failed, and some producer is transactional",
        lambda c, e: _partition(c) and c.transactions and e != NOTHING,
        "a transaction ends when its coordinator and the leaders of its partitions are available",
        "X22, X25; KIP-98",
        allows=("stuck-producer",),
    ),
    Row(
        "interleaved",
        "always",
        lambda c, e: True,
        "an operation that appends several records is not isolated: others may write in between",
        "KIP-98 promises no isolation of writes",
        allows=("int-send-skip",),
    ),
    Row(
        "retries",
        "a producer retries without idempotence",
        lambda c, _: _partition(c) and c.retries and not _idempotent(c),
        "a request with a lost response is sent and appended again, with others in between",
        "T1; KIP-98",
        allows=_AGAIN,
    ),
    Row(
        "expired",
        "a producer was idle for longer than brokers keep its state",
        lambda c, e: _partition(c) and c.idempotence and e.expired,
        "the broker has forgotten the producer's batches, and appends them again",
        "T1, T3; KIP-98 transactional.id and producer.id expiration",
        allows=_AGAIN,
    ),
    Row(
        "compacted",
        "the topic is compacted, by unknown keys",
        lambda c, _: c.compaction == "keys-unknown",
        "the cleaner removes a record once a later one has its key, and any later one may have it",
        "cleanup.policy=compact",
        allows=("lost-write", "poll-skip", "int-poll-skip", *_UNREAD),
    ),
    Row(
        "group",
        "consumers subscribe",
        lambda c, _: _partition(c) and c.consumers == "subscribe",
        "a rebalance passes the partition on at the last committed offset",
        "jepsen.tests.kafka: allowed with subscribe",
        allows=("poll-skip", "nonmonotonic-poll"),
    ),
    Row(
        "member",
        "consumers subscribe",
        lambda c, _: _partition(c) and c.consumers in ("subscribe", "listen"),
        "a removed member continues until it learns of it; for a commit the coordinator checks the "
        "membership, not what the member owns or was shown",
        "G8, G27, G30; KIP-848",
        allows=("zombie-overlap", "commit-by-non-owner", "commit-beyond"),
    ),
    Row(
        "share-moved",
        "consumers are a share group, and a leader moved or a connection broke",
        lambda c, e: c.consumers == "share" and (_moved(e) or e.network_partitions > 0),
        "a new leader of a share partition has neither its locks nor the deliveries that were not "
        "stored; the end of a connection releases what its member held",
        "SH1, SH2, SH30; KIP-932",
        allows=("double-acquisition", "count-repeated", "over-delivered"),
    ),
)
"""Every cause for a weaker promise, the gravest first."""


class Promise(NamedTuple):
    """What is promised."""

    level: Level
    """Of reads."""
    durable: bool
    """Acknowledged appends survive."""
    ordered: bool
    """Appends stand in the order of real time."""
    exactly_once: bool
    """No append leaves two records."""
    nothing: bool
    """Nothing at all is promised (the other fields then say the least there is)."""
    allowed: dict[str, str]
    """Anomaly to the reason that it is allowed."""
    rows: tuple[str, ...]
    """What took something away."""
    because: str
    """In a sentence, why the level is not higher."""

    def allows(self, anomaly: str) -> bool:
        return self.nothing or anomaly in self.allowed


@lru_cache(1 << 12)
def promised(configuration: Configuration, envelope: Envelope = NOTHING) -> Promise:
    """The promise for a configuration under what happened: the same object for equal ones.

    Raises ValueError: a number of replicas that cannot be, or something that happened less than
    never.
    """
    _check(configuration, envelope)
    rows = [row for row in TABLE if row.applies(configuration, envelope)]
    nothing = any(row.nothing for row in rows)
    level = min((row.level for row in rows), default=Level.LINEARIZABLE)
    level = Level.DIVERGENT if nothing else level
    allowed: dict[str, str] = {}
    for row in rows:
        for anomaly in row.allows:
            allowed.setdefault(anomaly, f"{row.when}: {row.because} [{row.source}]")
    decisive = [row for row in rows if row.nothing] or [row for row in rows if row.level == level]
    if nothing or level < Level.LINEARIZABLE:
        because = f"{decisive[0].when}: {decisive[0].because} [{decisive[0].source}]"
    else:
        because = "nothing weakens it: reads come from the leader, which did not change"
    return Promise(
        level=level,
        durable=not nothing and all(row.durable for row in rows),
        ordered=not nothing and all(row.ordered for row in rows),
        exactly_once=not nothing and "duplicate" not in allowed,
        nothing=nothing,
        allowed=allowed,
        rows=tuple(row.id for row in rows),
        because=because,
    )


def together(promises: Sequence[Promise]) -> Promise:
    """Give the promise that all of several configurations make.

    They write to the same log, as producers of different acks do. promises: one at least.
    """
    weakest = min(promises, key=lambda each: (not each.nothing, each.level))
    allowed = {what: why for each in reversed(promises) for what, why in each.allowed.items()}
    return weakest._replace(
        durable=all(each.durable for each in promises),
        ordered=all(each.ordered for each in promises),
        exactly_once=all(each.exactly_once for each in promises),
        allowed=allowed,
        rows=tuple({row: None for each in promises for row in each.rows}),
    )


def _check(configuration: Configuration, envelope: Envelope) -> None:
    least, most = configuration.min_insync_replicas, configuration.replication_factor
    if least < 1 or most < 1:
        raise ValueError(f"min.insync.replicas {least} of {most} replicas")
    counts = (
        *(envelope.leader_moves, envelope.unclean_moves, envelope.lossy, envelope.disks_lost),
        envelope.network_partitions,
    )
    if min(counts) < 0:
        raise ValueError("something happened less than never")


def level_named(name: str) -> Level:
    """A level by its number, its words or its name. Raises KeyError with those that there are."""
    wanted = name.strip().lower().replace("_", " ").replace("-", " ")
    for level in Level:
        words = level.words.replace("-", " ")
        if wanted in (str(int(level)), words, level.name.lower().replace("_", " ")):
            return level
    names = ", ".join(each.name.lower().replace("_", "-") for each in Level)
    raise KeyError(f"no level {name!r}; there are: {names}")
