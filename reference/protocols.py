"""The protocols that there are: the kit's own, and those of others.

Others' are found by an entry point of the group `kraftcheck.protocols`, which names a `Protocol`;
or they are folders with a `protocol.py` that defines `PROTOCOL` (docs/new-protocol.md). Which
folders stands in the environment, so that all processes that work on a run know the same.

The constants of a run name its protocol (L8), so a trace may hold runs of several. A run of a
cluster has several components, each a run of one protocol (reference/cluster/types.py).
"""

from __future__ import annotations

import importlib
import sys
import traceback
from importlib import metadata
from pathlib import Path
from typing import Any, Final, TypeAlias

from reference.cluster.types import ClusterConstants
from reference.groups.protocol import GROUPS
from reference.kit.dispatch import action_name
from reference.kit.fields import has_form
from reference.kit.protocol import NodeKind, Protocol
from reference.partition.protocol import PARTITION
from reference.quorum.protocol import QUORUM
from reference.reassignment.protocol import REASSIGNMENT
from reference.snapshots.protocol import SNAPSHOTS
from reference.transactions.protocol import TRANSACTIONS
from reference.voters.protocol import VOTERS
from system.commands import protocol_folders

GROUP: Final = "kraftcheck.protocols"
CLUSTER, CLUSTER_PARTS = "cluster", (QUORUM.name, PARTITION.name)
"""The composition that there is: a controller quorum, and the partitions of a topic."""

AnyConstants: TypeAlias = Any
"""Of a step."""
RunConstants: TypeAlias = Any
"""Of a run: the same, or those of a cluster."""


class ProtocolError(ValueError):
    """A protocol of others cannot be used. The text is one line: which, why, and what to do."""


def raised(protocol: Protocol, what: str, error: Exception) -> ProtocolError:
    """What to raise from an error that something of a protocol raised."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}"
    said = f"{type(error).__name__}: {error}"
    return ProtocolError(f"protocol {protocol.name}: {what} raised {said} ({place})")


def _others() -> list[Protocol]:
    found = [_of_folder(folder) for folder in protocol_folders()]
    for entry in metadata.entry_points(group=GROUP):
        try:
            found.append(_checked(entry.load(), f"entry point {entry.name}"))
        except (ImportError, AttributeError) as error:
            raise ProtocolError(f"entry point {entry.name}: {error}") from None
    return found


def _of_folder(folder: str) -> Protocol:
    """Raises ProtocolError: no `protocol.py`, or it cannot be loaded, or it defines no PROTOCOL."""
    path = Path(folder).absolute()
    if not (path / "protocol.py").is_file():
        raise ProtocolError(f"{folder}: no protocol: it has no file protocol.py")
    place = str(path.parent)
    if place not in sys.path:
        sys.path.insert(0, place)
    try:
        module = importlib.import_module(f"{path.name}.protocol")
    except Exception as error:  # What others wrote may raise anything.
        raise ProtocolError(f"{folder}: {type(error).__name__}: {error}") from error
    if Path(str(module.__file__)).parent != path:
        raise ProtocolError(
            f"{folder}: there is another package {path.name} ({module.__file__}): rename the folder"
        )
    if not hasattr(module, "PROTOCOL"):
        raise ProtocolError(f"{folder}: protocol.py defines no PROTOCOL")
    return _checked(module.PROTOCOL, folder)


def _checked(found: Any, where: str) -> Protocol:
    """Raises ProtocolError: it is no Protocol, or lacks something."""
    if not isinstance(found, Protocol):
        raise ProtocolError(f"{where}: PROTOCOL is a {type(found).__name__} and no Protocol")
    if not found.kinds:
        raise ProtocolError(f"{where}: protocol {found.name} has no kind of node")
    return found


def _all() -> tuple[Protocol, ...]:
    """Raises ProtocolError: two protocols, kinds or constants have one name."""
    found = [QUORUM, PARTITION, TRANSACTIONS, GROUPS, VOTERS, SNAPSHOTS, REASSIGNMENT]
    for other in _others():
        for what, own, taken in (
            ("a protocol", [other.name], [each.name for each in found]),
            (
                "a kind of node",
                [k.name for k in other.kinds],
                [k.name for p in found for k in p.kinds],
            ),
            (
                "an input",
                [of.__name__ for k in other.kinds for of in k.inputs],
                [of.__name__ for p in found for k in p.kinds for of in k.inputs],
            ),
        ):
            if twice := sorted(set(own) & set(taken)):
                raise ProtocolError(
                    f"protocol {other.name}: there is {what} {twice[0]} already: rename it"
                )
        found.append(other)
    return tuple(found)


PROTOCOLS: Final[tuple[Protocol, ...]] = _all()
KINDS: Final[tuple[NodeKind, ...]] = tuple(
    [kind for protocol in PROTOCOLS for kind in protocol.kinds]
)
MESSAGES: Final = tuple([message for protocol in PROTOCOLS for message in protocol.messages])
"""All types of messages."""
CONSTANTS: Final = (*(protocol.constants for protocol in PROTOCOLS), ClusterConstants)
"""All types of constants of runs."""
_CLIENTS: Final = frozenset().union(*[protocol.clients for protocol in PROTOCOLS])
_BY_NAME: Final = {protocol.name: protocol for protocol in PROTOCOLS}
_BY_CONSTANTS: Final = {protocol.constants: protocol for protocol in PROTOCOLS}
_BY_ROW: Final = {kind.row: kind for kind in KINDS}
_BY_KIND: Final = {kind.name: protocol for protocol in PROTOCOLS for kind in protocol.kinds}


def protocol_of(constants: AnyConstants) -> Protocol:
    """The protocol that has these constants."""
    return _BY_CONSTANTS[type(constants)]


def protocol_of_kind(kind: NodeKind) -> Protocol:
    return _BY_KIND[kind.name]


def extended_by(protocol: Protocol) -> tuple[str, ...]:
    """The names of the protocols whose handlers it takes steps by, the nearest first."""
    if not protocol.extends:
        return ()
    return (protocol.extends, *extended_by(_BY_NAME[protocol.extends]))


def kind_named(name: str) -> NodeKind:
    return next(kind for kind in KINDS if kind.name == name)


def part_of(protocol: Protocol, name: str) -> Any:
    """A module of a protocol's folder, by its name below that; None: there is none."""
    package = protocol.constants.__module__.rpartition(".")[0]
    path = Path(*name.split(".")).with_suffix(".py")
    there = any((Path(each) / path).is_file() for each in importlib.import_module(package).__path__)
    return importlib.import_module(f"{package}.{name}") if there else None


def sources_of_others() -> list[Path]:
    """The files that protocols of others are made of, sorted."""
    folders = {Path(protocol.modules) for protocol in PROTOCOLS if protocol.modules}
    return sorted(path for of in folders for end in ("*.py", "*.tla") for path in of.rglob(end))


def kind_of_row(row: Any) -> NodeKind:
    """The kind of the nodes that have such rows."""
    return _BY_ROW[type(row)]


def parts_of(name: str) -> tuple[Protocol, ...]:
    """The protocols of a scenario: its own, or those of the cluster."""
    names = CLUSTER_PARTS if name == CLUSTER else (name,)
    return tuple(protocol for protocol in PROTOCOLS if protocol.name in names)


def nodes_of(constants: RunConstants) -> tuple[int, ...]:
    """All nodes that take steps under these constants: none, if they are those of a cluster."""
    if isinstance(constants, ClusterConstants):
        return ()
    return protocol_of(constants).nodes(constants)


def peers_of(constants: AnyConstants) -> tuple[int, ...]:
    """The nodes that are alike, sorted."""
    return protocol_of(constants).peers(constants)


def kind_of(constants: RunConstants, node: int) -> NodeKind:
    """Under the constants of a cluster nobody takes a step; what is recorded as one is read as that
    of a partition's node, and has no form."""
    if isinstance(constants, ClusterConstants):
        constants = constants.components[-1]
    return protocol_of(constants).kind_of(constants, node)


def row_has_form(constants: AnyConstants, row: Any) -> bool:
    """Whether a row is one of a node under these constants; only then has it a form in the spec."""
    return has_form(row, len(peers_of(constants)))


def is_composed(constants: RunConstants) -> bool:
    """Whether they are those of a cluster, under which nobody takes a step."""
    return isinstance(constants, ClusterConstants)


def components_of(constants: RunConstants) -> tuple[AnyConstants, ...]:
    """The constants of each component of a run."""
    return constants.components if isinstance(constants, ClusterConstants) else (constants,)


def component_name(constants: RunConstants, component: int) -> str:
    """What a component is called where there are several, else empty."""
    if not isinstance(constants, ClusterConstants):
        return ""
    return f"partition {component - 1}" if component else "the quorum"


def needs_no_sender(message: Any) -> bool:
    """Whether a message comes from outside of all nodes: what clients ask."""
    return message.source in _CLIENTS


_LOGS: Final = tuple([protocol.shared for protocol in PROTOCOLS if protocol.shared is not None])
LOGS_BY_READING: Final = {log.read: log for log in _LOGS}
"""The logs that nodes share, by the input with which they are read."""
LOGS_BY_WRITING: Final = {log.written: log for log in _LOGS}


def is_written(message: Any) -> bool:
    """Whether a message is records for a log that nodes share."""
    log = LOGS_BY_WRITING.get(type(message))
    return log is not None and message.destination == log.address


def may_have(action: str, constants: RunConstants, other: RunConstants) -> bool:
    """Whether a step of this action may have such constants in a run that has the others."""
    if type(constants) is not type(other) or is_composed(other):
        return False
    relisted = protocol_of(other).relisted.get(action)
    return relisted is not None and relisted(constants, other)


def actions() -> tuple[str, ...]:
    """Of all protocols, each once."""
    return tuple(dict.fromkeys(action_name(of) for kind in KINDS for of in kind.inputs))
