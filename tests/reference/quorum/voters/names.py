"""What is compared of the names of changes of the voters."""

from kraftcheck.reference.quorum.types import Row
from kraftcheck.reference.quorum.voters.handlers import VoterHandlers
from kraftcheck.reference.quorum.voters.properties import PROPERTIES
from kraftcheck.reference.quorum.voters.protocol import VOTERS
from kraftcheck.reference.quorum.voters.types import VoterRow
from tests.reference.vocabulary import compared

COMPARED = compared(
    VOTERS,
    modules=("VoterChanges",),
    handlers=(VoterHandlers,),
    models=("voters", "voters-bootstrap"),
    properties=PROPERTIES,
    rows={"InitialRow(n) ==": VoterRow},
    base=Row,
    words=("VotersRecord", "SetsIn", "LastOf"),
)
