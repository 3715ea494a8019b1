"""What is compared of the names of groups of the classic protocol."""

from kraftcheck.reference.groups.classic import messages, types
from kraftcheck.reference.groups.classic.coordinator import CoordinatorHandlers
from kraftcheck.reference.groups.classic.member import MemberHandlers
from kraftcheck.reference.groups.classic.properties import PROPERTIES
from kraftcheck.reference.groups.classic.protocol import CLASSIC
from tests.reference.vocabulary import compared

COMPARED = compared(
    CLASSIC,
    modules=("ClassicHandlers", "ClassicMember"),
    handlers=(CoordinatorHandlers, MemberHandlers),
    models=("classic-two",),
    properties=PROPERTIES,
    rows={
        "NoMember ==": messages.ClassicRecord,
        "NoGroup ==": messages.ClassicImage,
        "InitialCoordinator ==": types.ClassicCoordinator,
        "InitialMember ==": types.ClassicMember,
    },
    words=("Nobody", "NoGeneration", "ClaimsOf"),
)
