"""What all handlers of a broker share: the twin of specs/partition/PartitionRow.tla.

Law of this file: outcomes, answers to parked produce requests, and the advance of a leader's high
watermark, in which every step of a leader ends that may have moved it. The handlers are in isr.py,
replication.py and broker.py, each of which adds to the class before it, as the modules of the
specification extend each other.

Sending is a step of its own (`handle_send_...`): what a broker is about to ask is decided in one
step and sent in a later one, as in Kafka, where fetcher threads and the channel to the controller
have their own pace.
"""

from __future__ import annotations

from msgspec.structs import replace

from kraftcheck.reference.kit.messages import canonical, encode
from kraftcheck.reference.partition.messages import (
    CLIENTS,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    Message,
    ProduceRequest,
    ProduceResponse,
)
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.types import (
    UNDEFINED,
    UNKNOWN_REMOTE,
    BrokerOutcome,
    BrokerRow,
    Parked,
    PartitionConstants,
    initial_row,
)


def parked_with(parked: tuple[Parked, ...], waiting: Parked) -> tuple[Parked, ...]:
    """The sorted set of parked requests with one more."""
    if not parked or parked[-1].offset < waiting.offset:
        return (*parked, waiting)
    if waiting in parked:
        return parked
    return tuple(
        sorted((*parked, waiting), key=lambda p: (p.offset, p.required, encode(p.request)))
    )


class PartitionRowSteps:
    """The shared part, for one set of constants and one set of rules."""

    def __init__(self, constants: PartitionConstants, rules: PartitionRules | None = None) -> None:
        self.constants = constants
        self.rules = PartitionRules(constants) if rules is None else rules
        assert self.rules.constants == constants, "rules for another partition"
        self.brokers = constants.brokers
        self.position = {broker: at for at, broker in enumerate(constants.brokers)}
        self.initial = self._first_row()
        self.no_remotes = (UNKNOWN_REMOTE,) * len(constants.brokers)

    def _first_row(self) -> BrokerRow:
        return initial_row(self.constants)

    # --- Outcomes.

    def ignore(self, row: BrokerRow, reason: str) -> BrokerOutcome:
        """An ignored input is a step too, and has a named reason (L6)."""
        return BrokerOutcome(row, (), reason)

    # --- Requests in the purgatory: P19, S9.

    def produce_response(
        self, n: int, request: ProduceRequest, error: str, offset: int
    ) -> ProduceResponse:
        return ProduceResponse(n, CLIENTS, request, error, offset)

    def delete_records_response(
        self, n: int, m: DeleteRecordsRequest, error: str, offset: int
    ) -> DeleteRecordsResponse:
        return DeleteRecordsResponse(n, CLIENTS, m, error, offset)

    def deletes(self, waiting: Parked) -> bool:
        return isinstance(waiting.request, DeleteRecordsRequest)

    def parked_response(
        self, n: int, waiting: Parked, error: str
    ) -> ProduceResponse | DeleteRecordsResponse:
        offset = waiting.offset if error == "NONE" else UNDEFINED
        if isinstance(waiting.request, DeleteRecordsRequest):
            return self.delete_records_response(n, waiting.request, error, offset)
        return self.produce_response(n, waiting.request, error, offset)

    def is_reached(self, row: BrokerRow, waiting: Parked) -> bool:
        """P19, S9. By the high watermark, or by the low one."""
        deletes = self.deletes(waiting)
        bound = self.rules.low_watermark(row) if deletes else row.high_watermark
        return waiting.required <= bound

    def reached(self, row: BrokerRow) -> list[Parked]:
        return [p for p in row.parked if self.is_reached(row, p)]

    def reached_error(self, row: BrokerRow, waiting: Parked) -> str:
        return "NONE" if self.deletes(waiting) else self.rules.parked_error(row)

    def reached_responses(
        self, n: int, row: BrokerRow
    ) -> list[ProduceResponse | DeleteRecordsResponse]:
        """A watermark has moved: whoever waited for it is answered."""
        return [self.parked_response(n, p, self.reached_error(row, p)) for p in self.reached(row)]

    def without_reached(self, row: BrokerRow) -> BrokerRow:
        left = tuple([p for p in row.parked if not self.is_reached(row, p)])
        return replace(row, parked=left)

    def failed_responses(
        self, n: int, row: BrokerRow
    ) -> list[ProduceResponse | DeleteRecordsResponse]:
        """Leadership is lost: whoever waits is told."""
        return [self.parked_response(n, p, "NOT_LEADER_OR_FOLLOWER") for p in row.parked]

    # --- P6. The high watermark is tried, and never goes back on a leader.

    def advanced(self, n: int, row: BrokerRow) -> BrokerRow:
        if row.high_watermark < len(row.log) and self.rules.enough_in_sync(row):
            bound = self.rules.high_watermark_bound(n, row)
            if bound > row.high_watermark:
                return replace(row, high_watermark=bound)
        return row

    def answer_reached(self, n: int, row: BrokerRow, *sent: Message) -> BrokerOutcome:
        """The outcome once the high watermark is what it is."""
        if not row.parked or not self.reached(row):
            return BrokerOutcome(row, canonical(sent), "")
        responses = self.reached_responses(n, row)
        return BrokerOutcome(self.without_reached(row), canonical((*sent, *responses)), "")

    def advance_and_finish(self, n: int, row: BrokerRow, *sent: Message) -> BrokerOutcome:
        """The outcome of a leader's step that may have moved its high watermark."""
        return self.answer_reached(n, self.advanced(n, row), *sent)
