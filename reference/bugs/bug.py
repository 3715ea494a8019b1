"""What a known bug is, and how its file declares it.

Law of this folder: everything that anybody says about a bug is said in its own file, once. A bug is
a substitution: a subclass of the correct rules that overrides some of them, or of the correct
handlers, and nothing else. Its title and its story are the prose at the top of the file, and at the
bottom stands `BUG = declared(...)`. Some are no mistakes but configurations under which Kafka
promises less: negative controls, which show that a property can fail. Some cannot be replayed yet,
and say why.

The overlays in specs/*/bugs carry the same ids and replace the same rules.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from kraftcheck.reference.clients.rules import ProducerRules
from kraftcheck.reference.protocols import CLUSTER, PROTOCOLS
from kraftcheck.reference.storage.rules import StorageRules

Class: TypeAlias = Literal["safety", "liveness"]
Detector: TypeAlias = Literal["tlc", "steps", "invariants", "histories", "crashes"]
"""TLC's properties; the relation of recorded steps; the run's invariants; what clients saw; what a
start makes of what a crash left on a disk (reference/storage)."""

ALL: Final[tuple[Detector, ...]] = ("tlc", "steps", "invariants", "histories")
NO_CLIENT: Final[tuple[Detector, ...]] = ("tlc", "steps", "invariants")


class Replaceable(NamedTuple):
    """What a bug may replace. names: of the rules or handlers that it may override. beside: further
    scenarios that ask them.
    """

    protocol: str
    names: tuple[str, ...]
    beside: tuple[str, ...] = ()


def _names(of: type, inherited: bool) -> tuple[str, ...]:
    """Of the public methods, in the order in which they stand; inherited ones too, then sorted. One
    that has two names counts as the first.
    """
    found = [
        name
        for each in (of.__mro__ if inherited else (of,))
        for name, member in vars(each).items()
        if callable(member) and not isinstance(member, type) and not name.startswith("_")
        if getattr(member, "__name__", name) == name
    ]
    return tuple(sorted(found) if inherited else found)


def _replaceable() -> dict[type, Replaceable]:
    """Rules and handlers that several protocols ask are of the first."""
    found: dict[type, Replaceable] = {}
    for protocol in PROTOCOLS:
        for each in (*protocol.rules, *protocol.handler_classes):
            names = _names(each, each not in protocol.rules)
            found.setdefault(each, Replaceable(protocol.name, names))
    return found


BASES: Final[dict[type, Replaceable]] = {
    **_replaceable(),
    ProducerRules: Replaceable("partition", _names(ProducerRules, False), (CLUSTER,)),
    StorageRules: Replaceable("storage", _names(StorageRules, False)),
}
"""The classes that a bug may replace. Producers have rules, and so has the storage engine, which is
no protocol: of those of its orders there is a specification.
"""


class Bug(msgspec.Struct, frozen=True, kw_only=True):
    """One known bug, or one configuration that promises less."""

    id: str
    title: str
    story: str
    source: str
    protocol: str
    year: int | None = None
    """When the bug was reported or mended, where that is known."""
    replacement: type | None = None
    """The rules, or the handlers, with the bug in them; None where nothing is replaced."""
    configuration: str = ""
    """The configuration that is the bug, where nothing is replaced."""
    property: str
    """The first property that names it: an invariant, or a liveness property."""
    also: tuple[str, ...] = ()
    """Further properties that it breaks, or may break in the same run."""
    klass: Class = "safety"
    nodes: int = 3
    """The fewest voters or replicas that show it."""
    lossy: bool = False
    """Whether a crash must lose something."""
    detectors: tuple[Detector, ...] = ()
    """Who can see it. Not `steps` where the bug is that a step never happens."""
    boundary: str = ""
    """Where it lives: the rule, or the place where the correct protocol has two steps."""
    field: str = ""
    """The field of a row that shows it."""
    alone: str = ""
    """Why one oracle alone can see it, or has so far; empty where two have."""
    scope: str = ""
    """Why it cannot be replayed yet; empty when it can."""

    @builtins.property
    def base(self) -> type | None:
        """The correct class in whose place the replacement stands."""
        found = self.replacement
        return next((each for each in (found.__mro__ if found else ()) if each in BASES), None)

    @builtins.property
    def replaces(self) -> dict[str, Callable[..., Any]]:
        """The replaced rules or handlers by name, in the order in which the correct ones stand."""
        if self.base is None:
            return {}
        own = vars(self.replacement)
        return {name: own[name] for name in BASES[self.base].names if name in own}

    @builtins.property
    def properties(self) -> tuple[str, ...]:
        return (self.property, *self.also)

    @builtins.property
    def is_control(self) -> bool:
        """Whether it is no bug but a configuration that promises less (a negative control)."""
        return bool(self.configuration)

    @builtins.property
    def in_scope(self) -> bool:
        return not self.scope


def declared(
    module: str,
    replacement: type | None,
    property: str,
    *also: str,
    source: str,
    protocol: str = "",
    year: int | None = None,
    klass: Class = "safety",
    nodes: int = 3,
    lossy: bool = False,
    detectors: tuple[Detector, ...] | None = None,
    boundary: str = "",
    field: str = "",
    configuration: str = "",
    alone: str = "",
    scope: str = "",
) -> Bug:
    """The bug of a file, whose prose is `ID (KAFKA-number): title.`, an empty line, and the story.

    protocol: where nothing is replaced. detectors, unless said: all of a bug of safety, and of one
    of liveness TLC and the relation of steps; nobody of what cannot be replayed.
    """
    prose = sys.modules[module].__doc__ or ""
    head, _, story = prose.partition("\n\n")
    name, _, title = head.partition(": ")
    if detectors is None:
        detectors = () if scope else ALL if klass == "safety" else ("tlc", "steps")
    bug = Bug(
        id=name.split()[0],
        title=" ".join(title.split()).rstrip("."),
        story=" ".join(story.split()),
        source=source,
        protocol=protocol,
        year=year,
        replacement=replacement,
        configuration=configuration,
        property=property,
        also=also,
        klass=klass,
        nodes=nodes,
        lossy=lossy,
        detectors=detectors,
        boundary=boundary,
        field=field,
        alone=alone,
        scope=scope,
    )
    if bug.base is None:
        return bug
    return msgspec.structs.replace(
        bug,
        protocol=BASES[bug.base].protocol,
        boundary=boundary or ", ".join(bug.replaces),
    )
