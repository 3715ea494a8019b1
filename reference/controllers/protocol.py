"""Controllers, as one protocol."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kraftcheck.reference.controllers.handlers import ControllerHandlers, MetadataLogHandlers
from kraftcheck.reference.controllers.messages import (
    CLIENT_INPUTS,
    CLIENTS,
    CONTROLLER_INPUTS,
    LOG_INPUTS,
    MESSAGES,
    METADATA_LOG,
    AdvanceHighWatermark,
    ControllerResponse,
    ElectVoter,
    WriteEvent,
)
from kraftcheck.reference.controllers.properties import PROPERTIES
from kraftcheck.reference.controllers.rules import ControllerRules
from kraftcheck.reference.controllers.sometimes import sometimes
from kraftcheck.reference.controllers.types import (
    INITIAL_CLIENTS,
    INITIAL_CONTROLLER,
    INITIAL_LOG,
    Clients,
    Constants,
    Controller,
    MetadataLog,
)
from kraftcheck.reference.kit.protocol import (
    ByNode,
    Handlers,
    NodeKind,
    Protocol,
    Substitution,
    Witness,
    World,
)

LOG_KIND: Final = NodeKind(
    name="metadata-log",
    module="ControllerHandlers",
    row=MetadataLog,
    inputs=LOG_INPUTS,
    initial=lambda constants: INITIAL_LOG,
    first_row="InitialMetadataLog",
    role=lambda row: "Led" if row.epoch else "New",
)
CONTROLLER_KIND: Final = NodeKind(
    name="active-controller",
    module="ControllerHandlers",
    row=Controller,
    inputs=CONTROLLER_INPUTS,
    initial=lambda constants: INITIAL_CONTROLLER,
    first_row="InitialController",
    role=lambda row: "Active" if row.epoch else "Standby",
)
CLIENTS_KIND: Final = NodeKind(
    name="controller-clients",
    module="ControllerHandlers",
    row=Clients,
    inputs=CLIENT_INPUTS,
    initial=lambda constants: INITIAL_CLIENTS,
    first_row="InitialClients",
    role=lambda row: "Clients",
)
_ALONE: Final = {METADATA_LOG: LOG_KIND, CLIENTS: CLIENTS_KIND}


def _handlers(constants: Constants, of: Substitution) -> Handlers:
    rules: ControllerRules = of(ControllerRules)(constants)
    return ByNode(
        {METADATA_LOG: of(MetadataLogHandlers)(rules)},
        of(ControllerHandlers)(rules),
    )


def _local(constants: Constants, node: int, row: Any) -> Iterator[Any]:
    if node == METADATA_LOG:
        yield AdvanceHighWatermark()
        for voter in constants.controllers:
            for end in range(row.committed, len(row.records) + 1):
                yield ElectVoter(voter, end)
    elif node != CLIENTS:
        yield from (WriteEvent(True), WriteEvent(False))


CONTROLLERS: Final = Protocol(
    name="controllers",
    sentence="controllers decide ahead of what is committed, and answer after it",
    constants=Constants,
    kinds=(LOG_KIND, CONTROLLER_KIND, CLIENTS_KIND),
    messages=MESSAGES,
    alike="controllers",
    peers=lambda constants: constants.controllers,
    nodes=lambda constants: (METADATA_LOG, *constants.controllers, CLIENTS),
    kind_of=lambda constants, n: _ALONE.get(n, CONTROLLER_KIND),
    handlers=_handlers,
    rules=(ControllerRules,),
    handler_classes=(MetadataLogHandlers, ControllerHandlers),
    sometimes=tuple(sometimes.all),
    spelt={CLIENTS: "clients"},
    witness=Witness("QuorumController", fewest=1, most=5, usual=3),
    world=World(
        constants={
            "controllers": ((1, 2, 3), (1,), (1, 2), (1, 2, 3, 4, 5)),
            "max_epochs": (20, 60),
            "max_operations": (60, 200),
        },
        local=_local,
        properties=PROPERTIES,
        moves=(100, 300),
        in_order=lambda message: not isinstance(message, ControllerResponse),
        at_once=lambda message: isinstance(message, ControllerResponse),
        disturbances={ElectVoter: (10, 50, 200)},
    ),
)
PROTOCOL: Final = CONTROLLERS
