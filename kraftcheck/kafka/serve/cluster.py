"""A cluster: the core, with all that it serves."""

from __future__ import annotations

from kraftcheck.kafka.serve.administrators import Administrators
from kraftcheck.kafka.serve.core import Core
from kraftcheck.kafka.serve.data import Data
from kraftcheck.kafka.serve.groups import Groups
from kraftcheck.kafka.serve.metadata import Metadata
from kraftcheck.kafka.serve.offsets import Offsets
from kraftcheck.kafka.serve.partition import Observer
from kraftcheck.kafka.serve.producers import Producers
from kraftcheck.kafka.serve.restoring import Restoring
from kraftcheck.kafka.serve.security import Security
from kraftcheck.kafka.serve.settings import Settings
from kraftcheck.kafka.serve.transactions import Transactions
from kraftcheck.kafka.serve.world import Setup


def cluster(
    setup: Setup,
    watched: bool = False,
    recorded: bool = False,
    observer: Observer | None = None,
) -> Core:
    """watched, recorded, observer: as in `ServedWorld`."""
    core = Core(setup, watched, recorded, observer)
    groups, producers = Groups(core), Producers(core)
    metadata = Metadata(core)
    data = Data(core, producers)
    core.served = metadata.served | data.served | groups.served
    core.served |= Administrators(core, metadata, data).served
    core.served |= Offsets(core, groups, producers).served
    transactions = Transactions(core, producers)
    core.served |= transactions.served
    Restoring(core, transactions)
    core.served |= Settings(core).served
    security = Security(core)
    core.served |= security.served
    core.gate = security.gate
    return core
