"""Which steps are the same step: the canonical form of law L9.

Two steps that differ only in what the voters are called, or in which values clients wrote, are
judged alike; so each class is judged once, by a representative that every member leads to:

* nodes: one bijection of the voters onto themselves, applied to the whole step (node, row, input,
  after, sent). The acting node becomes the first voter. The others are told apart by a signature
  that no renaming changes; what signatures leave open is settled by trying every order and taking
  the step with the least encoding.
* values: numbered from 1 in the order of their first appearance in the log before, the input, the
  log after, the messages sent. LeaderChange, 0, stays.

Why that is sound. A bijection p of the nodes maps outcomes to outcomes, p(Step_A(n, row, input)) =
Step_A(p(n), p(row), p(input)), if Step_A compares node ids for equality only and mentions none by
name; p leaves `Voters` as it is, since it maps that set onto itself, and leaves Nobody alone.
Likewise for values. QuorumHandlers and QuorumRules keep to that: the one CHOOSE in them is over
offsets, no order is taken over nodes, and no value is inspected (tests/traces/jobs reads the
modules and says so, and lets TLC judge renamed steps). Offsets and epochs are not shifted. The
constants belong to the key and are not renamed: the voters as a set are what they were.

Chaining and provenance are checked on recorded data, never on this form.

Laws of this file: equal forms are renamings of one step (always, since a form *is* a renaming of
its step, whatever representative was picked); and all renamings of a step that the reference can
take have equal forms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import permutations, product
from math import factorial, prod
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from reference.core.messages import Append, FetchResponse, Input
from reference.core.types import LEADER_CHANGE, NOBODY, Constants, Entry, Log, Row
from tla_utils.errors import ToolError

# What each field of a row, a message or another input holds; tests hold these to be a partition of
# all fields, so that a new field cannot stay unrenamed by oversight.
NODE: Final = frozenset({"leader", "voted", "source", "destination", "peer"})
NODE_SET: Final = frozenset({"granted", "rejected", "fetched_voters", "unacked"})
NODE_SEQUENCE: Final = frozenset({"successors"})
BY_NODE: Final = frozenset({"end_offsets", "connections"})
NESTED: Final = frozenset({"quorum_state", "request"})
MESSAGE_SET: Final = frozenset({"parked"})
RECORDS: Final = frozenset({"log", "records"})
VALUE: Final = frozenset({"value"})
PLAIN: Final = frozenset(
    {
        *("role", "epoch", "flushed", "high_watermark", "has_fetched", "epoch_start", "announced"),
        *("error", "last_epoch", "last_offset", "pre_vote", "fetch_offset", "last_fetched_epoch"),
        *("epoch_cache", "diverging", "keep"),
    }
)

# In place of a value that has no number yet, where messages are put in an order.
UNNUMBERED: Final = -1
# How many renamed rows and messages are kept at most, each a few hundred bytes.
MEMO_LIMIT: Final = 200_000
# With more orders than this to try, signatures alone decide: sound, but it may tell two renamings
# of one step apart. Five voters have at most 24 orders.
MOST_ORDERS: Final = 120

_encode = msgspec.msgpack.Encoder().encode


class Step(NamedTuple):
    """One recorded step. `input` is None for the Init step, whose `before` is its `after`.

    Rows, inputs and messages are those of some protocol (protocols.py).
    """

    action: str
    node: int
    before: Any
    input: Any
    after: Any
    sent: tuple[Any, ...]
    ignored: str


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


Nodes: TypeAlias = Mapping[int, int]
Values: TypeAlias = Mapping[int, int]


def node_map(voters: Sequence[int], images: Sequence[int]) -> dict[int, int]:
    """The map voter -> image. Nobody stays, and so does whoever is no voter."""
    return {NOBODY: NOBODY, **dict(zip(voters, images, strict=True))}


def value_map(values: Iterable[int], numbers: Iterable[int]) -> dict[int, int]:
    """The map value -> number. LeaderChange stays."""
    return {LEADER_CHANGE: LEADER_CHANGE, **dict(zip(values, numbers, strict=True))}


def rename(item: Any, nodes: Nodes, values: Values) -> Any:
    """A row, an input or a message (or what they contain) under a bijection of nodes and one of
    values."""
    return replace(
        item,
        **{
            name: renaming(getattr(item, name), nodes, values)
            for name, renaming in _renamings_of(type(item))
        },
    )


def _node(node: int, nodes: Nodes, _: Values) -> int:
    return nodes.get(node, node)


def _node_set(members: bool | tuple[int, ...], nodes: Nodes, _: Values) -> bool | tuple[int, ...]:
    # A vote's `granted` is a Boolean: the same name for what the set is made of.
    if isinstance(members, bool):
        return members
    return tuple(sorted([nodes.get(node, node) for node in members]))


def _node_sequence(members: tuple[int, ...], nodes: Nodes, _: Values) -> tuple[int, ...]:
    return tuple([nodes.get(node, node) for node in members])


def _by_node(entries: tuple[Any, ...], nodes: Nodes, _: Values) -> tuple[Any, ...]:
    # The keys of the map are Nobody and then the voters, in the order that rows are aligned to.
    # Images differ, so entries are never compared.
    images = list(nodes.values())[1:]
    return tuple([entry for _, entry in sorted(zip(images, entries, strict=True))])


def _message_set(messages: tuple[Any, ...], nodes: Nodes, values: Values) -> tuple[Any, ...]:
    return tuple(sorted([rename(m, nodes, values) for m in messages], key=_encode))


def _records(records: Log, _: Nodes, values: Values) -> Log:
    return tuple([Entry(e.epoch, values.get(e.value, UNNUMBERED)) for e in records])


def _value(value: int, _: Nodes, values: Values) -> int:
    return values.get(value, UNNUMBERED)


Renaming: TypeAlias = Callable[[Any, Nodes, Values], Any]

_RENAMINGS: dict[str, Renaming] = {
    **dict.fromkeys(NODE, _node),
    **dict.fromkeys(NODE_SET, _node_set),
    **dict.fromkeys(NODE_SEQUENCE, _node_sequence),
    **dict.fromkeys(BY_NODE, _by_node),
    **dict.fromkeys(NESTED, rename),
    **dict.fromkeys(MESSAGE_SET, _message_set),
    **dict.fromkeys(RECORDS, _records),
    **dict.fromkeys(VALUE, _value),
}


def _renamings_of(struct: Any) -> tuple[tuple[str, Renaming], ...]:
    """The fields of a type that are renamed, and how."""
    known = _of_type.get(struct)
    if known is None:
        fields = struct.__struct_fields__
        known = tuple([(name, _RENAMINGS[name]) for name in fields if name in _RENAMINGS])
        _of_type[struct] = known
    return known


_of_type: dict[Any, tuple[tuple[str, Renaming], ...]] = {}


def unrenamed(struct: Any) -> tuple[str, ...]:
    """The fields of a type that every renaming leaves as they are."""
    renamed = {name for name, _ in _renamings_of(struct)}
    return tuple([name for name in struct.__struct_fields__ if name not in renamed])


def rename_step(step: Step, nodes: Nodes, values: Values) -> Step:
    """The whole step under one bijection of nodes and one of values."""
    return Step(
        action=step.action,
        node=nodes.get(step.node, step.node),
        before=rename(step.before, nodes, values),
        input=None if step.input is None else rename(step.input, nodes, values),
        after=rename(step.after, nodes, values),
        sent=tuple(sorted([rename(m, nodes, values) for m in step.sent], key=_encode)),
        ignored=step.ignored,
    )


def values_of(item: Row | Input | None) -> tuple[int, ...]:
    """The client values in an item, each once, in the order of first appearance."""
    if isinstance(item, Append):
        found: Iterable[int] = (item.value,)
    elif isinstance(item, Row):
        found = [entry.value for entry in item.log]
    elif isinstance(item, FetchResponse):
        found = [entry.value for entry in item.records]
    else:
        return ()
    return tuple(dict.fromkeys([value for value in found if value != LEADER_CHANGE]))


def signature(item: Any, voter: int, position: int) -> tuple[object, ...]:
    """What an item says of one voter (whose place among the voters is `position`), in terms that no
    renaming changes. Parked fetches are left out: a signature need not tell everything."""
    told: list[object] = []
    for name, _ in _renamings_of(type(item)):
        value = getattr(item, name)
        if name in NODE:
            told.append(value == voter)
        elif name in BY_NODE:
            told.append(value[position])
        elif name in NESTED:
            told.append(signature(value, voter, position))
        elif name in NODE_SEQUENCE:
            told.append(value.index(voter) if voter in value else -1)
        elif name in NODE_SET and not isinstance(value, bool):
            told.append(voter in value)
    return tuple(told)


_Form: TypeAlias = tuple[bytes, bytes, bytes, tuple[bytes, ...]]
_Key: TypeAlias = tuple["Row | Input", tuple[int, ...], tuple[int, ...]]
_Signature: TypeAlias = tuple[tuple[object, ...], ...]


class Canonicaliser:
    """Finds canonical forms under one set of constants, and remembers renamed rows and messages.

    What it remembers changes no result; it is forgotten when there is much of it.
    """

    def __init__(self, constants: Constants) -> None:
        self.constants = constants
        self._voters = constants.voters
        self._encoded: dict[_Key, bytes] = {}
        self._signatures: dict[Row | Input, _Signature] = {}
        self._values: dict[Row | Input, tuple[int, ...]] = {}

    def canonical(self, step: Step) -> CanonicalStep:
        """The representative of the step's class.

        Raises ToolError for a node that is no voter, and for rows of another quorum.
        """
        if step.node not in self._voters:
            raise ToolError(f"{step.action} was recorded for {step.node}, which is no voter")
        if len(self._encoded) > MEMO_LIMIT:
            self._encoded.clear()
            self._signatures.clear()
            self._values.clear()
        numbers = self._numbered(step)
        try:
            forms = [self._form(step, images, numbers) for images in self._bijections(step)]
        except (ValueError, IndexError) as error:
            raise ToolError(
                f"{step.action} was recorded with a row that is not one of the voters "
                f"{self._voters}: {error}"
            ) from error
        before, taken, after, sent = min(forms)
        return CanonicalStep(step.action, self._voters[0], before, taken, after, sent, step.ignored)

    def _bijections(self, step: Step) -> Iterator[tuple[int, ...]]:
        """Images of the voters, in their order: the acting node first, the rest as signed."""
        for order in self._orders(step):
            place = dict(zip((step.node, *order), self._voters, strict=True))
            yield tuple([place[voter] for voter in self._voters])

    def _orders(self, step: Step) -> Iterator[tuple[int, ...]]:
        """The orders of the other voters among which the least form is looked for."""
        items = (
            (step.before, step.after)
            if step.input is None
            else (step.before, step.input, step.after)
        )
        signed = list(zip(self._voters, *[self._signed(item) for item in items], strict=True))
        classes: dict[tuple[object, ...], list[int]] = {}
        for voter, *signatures in signed:
            if voter != step.node:
                classes.setdefault(tuple(signatures), []).append(voter)
        groups = [classes[each] for each in sorted(classes)]
        if prod(factorial(len(group)) for group in groups) > MOST_ORDERS:
            yield tuple([voter for group in groups for voter in group])
            return
        for parts in product(*[permutations(group) for group in groups]):
            yield tuple([voter for part in parts for voter in part])

    def _signed(self, item: Row | Input) -> _Signature:
        """The signature of every voter, in their order."""
        known = self._signatures.get(item)
        if known is None:
            known = self._signatures[item] = tuple(
                [signature(item, voter, place) for place, voter in enumerate(self._voters)]
            )
        return known

    def _form(self, step: Step, images: tuple[int, ...], numbers: Values) -> _Form:
        encode = self._encode
        sent = sorted([encode(m, images, numbers) for m in step.sent])
        if any(value not in numbers for m in step.sent for value in self._values_of(m)):
            # Never so in a step of the reference, which sends what its log holds.
            order = sorted(step.sent, key=lambda m: encode(m, images, numbers))
            numbers = _extend(numbers, [value for m in order for value in values_of(m)])
            sent = sorted([encode(m, images, numbers) for m in step.sent])
        return (
            encode(step.before, images, numbers),
            b"" if step.input is None else encode(step.input, images, numbers),
            encode(step.after, images, numbers),
            tuple(sent),
        )

    def _encode(self, item: Row | Input, images: tuple[int, ...], numbers: Values) -> bytes:
        values = self._values_of(item)
        numbered = tuple([numbers.get(value, UNNUMBERED) for value in values])
        key = (item, images, numbered)
        known = self._encoded.get(key)
        if known is None:
            nodes, named = node_map(self._voters, images), value_map(values, numbered)
            known = self._encoded[key] = _encode(rename(item, nodes, named))
        return known

    def _values_of(self, item: Row | Input) -> tuple[int, ...]:
        known = self._values.get(item)
        if known is None:
            known = self._values[item] = values_of(item)
        return known

    def _numbered(self, step: Step) -> dict[int, int]:
        """Value -> number for the values outside `sent`, in the order of first appearance."""
        found = list(self._values_of(step.before))
        if step.input is not None:
            found += self._values_of(step.input)
        found += self._values_of(step.after)
        return _extend({}, found)


def _extend(numbers: Values, values: Iterable[int]) -> dict[int, int]:
    extended = dict(numbers)
    for value in values:
        extended.setdefault(value, len(extended) + 1)
    return extended
