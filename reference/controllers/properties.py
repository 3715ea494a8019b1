"""Properties of controllers: the twin of ControllerProperties.tla.

Law of this file: no rule is asked, or else replacing one would change the property with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations, pairwise
from typing import Any, Final

import msgspec

from kraftcheck.reference.controllers.messages import CLIENTS, METADATA_LOG
from kraftcheck.reference.controllers.types import (
    Answer,
    Clients,
    Constants,
    Controller,
    MetadataLog,
)
from kraftcheck.reference.kit.fields import NOBODY
from kraftcheck.reference.kit.properties import of_state


class State(msgspec.Struct):
    """All rows, by what they are."""

    log: MetadataLog
    controllers: Mapping[int, Controller]
    clients: Clients

    def successes(self) -> Iterator[Answer]:
        return (each for each in self.clients.answers if each.error == "NONE")

    def is_committed(self, end: int, epoch: int) -> bool:
        """Whether what ends so with a record of this epoch is committed."""
        log = self.log
        return end == 0 or (end <= log.committed and log.records[end - 1].epoch == epoch)


def state_of(constants: Constants, rows: Mapping[int, Any]) -> State:
    return State(rows[METADATA_LOG], {n: rows[n] for n in constants.controllers}, rows[CLIENTS])


named = of_state(state_of)


def _told(answer: Answer) -> str:
    return f"controller {answer.controller} has answered request {answer.operation}"


# --- Of states


def answers_from_committed(state: State) -> str | None:
    """An answer rests on committed records alone.

    Misses: an old state.
    """
    for each in state.successes():
        if not each.end or not state.is_committed(each.end, each.epoch):
            return f"{_told(each)} by {each.end} records of epoch {each.epoch}, not committed"
    return None


def answered_decision_stands(state: State) -> str | None:
    """A decision with records that is answered is the record before its end.

    Misses: an answer that never comes.
    """
    for each in state.successes():
        if each.writes and each.end <= len(state.log.records):
            there = state.log.records[each.end - 1]
            if (there.controller, there.operation) != (each.controller, each.operation):
                return f"{_told(each)}, and record {each.end} is another"
    return None


def answered_once(state: State) -> str | None:
    """A request is answered once.

    Misses: a request that is never answered.
    """
    first: dict[tuple[int, int], Answer] = {}
    for each in state.clients.answers:
        request = each.controller, each.operation
        if request in first:
            return f"{_told(each)} twice: {first[request].error} and {each.error}"
        first[request] = each
    return None


def standby_knows_committed(state: State) -> str | None:
    """A standby has committed records alone, and nothing waits for it.

    Misses: how much of them.
    """
    for n, row in state.controllers.items():
        if row.epoch:
            continue
        if row.deferred:
            return f"controller {n} is a standby, and request {row.deferred[0].operation} waits"
        if not state.is_committed(row.end, row.last):
            return f"controller {n} is a standby with {row.end} records, not all committed"
    return None


def decision_follows_known(state: State) -> str | None:
    """A decision stands in the log where its controller expects it, after what that controller
    knew.

    Misses: a decision that is lost.
    """
    records = state.log.records
    if records and records[0].controller != NOBODY:
        return "the first record begins no epoch"
    for at, (before, record) in enumerate(pairwise(records), 2):
        if record.controller == NOBODY:
            continue
        if record.end != at or before.epoch != record.epoch:
            return f"record {at} is a decision that expects to be record {record.end}"
    return None


def one_active_in_epoch(state: State) -> str | None:
    """One controller is active in an epoch.

    Misses: several in several epochs.
    """
    for (m, one), (n, other) in combinations(state.controllers.items(), 2):
        if one.epoch and one.epoch == other.epoch:
            return f"controllers {m} and {n} are active in epoch {one.epoch}"
    return None


# --- Of steps


def committed_stays(old: State, new: State) -> str | None:
    """What is committed stays.

    Misses: nothing.
    """
    end = old.log.committed
    if new.log.committed < end:
        return f"{new.log.committed} records are committed, and {end} were"
    if new.log.records[:end] != old.log.records[:end]:
        return f"one of the first {end} records has changed, and they were committed"
    return None


PROPERTIES: Final = (
    named("AnswersFromCommitted", answers_from_committed, "log", "clients"),
    named("AnsweredDecisionStands", answered_decision_stands, "log", "clients"),
    named("AnsweredOnce", answered_once, "clients"),
    named("StandbyKnowsCommitted", standby_knows_committed, "log", "controllers"),
    named("DecisionFollowsKnown", decision_follows_known, "log"),
    named("OneActiveInEpoch", one_active_in_epoch, "controllers"),
    named("CommittedStays", committed_stays, "log"),
)
