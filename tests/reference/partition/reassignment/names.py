"""What is compared of the names of reassignments."""

from kraftcheck.reference.partition.reassignment.handlers import ReassignmentHandlers
from kraftcheck.reference.partition.reassignment.properties import PROPERTIES
from kraftcheck.reference.partition.reassignment.protocol import REASSIGNMENT
from kraftcheck.reference.partition.reassignment.types import TopicRow
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
