"""The composition of a protocol that has none of its own, and the module that is its twin.

Nothing is written by hand: the nodes, the messages and the local inputs are those that the protocol
declares (reference/kit/protocol.py). Each local input is a budget, so many of it in all; a delivery
is free. What no budget bounds TLC does not finish.

A local input without fields is one record. The inputs of one that has fields are what an operator
of the kind's module says, or of one beside the list of graphs, `Inputs_X(n, row)`, and what
`World.local` says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, get_args

import msgspec
from msgspec.structs import replace

from kraftcheck.reference.kit.cover import Composition, LocalMove, Result
from kraftcheck.reference.kit.dispatch import action_name
from kraftcheck.reference.kit.fields import NODES, fields_of
from kraftcheck.reference.kit.protocol import NodeKind, Protocol
from kraftcheck.reference.protocols import raised
from kraftcheck.traces.steps.translation import cfg_constants, constant_definitions
from tla_utils import ToolError

MODULE = "PlainCover"


class PlainComposition(Composition):
    """The rule book of a protocol, under one set of constants and budgets.

    budgets: by name of a local input, how many there may be of it in all; the others never come.
    replacement: rules or handlers of a bug. inputs: a module that says which inputs with fields may
    come, where those of the kinds do not.
    """

    def __init__(
        self,
        protocol: Protocol,
        constants: Any,
        budgets: Mapping[str, int],
        replacement: type | None = None,
        inputs: str = "",
    ) -> None:
        self._inputs = inputs
        self.name = protocol.name
        self.protocol, self.constants, self.messages = protocol, constants, protocol.messages
        self.nodes = tuple(sorted(protocol.nodes(constants)))
        self.places = (("rows", self.nodes),)
        self.budgets = dict(budgets)
        local = {of.__name__ for kind in protocol.kinds for of in kind.inputs}
        local -= {of.__name__ for of in protocol.messages}
        if strange := sorted(budgets.keys() - local):
            raise ToolError(f"{strange[0]} is no local input of {protocol.name}")
        own = [of for of in protocol.messages if any(of in k.inputs for k in protocol.kinds)]
        moves = [*(action_name(of) for of in own), *(f"Handle{name}" for name in budgets)]
        self.moves = frozenset(moves)
        self._handle = protocol.handlers(
            constants,
            lambda base: replacement if replacement and issubclass(replacement, base) else base,
        )

    def initial(self) -> Sequence[Any]:
        return [self._kind(node).initial(self.constants) for node in self.nodes]

    def _kind(self, node: int) -> NodeKind:
        return self.protocol.kind_of(self.constants, node)

    def local_moves(
        self, node: int, row: Any, spent: Mapping[str, int], shared: tuple[Any, ...]
    ) -> Iterator[LocalMove]:
        for input in self._local(node, row):
            name = type(input).__name__
            if name in self.budgets:
                yield LocalMove(action_name(type(input)), input, name)

    def _local(self, node: int, row: Any) -> Iterable[Any]:
        assert self.protocol.world is not None, "asked of protocols that have one"
        return self.protocol.world.local(self.constants, node, row)

    def attempts(
        self, node: int, row: Any, incoming: Sequence[Any], shared: tuple[Any, ...]
    ) -> Iterator[Any]:
        yield from self._local(node, row)

    def mutants(self, message: Any) -> Iterator[Any]:
        """Numbers one up and one down, the other truth value, other words, another node.

        Of the same kind, or of those that are alike, where it was none: handlers may look a sender
        up in a function by node.
        """
        struct: type[msgspec.Struct] = type(message)
        for field in fields_of(struct):
            value = getattr(message, field.name)
            others: Iterable[Any] = ()
            if field.name == "destination":
                continue
            if field.of in NODES and not field.is_tuple:
                others = self._alike(value)
            elif isinstance(value, bool):
                others = (not value,)
            elif isinstance(value, int):
                others = (value - 1, value + 1)
            elif isinstance(value, str):
                others = get_args(field.type)
            yield from (replace(message, **{field.name: o}) for o in others if o != value)

    def _alike(self, node: int) -> Iterable[int]:
        if node not in self.nodes:
            return self.protocol.peers(self.constants)
        return [each for each in self.nodes if self._kind(each).name == self._kind(node).name]

    def outcomes(self, node: int, row: Any, input: Any) -> Sequence[Result]:
        message = isinstance(input, self.protocol.messages)
        if message and not self._kind(node).is_running(row):
            return ()
        try:
            outcome = self._handle(node, row, input)
        except Exception as error:  # What others wrote may raise anything.
            raise raised(self.protocol, f"handling {type(input).__name__}", error) from error
        return () if outcome is None else (Result(outcome.row, outcome.sent, outcome.ignored),)

    # -- The twin

    def module(self) -> str:
        """The module whose graph this is."""
        kinds = {kind.name: kind for kind in map(self._kind, self.nodes)}
        of = {
            name: _set(node for node in self.nodes if self._kind(node).name == name)
            for name in kinds
        }
        first = "\n    [] ".join(f"n \\in {of[name]} -> {k.first_row}" for name, k in kinds.items())
        budgets = ", ".join(f"{name} |-> {most}" for name, most in self.budgets.items())
        spent = ", ".join(f"{name} |-> 0" for name in self.budgets)
        parts, moves = [], []
        for name, kind in kinds.items():
            for input in kind.inputs:
                if action_name(input) in self.moves:
                    parts.append(self._move(kind, input))
                    moves.append(f"\\E n \\in {of[name]} : Move_{action_name(input)}(n)")
        named = [kind.module for kind in kinds.values()] + [self._inputs] * bool(self._inputs)
        modules = ", ".join(dict.fromkeys(named))
        return "\n".join(
            [
                f"---- MODULE {MODULE} ----",
                f"EXTENDS {modules}",
                constant_definitions(self.constants),
                "VARIABLES rows, network, spent",
                f"CoverInit ==\n  /\\ rows = [n \\in {_set(self.nodes)} |->\n    CASE {first}]",
                f"  /\\ network = {{}}\n  /\\ spent = [{spent}]",
                f"Limit == [{budgets}]",
                "Lift(n, outcomes) == \\E o \\in outcomes :",
                "  rows' = [rows EXCEPT ![n] = o.row] /\\ network' = network \\cup o.sent",
                *parts,
                "CoverNext ==",
                *(f"  \\/ {move}" for move in moves),
                "====",
                "",
            ]
        )

    def _move(self, kind: NodeKind, input: type[msgspec.Struct]) -> str:
        action, name = action_name(input), input.__name__
        if input in self.protocol.messages:
            running = f"  /\\ {kind.running}(rows[n])\n" if kind.running else ""
            inputs = f'{{m \\in network : m.destination = n /\\ m.type = "{name}"}}'
            guard, after = running, "UNCHANGED spent"
        else:
            inputs = f'{{[type |-> "{name}"]}}'
            if input.__struct_fields__:
                inputs = f"Inputs_{name}(n, rows[n])"
            guard = f"  /\\ spent.{name} < Limit.{name}\n"
            after = f"spent' = [spent EXCEPT !.{name} = @ + 1]"
        taken = f"\\E m \\in {inputs} : Lift(n, {kind.operators}{action}(n, rows[n], m))"
        return f"Move_{action}(n) ==\n{guard}  /\\ {taken}\n  /\\ {after}"

    def cfg(self) -> str:
        replaced = dict.fromkeys(
            f"  {operator} <- {by}\n"
            for node in self.nodes
            for operator, by in self._kind(node).replaces
        )
        constants = f"CONSTANTS\n{''.join(replaced)}" if replaced else ""
        return f"{cfg_constants(self.constants)}{constants}INIT CoverInit\nNEXT CoverNext\n"


def _set(nodes: Iterable[int]) -> str:
    return f"{{{', '.join(map(str, nodes))}}}"
