"""What is compared of the names of groups whose members commit offsets."""

from kraftcheck.reference.groups.client import MemberHandlers
from kraftcheck.reference.groups.commits import messages, types
from kraftcheck.reference.groups.commits.handlers import (
    CommitsCoordinatorHandlers,
    CommittingMemberHandlers,
)
from kraftcheck.reference.groups.commits.properties import PROPERTIES
from kraftcheck.reference.groups.commits.protocol import COMMITS
from kraftcheck.reference.groups.coordinator import CoordinatorHandlers
from tests.reference.vocabulary import compared

COMPARED = compared(
    COMMITS,
    modules=("GroupHandlers", "MembershipClient", "CommitHandlers"),
    handlers=(
        *(CoordinatorHandlers, MemberHandlers),
        *(CommitsCoordinatorHandlers, CommittingMemberHandlers),
    ),
    models=("groups-commits",),
    properties=PROPERTIES,
    rows={
        "InitialCommitsCoordinator ==": types.CommitsCoordinator,
        "InitialCommittingMember ==": types.CommittingMember,
        "!.requested = {": messages.AskedCommit,
    },
    messages_alone=("AnswerAfterCommit", "CommitDurable"),
)
