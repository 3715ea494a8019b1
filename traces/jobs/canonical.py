"""One form for all steps that differ only in how nodes and values are called (L9).

Runs number their nodes and values as it happens; the specification tells neither apart. So a step
is renamed into a representative of its class before it is judged, and one verdict serves the class.
What is renamed is what the fields' declarations say (reference/kit/fields.py):

* nodes: one bijection of the nodes onto themselves, applied to the whole step (node, row, input,
  after, sent), which maps each set of those whom handlers know from the others (`Protocol.apart`)
  onto itself. The acting node becomes the first one. The others are told apart by a signature that
  no renaming changes; what signatures leave open is settled by trying every order and taking the
  step with the least encoding. A node that stands alone in its kind keeps its name; and so do the
  others in its steps (a partition's controller knows the order of assignment, C9), unless its
  handlers compare them for equality only as well (`NodeKind.renames`).
* values: numbered from 1 in the order of their first appearance in the row before, the input, the
  row after, the messages sent. The log's own values, below 1, stay.
* ranks: numbered in their order from 0 on, or, where handlers count from them, as the kind of node
  says (`NodeKind.ranked`). -1, and 0 of the beginning, stay.
* positions, in the steps of the actions that only compare them, pass them on and count from them
  (`NodeKind.shifted`): moved so that the least is the first there is.

Why that is sound. A bijection p of the nodes maps outcomes to outcomes, p(Step_A(n, row, input)) =
Step_A(p(n), p(row), p(input)), if Step_A compares node ids for equality only and mentions none by
name; p leaves the set of nodes as it is, since it maps that set onto itself, and leaves those who
are no nodes alone. Likewise for values, of which no handler inspects one, and for ranks under maps
that keep their order and, where handlers count from them, what is counted to as far from there as
it was. The handlers of voters and of brokers keep to that (tests/traces/jobs reads the modules and
says so, and lets TLC judge renamed steps). Epochs of leaders, offsets of logs, clients and
producers are not renamed. The constants belong to the key and are not renamed: the nodes as a set
are what they were.

Chaining and provenance are checked on recorded data, never on this form.

Laws of this file: equal forms are renamings of one step (always, since a form *is* a renaming of
its step, whatever representative was picked); and all renamings of a step that the reference can
take have equal forms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import chain, permutations, product
from math import factorial, prod
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from kraftcheck.reference.kit.fields import NODES, fields_of
from kraftcheck.reference.protocols import AnyConstants, kind_of, peers_of, protocol_of, takers_of
from kraftcheck.traces.jobs.pieces import Item, item_of, step_apart
from kraftcheck.traces.jobs.renaming import UNCHANGED, Names, Renaming, Renumbering, Step as Step
from tla_utils.errors import ToolError

UNNUMBERED: Final = -1
"""In place of a value that has no number yet, where messages are put in an order."""
NO_RANK: Final = -1
MEMO_LIMIT: Final = 200_000
"""How many steps are kept at most, each with a few hundred bytes."""
MOST_ORDERS: Final = 120
"""With more orders than this to try, signatures alone decide: sound, but it may tell two renamings
of one step apart. Five nodes have at most 24 orders."""

_encode = msgspec.msgpack.Encoder().encode


class CanonicalStep(NamedTuple):
    """The representative of a class of steps, its parts encoded (msgpack).

    `input` is empty for an Init step; `sent` is in ascending order of bytes.
    """

    action: str
    node: int
    before: bytes
    input: bytes
    after: bytes
    sent: tuple[bytes, ...]
    ignored: str

    def digest(self, constants: bytes) -> bytes:
        """128 bits that name this class under these (encoded) constants (L8)."""
        parts = (constants, *self[:5], *self.sent, self.ignored)
        return blake2b(_encode(parts), digest_size=16).digest()


Values: TypeAlias = tuple[int, ...]
Told: TypeAlias = tuple[Names, ...]
"""What an item says of nodes, one thing after the other."""
_Form: TypeAlias = tuple[tuple[bytes, ...], tuple[bytes, ...]]
"""The rows with the input between them, and the messages."""


class Canonicaliser:
    """Finds canonical forms under one set of constants, and remembers what it has renamed.

    What it remembers changes no result; it is forgotten when there is much of it.
    """

    def __init__(self, constants: AnyConstants, renames: bool = True) -> None:
        """renames: nodes and ranks; values are at any rate."""
        self.constants = constants
        self._renames = renames
        self._steps: dict[tuple[Any, ...], CanonicalStep] = {}
        """By action, node, why the input was ignored, and the items, each of them one object."""
        self._renamings: dict[tuple[Names, Values, Renumbering], Renaming] = {}
        self._takers = frozenset(takers_of(constants))
        self._peers = peers_of(constants)
        apart = protocol_of(constants).apart(constants)
        self._kinds = [
            next((at for at, each in enumerate(apart) if node in each), -1) for node in self._peers
        ]
        self._first_names = {node: self._named((node,))[0] for node in self._peers}
        self._names: dict[tuple[int, tuple[Told, ...]], list[Names]] = {}
        """By the acting node, and by what items tell of nodes: the names to try."""
        self._first_rows_differ = any(
            field.of in NODES and getattr(constants, field.name) != self._peers
            for field in fields_of(constants.__class__)
        )

    def canonical(self, step: Step) -> CanonicalStep:
        """The representative of the step's class. Raises as `of_pieces` does."""
        return self.of_pieces(step_apart(step))

    def of_pieces(self, step: Step) -> CanonicalStep:
        """The same of a step that is in pieces.

        Raises ToolError for a node that there is none of, and for rows of others.
        """
        if step.node not in self._takers:
            raise ToolError(f"{step.action} was recorded for {step.node}, which is no node")
        if len(self._steps) > MEMO_LIMIT:
            self._steps.clear()
            self._renamings.clear()
            self._names.clear()
        outside = _outside(step)
        key = (step.action, step.node, step.ignored, *outside, step.sent)
        known = self._steps.get(key)
        if known is None:
            known = self._steps[key] = self._representative(step, outside)
        return known

    def _representative(self, step: Step, outside: Sequence[Item]) -> CanonicalStep:
        sent: Sequence[Item] = step.sent
        values = _each_once(outside)
        try:
            renumbering = self._renumbering(step, [*outside, *sent])
            forms = [
                self._form(outside, sent, names, values, renumbering)
                for names in self._bijections(step, outside)
            ]
        except (ValueError, IndexError) as error:
            raise ToolError(
                f"{step.action} was recorded with a row that is not one of the nodes "
                f"{self._peers}: {error}"
            ) from error
        (before, *taken, after), messages = min(forms)
        node = step.node
        if self._is_renamed(step):
            node = self._first_names.get(node, node)
        input = taken[0] if taken else b""
        return CanonicalStep(step.action, node, before, input, after, messages, step.ignored)

    def _is_renamed(self, step: Step) -> bool:
        """First rows are not, where constants name some of the nodes."""
        if not self._renames or (step.input is None and self._first_rows_differ):
            return False
        return step.node in self._peers or kind_of(self.constants, step.node).renames

    def _bijections(self, step: Step, outside: Sequence[Item]) -> Sequence[Names]:
        """Names for the nodes, in their order: the acting one is the first, the rest as signed."""
        told = tuple([each.told(self._peers) for each in (*outside, *step.sent)])[: len(outside)]
        if not self._is_renamed(step):
            return (self._peers,)
        found = self._names.get((step.node, told))
        if found is None:
            first = (step.node,) if step.node in self._peers else ()
            orders = self._orders(step.node, told)
            found = [self._named((*first, *others)) for others in orders]
            self._names[step.node, told] = found
        return found

    def _named(self, order: Names) -> Names:
        """The names of nodes in this order: of those that handlers do not tell apart the first."""
        kind = dict(zip(self._peers, self._kinds, strict=True))
        free = {of: iter([n for n in self._peers if kind[n] == of]) for of in kind.values()}
        names = {node: next(free[kind[node]]) for node in order}
        return tuple([names[node] for node in sorted(order)])

    def _orders(self, acting: int, told: Sequence[Told]) -> Iterator[Names]:
        """The orders of the other nodes among which the least form is looked for. told: of nodes,
        by one item after the other."""
        others = [at for at, node in enumerate(self._peers) if node != acting]
        kinds = [
            [at for at in others if self._kinds[at] == kind] for kind in sorted({*self._kinds})
        ]
        groups = [kind for kind in kinds if kind]
        for places in chain.from_iterable(told):
            groups = _told_apart(groups, places)
        if prod(factorial(len(group)) for group in groups) > MOST_ORDERS:
            yield tuple([self._peers[at] for group in groups for at in group])
            return
        for parts in product(*[permutations(group) for group in groups]):
            yield tuple([self._peers[at] for part in parts for at in part])

    def _form(
        self,
        outside: Sequence[Item],
        sent: Sequence[Item],
        names: Names,
        values: Values,
        renumbering: Renumbering,
    ) -> _Form:
        renaming = self._renaming(names, values, renumbering)
        messages = [each.encoded(renaming) for each in sent]
        if any([value not in values for each in sent for value in each.values]):
            # Never so in a step of the reference, which sends what it has.
            order = [sent[at] for at in sorted(range(len(sent)), key=messages.__getitem__)]
            renaming = self._renaming(names, _each_once(order, values), renumbering)
            messages = [each.encoded(renaming) for each in sent]
        return tuple([each.encoded(renaming) for each in outside]), tuple(sorted(messages))

    def _renaming(self, names: Names, values: Values, renumbering: Renumbering) -> Renaming:
        """The one object. values: in the order of their numbers."""
        known = self._renamings.get((names, values, renumbering))
        if known is None:
            numbers = {value: number for number, value in enumerate(values, 1)}
            known = Renaming(
                self._peers, names, lambda value: numbers.get(value, UNNUMBERED), renumbering
            )
            self._renamings[names, values, renumbering] = known
        return known

    def renumbering(self, step: Step) -> Renumbering:
        """What becomes of the step's ranks and positions."""
        apart = step_apart(step)
        return self._renumbering(apart, [*_outside(apart), *apart.sent])

    def _renumbering(self, step: Step, items: Sequence[Item]) -> Renumbering:
        kind, shift = kind_of(self.constants, step.node), 0
        if not self._is_renamed(step):
            return UNCHANGED
        ranks = {0}.union(*[each.ranks for each in items])
        ranks.discard(NO_RANK)
        if step.action in kind.shifted:
            positions = [position for each in items for position in each.positions]
            shift = min(positions) - kind.first_position
        if kind.ranked is None:
            return Renumbering(tuple(sorted(ranks)), shift)
        ranks = {rank for rank in ranks if rank > NO_RANK}
        became = kind.ranked(self.constants, ranks)
        moved = [rank for rank in sorted(ranks) if became[rank] != rank]
        return Renumbering(tuple(moved), shift, tuple([became[rank] for rank in moved]))


def _told_apart(groups: list[list[int]], told: Sequence[Any]) -> list[list[int]]:
    """Places of nodes in finer groups: those of one group of which the same is told."""
    finer: list[list[int]] = []
    for group in groups:
        classes: dict[Any, list[int]] = {}
        for at in group:
            classes.setdefault(told[at], []).append(at)
        finer += [classes[each] for each in sorted(classes)] if len(classes) > 1 else [group]
    return finer


def _outside(step: Step) -> list[Item]:
    """What values are numbered by, in this order: all but what is sent."""
    before = item_of(step.before)
    after = before if step.after is step.before else item_of(step.after)
    return [before, after] if step.input is None else [before, step.input, after]


def _each_once(items: Iterable[Item], values: Values = ()) -> Values:
    """These values, and those of the items, in the order of first appearance."""
    return tuple(dict.fromkeys([*values, *[value for each in items for value in each.values]]))
