"""Share sessions, as one protocol."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kraftcheck.reference.kit.protocol import (
    ByNode,
    Handlers,
    NodeKind,
    Protocol,
    Substitution,
    World,
)
from kraftcheck.reference.shares.sessions.broker import SessionBrokerHandlers
from kraftcheck.reference.shares.sessions.client import SessionClientHandlers
from kraftcheck.reference.shares.sessions.messages import (
    BROKER,
    BROKER_INPUTS,
    CLIENT_INPUTS,
    MESSAGES,
    AcknowledgeDelivery,
    AcquisitionLockTimeout,
    CloseSession,
    CommitSession,
    ConnectionClosed,
    ConnectionLost,
    PollSession,
    SessionsLost,
)
from kraftcheck.reference.shares.sessions.properties import PROPERTIES
from kraftcheck.reference.shares.sessions.rules import SessionRules
from kraftcheck.reference.shares.sessions.sometimes import sometimes
from kraftcheck.reference.shares.sessions.types import (
    INITIAL_CLIENT,
    Constants,
    SessionBroker,
    SessionClient,
    initial_broker,
)

BROKER_KIND: Final = NodeKind(
    name="session-broker",
    module="SessionHandlers",
    row=SessionBroker,
    inputs=BROKER_INPUTS,
    initial=initial_broker,
    first_row="InitialSessionBroker",
    role=lambda row: "Serving" if any(each.epoch for each in row.sessions) else "Idle",
)
CLIENT_KIND: Final = NodeKind(
    name="session-client",
    module="SessionHandlers",
    row=SessionClient,
    inputs=CLIENT_INPUTS,
    initial=lambda constants: INITIAL_CLIENT,
    first_row="InitialSessionClient",
    role=lambda row: "Closed" if row.closed else "Holding" if row.held else "Idle",
)


def _handlers(constants: Constants, of: Substitution) -> Handlers:
    rules: SessionRules = of(SessionRules)(constants)
    return ByNode({BROKER: of(SessionBrokerHandlers)(rules)}, of(SessionClientHandlers)(rules))


def _local(constants: Constants, node: int, row: Any) -> Iterator[Any]:
    if node == BROKER:
        yield from map(AcquisitionLockTimeout, constants.offsets)
        yield SessionsLost()
        return
    yield from (PollSession(), CommitSession())
    yield from map(AcknowledgeDelivery, dict.fromkeys(each.offset for each in row.held))
    yield from (CloseSession(), ConnectionLost())


SESSIONS: Final = Protocol(
    name="sessions",
    sentence="share consumers fetch and acknowledge in sessions; connections break",
    constants=Constants,
    kinds=(BROKER_KIND, CLIENT_KIND),
    messages=MESSAGES,
    alike="members",
    peers=lambda constants: constants.members,
    nodes=lambda constants: (BROKER, *constants.members),
    kind_of=lambda constants, n: BROKER_KIND if n == BROKER else CLIENT_KIND,
    handlers=_handlers,
    rules=(SessionRules,),
    handler_classes=(SessionBrokerHandlers, SessionClientHandlers),
    sometimes=tuple(sometimes.all),
    world=World(
        constants={
            "members": ((1, 2), (1,), (1, 2, 3)),
            "records": (6, 3, 12),
            "max_connections": (12, 4, 30),
        },
        local=_local,
        properties=PROPERTIES,
        moves=(200, 400),
        in_order=lambda m: 0 if isinstance(m, ConnectionClosed) else m.connection,
        disturbances={
            AcquisitionLockTimeout: (20, 100, 300),
            SessionsLost: (0, 10, 40),
            CloseSession: (0, 5, 20),
            ConnectionLost: (20, 100, 300),
        },
    ),
)
PROTOCOL: Final = SESSIONS
