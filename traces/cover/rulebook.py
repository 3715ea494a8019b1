"""The rule book of a graph: the moves of each state, their effects, and the same graph in TLA+.

The protocol's declaration (reference/kit/protocol.py) gives the nodes, messages and local inputs.
The network keeps every message. A `Graph`, an entry of the list of graphs, selects what may happen:

    messages   the messages that are delivered; by default all
    budgets    by local input ("A or B" share one), the largest number of them in all
    free       local inputs without a limit, such as a restart or a reading of the shared log
    only       by input, required values of its fields, if `World.local` offers several
    bounds     by "kind.field", the largest value in a row; steps beyond it are left out
    begin      moves that lead to the first state; undelivered messages of these moves are lost
    turns      whether steps that follow at once are one step (the module `turns` of the protocol)

TLC does not finish a graph that neither budgets nor bounds limit.

A local input without fields is one record. If an input X has fields, `Inputs_X(n, row)` is the set
of its records in TLA+, in the graph's module or the kind's (for a reading of the shared log,
`Inputs_X(n, row, log)`). `World.local` lists the same inputs in Python.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias, get_args

import msgspec
from msgspec.structs import replace

from kraftcheck.reference.kit.dispatch import action_name
from kraftcheck.reference.kit.fields import NODES, fields_of, spec_name
from kraftcheck.reference.kit.protocol import NodeKind, Protocol
from kraftcheck.reference.protocols import part_of, raised
from kraftcheck.traces.steps.translation import (
    Abstraction,
    cfg_constants,
    constant_definitions,
)
from tla_utils import ToolError, render

MODULE: Final = "Graph"
OR: Final = " or "
TURNS: Final = "turns"

RowLike: TypeAlias = Any
"""A row of the protocol: immutable, hashable, equal by content."""
InputLike: TypeAlias = Any
RecordLike: TypeAlias = Any
"""A record of the log that nodes share, where there is one."""


@dataclass(frozen=True, slots=True)
class Graph:
    """A graph that can be covered: a table of the list, named after it."""

    name: str
    """unique."""
    protocol: str
    """Whose nodes take the steps."""
    tier: str
    """A word to select by."""
    claim: str
    """What the graph shows."""
    states: int
    """TLC's counts, exact."""
    edges: int
    """TLC's generated states, without the initial one."""
    constants: Mapping[str, Any]
    module: str = ""
    """The module with the operators `Inputs_X`, in the folder `cover` of the protocol."""
    messages: Sequence[str] | None = None
    budgets: Mapping[str, int] = field(default_factory=dict)
    free: Sequence[str] = ()
    only: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    bounds: Mapping[str, int] = field(default_factory=dict)
    begin: Sequence[str] = ()
    turns: bool = False
    heap_mb: int = 2048
    """Limits of TLC's process: this, and `timeout_s`."""
    timeout_s: int = 900


def everything(protocol: Protocol) -> Graph:
    """Return a graph of everything that a protocol declares; TLC could not finish it."""
    local = {of.__name__ for kind in protocol.kinds for of in kind.inputs}
    local -= {of.__name__ for of in protocol.messages}
    return Graph(protocol.name, protocol.name, "", "", 0, 0, {}, free=sorted(local))


class Result(NamedTuple):
    """A handler call's row after, sent messages, and reason for ignoring the input."""

    row: RowLike
    sent: tuple[InputLike, ...]
    ignored: str


class LocalMove(NamedTuple):
    """A local input, its action, and the budget that it spends (None: free)."""

    action: str
    input: InputLike
    budget: str | None


class BegunStep(NamedTuple):
    """A step that led to the first state."""

    node: int
    before: RowLike
    input: InputLike
    result: Result


class RuleBook:
    """The moves of a graph, under one set of constants.

    Args:
        replacement: rules or handlers of a bug.

    Raises:
        ToolError: the graph names something that the protocol does not have.
    """

    def __init__(
        self, protocol: Protocol, constants: Any, graph: Graph, replacement: type | None = None
    ) -> None:
        self.protocol, self.constants, self.graph = protocol, constants, graph
        self.messages = protocol.messages
        self.nodes: tuple[int, ...] = tuple(protocol.nodes(constants))
        self._form = Abstraction(constants)
        own = {of.__name__: of for kind in protocol.kinds for of in kind.inputs}
        self.handled = self._handled(own)
        self.budgets = {_together(key): most for key, most in graph.budgets.items()} or {"none": 0}
        self._budget_of: dict[str, str | None] = dict.fromkeys(graph.free)
        for key in graph.budgets:
            self._budget_of |= dict.fromkeys(key.split(OR), _together(key))
        for name in (*self._budget_of, *graph.only):
            if name not in own or name in self.handled:
                raise ToolError(f"{graph.name}: {name} is no local input of {protocol.name}")
        names = (*self.handled, *self._budget_of)
        self.moves = frozenset(action_name(own[name]) for name in names)
        self._bounds = [
            (kind, path, most)
            for key, most in graph.bounds.items()
            for kind, _, path in [key.partition(".")]
        ]
        for kind, path, _ in self._bounds:
            self._check_bound(kind, path)
        turns = part_of(protocol, TURNS) if graph.turns else None
        if graph.turns and turns is None:
            raise ToolError(f"{graph.name}: {protocol.name} has no module {TURNS}")
        self._replaces: Mapping[str, str] = turns.REPLACES if turns else {}
        put = [of for of in (replacement, turns and turns.InTurns) if of]
        self._handle = protocol.handlers(
            constants, lambda base: next((of for of in put if issubclass(of, base)), base)
        )
        # Handlers with a choice return every outcome, the reference's own first.
        self._several: Callable[..., Iterable[Any]] | None = getattr(
            getattr(self._handle, "__self__", None), "outcomes", None
        )
        self._strange = part_of(protocol, "mutants")
        self.begun: list[BegunStep] = []
        self._rows = {node: self._kind(node).initial(constants) for node in self.nodes}
        self.log: tuple[RecordLike, ...] = ()
        """The shared log in the first state."""
        self._begin()

    def _handled(self, own: Mapping[str, type[Any]]) -> tuple[str, ...]:
        """The names of the messages that are delivered."""
        there = [of.__name__ for of in self.messages if of.__name__ in own]
        for name in self.graph.messages or ():
            if name not in there:
                raise ToolError(f"{self.graph.name}: {name} is no message of {self.protocol.name}")
        return tuple(there if self.graph.messages is None else self.graph.messages)

    def _check_bound(self, kind: str, path: str) -> None:
        of = next((each.row for each in self.protocol.kinds if each.name == kind), None)
        if of is None or path.split(".")[0] not in of.__struct_fields__:
            raise ToolError(
                f"{self.graph.name}: {self.protocol.name} has no rows with {kind}.{path}"
            )

    def _kind(self, node: int) -> NodeKind:
        return self.protocol.kind_of(self.constants, node)

    # --- The first state

    def initial(self) -> Sequence[RowLike]:
        """Return the rows of the first state, in the order of `nodes`."""
        return [self._rows[node] for node in self.nodes]

    def _begin(self) -> None:
        """Make the moves that lead to the first state.

        `Graph.begin` names each by its node and the beginning of its input. Of several sent
        messages the last one is taken, because it answers the latest request.
        """
        sent: list[InputLike] = []
        for words in self.graph.begin:
            for node, input in self._candidates(sent):
                if f"{node} {tell(input)}".startswith(words):
                    break
            else:
                raise ToolError(f"{self.graph.name}: {words!r} is no move where it is to begin")
            before = self._rows[node]
            result = next(iter(self.outcomes(node, before, input)), None)
            if result is None:
                raise ToolError(f"{self.graph.name}: {words!r} is disabled where it is to begin")
            self.begun.append(BegunStep(node, before, input, result))
            self._rows[node] = result.row
            messages, records = self.split(result.sent)
            sent += messages
            self.log += records

    def _candidates(self, sent: Sequence[InputLike]) -> Iterator[tuple[int, InputLike]]:
        for message in reversed(sent):
            if self.receiver(message) is not None:
                yield message.destination, message
        for node in self.nodes:
            for input in reversed([*self.local(node, self._rows[node], self.log)]):
                yield node, input

    # --- Moves

    def receiver(self, message: InputLike) -> int | None:
        """Return the node that receives a message; None if it is not in the graph."""
        node: int = message.destination
        return node if node in self.nodes else None

    def available(
        self, input: InputLike, network: Set[InputLike], log: tuple[RecordLike, ...]
    ) -> bool:
        """Return whether an input is possible.

        A message must have been sent, unless a client sends it; a reading must be in the log.
        """
        shared = self.protocol.shared
        if shared is not None and isinstance(input, shared.read):
            begin = input.offset - shared.first
            there = log[begin : begin + len(input.records)] if begin >= 0 else None
            return bool(there == input.records)
        if not isinstance(input, self.messages) or input in network:
            return True
        return bool(input.source in self.protocol.clients)

    def split(
        self, sent: tuple[InputLike, ...]
    ) -> tuple[tuple[InputLike, ...], tuple[RecordLike, ...]]:
        """Split what was sent into messages for the network and records for the shared log."""
        shared = self.protocol.shared
        if shared is None:
            return sent, ()
        messages = tuple([m for m in sent if not isinstance(m, shared.written)])
        return messages, tuple(
            [r for m in sent if isinstance(m, shared.written) for r in m.records]
        )

    def local_moves(
        self, node: int, row: RowLike, log: tuple[RecordLike, ...]
    ) -> Iterator[LocalMove]:
        """Yield the local inputs that the graph allows; the handler may still disable them."""
        for input in self.local(node, row, log):
            name = type(input).__name__
            if name in self._budget_of and self._is_chosen(name, input):
                yield LocalMove(action_name(type(input)), input, self._budget_of[name])

    def _is_chosen(self, name: str, input: InputLike) -> bool:
        wanted = self.graph.only.get(name, {})
        return all(getattr(input, field) == value for field, value in wanted.items())

    def local(self, node: int, row: RowLike, log: tuple[RecordLike, ...]) -> Iterator[InputLike]:
        """Yield every local input of a node, and each of its readings of the shared log."""
        world, shared = self.protocol.world, self.protocol.shared
        assert world is not None, "asked of protocols that have one"
        offset = world.has_read(row) if shared else None
        if shared is not None and offset is not None:
            unread = log[offset - shared.first :]
            for end in range(1, len(unread) + 1):
                yield shared.read(offset, unread[:end])
        yield from world.local(self.constants, node, row)

    def within(self, node: int, row: RowLike) -> bool:
        """Whether a step may lead to this row."""
        kind = self._kind(node).name
        return all(of != kind or _at(row, path) <= most for of, path, most in self._bounds)

    def outcomes(self, node: int, row: RowLike, input: InputLike) -> Sequence[Result]:
        """Return all outcomes of an input, the reference's own first; none if it is disabled."""
        if isinstance(input, self.messages) and not self._kind(node).is_running(row):
            return ()
        try:
            if self._several is not None:
                found = [*self._several(node, row, input)]
            else:
                found = [self._handle(node, row, input)]
        except Exception as error:  # What others wrote may raise anything.
            raise raised(self.protocol, f"handling {type(input).__name__}", error) from error
        return [Result(each.row, each.sent, each.ignored) for each in found if each is not None]

    # --- What nobody does

    def attempts(self, node: int, row: RowLike, log: tuple[RecordLike, ...]) -> Iterator[InputLike]:
        """Yield the inputs to attempt that no other node sends, enabled or not."""
        yield from self.local(node, row, log)
        if hasattr(self._strange, "attempts"):
            yield from self._strange.attempts(self.constants, node, row)

    def mutants(self, input: InputLike) -> Iterator[InputLike]:
        """Yield copies of the input with one field changed, which nobody sends.

        A number becomes its neighbours, a boolean is negated, a word becomes each other word of its
        type. A node becomes each other node of its kind. If the field has no node of the graph, it
        becomes each of the protocol's peers, because handlers may look up a sender in a function by
        node. A protocol's module `mutants` replaces this for messages.
        """
        if self._strange is not None and isinstance(input, self.messages):
            yield from self._strange.mutants(input, self.protocol.peers(self.constants))
            return
        struct: type[msgspec.Struct] = type(input)
        for each in fields_of(struct):
            value = getattr(input, each.name)
            others: Iterable[Any] = ()
            if each.name == "destination":
                continue
            if each.of in NODES and not each.is_tuple:
                others = self._alike(value)
            elif isinstance(value, bool):
                others = (not value,)
            elif isinstance(value, int):
                others = (value - 1, value + 1)
            elif isinstance(value, str):
                others = get_args(each.type)
            yield from (replace(input, **{each.name: o}) for o in others if o != value)

    def _alike(self, node: int) -> Iterable[int]:
        if node not in self.nodes:
            return self.protocol.peers(self.constants)
        return [each for each in self.nodes if self._kind(each).name == self._kind(node).name]

    # --- The twin

    def twin(self, defined: str) -> str:
        """Return the TLA+ module with the same graph. defined: the text of the module of inputs."""
        kinds = {kind.name: kind for kind in map(self._kind, self.nodes)}
        of = {
            name: _set(node for node in self.nodes if self._kind(node).name == name)
            for name in kinds
        }
        budgets = ", ".join(f"{name} |-> {most}" for name, most in self.budgets.items())
        spent = ", ".join(f"{name} |-> 0" for name in self.budgets)
        parts, moves = [], []
        for name, kind in kinds.items():
            taken = [input for input in kind.inputs if action_name(input) in self.moves]
            parts += [
                self._move(kind, input, f"Inputs_{input.__name__}(" in defined) for input in taken
            ]
            actions = " \\/ ".join(f"Move_{action_name(input)}(n)" for input in taken)
            moves += [f"\\E n \\in {of[name]} : {actions}"] if taken else []
        named = [kind.module for kind in kinds.values()] + [self.graph.module or "Integers"]
        named += ["TLC"] * bool(self.begun)
        return "\n".join(
            [
                f"---- MODULE {MODULE} ----",
                f"EXTENDS {', '.join(dict.fromkeys(named))}",
                constant_definitions(self.constants),
                f"VARIABLES rows, network, spent{', log' if self.protocol.shared else ''}",
                "CoverInit ==",
                f"  /\\ rows = [n \\in {_set(self.nodes)} |->\n    {self._first(of)}]",
                f"  /\\ network = {{}}\n  /\\ spent = [{spent}]{self._first_log()}",
                f"Limit == [{budgets}]",
                *(self._assumed(step) for step in self.begun),
                *self._lifted(),
                *parts,
                "CoverNext ==",
                *(f"  \\/ {move}" for move in moves),
                "====",
                "",
            ]
        )

    def _first(self, of: Mapping[str, str]) -> str:
        """The first row of n."""
        rows: Iterable[str] = [
            f"n \\in {of[kind.name]} -> {kind.first_row}"
            for kind in dict.fromkeys(map(self._kind, self.nodes))
        ]
        if self.begun:
            rows = [f"n = {n} -> {render(self._form.row(r))}" for n, r in self._rows.items()]
        return f"CASE {f'{chr(10)}    [] '.join(rows)}"

    def _first_log(self) -> str:
        if self.protocol.shared is None:
            return ""
        return f"\n  /\\ log = {render(tuple(map(self._form.input, self.log)))}"

    def _assumed(self, step: BegunStep) -> str:
        """Return the assumption that the spec allows this step of `begun`."""
        form, kind = self._form, self._kind(step.node)
        before, input = render(form.row(step.before)), render(form.input(step.input))
        operator = f"{kind.operators}{action_name(type(step.input))}"
        after, sent = render(form.row(step.result.row)), render(form.sent(step.result.sent))
        return (
            f"ASSUME \\E o \\in {operator}({step.node}, {before}, {input}) :\n"
            f"  o.row = {after} /\\ o.sent = {sent}"
        )

    def _lifted(self) -> Iterator[str]:
        """Yield the operator that turns a handler's outcomes into an action."""
        shared = self.protocol.shared
        yield "Lift(n, outcomes) == \\E o \\in outcomes :"
        yield "  /\\ rows' = [rows EXCEPT ![n] = o.row]"
        if shared is None:
            yield "  /\\ network' = network \\cup o.sent"
            return
        written = f'{{m \\in o.sent : m.type = "{shared.written.__name__}"}}'
        yield f"  /\\ LET written == {written}"
        yield "     IN /\\ network' = network \\cup (o.sent \\ written)"
        yield "        /\\ log' = IF written = {} THEN log"
        yield "                  ELSE log \\o (CHOOSE m \\in written : TRUE).records"

    def _move(self, kind: NodeKind, input: type[msgspec.Struct], is_said: bool) -> str:
        action, name = action_name(input), input.__name__
        shared, after = self.protocol.shared, "UNCHANGED spent"
        guard = ""
        if input in self.messages and kind.running:
            guard = f"  /\\ {kind.running}(rows[n])\n"
        if name in self.handled:
            inputs = f'{{m \\in network : m.destination = n /\\ m.type = "{name}"}}'
        else:
            log = ", log" if shared is not None and input is shared.read else ""
            inputs = f'{{[type |-> "{name}"]}}'
            if is_said or input.__struct_fields__:
                inputs = f"Inputs_{name}(n, rows[n]{log})"
            budget = self._budget_of[name]
            if budget is not None:
                guard += f"  /\\ spent.{budget} < Limit.{budget}\n"
                after = f"spent' = [spent EXCEPT !.{budget} = @ + 1]"
            for field, value in self.graph.only.get(name, {}).items():
                wanted = render(value)
                inputs = f"{{i \\in {inputs} : i.{spec_name(field)} = {wanted}}}"
        taken = f"\\E m \\in {inputs} : Lift(n, {kind.operators}{action}(n, rows[n], m))"
        bounded = "".join(
            f"\n  /\\ rows'[n].{'.'.join(map(spec_name, path.split('.')))} <= {most}"
            for of, path, most in self._bounds
            if of == kind.name
        )
        return f"Move_{action}(n) ==\n{guard}  /\\ {taken}\n  /\\ {after}{bounded}"

    def cfg(self) -> str:
        replaced = dict(by for node in self.nodes for by in self._kind(node).replaces)
        replaced |= self._replaces
        lines = "".join(f"  {operator} <- {by}\n" for operator, by in replaced.items())
        constants = f"CONSTANTS\n{lines}" if replaced else ""
        return f"{cfg_constants(self.constants)}{constants}INIT CoverInit\nNEXT CoverNext\n"


def tell(input: InputLike) -> str:
    """An input in one readable line."""
    fields = ", ".join(
        f"{name}={tell(value) if hasattr(value, '__struct_fields__') else value}"
        for name in input.__struct_fields__
        for value in [getattr(input, name)]
    )
    return f"{type(input).__name__}({fields})"


def _together(key: str) -> str:
    """The name of a budget that inputs share."""
    return re.sub(OR, "_", key)


def _at(row: RowLike, path: str) -> Any:
    for name in path.split("."):
        row = getattr(row, name)
    return row


def _set(nodes: Iterable[int]) -> str:
    return f"{{{', '.join(map(str, nodes))}}}"
