"""What is compared of the names of hosted replicas."""

from kraftcheck.reference.hosting.handlers import HostingHandlers
from kraftcheck.reference.hosting.properties import PROPERTIES
from kraftcheck.reference.hosting.protocol import HOSTING
from kraftcheck.reference.hosting.types import HostRow
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
