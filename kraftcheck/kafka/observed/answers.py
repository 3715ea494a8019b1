"""What brokers said while a recording ran, as `kraftcheck record --observe` writes it.

A line is one answer about one partition. `broker` was asked between `begin` and `end`, nanoseconds
on the history's clock; an answer was true at some moment in between. `what` says which fields are
there:

- partition: `leader`, `epoch` (the leader's), `replicas` (none: an older recording), `isr`, `elr`,
  as the broker's metadata has them;
- high-watermark, log-end: `offset`, and `epoch` in which the broker is;
- earliest: `offset`, and `epoch` of the record there;
- epoch-end: `offset` where epoch `found` ends, the last one up to `asked`, said in `epoch`;
- quorum: of the metadata log, `leader`, `epoch`, `offset` (its high watermark), `ends` by voter;
- stable: `offset`, the last stable one, and `epoch` in which the broker is;
- producers: `producers` of the replica, each (id, epoch, last sequence number, coordinator epoch,
  first offset of the transaction under way or -1);
- transaction: of `id`, `state`, `producer` and `producer_epoch`, as its coordinator has them;
- none: the broker did not answer.

With `error` the broker refused.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from kraftcheck.kafka.observed.records import decoded

NAME = "answers.jsonl"
PARTITION, QUORUM = "partition", "quorum"
EARLIEST, HIGH_WATERMARK, LOG_END = "earliest", "high-watermark", "log-end"
EPOCH_END = "epoch-end"
STABLE, PRODUCERS, TRANSACTION = "stable", "producers", "transaction"
NONE = "none"
UNKNOWN = -1


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """One line. The module's text says which fields belong to which `what`."""

    broker: int
    what: str
    begin: int
    end: int
    key: str = ""
    error: str | None = None
    leader: int = UNKNOWN
    epoch: int = UNKNOWN
    replicas: list[int] = []
    isr: list[int] = []
    elr: list[int] | None = None
    offset: int = UNKNOWN
    asked: int = UNKNOWN
    found: int = UNKNOWN
    ends: dict[str, int] = {}
    producers: list[tuple[int, int, int, int, int]] = []
    id: str = ""
    state: str = ""
    producer: int = UNKNOWN
    producer_epoch: int = UNKNOWN


def read(path: Path) -> list[Answer]:
    """In the order of questions. Raises ObservedError: no such file, a line that is no answer."""
    answers = decoded(path, Answer, "answer")
    return sorted(answers, key=lambda answer: (answer.begin, answer.end, answer.broker))
