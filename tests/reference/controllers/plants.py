"""A violation of each property of controllers: what changes in a state in order."""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from kraftcheck.reference.controllers.messages import CLIENTS, METADATA_LOG
from kraftcheck.reference.controllers.protocol import CONTROLLERS
from kraftcheck.reference.controllers.types import (
    INITIAL_CONTROLLER,
    Answer,
    Clients,
    Constants,
    Controller,
    Deferred,
    LogRecord,
    MetadataLog,
)
from kraftcheck.reference.kit.fields import NOBODY
from tests.reference.plain import Plant, Planted, Rows, initial_rows

TWO: Final = Constants((1, 2), 3, 4)

# Controller 1 leads epoch 1. Its first decision is committed and answered, the second one waits;
# controller 2 knows the beginning of the epoch.
BEGINS: Final = LogRecord(1, NOBODY, 0, 1)
FIRST: Final = LogRecord(1, 1, 1, 2)
SECOND: Final = LogRecord(1, 1, 2, 3)
LOG: Final = MetadataLog(1, 1, (BEGINS, FIRST, SECOND), 2)
ANSWER: Final = Answer(1, 1, True, "NONE", 1, 2)
ACTIVE: Final = Controller(1, 3, 1, 2, 1, 2, (Deferred(2, True, 3),))
STANDBY: Final = replace(INITIAL_CONTROLLER, end=1, last=1, committed=1, committed_epoch=1)
SETTLED: Final[Rows] = {METADATA_LOG: LOG, 1: ACTIVE, 2: STANDBY, CLIENTS: Clients(1, (ANSWER,))}


def log(*records: LogRecord, **fields: Any) -> Rows:
    return {**SETTLED, METADATA_LOG: replace(LOG, records=records or LOG.records, **fields)}


def standby(**fields: Any) -> Rows:
    return {**SETTLED, 2: replace(STANDBY, **fields)}


def told(*answers: Answer) -> Rows:
    return {**SETTLED, CLIENTS: Clients(len(answers), answers)}


def plants() -> tuple[Plant, ...]:
    after = {
        "AnswersFromCommitted": told(ANSWER, Answer(1, 2, True, "NONE", 1, 3)),
        "AnsweredDecisionStands": told(replace(ANSWER, operation=2)),
        "AnsweredOnce": told(ANSWER, replace(ANSWER, error="NOT_CONTROLLER")),
        "StandbyKnowsCommitted": standby(end=3),
        "DecisionFollowsKnown": log(BEGINS, FIRST, replace(SECOND, end=2)),
        "OneActiveInEpoch": standby(epoch=1),
        "CommittedStays": log(committed=1),
    }
    return (
        *[Plant(name, SETTLED, rows) for name, rows in after.items()],
        Plant("AnswersFromCommitted", SETTLED, told(replace(ANSWER, writes=False, end=0))),
        Plant("StandbyKnowsCommitted", SETTLED, standby(deferred=ACTIVE.deferred)),
        Plant("DecisionFollowsKnown", SETTLED, log(BEGINS, FIRST, replace(SECOND, epoch=2))),
        Plant("DecisionFollowsKnown", SETTLED, log(replace(FIRST, end=1), FIRST, SECOND)),
        Plant("CommittedStays", SETTLED, log(BEGINS, SECOND, SECOND)),
    )


TWINS: Final = (Plant("CommittedStays", SETTLED, log(BEGINS, FIRST)),)
PLANTED: Final = Planted(CONTROLLERS, TWO, initial_rows(CONTROLLERS, TWO), SETTLED, plants(), TWINS)
