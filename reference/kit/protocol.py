"""What is said of a protocol once, so that nothing else need know it.

A protocol is a set of handlers, written twice: as operators `Step_HandleX(n, row, input)` of a
specification and as methods `handle_x` of the reference. What there is to say of it beside them
stands in one `Protocol`: its constants, its messages, its kinds of nodes with their rows and
inputs. From that are made the frames in which TLC judges steps, the translation of values,
canonical forms, the forms of foreign traces, and whether a row has a form at all.

Law of this file: it knows no protocol, and decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, NamedTuple, Protocol as TypingProtocol, TypeAlias

import msgspec

from kraftcheck.reference.kit.dispatch import action_name
from kraftcheck.reference.kit.properties import (
    Invariant,
    Property as Property,  # protocols import it from here
)
from kraftcheck.reference.kit.sometimes import Sometimes


class Case(NamedTuple):
    """A case of a handler that the spec knows as an action of its own.

    The action is `Step_HandleX_Label`; it is disabled in every other case.
    """

    label: str
    input: type[msgspec.Struct]
    """Of another type there is no such case."""
    holds: Callable[[Any, Any], bool]
    """Of the row before and the input, never of the outcome."""


class Hidden(NamedTuple):
    """What is known of the fields that a foreign trace of a kind of node may hide."""

    module: str
    """Of specs/*/steps, with the sets of values that are tried."""
    impossible: Mapping[str, Any]
    """A field of a row with a value that none has."""
    complete: frozenset[str]
    """Fields of inputs whose sets leave nothing out, by their name or by that of the input and
    their own.
    """
    seen: Mapping[str, str]
    """Fields whose sets leave nothing out if this field of the row after the step was logged."""

    def __hash__(self) -> int:
        return hash(self.module)


class Beginning(NamedTuple):
    """What handlers do not look at of a row's logs: what the logs begin with.

    traces/steps/slicing.py says what is made of that, and when it is sound.
    """

    actions: frozenset[str]
    """By which steps are judged that look at no more."""
    logs: tuple[str, ...] = ()
    """The fields, each by the way to it."""
    ends: Callable[[Any], bool] = lambda record: False
    """Behind which record a beginning may end."""
    noted: tuple[str, ...] = ()
    """Sets to which positions are only added, those of functions in each entry."""


class NodeKind(NamedTuple):
    """What there is to know of a kind of node."""

    name: str
    """No two kinds have one."""
    module: str
    """Of the specification, with an operator for each action."""
    row: type[msgspec.Struct]
    """The type of its rows."""
    inputs: tuple[type[msgspec.Struct], ...]
    """The types of what it receives."""
    initial: Callable[[Any], Any]
    """The first row under these constants."""
    role: Callable[[Any], str]
    """In a word, for explanations."""
    first_row: str = "InitialRow(n)"
    """The same in the spec, of node n."""
    is_running: Callable[[Any], bool] = lambda row: True
    """Whether messages reach it; unsaid, they always do."""
    running: str = ""
    """The spec's operator for that."""
    cases: tuple[Case, ...] = ()
    """Of its handlers."""
    shifted: frozenset[str] = frozenset()
    """The actions that only compare positions, pass them on and count from them; of the others,
    most do not mention them, and those that make rows from nothing begin with `first_position`.
    """
    first_position: int = 0
    ranked: Callable[[Any, Collection[int]], Mapping[int, int]] | None = None
    """Under these constants, what the ranks of a step become, where handlers count from them
    (`ranks_apart`).
    """
    renames: bool = False
    """It is none of the nodes that are alike, and compares them for equality only."""
    beginning: Beginning | None = None
    """Of its logs."""
    hidden: Hidden | None = None
    """Of foreign traces that tell rows in part."""
    operators: str = "Step_"
    """What their names begin with, before the action."""
    replaces: tuple[tuple[str, str], ...] = ()
    """Operators of the modules that its module extends, each with what stands in its place, as a
    cfg says it.
    """

    @property
    def actions(self) -> tuple[str, ...]:
        """Those that handle what it receives."""
        return tuple([action_name(of) for of in self.inputs])

    @property
    def labels(self) -> tuple[str, ...]:
        """The actions by which steps are judged: cases first."""
        return (*[f"{action_name(case.input)}_{case.label}" for case in self.cases], *self.actions)

    def case(self, action: str) -> Case | None:
        """The case that the action's handler has besides the whole."""
        for case in self.cases:
            if action_name(case.input) == action:
                return case
        return None


def ranks_apart(ranks: Iterable[int], steps: Iterable[int]) -> dict[int, int]:
    """Close up ranks that lie further apart than handlers count.

    Handlers count from ranks by these steps, one of which is 1 or next to another one, and by no
    others. The order of ranks stays, and so do the distances that are counted; between two that are
    further apart there is no more than what is counted to. 0 is itself.
    """
    several = {0, *ranks}
    reached = several.union(*[{rank + by for rank in several} for by in steps])
    places = {rank: at for at, rank in enumerate(sorted([r for r in reached if r >= 0]))}
    return {rank: places[rank] for rank in several}


class SharedLog(NamedTuple):
    """A log that nodes share: records are sent to its address, and read from it in its order.

    written, read: the message and the input, each with `records` from `offset` on.
    """

    address: int
    writer: int
    """The one node that sends them."""
    written: type[Any]
    read: type[Any]
    first: int
    """The offset of the first record."""


class CoordinatorLog(NamedTuple):
    """The log of a coordinator, as a node has it.

    It is the field `log` of its row, with what is committed, what its leader has behind it, and
    what others may have there (specs/common/TailLog.tla). In a cluster it is a partition
    (reference/cluster/sim).
    """

    node: int
    """Whose it is."""
    elected: type[Any]
    """The input with which another leader takes over, made of its tail."""
    said: Callable[[Any], Mapping[str, Any]]
    """Of a record, what the log says then, by key, in an order that is always the same; None:
    nothing of it.
    """


class Witness(NamedTuple):
    """Classes of Kafka that take the steps of a protocol's nodes (kraftcheck/kafka/witness).

    fewest, most, usual: of how many nodes runs by chance are.
    """

    classes: str
    """The one that is a node."""
    fewest: int
    most: int
    usual: int
    under: str = ""
    """The protocol under whose name they are driven; empty: its own."""


HISTORY: Final = -1
"""No node: where a run's history stands among its rows (`World.history`)."""


class Outcome(NamedTuple):
    """What a handler makes of an input."""

    row: Any
    sent: tuple[Any, ...] = ()
    ignored: str = ""


Handlers: TypeAlias = Callable[[int, Any, Any], Any]
"""What a node makes of an input in a row: an outcome with row, sent, ignored (`Outcome` is one); or
None, where the input is disabled."""
Substitution: TypeAlias = Callable[[type[Any]], type[Any]]
"""The class to use for one of the correct rules or handlers: itself, or a bug's."""


def correct(base: type[Any]) -> type[Any]:
    """The substitution that replaces nothing."""
    return base


@dataclass(frozen=True, slots=True)
class ByNode:
    """Handlers that are dispatched by node."""

    alone: Mapping[int, Any]
    """Of nodes of which each stands alone, and is not told who it is."""
    others: Any
    """Of all else."""

    def __call__(self, node: int, row: Any, input: Any) -> Any:
        if node in self.alone:
            return self.alone[node].step(row, input)
        return self.others.step(node, row, input)


class Asked(NamedTuple):
    """What a step tells of a client: it asks for something.

    op, argument: what is asked, as the model knows it.
    """

    id: Hashable
    """Names the operation, once and for all; asking again with it is a retry, and no operation of
    its own.
    """
    op: str
    argument: int | None = None
    key: int = 0
    """Of which object."""
    process: int | None = None
    """Which client asks; None: that does not matter."""


class Answered(NamedTuple):
    """What a step tells of a client: it has the answer to what it asked; of several the first."""

    id: Hashable
    result: int | tuple[int, ...] | None = None
    """A number, several, or none."""
    outcome: str = "ok"
    """`ok`; or `fail`, if nothing came of it and never will. What is never answered may take effect
    at any time, or never, and so may what is `indeterminate`.
    """
    again: bool = False
    """Whether the name may be given to another operation from now on."""


class ClientPromise(NamedTuple):
    """What a protocol promises to its clients: all of them together see one object."""

    model: Callable[[], Any]
    """Makes the object, a `Model` of traces/checkers/sequential.py, or tells the name of one that
    traces/jobs/promised.py has; histories must be linearizable by it.
    """
    told: Callable[[Any, int, Any, Any, Outcome], Iterable[Asked | Answered]]
    """What a step tells of clients, in its order, of the constants, the node, its row before, the
    input and the outcome.
    """
    until: Callable[[int, Any], bool] = lambda node, row: False
    """By a node's row, whether nothing is promised from then on, so that nothing more is told."""


class Calm(NamedTuple):
    """What is asked of the end of a run, steered or not, where nothing disturbs any more."""

    inputs: tuple[type[Any], ...]
    """Local ones that come then whenever they can; no other one does, and no message is lost,
    doubled or overtaken.
    """
    missing: Callable[[Any, Mapping[int, Any]], str]
    """Of the constants and all rows in the end, what must have come about and has not, in words; or
    empty.
    """


class Judge(TypingProtocol):
    """Asks all properties of a run, incrementally."""

    @property
    def settled(self) -> bool:
        """Whether nothing is left of the last step that a property may still find wrong."""
        ...

    def __call__(
        self, step: Any, before: Any, after: Any
    ) -> tuple[Property | Invariant, str] | None:
        """The first property that a step violates, and what is wrong.

        To be called for each step that changes a row or answers a client, up to the first
        violation.
        """
        ...


@dataclass(frozen=True, eq=False, kw_only=True)
class World:
    """What may happen to the nodes of a protocol, and what is asked of its runs.

    A system is made of it (reference/core/system.py), which every driver runs.
    """

    constants: Mapping[str, Sequence[Any]]
    """By field of the constants, the values that a run draws from, the simplest first."""
    local: Callable[[Any, int, Any], Iterable[Any]]
    """local(constants, node, row): every input that is no message and may come to the node. Those
    that come on request alone (disturbances of 0 always, or of nothing) stand last."""
    properties: tuple[Property, ...]
    """Asked after every step."""
    on_request: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """By field of the constants, or by option of a disturbance: values that no run draws. TLC's
    models have some besides. Who wants them requests them; the chaos machine does."""
    moves: Sequence[int] = (40, 80)
    """The numbers of moves that a run draws from."""
    history: Callable[[Any, Mapping[int, Any], Mapping[int, Any]], Any] | None = None
    """history(constants, before, after): the past of a run after a step, where rows do not tell
    enough. Of the rows before, with the past so far, and after. Properties find it under HISTORY.
    """
    judge: Callable[[Any], Judge] | None = None
    """Asks all properties at once and incrementally, with a history of its own; made of the run's
    nodes (`NodeMachine`). It gives the verdicts that `properties` give, if there are any."""
    asked_of: Callable[[Any, Mapping[int, Any]], Any] | None = None
    """asked_of(constants, rows): what the judge looks at, if not at rows. Its `stepped(node, row,
    sent)` is what it is after a step."""
    unpromised: Callable[[Any], Collection[str]] | None = None
    """unpromised(options): the properties that a run need not keep, unless it is `strict`."""
    promises: ClientPromise | None = None
    """What clients see."""
    at_once: Callable[[Any], bool] = lambda message: False
    """Whether a message is heard in the step that sends it, or never."""
    in_order: Callable[[Any], int] = lambda message: False
    """The connection on which a message arrives once, and after all that its sender had sent to the
    same node on it: any number but 0, or True if they have one. Messages of none are lost, doubled
    and overtaken."""
    has_read: Callable[[Any], int | None] = lambda row: None
    """The offset in the shared log up to which the node of this row has read; None: it reads none.
    """
    disturbances: Mapping[type[Any], Sequence[int]] = field(default_factory=dict)
    """By local input: of a thousand times that it could come, how often it does; to draw from. With
    nothing to draw from it comes on request alone, and the options of other runs do not name it."""
    awaited: Callable[[Any, Mapping[int, Any], int, Any], bool] | None = None
    """awaited(constants, rows, node, input): whether any node still waits for what the input does.
    Unless a run is `late`, other inputs do not come."""
    calm: Calm | None = None
    """What must come about in the end. Without it, no progress is demanded."""
    story: Callable[[Iterable[tuple[int, Any, Any]]], Iterable[str]] | None = None
    """story(steps): what became of the units of a run, in lines; a step is the node, its row before
    and after."""
    simulated: bool = False
    """Whether the scenario of the protocol's name has a simulation of its own."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Protocol:
    """What there is to know of a protocol."""

    name: str
    sentence: str
    constants: type[Any]
    """The type of its constants, which name it (L8) by their tag."""
    kinds: tuple[NodeKind, ...]
    messages: tuple[type[Any], ...]
    """All types of them."""
    peers: Callable[[Any], tuple[int, ...]]
    nodes: Callable[[Any], tuple[int, ...]]
    """All that take steps."""
    kind_of: Callable[[Any, int], NodeKind]
    """Of one of them."""
    apart: Callable[[Any], tuple[tuple[int, ...], ...]] = lambda constants: ()
    """Sets of them whose members handlers know from the others, but not from each other."""
    handlers: Callable[[Any, Substitution], Handlers]
    """With what a bug has put in the place of rules."""
    rules: tuple[type[Any], ...]
    """The classes of its named decisions, which are made of constants."""
    handler_classes: tuple[type[Any], ...] = ()
    """Of handlers that a bug may replace, made of constants and rules."""
    properties: tuple[Any, ...] = ()
    """What it promises; each has a name and a sentence."""
    sometimes: tuple[Sometimes, ...] = ()
    outsiders: frozenset[int] = frozenset()
    """Addresses that are no nodes; messages from `clients` need no sender."""
    clients: frozenset[int] = frozenset()
    alike: str = "nodes"
    """What the nodes are called that are alike. Under some constants, peers: the nodes that are
    alike, sorted, of whom functions by node have an entry each.
    """
    names: Mapping[int, str] = field(default_factory=dict)
    """Of addresses that are told by a letter."""
    spelt: Mapping[int, str] = field(default_factory=dict)
    """Those in words."""
    log: str = ""
    """What the log that clients use is called in histories; empty: as the scenario."""
    earlier: Mapping[int, int] = field(default_factory=dict)
    """Of a node that is another one as it was, that one; it takes steps only where it is there at
    all, enters in a row that the other had, and writes nothing.
    """
    shared: SharedLog | None = None
    """A log that nodes share."""
    relisted: Mapping[str, Callable[[Any, Any], bool]] = field(default_factory=dict)
    """By action, whether a step of it may have the first constants in a run that has the second."""
    unmentioned: Mapping[str, Any] = field(default_factory=dict)
    """By field of the constants, the value under which steps are judged to which it does not
    matter.
    """
    modules: str = ""
    """The folder of its specification; empty: the kit's own."""
    extends: str = ""
    """The name of a protocol of the kit whose handlers it takes steps by: modules of that are its
    own as well, and its messages of the same names may have other fields.
    """
    asks: tuple[str, ...] = ()
    """Names of others of the kit, whose rules it asks, and no more of them."""
    witness: Witness | None = None
    """Classes of Kafka that take the same steps."""
    coordinated: CoordinatorLog | None = None
    """The log of its coordinator, which may be a partition."""
    world: World | None = None

    @property
    def by_chance(self) -> bool:
        """Whether the driver by chance makes the runs of its scenario."""
        return self.world is not None and not self.world.simulated


class Join(NamedTuple):
    """What has a component do something because another did.

    of, to: components by name.
    """

    sentence: str
    """Says it."""
    of: str
    to: str
    inputs: tuple[type[Any], ...]
    """Local inputs of `to`, which come by this join alone."""
    leads: Callable[[int, Any, Any, Outcome], Iterable[tuple[int, Any]]]
    """Which of them a step of `of` leads to, each with its node, in their order; of the node, its
    row before, the input and the outcome. They come later, in the order in which they are due, each
    once; what is disabled when its turn comes, or is for a node that `to` does not have, does not
    come at all.
    """


@dataclass(frozen=True, eq=False, kw_only=True)
class Composition:
    """Protocols that run side by side, joined. Each component takes steps as if it were alone."""

    name: str
    """Of the scenario of its runs; no protocol has it."""
    sentence: str
    parts: Mapping[str, Protocol]
    """The protocol of each component, by the component's name; each has a `World`."""
    joins: tuple[Join, ...] = ()
    properties: tuple[Property, ...] = ()
    """Of all together; `check` is given the components' constants, and their rows before and after
    a step, by name.
    """

    def __post_init__(self) -> None:
        strange = [end for join in self.joins for end in (join.of, join.to)]
        assert len(self.parts) > 1, "a composition has two components at least"
        assert {*strange} <= {*self.parts}, f"no component {sorted({*strange} - {*self.parts})}"


@cache
def constants_of(composition: Composition) -> type[Any]:
    """The type of the constants of its runs: those of each component, in their order."""
    parts = tuple([part.constants for part in composition.parts.values()])
    return msgspec.defstruct(
        f"{composition.name}_constants",
        [("components", tuple.__class_getitem__(parts))],
        frozen=True,
        tag=composition.name,
        tag_field="protocol",
    )
