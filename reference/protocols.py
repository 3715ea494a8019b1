"""The protocols that there are: the kit's own, and those of others.

Others' are found by an entry point of the group `kraftcheck.protocols`, which names a `Protocol`
or a `Composition`; or they are folders with a `protocol.py` that defines `PROTOCOL`, a
`composition.py` that defines `COMPOSITION`, or both (docs/new-protocol.md). Which folders stands in
the environment, so that all processes that work on a run know the same.

The constants of a run name its protocol (L8), so a trace may hold runs of several. A run of a
composition has several components, each a run of one protocol: of the kit's own, the cluster
(reference/cluster/types.py), or of one of others.
"""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Collection, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, Final, TypeAlias

from kraftcheck.osutil.commands import protocol_folders
from kraftcheck.reference.cluster.types import ClusterConstants, coordinated, on_cluster
from kraftcheck.reference.controllers.protocol import CONTROLLERS
from kraftcheck.reference.groups.classic.protocol import CLASSIC
from kraftcheck.reference.groups.commits.protocol import COMMITS
from kraftcheck.reference.groups.protocol import GROUPS
from kraftcheck.reference.kit.fields import has_form
from kraftcheck.reference.kit.protocol import Composition, NodeKind, Protocol, constants_of
from kraftcheck.reference.partition.compaction.protocol import COMPACTION
from kraftcheck.reference.partition.directories.protocol import DIRECTORIES
from kraftcheck.reference.partition.hosting.protocol import HOSTING
from kraftcheck.reference.partition.moving.protocol import MOVING
from kraftcheck.reference.partition.protocol import PARTITION
from kraftcheck.reference.partition.reassignment.protocol import REASSIGNMENT
from kraftcheck.reference.quorum.protocol import QUORUM, QUORUM_41
from kraftcheck.reference.quorum.snapshots.protocol import SNAPSHOTS
from kraftcheck.reference.quorum.voters.protocol import VOTERS
from kraftcheck.reference.shares.protocol import SHARES
from kraftcheck.reference.shares.sessions.protocol import SESSIONS
from kraftcheck.reference.shares.sharegroup.protocol import SHAREGROUP
from kraftcheck.reference.transactions.protocol import TRANSACTIONS

GROUP: Final = "kraftcheck.protocols"
CLUSTER, CLUSTER_PARTS = "cluster", (QUORUM.name, PARTITION.name)
"""The kit's own composition: a controller quorum, and the partitions of a topic."""

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


def _others() -> list[Protocol | Composition]:
    found = [each for folder in protocol_folders() for each in _of_folder(folder)]
    for entry in metadata.entry_points(group=GROUP):
        try:
            found.append(_checked(entry.load(), f"entry point {entry.name}"))
        except (ImportError, AttributeError) as error:
            raise ProtocolError(f"entry point {entry.name}: {error}") from None
    return found


def _of_folder(folder: str) -> Iterator[Protocol | Composition]:
    """Load a protocol from its folder.

    Raises ProtocolError: there is neither file, or one cannot be loaded, or does not define what it
    should.
    """
    path = Path(folder).absolute()
    there = [each for each in ("protocol", "composition") if (path / f"{each}.py").is_file()]
    if not there:
        raise ProtocolError(
            f"{folder}: no protocol: it has no file protocol.py, nor a composition.py"
        )
    place = str(path.parent)
    if place not in sys.path:
        sys.path.insert(0, place)
    for what in there:
        try:
            module = importlib.import_module(f"{path.name}.{what}")
        except Exception as error:  # What others wrote may raise anything.
            raise ProtocolError(f"{folder}: {type(error).__name__}: {error}") from error
        if Path(str(module.__file__)).parent != path:
            raise ProtocolError(
                f"{folder}: there is another package {path.name} ({module.__file__}): "
                "rename the folder"
            )
        if not hasattr(module, what.upper()):
            raise ProtocolError(f"{folder}: {what}.py defines no {what.upper()}")
        yield _checked(getattr(module, what.upper()), folder, what)


def _checked(found: Any, where: str, what: str = "protocol") -> Protocol | Composition:
    """Raises ProtocolError: it is neither, or lacks something."""
    if isinstance(found, Composition):
        for name, part in found.parts.items():
            # What only a simulation of its own judges nobody would judge in a composition.
            if part.world is None or (part.world.simulated and not part.world.properties):
                raise ProtocolError(
                    f"{where}: the component {name} of {found.name} is {part.name}: it has a "
                    "simulation of its own, and cannot be joined"
                )
        return found
    if not isinstance(found, Protocol):
        kind = type(found).__name__
        raise ProtocolError(f"{where}: {what.upper()} is a {kind} and no {what.capitalize()}")
    if not found.kinds:
        raise ProtocolError(f"{where}: protocol {found.name} has no kind of node")
    return found


def _all() -> tuple[tuple[Protocol, ...], tuple[Composition, ...]]:
    """Raises ProtocolError: two protocols, kinds or constants have one name."""
    found = [
        QUORUM,
        PARTITION,
        TRANSACTIONS,
        GROUPS,
        COMMITS,
        CLASSIC,
        VOTERS,
        SNAPSHOTS,
        REASSIGNMENT,
        MOVING,
        HOSTING,
        DIRECTORIES,
        COMPACTION,
        SHARES,
        SESSIONS,
        SHAREGROUP,
        CONTROLLERS,
        QUORUM_41,
    ]
    others = _others()
    for other in others:
        if isinstance(other, Composition):
            continue
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
    compositions = [each for each in others if isinstance(each, Composition)]
    _refuse_strange(found, compositions)
    return tuple(found), tuple(compositions)


def _refuse_strange(protocols: Sequence[Protocol], compositions: Sequence[Composition]) -> None:
    """Raises ProtocolError: a name of a composition is taken, or a part of it is not known."""
    taken = {CLUSTER, *(each.name for each in protocols)}
    for each in compositions:
        if each.name in taken:
            raise ProtocolError(
                f"composition {each.name}: there is a protocol {each.name} already: rename it"
            )
        taken.add(each.name)
        for part in each.parts.values():
            if part not in protocols:
                raise ProtocolError(
                    f"composition {each.name}: its part {part.name} is not known: name its folder "
                    "with --protocol as well, before this one"
                )


_ALL: Final = _all()
PROTOCOLS: Final = _ALL[0]
COMPOSITIONS: Final = _ALL[1]
"""Those of others."""
_COMPOSED: Final = {each: constants_of(each) for each in COMPOSITIONS}
COORDINATED: Final = {on_cluster(each.name): each for each in PROTOCOLS if each.coordinated}
"""By scenario, the protocols whose coordinator's log is a partition of the cluster there."""
KINDS: Final[tuple[NodeKind, ...]] = tuple(
    [kind for protocol in PROTOCOLS for kind in protocol.kinds]
)
MESSAGES: Final = tuple([message for protocol in PROTOCOLS for message in protocol.messages])
"""All types of messages."""
COMPOSED: Final[tuple[type[Any], ...]] = (
    ClusterConstants,
    *(coordinated(each) for each in COORDINATED.values()),
    *_COMPOSED.values(),
)
"""Types of constants of compositions."""
CONSTANTS: Final = (*(protocol.constants for protocol in PROTOCOLS), *COMPOSED)
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
    """Name the protocols whose handlers it takes steps by, the nearest first.

    Also those whose rules it asks besides.
    """
    if not protocol.extends:
        return protocol.asks
    return (protocol.extends, *extended_by(_BY_NAME[protocol.extends]), *protocol.asks)


def asks(protocol: Protocol, name: str) -> bool:
    """Whether the rules and handlers of the protocol of this name are among those it asks."""
    return name == protocol.name or name in extended_by(protocol)


def kind_named(name: str) -> NodeKind:
    return next(kind for kind in KINDS if kind.name == name)


def package_of(protocol: Protocol) -> str:
    return protocol.constants.__module__.rpartition(".")[0]


def folder_of(name: str) -> Path:
    """The folder of a protocol's specification, below `specs` as its package is below `reference`.

    That of a protocol of others is absolute.
    """
    protocol = _BY_NAME[name]
    own = Path(*package_of(protocol).split(".")[2:])
    return Path(protocol.modules).absolute() if protocol.modules else own


def is_preset(protocol: Protocol) -> bool:
    """Whether it is a release of the protocol that it extends, and lies in the folder of that."""
    extended = _BY_NAME.get(protocol.extends)
    return extended is not None and package_of(extended) == package_of(protocol)


def part_of(protocol: Protocol, name: str) -> Any:
    """A module of a protocol's folder, by its name below that; None: there is none."""
    package = package_of(protocol)
    path = Path(*name.split(".")).with_suffix(".py")
    there = any((Path(each) / path).is_file() for each in importlib.import_module(package).__path__)
    return importlib.import_module(f"{package}.{name}") if there else None


def sources_of_others() -> list[Path]:
    """The files that protocols of others are made of, sorted."""
    folders = {Path(protocol.modules) for protocol in PROTOCOLS if protocol.modules}
    folders |= {Path(folder).absolute() for folder in protocol_folders()}
    return sorted(path for of in folders for end in ("*.py", "*.tla") for path in of.rglob(end))


def kind_of_row(row: Any) -> NodeKind:
    """The kind of the nodes that have such rows."""
    return _BY_ROW[type(row)]


def parts_of(name: str) -> tuple[Protocol, ...]:
    """The protocols of a scenario: its own, or those of the composition, each once."""
    names: Collection[str] = CLUSTER_PARTS if name == CLUSTER else (name,)
    if name in COORDINATED:
        names = (*CLUSTER_PARTS, COORDINATED[name].name, COMPACTION.name)
    composed = [each for each in COMPOSITIONS if each.name == name]
    names = {part.name for each in composed for part in each.parts.values()} or names
    return tuple(protocol for protocol in PROTOCOLS if protocol.name in names)


def is_composition(scenario: str) -> bool:
    """Whether runs of the scenario have several components."""
    return scenario in {CLUSTER, *COORDINATED, *(each.name for each in COMPOSITIONS)}


def composition_of(constants: RunConstants) -> Composition | None:
    """The composition of others that has these constants."""
    return next((each for each, of in _COMPOSED.items() if isinstance(constants, of)), None)


def nodes_of(constants: RunConstants) -> tuple[int, ...]:
    """All nodes that take steps under these constants: none, if they are those of a composition."""
    return () if is_composed(constants) else protocol_of(constants).nodes(constants)


def takers_of(constants: RunConstants) -> tuple[int, ...]:
    """The same, and those that are another one as it was (`Protocol.earlier`)."""
    if is_composed(constants):
        return ()
    return (*nodes_of(constants), *protocol_of(constants).earlier)


def peers_of(constants: AnyConstants) -> tuple[int, ...]:
    """The nodes that are alike, sorted."""
    return protocol_of(constants).peers(constants)


def kind_of(constants: RunConstants, node: int) -> NodeKind:
    """Give the kind of node that a recorded step is read as.

    Under the constants of a composition nobody takes a step; what is recorded as one is read as
    that of the last component's node, and has no form.
    """
    if is_composed(constants):
        constants = constants.components[-1]
    return protocol_of(constants).kind_of(constants, node)


def row_has_form(constants: AnyConstants, row: Any) -> bool:
    """Whether a row is one of a node under these constants; only then has it a form in the spec."""
    return has_form(row, len(peers_of(constants)))


def is_composed(constants: RunConstants) -> bool:
    """Whether they are those of a composition, under which nobody takes a step."""
    return isinstance(constants, COMPOSED)


def components_of(constants: RunConstants) -> tuple[AnyConstants, ...]:
    """The constants of each component of a run."""
    found: tuple[AnyConstants, ...]
    found = constants.components if is_composed(constants) else (constants,)
    return found


def component_name(constants: RunConstants, component: int) -> str:
    """What a component is called where there are several, else empty."""
    composition = composition_of(constants)
    if composition is not None:
        return [*composition.parts][component]
    if not isinstance(constants, ClusterConstants):
        return ""
    if component > len(constants.partitions):
        is_last = component > len(constants.partitions) + 1
        return "the replicas of its log" if is_last else "the coordinator"
    return f"partition {component - 1}" if component else "the quorum"


def component_letter(constants: RunConstants, component: int) -> str:
    """The same in a letter or two."""
    if isinstance(constants, ClusterConstants):
        if component > len(constants.partitions):
            return "GL"[component > len(constants.partitions) + 1]
        return str(component - 1) if component else "Q"
    return str(component)


def needs_no_sender(message: Any) -> bool:
    """Whether a message comes from outside of all nodes: what clients ask."""
    return message.source in _CLIENTS


EARLIER: Final = {at: of for protocol in PROTOCOLS for at, of in protocol.earlier.items()}
"""Of nodes that are another one as it was, that one."""
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
