"""What the members of a share group see of its records, each of which is an object of its own.

    told(constants, node, row, input, outcome)    is the `told` of a `ClientPromise`

A poll and its answer are one step of time (messages.py), and so a delivery is asked and answered at
once. An acknowledgement is open until its answer comes; after an error that says nothing of the
record, or without an answer, it may take effect at any time, or never.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from kraftcheck.reference.kit.membership import happened
from kraftcheck.reference.kit.protocol import Answered, Asked, ClientPromise, Outcome
from kraftcheck.reference.shares.messages import (
    AcknowledgeRecords,
    AcknowledgeTimeout,
    ShareAcknowledgeResponse,
    ShareFetchResponse,
)
from kraftcheck.reference.shares.types import AskedAck, Constants

MODEL: Final = "share-record"
"""By which such histories are judged (traces/checkers/shares.py)."""
OUTCOMES: Final = {"NONE": "ok", "INVALID_RECORD_STATE": "fail", "INVALID_REQUEST": "fail"}
"""By error; any other leaves open what became of it."""


def told(
    constants: Constants, node: int, row: Any, input: Any, outcome: Outcome
) -> Iterable[Asked | Answered]:
    """What a step tells of clients."""
    if node not in constants.members:
        return
    match input:
        case ShareFetchResponse() if not outcome.ignored:
            for each in input.records:
                last = int(each.count >= constants.max_delivery)
                yield from happened("deliver", node, each.offset, 2 * node + last)
        case AcknowledgeRecords():
            for offset in range(input.first, input.last + 1):
                id = _name(node, offset, input)
                yield Asked(id, input.kind.lower(), node, offset, node)
        case ShareAcknowledgeResponse() if not outcome.ignored:
            yield from _answered(node, input, OUTCOMES.get(input.error, "indeterminate"))
        case AcknowledgeTimeout():
            for each in row.asked:
                yield from _answered(node, each, "indeterminate")
        case _:
            pass


def _answered(
    node: int, of: ShareAcknowledgeResponse | AskedAck, outcome: str
) -> Iterator[Answered]:
    for offset in range(of.first, of.last + 1):
        yield Answered(_name(node, offset, of), outcome=outcome, again=True)


def _name(node: int, offset: int, of: Any) -> tuple[Any, ...]:
    return node, offset, of.first, of.last, of.kind


PROMISE: Final = ClientPromise(lambda: MODEL, told)
