"""The protocols whose runs are judged, and the kinds of nodes that take their steps.

Law of this file: whatever differs from one protocol to another in the judgement of runs is said
here, or chosen here; the rest of the jobs knows constants, nodes, rows and inputs as values. The
constants of a run name its protocol (L8), so a part may hold runs of several. A run of a cluster
has several components, each a run of one protocol (reference/core/cluster_types.py).

    VOTER        a voter of the controller quorum       specs/steps/StepQuorum.tla
    BROKER       a broker, as far as one partition goes specs/steps/StepPartition.tla
    CONTROLLER   the partition's controller             specs/steps/StepPartitionController.tla
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from reference.core import messages as quorum_messages
from reference.core import partition_messages
from reference.core import partition_types as partition
from reference.core import types as quorum
from reference.core.cluster_types import ClusterConstants, ComponentConstants
from reference.core.dispatch import action_name
from reference.core.fields import has_form
from reference.core.partition_messages import CLIENTS, CONTROLLER
from reference.core.types import Constants
from traces.schema import TraceError

AnyConstants: TypeAlias = ComponentConstants
"""Of a step."""
RunConstants: TypeAlias = ComponentConstants | ClusterConstants
AnyInput: TypeAlias = quorum_messages.Input | partition_messages.Input | partition_messages.Message


class NodeKind(NamedTuple):
    """What there is to know of a kind of node.

    frame: the module in which its steps are judged. row: the type of its rows. inputs: the types of
    what it receives. initial: the first
    row under these constants. is_running: whether messages reach it. role: in a word, for
    explanations. shifted: the actions that only compare positions, pass them on and count from
    them; of the others, most do not mention them, and those that make rows from nothing begin with
    `first_position`.
    """

    name: str
    frame: str
    row: type[msgspec.Struct]
    inputs: tuple[type[msgspec.Struct], ...]
    initial: Callable[[Any], Any]
    is_running: Callable[[Any], bool]
    role: Callable[[Any], str]
    shifted: frozenset[str] = frozenset()
    first_position: int = 0

    @property
    def actions(self) -> tuple[str, ...]:
        """Those that handle what it receives."""
        return tuple([action_name(of) for of in self.inputs])

    @property
    def decode(self) -> Callable[[bytes], Any]:
        """From the bytes of a row. Raises msgspec.MsgspecError for what is none."""
        return _decoder(self.row).decode

    def has_form(self, constants: AnyConstants, row: Any) -> bool:
        """Whether a row is one of a node under these constants; only then has it a form in the
        spec."""
        return has_form(row, len(peers_of(constants)))


@cache
def _decoder(row: type[msgspec.Struct]) -> msgspec.msgpack.Decoder[Any]:
    return msgspec.msgpack.Decoder(row)


VOTER: Final = NodeKind(
    name="voter",
    frame="StepQuorum",
    row=quorum.Row,
    inputs=quorum_messages.INPUTS,
    initial=quorum.initial_row,
    is_running=quorum.is_running,
    role=lambda row: str(row.role),
)
BROKER: Final = NodeKind(
    name="broker",
    frame="StepPartition",
    row=partition.BrokerRow,
    inputs=partition_messages.BROKER_INPUTS,
    initial=partition.initial_row,
    is_running=partition.is_up,
    role=lambda row: str(row.status if row.status != "Running" else row.role),
    shifted=frozenset(
        {"HandleMetadataUpdate", "HandleMetadataUpdate_Aside", "HandleSendHeartbeat"}
    ),
    first_position=partition.INITIAL_OFFSET,
)
CONTROLLER_KIND: Final = NodeKind(
    name="controller",
    frame="StepPartitionController",
    row=partition.ControllerRow,
    inputs=partition_messages.CONTROLLER_INPUTS,
    initial=partition.initial_controller,
    is_running=lambda _: True,
    role=lambda _: "Controller",
)


class Protocol(NamedTuple):
    """What there is to know of a protocol.

    constants: the type of its constants, which name it (L8). kinds: of nodes. messages: all types
    of them. peers: the nodes that are alike, sorted, under some constants: functions by node have
    an entry for each. nodes: all that take steps. kind_of: under some constants, of one of them.
    """

    name: str
    constants: type[ComponentConstants]
    kinds: tuple[NodeKind, ...]
    messages: tuple[type[Any], ...]
    peers: Callable[[Any], tuple[int, ...]]
    nodes: Callable[[Any], tuple[int, ...]]
    kind_of: Callable[[Any, int], NodeKind]


PROTOCOLS: Final[tuple[Protocol, ...]] = (
    Protocol(
        name="quorum",
        constants=Constants,
        kinds=(VOTER,),
        messages=quorum_messages.MESSAGES,
        peers=lambda constants: constants.voters,
        nodes=lambda constants: constants.voters,
        kind_of=lambda constants, node: VOTER,
    ),
    Protocol(
        name="partition",
        constants=partition.PartitionConstants,
        kinds=(BROKER, CONTROLLER_KIND),
        messages=partition_messages.MESSAGES,
        peers=lambda constants: constants.brokers,
        nodes=lambda constants: (*constants.brokers, CONTROLLER),
        kind_of=lambda constants, node: CONTROLLER_KIND if node == CONTROLLER else BROKER,
    ),
)
KINDS: Final[tuple[NodeKind, ...]] = tuple(
    [kind for protocol in PROTOCOLS for kind in protocol.kinds]
)
FRAMES: Final = tuple([kind.frame for kind in KINDS])
MESSAGES: Final = tuple([message for protocol in PROTOCOLS for message in protocol.messages])
"""All types of messages."""
_BY_CONSTANTS: Final = {protocol.constants: protocol for protocol in PROTOCOLS}


def protocol_of(constants: ComponentConstants) -> Protocol:
    """The protocol that has these constants."""
    return _BY_CONSTANTS[type(constants)]


def nodes_of(constants: RunConstants) -> tuple[int, ...]:
    """All nodes that take steps under these constants: none, if they are those of a cluster."""
    if isinstance(constants, ClusterConstants):
        return ()
    return protocol_of(constants).nodes(constants)


def peers_of(constants: ComponentConstants) -> tuple[int, ...]:
    """The nodes that are alike, sorted."""
    return protocol_of(constants).peers(constants)


def kind_of(constants: RunConstants, node: int) -> NodeKind:
    """Under the constants of a cluster nobody takes a step; what is recorded as one is read as that
    of a partition's node, and has no form."""
    if isinstance(constants, ClusterConstants):
        constants = constants.components[-1]
    return protocol_of(constants).kind_of(constants, node)


def components_of(constants: RunConstants) -> tuple[ComponentConstants, ...]:
    """The constants of each component of a run."""
    return constants.components if isinstance(constants, ClusterConstants) else (constants,)


def component_name(constants: RunConstants, component: int) -> str:
    """What a component is called where there are several, else empty."""
    if not isinstance(constants, ClusterConstants):
        return ""
    return f"partition {component - 1}" if component else "the quorum"


def constants_text(constants: RunConstants) -> str:
    """As a trace has them."""
    return msgspec.json.encode(constants, order="sorted").decode()


def kind_of_frame(frame: str) -> NodeKind:
    return next(kind for kind in KINDS if kind.frame == frame)


def needs_no_sender(message: Any) -> bool:
    """Whether a message comes from outside of all nodes: what clients ask."""
    return bool(message.source == CLIENTS)


_decode_constants = msgspec.json.Decoder(RunConstants).decode
_decode_input = msgspec.msgpack.Decoder(AnyInput).decode


def decode_constants(text: str) -> RunConstants:
    """Raises TraceError for what names no constants."""
    try:
        found: RunConstants = _decode_constants(text)
    except (msgspec.MsgspecError, AssertionError) as error:
        raise TraceError(f"constants {text!r}: {error}") from None
    return found


def decode_step_constants(text: str) -> AnyConstants:
    """The same for those of a step, which a cluster has none of."""
    found = decode_constants(text)
    if isinstance(found, ClusterConstants):
        raise TraceError(f"constants {text!r}: a cluster takes no steps, its components do")
    return found


def actions_of(texts: Iterable[str]) -> tuple[str, ...]:
    """All actions of the protocols that have these constants, each once."""
    components = [each for text in texts for each in components_of(decode_constants(text))]
    protocols = [protocol_of(constants) for constants in components]
    names = [a for protocol in protocols for kind in protocol.kinds for a in kind.actions]
    return tuple(dict.fromkeys(names))


def decode_input(body: bytes) -> Any:
    """An input or a sent message. Raises msgspec.MsgspecError for what is none."""
    return _decode_input(body)
