"""What is compared of the names of reassignments."""

from kraftcheck.reference.reassignment.handlers import ReassignmentHandlers
from kraftcheck.reference.reassignment.properties import PROPERTIES
from kraftcheck.reference.reassignment.protocol import REASSIGNMENT
from kraftcheck.reference.reassignment.types import TopicRow
from tests.reference.vocabulary import compared

COMPARED = compared(
    REASSIGNMENT,
    modules=("Reassignments",),
    handlers=(ReassignmentHandlers,),
    models=("reassignment", "reassignment-notes"),
    properties=PROPERTIES,
    rows={"[registrations |-> brokers, topicId": TopicRow},
    words=("Nobody", "Unassigned", "RangeOf", "Without", "MinIsr"),
)
