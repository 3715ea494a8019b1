"""A producer without IO: batches, sequence numbers, retries, and what became of every value.

Law of this file: time (in ticks, as the caller counts them), leaders and answers come as arguments;
requests and completions go out as values. One mutable object per client: a client is no node of the
protocol, and no row contains it (L1).

As in Kafka's Sender, RecordAccumulator and TransactionManager: a batch leaves when it is full or
has lingered; an idempotent producer has at most five batches in flight to a partition, numbers them
when they leave, and after a retry sends the oldest first. A batch that was given up after it had
been sent leaves a gap that nobody can judge: when nothing is in flight any more, the producer goes
on in a new epoch (KIP-360).

It relies on connections that keep the order of requests, and break for all of them: a broker that
knows nothing of a producer takes whatever sequence number comes first (T3).

Left out: transactions, compression, several partitions in one request, and the InitProducerId
exchange: the caller says who the producer is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

from kraftcheck.reference.clients.rules import ProducerRules
from kraftcheck.reference.partition.log import UNDEFINED
from kraftcheck.reference.partition.messages import CLIENTS, NOBODY, ProduceRequest, ProduceResponse

MAX_IN_FLIGHT = 5
"""T3: as many batches as a broker remembers of a producer."""

Fate: TypeAlias = Literal["ok", "fail", "indeterminate"]


class ProducerConfig(msgspec.Struct, frozen=True):
    """Times are in ticks."""

    client: int
    acks: int = -1
    idempotent: bool = True
    batch_records: int = 3
    """How many records make a batch full."""
    linger: int = 5
    """How long a batch waits to become full."""
    max_in_flight: int = MAX_IN_FLIGHT
    retry_backoff: int = 10
    delivery_timeout: int = 1000
    """After this time a value is given up."""

    def __post_init__(self) -> None:
        assert self.acks in (-1, 0, 1), "acks are all, 0 or 1"
        assert not self.idempotent or self.acks == -1, "an idempotent producer waits for all"
        assert 1 <= self.max_in_flight <= MAX_IN_FLIGHT, "1 to 5 batches in flight"
        assert self.batch_records > 0 and self.linger >= 0 and self.retry_backoff >= 0


class Completion(msgspec.Struct, frozen=True):
    """What became of a value, for the history.

    `fail` says that it never was and never will be in a log; `indeterminate` that nobody knows
    (P19).
    """

    partition: int
    value: int
    fate: Fate
    offset: int
    """-1 where it is not known."""
    error: str


class ToSend(msgspec.Struct, frozen=True):
    """A request, and the partition that it is for."""

    partition: int
    request: ProduceRequest


class _Batch:
    """A batch on its way. `sent` is the request in flight."""

    __slots__ = ("created", "epoch", "in_doubt", "not_before", "sent", "sequence", "values")

    def __init__(self, values: list[int], created: int) -> None:
        self.values = values
        self.created = created
        self.epoch = UNDEFINED
        self.sequence = UNDEFINED
        self.sent: ProduceRequest | None = None
        self.not_before = created
        """Not sent again before this time."""
        self.in_doubt = False
        """Whether an attempt may have been appended that was not answered with success."""


class _Lane:
    """What a producer knows of one partition."""

    __slots__ = ("acked", "batches", "epoch", "filling", "next_sequence", "unresolved")

    def __init__(self, epoch: int) -> None:
        self.filling: deque[_Batch] = deque()
        """Not sent yet; records join the last one."""
        self.batches: deque[_Batch] = deque()
        """Sent at least once and not settled, in the order of their sequence numbers."""
        self.epoch = epoch
        self.next_sequence = 0
        self.acked = UNDEFINED
        """The last sequence number that was answered with success."""
        self.unresolved = False
        """A batch that had been sent was given up."""

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to send, to give up or to leave behind."""
        return not (self.filling or self.batches or self.unresolved)


# Errors before anything is written, given that no earlier attempt was.
_NOT_WRITTEN = ("NOT_ENOUGH_REPLICAS", "OUT_OF_ORDER_SEQUENCE_NUMBER", "INVALID_PRODUCER_EPOCH")
# Errors after which the same batch may be sent again.
_RETRIABLE = (
    "NOT_ENOUGH_REPLICAS",
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
    "NOT_LEADER_OR_FOLLOWER",
    "REQUEST_TIMED_OUT",
)


class Producer:
    """One producer. `producer_id` is -1 without idempotence."""

    def __init__(
        self,
        config: ProducerConfig,
        producer_id: int = UNDEFINED,
        rules: ProducerRules | None = None,
    ) -> None:
        self._rules = rules or ProducerRules()
        assert config.idempotent == (producer_id != UNDEFINED), "only idempotent ones have an id"
        self.config = config
        self.producer_id = producer_id
        self.epoch = 0 if config.idempotent else UNDEFINED
        self._lanes: dict[int, _Lane] = {}
        """By partition, in order."""

    def _lane(self, partition: int) -> _Lane:
        lane = self._lanes.get(partition)
        if lane is None:
            lane = _Lane(self.epoch)
            self._lanes = dict(sorted([*self._lanes.items(), (partition, lane)]))
        return lane

    # --- What the caller tells

    def send(self, partition: int, value: int, now: int) -> None:
        """A value to be produced; `Completion`s will tell what became of it."""
        filling = self._lane(partition).filling
        if not filling or len(filling[-1].values) >= self.config.batch_records:
            filling.append(_Batch([], now))
        filling[-1].values.append(value)

    def poll(
        self, now: int, leader_of: Callable[[int], int]
    ) -> tuple[list[ToSend], list[Completion]]:
        """What is to be sent now, and what was given up or needs no answer."""
        sends: list[ToSend] = []
        done: list[Completion] = []
        for partition, lane in self._lanes.items():
            if lane.is_idle:
                continue
            self._expire(partition, lane, now, done)
            self._renew(lane)
            leader = leader_of(partition)
            if leader == NOBODY:
                continue
            while True:
                batch = self._next(lane, now)
                if batch is None:
                    break
                request = self._request(lane, batch, leader)
                sends.append(ToSend(partition, request))
                if self.config.acks == 0:
                    done += [
                        Completion(partition, v, "indeterminate", UNDEFINED, "")
                        for v in batch.values
                    ]
                else:
                    batch.sent = request
                    lane.batches.append(batch)
                    self._in_order(lane)
        return sends, done

    def on_response(self, partition: int, m: ProduceResponse, now: int) -> list[Completion]:
        """An answer. One to a request that is not in flight any more teaches nothing."""
        lane = self._lane(partition)
        for batch in lane.batches:
            if batch.sent is not None and batch.sent == m.request:
                break
        else:
            return []
        batch.sent = None
        if m.error == "NONE":
            lane.batches.remove(batch)
            if batch.epoch == lane.epoch:
                lane.acked = max(lane.acked, batch.sequence + len(batch.values) - 1)
            return [
                Completion(partition, value, "ok", m.offset + at, "")
                for at, value in enumerate(batch.values)
            ]
        batch.in_doubt |= m.error not in _NOT_WRITTEN
        if self._may_retry(lane, batch, m.error):
            batch.not_before = now + self.config.retry_backoff
            return []
        return self._given_up(partition, lane, batch, m.error)

    def on_timeout(self, partition: int, request: ProduceRequest, now: int) -> list[Completion]:
        """The connection gave up on a request: it may have been served, or may be yet.

        Without idempotence it is not sent again.
        """
        lane = self._lane(partition)
        for batch in lane.batches:
            if batch.sent is not None and batch.sent == request:
                batch.sent, batch.in_doubt = None, True
                if not self.config.idempotent:
                    return self._given_up(partition, lane, batch, "REQUEST_TIMED_OUT")
                batch.not_before = now + self.config.retry_backoff
                break
        return []

    def regroup(self, partition: int) -> None:
        """What waits for a retry becomes one batch, under the first of its sequence numbers.

        Clients do so that put records back and group them anew (IBM/sarama#1070), and sequence
        numbers are there to defend a broker from it. Kafka's own client sends a batch again as it
        was, or in parts, if it is too large (ProducerBatch.split).
        """
        lane = self._lane(partition)
        first, *others = self._regroupable(lane)
        for batch in others:
            first.values += batch.values
            first.in_doubt |= batch.in_doubt
            lane.batches.remove(batch)

    def regroupable(self, partition: int) -> list[int]:
        """The values of batches that `regroup` would make one; none, if there is only one."""
        batches = self._regroupable(self._lane(partition))
        return [value for batch in batches for value in batch.values] if len(batches) > 1 else []

    def next_time(self, now: int) -> int | None:
        """When `poll` is to be called again, at the latest, if nothing else happens."""
        times: list[int] = []
        for lane in self._lanes.values():
            for batch in lane.filling:
                full = len(batch.values) >= self.config.batch_records
                times.append(now + 1 if full else batch.created + self.config.linger)
            for batch in lane.batches:
                times.append(batch.created + self.config.delivery_timeout)
                if batch.sent is None:
                    times.append(batch.not_before)
        return max(now + 1, min(times)) if times else None

    @property
    def is_idle(self) -> bool:
        """Whether `poll` would do nothing, however late it is."""
        return all([lane.is_idle for lane in self._lanes.values()])

    @property
    def has_to_send(self) -> bool:
        """Whether some batch waits for its turn, or for a retry."""
        lanes = self._lanes.values()
        return any(lane.filling or any(b.sent is None for b in lane.batches) for lane in lanes)

    @property
    def unsettled(self) -> list[int]:
        """The values of which nothing is known yet, in the order in which they were given."""
        return [
            value
            for lane in self._lanes.values()
            for batch in (*lane.batches, *lane.filling)
            for value in batch.values
        ]

    # --- Which batch is next

    def _next(self, lane: _Lane, now: int) -> _Batch | None:
        """The batch to send now: the oldest that waits for a retry, else the next full one."""
        waits = [batch for batch in lane.batches if batch.sent is None]
        if len(lane.batches) - len(waits) >= self.config.max_in_flight:
            return None
        if waits:
            waiting = waits[0]
            # An idempotent producer retries one batch at a time, the oldest first.
            first = waiting is lane.batches[0] or not self.config.idempotent
            if waiting.not_before > now or not first:
                return None
            lane.batches.remove(waiting)
            return waiting
        if not lane.filling or len(lane.batches) >= self.config.max_in_flight:
            return None
        if lane.unresolved or (lane.epoch != self.epoch and lane.batches):
            return None  # numbers before these are in doubt
        batch = lane.filling[0]
        full = len(batch.values) >= self.config.batch_records
        if not full and now < batch.created + self.config.linger:
            return None
        return lane.filling.popleft()

    def _regroupable(self, lane: _Lane) -> list[_Batch]:
        """The oldest batches, as far as they wait and their numbers follow each other."""
        found: list[_Batch] = []
        for batch in lane.batches:
            follows = not found or (batch.epoch, batch.sequence) == (
                found[-1].epoch,
                found[-1].sequence + len(found[-1].values),
            )
            if batch.sent is not None or not follows:
                break
            found.append(batch)
        return found

    def _request(self, lane: _Lane, batch: _Batch, leader: int) -> ProduceRequest:
        numbered = batch.sequence != UNDEFINED
        if self.config.idempotent and (
            not numbered or self._rules.renumbers(batch.epoch, self.epoch)
        ):
            if lane.epoch != self.epoch:
                lane.next_sequence = self._rules.first_sequence(lane.next_sequence)
                lane.epoch, lane.acked = self.epoch, UNDEFINED
            batch.epoch, batch.sequence = lane.epoch, lane.next_sequence
            lane.next_sequence += len(batch.values)
        return ProduceRequest(
            source=CLIENTS,
            destination=leader,
            client=self.config.client,
            acks=self.config.acks,
            values=tuple(batch.values),
            producer=self.producer_id,
            producer_epoch=batch.epoch,
            sequence=batch.sequence,
        )

    def _in_order(self, lane: _Lane) -> None:
        if self.config.idempotent:
            lane.batches = deque(sorted(lane.batches, key=lambda b: (b.epoch, b.sequence)))

    # --- Retries, and when to stop

    def _may_retry(self, lane: _Lane, batch: _Batch, error: str) -> bool:
        if not self.config.idempotent:
            # Sent again, a record could stand twice.
            return error == "NOT_ENOUGH_REPLICAS" and not batch.in_doubt
        if error == "OUT_OF_ORDER_SEQUENCE_NUMBER":
            # An earlier batch is still on its way; else a record is missing in the log.
            return not lane.unresolved and batch.sequence != lane.acked + 1
        return error in _RETRIABLE

    def _given_up(self, partition: int, lane: _Lane, batch: _Batch, error: str) -> list[Completion]:
        lane.batches.remove(batch)
        lane.unresolved |= self.config.idempotent
        fate: Fate = "indeterminate" if batch.in_doubt else "fail"
        return [Completion(partition, value, fate, UNDEFINED, error) for value in batch.values]

    def _expire(self, partition: int, lane: _Lane, now: int, done: list[Completion]) -> None:
        """delivery.timeout.ms has passed."""
        oldest = now - self.config.delivery_timeout
        while lane.filling and lane.filling[0].created <= oldest:
            done += [
                Completion(partition, value, "fail", UNDEFINED, "DELIVERY_TIMEOUT")
                for value in lane.filling.popleft().values
            ]
        for batch in [b for b in lane.batches if b.created <= oldest]:
            batch.in_doubt |= batch.sent is not None
            done += self._given_up(partition, lane, batch, "DELIVERY_TIMEOUT")

    def _renew(self, lane: _Lane) -> None:
        """KIP-360.

        With nothing in flight, a gap in the sequence numbers is left behind by a new epoch; without
        a gap all is well.
        """
        if lane.unresolved and not lane.batches:
            lane.unresolved = False
            if lane.epoch == self.epoch and lane.acked + 1 != lane.next_sequence:
                self.epoch += 1
