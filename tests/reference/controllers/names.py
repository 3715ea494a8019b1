"""What is compared of the names of controllers."""

from kraftcheck.reference.controllers.handlers import ControllerHandlers, MetadataLogHandlers
from kraftcheck.reference.controllers.properties import PROPERTIES
from kraftcheck.reference.controllers.protocol import CONTROLLERS
from kraftcheck.reference.controllers.types import Clients, Controller, MetadataLog
from tests.reference.vocabulary import compared

COMPARED = compared(
    CONTROLLERS,
    modules=("ControllerHandlers",),
    handlers=(MetadataLogHandlers, ControllerHandlers),
    models=("controllers-two",),
    properties=PROPERTIES,
    rows={
        "InitialMetadataLog ==": MetadataLog,
        "InitialController ==": Controller,
        "InitialClients ==": Clients,
    },
)
