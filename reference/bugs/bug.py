"""What a known bug is, and how it is declared.

Law of this package: everything that anybody says about a bug is said once. A bug is a substitution:
a subclass of the correct rules that overrides some of them, or of the correct handlers, and nothing
else. The classes stand in `bugs.py` of their protocol, and all else in the table `bugs.toml` beside
it, under the id with which the name of the class begins. Some are no mistakes but configurations
under which Kafka promises less: negative controls, which show that a property can fail. Some cannot
be replayed yet, and say why. Neither have a class.

    [Z01]
    title = "the vote is not persisted"
    story = '''
    A voter votes for A in epoch 1, restarts with the vote forgotten, and votes for C in epoch 1.
    '''
    properties = ["VoteOnce", "ElectionSafety"]
    source = "KIP-595"

The overlays in specs/*/bugs carry the same ids and replace the same rules.
"""

from __future__ import annotations

import builtins
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


class Replaceable(NamedTuple):
    """What a bug may replace."""

    protocol: str
    names: tuple[str, ...]
    """Of the rules or handlers that it may override."""
    beside: tuple[str, ...] = ()
    """Further scenarios that ask them."""


def _names(of: type, inherited: bool) -> tuple[str, ...]:
    """Of the public methods, in the order in which they stand; inherited ones too, then sorted.

    One that has two names counts as the first.
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
    options: dict[str, Any] = {}
    """What every run has in which it is looked for; other options are drawn."""
    no_overlay: str = ""
    """Why it is replayed without an overlay of the specs; empty where there is one."""
    no_run: dict[str, str] = {}
    """By oracle that is expected to find it in runs: why no run in which it does is stored."""

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
