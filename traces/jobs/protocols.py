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

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from reference.core import messages as quorum_messages
from reference.core import partition_messages
from reference.core import partition_types as partition
from reference.core import types as quorum
from reference.core.cluster_types import ClusterConstants, ComponentConstants
from reference.core.partition_messages import CLIENTS, CONTROLLER
from reference.core.types import Constants
from traces.schema import TraceError

AnyConstants: TypeAlias = ComponentConstants
"""Of a step."""
RunConstants: TypeAlias = ComponentConstants | ClusterConstants
AnyInput: TypeAlias = quorum_messages.Input | partition_messages.Input | partition_messages.Message

SPECS: Final = Path(__file__).resolve().parents[2] / "specs"
"""Where the specifications lie."""

MESSAGES: Final = (*quorum_messages.MESSAGES, *partition_messages.MESSAGES)
"""All types of messages."""
FRAMES: Final = ("StepQuorum", "StepPartition", "StepPartitionController")


class NodeKind(NamedTuple):
    """What there is to know of a kind of node.

    frame: the module in which its steps are judged. decode: from the bytes of a row. initial: the
    first row under these constants. is_running: whether messages reach it. role: in a word, for
    explanations. has_form: whether a row is one of a node under these constants; only then has it a
    form in the spec.
    """

    name: str
    frame: str
    decode: Callable[[bytes], Any]
    initial: Callable[[Any], Any]
    is_running: Callable[[Any], bool]
    role: Callable[[Any], str]
    has_form: Callable[[Any, Any], bool]


def _is_set(members: tuple[Any, ...]) -> bool:
    return len(set(members)) == len(members)


def _is_voters_row(constants: Constants, row: quorum.Row) -> bool:
    aligned = len(row.end_offsets) == len(row.connections) == len(constants.voters)
    sets = (row.granted, row.rejected, row.fetched_voters, row.unacked, row.parked)
    return aligned and all(map(_is_set, sets))


def _is_brokers_row(constants: partition.PartitionConstants, row: partition.BrokerRow) -> bool:
    aligned = len(row.remotes) == len(row.image.brokers) == len(constants.replicas)
    of_partition = row.image.partition
    sets = (row.isr, row.producers, row.parked, row.fetching, row.pending.isr)
    return aligned and all(map(_is_set, (*sets, of_partition.isr, of_partition.elr)))


def _is_controllers_row(
    constants: partition.PartitionConstants, row: partition.ControllerRow
) -> bool:
    aligned = len(row.registrations) == len(row.contacts) == len(constants.replicas)
    return aligned and _is_set(row.partition.isr) and _is_set(row.partition.elr)


VOTER: Final = NodeKind(
    name="voter",
    frame="StepQuorum",
    decode=msgspec.msgpack.Decoder(quorum.Row).decode,
    initial=quorum.initial_row,
    is_running=quorum.is_running,
    role=lambda row: str(row.role),
    has_form=_is_voters_row,
)
BROKER: Final = NodeKind(
    name="broker",
    frame="StepPartition",
    decode=msgspec.msgpack.Decoder(partition.BrokerRow).decode,
    initial=partition.initial_row,
    is_running=partition.is_up,
    role=lambda row: str(row.status if row.status != "Running" else row.role),
    has_form=_is_brokers_row,
)
CONTROLLER_KIND: Final = NodeKind(
    name="controller",
    frame="StepPartitionController",
    decode=msgspec.msgpack.Decoder(partition.ControllerRow).decode,
    initial=partition.initial_controller,
    is_running=lambda _: True,
    role=lambda _: "Controller",
    has_form=_is_controllers_row,
)
KINDS: Final = (VOTER, BROKER, CONTROLLER_KIND)


def nodes_of(constants: RunConstants) -> tuple[int, ...]:
    """All nodes that take steps under these constants: none, if they are those of a cluster."""
    if isinstance(constants, ClusterConstants):
        return ()
    if isinstance(constants, Constants):
        return constants.voters
    return (*constants.brokers, CONTROLLER)


def kind_of(constants: RunConstants, node: int) -> NodeKind:
    if isinstance(constants, Constants):
        return VOTER
    return CONTROLLER_KIND if node == CONTROLLER else BROKER


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


def decode_input(body: bytes) -> Any:
    """An input or a sent message. Raises msgspec.MsgspecError for what is none."""
    return _decode_input(body)
