"""What is compared of the names of hosted replicas."""

from kraftcheck.reference.partition.hosting.handlers import HostingHandlers
from kraftcheck.reference.partition.hosting.properties import PROPERTIES
from kraftcheck.reference.partition.hosting.protocol import HOSTING
from kraftcheck.reference.partition.hosting.types import HostRow
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
