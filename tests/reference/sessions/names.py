"""What is compared of the names of share sessions."""

from kraftcheck.reference.sessions.broker import SessionBrokerHandlers
from kraftcheck.reference.sessions.client import SessionClientHandlers
from kraftcheck.reference.sessions.properties import PROPERTIES
from kraftcheck.reference.sessions.protocol import SESSIONS
from kraftcheck.reference.sessions.types import (
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
