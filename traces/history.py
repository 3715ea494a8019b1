"""A client history: what every format is read into, and what every checker judges.

A history says what clients asked and what they were told, and nothing of what happened inside.
Times are integers in the history's own unit; only their order matters to a verdict. At equal times
invocations come before completions, so operations that touch are concurrent (the weaker reading:
no order is claimed that the clock could not see).

Operations on a partition's log (`key` is the topic-partition) are always these four, whatever the
format called them:

    append    argument: the value           result: its offset, or None when it is not known
    fetch     argument: from which offset   result: ((offset, value), ...) in the order returned
              (None: where this consumer stands); `end`: the visible end the broker told, if it did
    latest    argument: None                result: the visible end (exclusive)
    earliest  argument: None                result: the log's start

A consumer also says where it reads from, which is no operation on a log (`key` is None):

    assign, subscribe    argument: the topic-partitions, in place of those before
                         result: True if it went back to their beginning, else None
    crash                the client was torn down; its process asks nothing more

An operation of a client that holds several of these (a Jepsen transaction, or a poll of several
partitions) becomes several `Operation`s with the same `group`, process, times and outcome.

A transaction that is told step by step is a number (`Operation.txn`) which its operations share:
appends, fetches made inside it, and these, whose `key` is None:

    init          argument: the transactional id; from its completion on, this process is the id's
                  producer, and whoever was before is fenced
    begin         nothing
    send-offsets  argument: (group, ((topic-partition, offset), ...)), what the group has consumed
    end           argument: "commit" or "abort"
    committed     (of no transaction) argument: the group  result: ((topic-partition, offset), ...),
                  as a stable OffsetFetch answers (KIP-447); of who has none, the offset is -1

A member of a consumer group tells its rebalances, what it has processed and what it commits
(`key` is None). The first three are callbacks: they may come within a poll, and hold a commit.

    partitions-assigned, partitions-revoked, partitions-lost
                     argument: (group, topic-partitions), those that were given, or taken
    processed        argument: (group, ((topic-partition, offset), ...)); what was polled before
                     these offsets is done with
    commit-offsets   argument: the same; from there on the group goes on
    leave            argument: (group, ()); the consumer is closed

A member of a share group (KIP-932) acknowledges records one by one. `key` is the partition, None
for a poll without a record.

    share-poll       argument: the group  result: ((offset, value, delivery count or None), ...)
    acknowledge      argument: (group, ((offset, one of ACKNOWLEDGEMENTS), ...)); its outcome is
                     that of the partition: an acknowledgement without an answer may take effect

Values are those of traces/values.py, which are equal only if they are of one kind: 1 is not `true`.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from kraftcheck.traces.values import typed

PARTITION_LOG: Final = "partition-log"
"""The model of a topic's partitions, whose histories are judged as columns."""

OK: Final = "ok"
"""It took effect between invocation and completion."""
FAIL: Final = "fail"
"""It had no effect and never will."""
INDETERMINATE: Final = "indeterminate"
"""It may take effect at any time after its invocation, or never (P19)."""
OUTCOMES: Final = (OK, FAIL, INDETERMINATE)

LOG_OPERATIONS: Final = ("append", "fetch", "latest", "earliest")
CLIENT_OPERATIONS: Final = ("assign", "subscribe", "crash")
COMMIT, ABORT = "commit", "abort"
TRANSACTION_OPERATIONS: Final = ("init", "begin", "send-offsets", "end", "committed")
ASSIGNED: Final = "partitions-assigned"
REVOKED: Final = "partitions-revoked"
LOST: Final = "partitions-lost"
CALLBACKS: Final = (ASSIGNED, REVOKED, LOST)
MEMBER_OPERATIONS: Final = (*CALLBACKS, "processed", "commit-offsets", "leave")
GROUP_OPERATIONS: Final = (*MEMBER_OPERATIONS, "send-offsets", "committed")
"""All that tell of a group, whether its members tell of themselves or not."""
SHARE_POLL: Final = "share-poll"
ACKNOWLEDGE: Final = "acknowledge"
SHARE_OPERATIONS: Final = (SHARE_POLL, ACKNOWLEDGE)
ACCEPT, RELEASE, REJECT, RENEW = "accept", "release", "reject", "renew"
ACKNOWLEDGEMENTS: Final = (ACCEPT, RELEASE, REJECT, RENEW)
NOT_COMMITTED: Final = -1
"""In the place of an offset: the group has committed none."""
READ_UNCOMMITTED: Final = "read_uncommitted"
ISOLATIONS: Final = (READ_UNCOMMITTED, "read_committed")


class HistoryError(Exception):
    """A history that cannot be read, or that no clients can have seen. The text is one line.

    path: the file. line: where in it, from 1 (0: the file as a whole). reason: what is wrong there.
    """

    def __init__(self, path: str, line: int, reason: str) -> None:
        self.path, self.line, self.reason = path, line, reason
        super().__init__(f"{path}:{line}: {reason}" if line else f"{path}: {reason}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path, self.line, self.reason)


COMPARED: Final = "compared"
"""A compare-and-set that failed was compared, and found another value [porcupine's etcd logs]."""
NOT_COMPARED: Final = "unknown"
"""It did not happen, for whatever reason [Jepsen, Knossos]."""


class Operation(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One request of one client, with what it was told."""

    index: int
    """From 0, in order of invocation; names the operation in certificates and reports."""
    process: int
    """A client; its groups do not overlap, and after an indeterminate one it asks nothing more."""
    f: str
    """What was asked: a verb of the model (read, write, cas, get, put, append, fetch, ...)."""
    key: str | None = None
    """The object, where the history has several: a topic-partition, the `name` of a key."""
    argument: Any = None
    result: Any = None
    """What the client was told; None also when it was told nothing."""
    end: int | None = None
    """Of a fetch: the visible end of the log that came with the answer (exclusive)."""
    invoked: int
    completed: int | None
    """None: never."""
    outcome: str
    """One of OUTCOMES."""
    group: int
    """The client's operation that this is a part of; most often its only part."""
    line: int = 0
    """Where in the file it was invoked, from 1; 0 when the format has no lines."""
    error: str | None = None
    """What the client was told instead of a result."""
    txn: int | None = None
    """The transaction that it is a part of, by the history's own number."""
    to: int | None = None
    """Of a fetch: where the consumer stood after it, where that was told."""
    isolation: str | None = None
    """Of a fetch: one of ISOLATIONS, where it was told."""
    mark: str | None = None
    """What the group's own log says of it: the member's id (of callbacks), a commit's metadata. Of
    an append: the producer, which sends in order although several of its appends overlap.
    """

    def __post_init__(self) -> None:
        argument, result = typed(self.argument), typed(self.result)
        if argument is not self.argument:
            msgspec.structs.force_setattr(self, "argument", argument)
        if result is not self.result:
            msgspec.structs.force_setattr(self, "result", result)


class Annotation(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What happened to the cluster meanwhile: a fault, or a new leader epoch."""

    at: int
    until: int | None = None
    """None: a moment."""
    kind: str
    """'fault' or 'leader epoch'."""
    label: str
    key: str | None = None
    """The topic-partition it concerns; None: all of them."""


class Omissions(msgspec.Struct, frozen=True, kw_only=True):
    """What a recorder says that it has not recorded."""

    dropped: str = ""
    """What is missing that should be there: without it nothing holds, at most it is unknown."""
    reads: bool = False
    """Whether reads may be missing, so that an acknowledged record may have been read."""
    offsets: bool = False
    """Whether offsets may be of what is not recorded: of other producers, and of the ends of their
    transactions.
    """
    told: tuple[str, ...] = ()
    """What such a recorder cannot see, for the reader of the verdict."""


class History(msgspec.Struct, frozen=True, kw_only=True):
    """All operations of one recorded run, in order of invocation."""

    source: str
    """Path, with `#run` where a file holds several."""
    format: str
    time_unit: str
    """'ns', 'us', or 'event' when the format has an order only."""
    operations: tuple[Operation, ...]
    annotations: tuple[Annotation, ...] = ()
    model: str | None = None
    """The model that the format implies, where it does: partition-log, cas-register, kv, ..."""
    failed_cas: str = NOT_COMPARED
    """What the format means by a compare-and-set that failed without an error."""
    initial: Any = None
    """The value of a register that nobody wrote, where the workload has one."""
    real_time: bool = True
    """Whether times say which of two clients was first; False: nothing is promised of that."""
    note: str | None = None
    """What whoever reads a verdict has to know of the file."""
    configuration: dict[str, Any] = {}
    """What the file itself says of clients: fields of Configuration in clients/promises.py."""
    omissions: Omissions = Omissions()
