"""What is compared of the names of share sessions."""

from kraftcheck.reference.shares.sessions.broker import SessionBrokerHandlers
from kraftcheck.reference.shares.sessions.client import SessionClientHandlers
from kraftcheck.reference.shares.sessions.properties import PROPERTIES
from kraftcheck.reference.shares.sessions.protocol import SESSIONS
from kraftcheck.reference.shares.sessions.types import (
    SessionBroker,
    SessionClient,
    SharedRecord,
    ShareSession,
)
from tests.reference.vocabulary import compared

COMPARED = compared(
    SESSIONS,
    modules=("SessionHandlers",),
    handlers=(SessionBrokerHandlers, SessionClientHandlers),
    models=("sessions-one",),
    properties=PROPERTIES,
    rows={
        "NoSession ==": ShareSession,
        "Undelivered ==": SharedRecord,
        "InitialSessionBroker ==": SessionBroker,
        "InitialSessionClient ==": SessionClient,
    },
)
