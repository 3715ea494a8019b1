"""What is compared of the names of reassignments."""

from reference.reassignment.handlers import ReassignmentHandlers
from reference.reassignment.properties import PROPERTIES
from reference.reassignment.protocol import REASSIGNMENT
from reference.reassignment.types import TopicRow
from tests.reference.vocabulary import compared

COMPARED = compared(
    REASSIGNMENT,
    modules=("Reassignments",),
    handlers=(ReassignmentHandlers,),
    models=("reassignment", "reassignment-notes"),
    properties=PROPERTIES,
    rows={"[registrations |-> brokers, topicId": TopicRow},
    words=("Nobody", "Unassigned", "RangeOf", "Without"),
)
