"""What is compared of the names of hosted replicas."""

from reference.hosting.handlers import HostingHandlers
from reference.hosting.properties import PROPERTIES
from reference.hosting.protocol import HOSTING
from reference.hosting.types import HostRow
from tests.reference.vocabulary import compared

COMPARED = compared(
    HOSTING,
    modules=("Hosting",),
    handlers=(HostingHandlers,),
    models=("hosting",),
    properties=PROPERTIES,
    rows={"InitialRow(n) ==": HostRow},
    words=("Unassigned", "Undefined"),
)
