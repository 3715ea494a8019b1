"""A cluster: the core, with all that it serves."""

from __future__ import annotations

from kraftcheck.serve.administrators import Administrators
from kraftcheck.serve.core import Core
from kraftcheck.serve.data import Data
from kraftcheck.serve.groups import Groups
from kraftcheck.serve.metadata import Metadata
from kraftcheck.serve.offsets import Offsets
from kraftcheck.serve.partition import Observer
from kraftcheck.serve.producers import Producers
from kraftcheck.serve.restoring import Restoring
from kraftcheck.serve.security import Security
from kraftcheck.serve.settings import Settings
from kraftcheck.serve.transactions import Transactions
from kraftcheck.serve.world import Setup


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
