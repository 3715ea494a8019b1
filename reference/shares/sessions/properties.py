"""Properties of share sessions: the twin of SessionProperties.tla.

Law of this file: no rule is asked, or else replacing one would change the property with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any, Final

import msgspec

from kraftcheck.reference.kit.fields import NOBODY
from kraftcheck.reference.kit.properties import of_state
from kraftcheck.reference.shares.sessions.messages import BROKER, Delivery
from kraftcheck.reference.shares.sessions.types import (
    Constants,
    SessionBroker,
    SessionClient,
    SharedRecord,
    ShareSession,
)


class State(msgspec.Struct):
    """All rows, by what they are."""

    broker: SessionBroker
    clients: Mapping[int, SessionClient]
    sessions: Mapping[int, ShareSession]
    closed: Mapping[int, int]


def state_of(constants: Constants, rows: Mapping[int, Any]) -> State:
    broker: SessionBroker = rows[BROKER]
    return State(
        broker,
        {n: rows[n] for n in constants.members},
        dict(zip(constants.members, broker.sessions, strict=True)),
        dict(zip(constants.members, broker.closed, strict=True)),
    )


named = of_state(state_of)


def _cells(row: SessionBroker) -> Iterator[tuple[int, SharedRecord]]:
    return enumerate(row.cells, 1)


def _acknowledged(row: SessionClient) -> set[Delivery]:
    """What the application has acknowledged."""
    return {*row.acks, *row.sent, *row.done, *row.failed}


# --- Of states


def sessions_type_inv(state: State) -> str | None:
    """The holder of an acquired record is known, and the connection of a session.

    Misses: a wrong holder.
    """
    for offset, cell in _cells(state.broker):
        if (cell.state == "Acquired") != (cell.member != NOBODY):
            return f"offset {offset} is {cell.state}, and its holder {cell.member}"
    for n, session in state.sessions.items():
        if (session.epoch == 0) != (session.connection == 0):
            return f"member {n} has epoch {session.epoch} on connection {session.connection}"
    return None


def one_delivery(state: State) -> str | None:
    """Each delivery of a record has one consumer.

    Misses: a consumer whose session has ended and that still holds the record.
    """
    for (m, one), (n, other) in combinations(state.clients.items(), 2):
        if both := {*one.held} & {*other.held}:
            return f"members {m} and {n} hold a delivery of offset {min(both).offset}"
    return None


def sent_is_under_way(state: State) -> str | None:
    """A consumer waits for an acknowledgement only while a request is under way.

    Misses: a request that waits for ever.
    """
    for n, row in state.clients.items():
        if row.request == "None" and row.sent:
            return f"member {n} waits for offset {row.sent[0].offset}, and for no request"
    return None


def new_session_has_no_acks(state: State) -> str | None:
    """The first request of a session acknowledges nothing, because the broker would refuse all of
    it.

    Misses: a later request with an old epoch.
    """
    for n, row in state.clients.items():
        if row.request == "Fetch" and row.epoch == 0 and row.sent:
            return f"member {n} begins a session, and acknowledges offset {row.sent[0].offset}"
    return None


def done_was_acked(state: State) -> str | None:
    """A record is done after an application has acknowledged it.

    Misses: an acknowledgement of a former delivery.
    """
    acked = {each.offset for row in state.clients.values() for each in _acknowledged(row)}
    for offset, cell in _cells(state.broker):
        if cell.state == "Done" and offset not in acked:
            return f"offset {offset} is done, and nobody has acknowledged it"
    return None


def acked_is_done(state: State) -> str | None:
    """What was acknowledged without an error is done.

    Misses: a success that the consumer never received.
    """
    for n, row in state.clients.items():
        for each in row.done:
            cell = state.broker.cells[each.offset - 1]
            if cell.state != "Done":
                return f"member {n} acknowledged offset {each.offset}, which is {cell.state}"
    return None


def session_is_of_connection(state: State) -> str | None:
    """A consumer uses only a session that began on its connection.

    Misses: a consumer with a request under way.
    """
    for n, row in state.clients.items():
        session = state.sessions[n]
        uses = row.request == "None" and row.epoch != 0 and session.epoch != 0
        if uses and session.connection != row.connection:
            return (
                f"member {n} has connection {row.connection}, and its session is of "
                f"{session.connection}"
            )
    return None


# --- Of steps


def ack_is_not_lost(old: State, new: State) -> str | None:
    """An acknowledgement stays until the application knows its outcome.

    Misses: a wrong outcome.
    """
    for n, row in old.clients.items():
        lost = {*row.acks, *row.sent} - _acknowledged(new.clients[n])
        if lost:
            return f"member {n} has lost the acknowledgement of offset {min(lost).offset}"
    return None


def session_ends_with_connection(old: State, new: State) -> str | None:
    """A session ends with its own connection, or by its consumer's last request.

    Misses: a session that never ends.
    """
    for n, session in old.sessions.items():
        ends = session.epoch != 0 and new.sessions[n].epoch == 0
        if (
            ends
            and new.broker.restarts == old.broker.restarts
            and new.closed[n] < session.connection
        ):
            return f"the session of member {n} ends, and connection {session.connection} is open"
    return None


def session_end_releases(old: State, new: State) -> str | None:
    """The end of a session releases all that its member holds.

    Misses: what a restart of the broker forgets.
    """
    for n, session in old.sessions.items():
        if session.epoch == 0 or new.sessions[n].epoch != 0:
            continue
        for offset, cell in _cells(new.broker):
            if cell.member == n:
                return f"the session of member {n} ended, and it holds offset {offset}"
    return None


PROPERTIES: Final = (
    named("SessionsTypeInv", sessions_type_inv, "broker"),
    named("OneDelivery", one_delivery, "clients"),
    named("SentIsUnderWay", sent_is_under_way, "clients"),
    named("NewSessionHasNoAcks", new_session_has_no_acks, "clients"),
    named("DoneWasAcked", done_was_acked, "broker", "clients"),
    named("AckedIsDone", acked_is_done, "broker", "clients"),
    named("SessionIsOfConnection", session_is_of_connection, "broker", "clients"),
    named("AckIsNotLost", ack_is_not_lost, "clients"),
    named("SessionEndsWithConnection", session_ends_with_connection, "broker"),
    named("SessionEndReleases", session_end_releases, "broker"),
)
