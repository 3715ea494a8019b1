"""What is compared of the names of groups of the classic protocol."""

from reference.classic import messages, types
from reference.classic.coordinator import CoordinatorHandlers
from reference.classic.member import MemberHandlers
from reference.classic.properties import PROPERTIES
from reference.classic.protocol import CLASSIC
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
