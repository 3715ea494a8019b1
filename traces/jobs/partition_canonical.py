"""The canonical form of a partition's steps: the same law as canonical.py, for brokers and their
controller.

* values: numbered from 1 in the order of their first appearance in the log before, the input, the
  log after, the messages sent. No handler inspects a value; a record that is gone or corrupt has a
  value of its own, which stays.
* brokers: one bijection of the brokers, applied to the whole step, for steps of brokers only. No
  handler of a broker knows the order of assignment; those of the controller do (C9), so that its
  steps keep their names. The acting broker becomes the first one; the others keep their order, or
  take the other one if that gives the least encoding.

* broker epochs, in the same steps: numbered in their order from 0 on. A broker's handlers compare
  them and pass them on; -1, and 0 of the first registrations, stay.
* offsets of the metadata log, in the steps named in SHIFTED: moved so that the least is the first
  there is. These handlers compare them, pass them on and count from them.

Clients, producers, leader epochs, and offsets of the partition are not renamed. Constants belong to
the key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from itertools import permutations, product
from math import factorial, prod
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from reference.core.partition_log import CORRUPT, GONE
from reference.core.partition_messages import (
    CONTROLLER,
    AlterPartitionRequest,
    BrokerRecord,
    BrokerState,
    HeartbeatRequest,
    Member,
    MetadataUpdate,
    Partition,
    PartitionRecord,
    RegisterBrokerRequest,
    ReplicaFetchRequest,
)
from reference.core.partition_types import (
    INITIAL_OFFSET,
    UNDEFINED,
    Contact,
    Image,
    PartitionConstants,
    Pending,
    Registration,
    Remote,
)
from tla_utils.errors import ToolError
from traces.jobs.canonical import MEMO_LIMIT, UNNUMBERED, CanonicalStep, Step

# What each field holds, by name; tests hold these to cover all fields of rows and inputs.
NODE: Final = frozenset({"source", "destination", "leader", "last_known_leader"})
BROKER_NAMED: Final = frozenset({"broker", "replica"})
NODE_SET: Final = frozenset({"isr", "elr"})
"""Of brokers; a proposed `isr` is one of members."""
BY_NODE: Final = frozenset({"brokers", "remotes", "registrations", "contacts"})
NESTED: Final = frozenset(
    {
        *("image", "partition", "request", "controller_request", "alter_request", "pending"),
        "registration",
    }
)
IN_ORDER: Final = frozenset({"fetching", "parked"})
"""Sorted sets of what is renamed."""
RECORDS: Final = frozenset({"log", "records"})
VALUES: Final = frozenset({"values"})

EPOCH: Final = frozenset({"broker_epoch", "previous_epoch", "clean_shutdown"})
"""Broker epochs; likewise `epoch` of a broker's state and of a member."""
METADATA_OFFSET: Final = frozenset({"metadata_offset"})
"""Likewise `offset` of an image and of a metadata update."""

SHIFTED: Final = frozenset(
    {"HandleMetadataUpdate", "HandleMetadataUpdate_Aside", "HandleSendHeartbeat"}
)
"""Of the others, most do not mention the image's offset; those that make rows from nothing begin
with the first offset that there is."""

FIXED: Final = frozenset({CORRUPT, GONE.value})
"""Values that no client wrote."""
MOST_ORDERS: Final = 24
"""With more to try, signatures alone decide: sound, but it may tell two renamings apart."""

_encode = msgspec.msgpack.Encoder().encode

Names: TypeAlias = tuple[int, ...]
"""Per broker, in their order, the name that it gets."""
Numbers: TypeAlias = Mapping[int, int]


class Renumbering(NamedTuple):
    """How a step's numbers that are no values are renamed.

    epochs: its broker epochs in ascending order, from 0 on; each becomes its place there. shift: by
    how much offsets of the metadata log are lowered.
    """

    epochs: tuple[int, ...] = ()
    shift: int = 0


UNCHANGED: Final = Renumbering()


VALUELESS: Final = frozenset(
    {Image, Partition, BrokerState, Member, Remote, Pending, Registration, Contact}
    | {BrokerRecord, PartitionRecord, RegisterBrokerRequest, HeartbeatRequest}
    | {AlterPartitionRequest, ReplicaFetchRequest}
)
"""Types that hold no client values, nor anything that does: what becomes of such a struct does not
depend on the values of its step, so it is remembered."""


class _Renaming:
    """One bijection of the brokers, one of the values, one of broker epochs, and a shift.

    `number`, the one of the values, is another one for each step.
    """

    def __init__(
        self,
        brokers: tuple[int, ...],
        names: Names,
        renumbering: Renumbering = UNCHANGED,
    ) -> None:
        self.number: Callable[[int], int] = int
        self._epochs = {epoch: at for at, epoch in enumerate(renumbering.epochs)}
        self._shift = renumbering.shift
        self._name = dict(zip(brokers, names, strict=True))
        self._order = sorted(range(len(brokers)), key=lambda at: names[at])
        self._known: dict[Any, Any] = {}

    def node(self, node: int) -> int:
        return self._name.get(node, node)

    def value(self, value: int) -> int:
        return value if value in FIXED else self.number(value)

    def epoch(self, epoch: int) -> int:
        return self._epochs.get(epoch, epoch)

    def offset(self, offset: int) -> int:
        return offset - self._shift

    def item(self, item: Any) -> Any:
        """A struct with all that it contains."""
        if type(item) not in VALUELESS:
            return self._renamed(item)
        known = self._known.get(item)
        if known is None:
            known = self._known[item] = self._renamed(item)
        return known

    def _renamed(self, item: Any) -> Any:
        changed = {}
        for name, renaming in _plan(type(item)):
            old = getattr(item, name)
            new = renaming(self, old)
            if new is not old:
                changed[name] = new
        return replace(item, **changed) if changed else item

    def node_set(self, members: tuple[Any, ...]) -> tuple[Any, ...]:
        if members and isinstance(members[0], Member):
            return tuple(sorted([self.item(each) for each in members], key=lambda m: m.broker))
        return tuple(sorted([self.node(each) for each in members]))

    def by_node(self, entries: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple([self.item(entries[at]) for at in self._order])

    def in_order(self, items: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(sorted([self.item(each) for each in items], key=_encode))

    def records(self, records: tuple[Any, ...]) -> tuple[Any, ...]:
        """Of a log; or of the metadata log, which names brokers."""
        if records and hasattr(records[0], "value"):
            return tuple([replace(each, value=self.value(each.value)) for each in records])
        return tuple([self.item(each) for each in records])

    def values(self, values: tuple[int, ...]) -> tuple[int, ...]:
        return tuple([self.value(each) for each in values])


_RENAMINGS: dict[str, Callable[[_Renaming, Any], Any]] = {
    **dict.fromkeys(NODE | BROKER_NAMED, _Renaming.node),
    **dict.fromkeys(NODE_SET, _Renaming.node_set),
    **dict.fromkeys(BY_NODE, _Renaming.by_node),
    **dict.fromkeys(NESTED, _Renaming.item),
    **dict.fromkeys(IN_ORDER, _Renaming.in_order),
    **dict.fromkeys(RECORDS, _Renaming.records),
    **dict.fromkeys(VALUES, _Renaming.values),
    **dict.fromkeys(EPOCH, _Renaming.epoch),
    **dict.fromkeys(METADATA_OFFSET, _Renaming.offset),
}
_RENAMINGS_OF_TYPE: dict[tuple[type, str], Callable[[_Renaming, Any], Any]] = {
    (BrokerState, "epoch"): _Renaming.epoch,
    (Member, "epoch"): _Renaming.epoch,
    (Image, "offset"): _Renaming.offset,
    (MetadataUpdate, "offset"): _Renaming.offset,
}
"""Names that mean different things in different places."""

_plans: dict[type, tuple[tuple[str, Callable[[_Renaming, Any], Any]], ...]] = {}


def _plan(struct: Any) -> tuple[tuple[str, Callable[[_Renaming, Any], Any]], ...]:
    """The fields of a type that are renamed, and how."""
    plan = _plans.get(struct)
    if plan is None:
        fields = struct.__struct_fields__
        known = [(n, _RENAMINGS_OF_TYPE.get((struct, n)) or _RENAMINGS.get(n)) for n in fields]
        plan = _plans[struct] = tuple([(n, renaming) for n, renaming in known if renaming])
    return plan


def unrenamed(struct: Any) -> tuple[str, ...]:
    """The fields of a type that every renaming leaves as they are."""
    renamed = {name for name, _ in _plan(struct)}
    return tuple([name for name in struct.__struct_fields__ if name not in renamed])


class Facts(NamedTuple):
    """What of an item is to be renamed: its client values, each once, in the order of first
    appearance; broker epochs; offsets of the metadata log.
    """

    values: tuple[int, ...]
    epochs: frozenset[int]
    offsets: tuple[int, ...]


def facts_of(item: Any) -> Facts:
    values: list[int] = []
    epochs: set[int] = set()
    offsets: list[int] = []
    _collect(item, values, epochs, offsets)
    own = tuple(dict.fromkeys([value for value in values if value not in FIXED]))
    return Facts(own, frozenset(epochs), tuple(offsets))


@lru_cache(maxsize=MEMO_LIMIT)
def _facts_of_valueless(item: Any) -> Facts:
    epochs: set[int] = set()
    offsets: list[int] = []
    _collect_within(item, [], epochs, offsets)
    return Facts((), frozenset(epochs), tuple(offsets))


def _collect(item: Any, values: list[int], epochs: set[int], offsets: list[int]) -> None:
    if type(item) in VALUELESS:
        found = _facts_of_valueless(item)
        epochs |= found.epochs
        offsets += found.offsets
    else:
        _collect_within(item, values, epochs, offsets)


def _collect_within(item: Any, values: list[int], epochs: set[int], offsets: list[int]) -> None:
    for name, renaming in _plan(type(item)):
        content = getattr(item, name)
        if renaming is _Renaming.epoch:
            epochs.add(content)
        elif renaming is _Renaming.offset:
            offsets.append(content)
        elif renaming is _Renaming.values:
            values += content
        elif renaming is _Renaming.records and content and hasattr(content[0], "value"):
            values += [each.value for each in content]
        elif renaming is _Renaming.item:
            _collect(content, values, epochs, offsets)
        elif isinstance(content, tuple) and content and isinstance(content[0], msgspec.Struct):
            for each in content:
                _collect(each, values, epochs, offsets)


def rename_step(
    constants: PartitionConstants,
    step: Step,
    nodes: Mapping[int, int],
    number: Callable[[int], int],
    renumbering: Renumbering = UNCHANGED,
) -> Step:
    """The whole step under one bijection of brokers, one of values, and a renumbering."""
    names = tuple([nodes[b] for b in constants.brokers])
    renaming = _Renaming(constants.brokers, names, renumbering)
    renaming.number = number
    return Step(
        action=step.action,
        node=renaming.node(step.node),
        before=renaming.item(step.before),
        input=None if step.input is None else renaming.item(step.input),
        after=renaming.item(step.after),
        sent=tuple(sorted([renaming.item(m) for m in step.sent], key=_encode)),
        ignored=step.ignored,
    )


def _signature(step: Step, broker: int, at: int) -> tuple[object, ...]:
    """What a broker's step says of another one (whose place is `at`), in terms that no renaming
    changes. A signature need not tell everything.
    """
    row = step.before
    remote, known, partition = row.remotes[at], row.image.brokers[at], row.image.partition
    told: list[object] = [
        *(row.leader == broker, broker in row.isr, partition.leader == broker),
        *(broker in partition.isr, broker in partition.elr, partition.last_known_leader == broker),
        *(remote.end_offset, remote.broker_epoch, remote.caught_up),
        *(known.epoch, known.fenced, known.stopping),
        *(any(request.destination == broker for request in row.fetching),),
    ]
    for name in ("source", "destination", "replica"):
        told.append(getattr(step.input, name, None) == broker)
    return tuple(told)


class PartitionCanonicaliser:
    """Finds canonical forms under one set of constants, and remembers what it has renamed.

    What it remembers changes no result; it is forgotten when there is much of it.
    """

    def __init__(self, constants: PartitionConstants) -> None:
        self.constants = constants
        self._brokers = constants.brokers
        self._encoded: dict[tuple[Any, Names, tuple[int, ...], Renumbering], bytes] = {}
        self._facts: dict[Any, Facts] = {}
        self._renamings: dict[tuple[Names, Renumbering], _Renaming] = {}

    def canonical(self, step: Step) -> CanonicalStep:
        """The representative of the step's class.

        Raises ToolError for a node that is none of the partition's, and for rows of another one.
        """
        if len(self._encoded) > MEMO_LIMIT:
            self._encoded.clear()
            self._facts.clear()
            self._renamings.clear()
        numbers, renumbering = self._numbered(step)
        try:
            forms = [
                self._form(step, names, numbers, renumbering) for names in self._bijections(step)
            ]
        except (ValueError, IndexError) as error:
            raise ToolError(
                f"{step.action} was recorded with a row that is not one of the brokers "
                f"{self._brokers}: {error}"
            ) from error
        before, taken, after, sent = min(forms)
        node = CONTROLLER if step.node == CONTROLLER else self._brokers[0]
        return CanonicalStep(step.action, node, before, taken, after, sent, step.ignored)

    def _bijections(self, step: Step) -> Iterable[Names]:
        """Names for the brokers: the acting one is the first, the rest as they are signed; what
        signatures leave open is tried in every order.
        """
        brokers, node = self._brokers, step.node
        if node == CONTROLLER:
            return (brokers,)
        if node not in brokers:
            raise ToolError(f"a step was recorded for {node}, which is no broker")
        signed: dict[tuple[object, ...], list[int]] = {}
        for at, broker in enumerate(brokers):
            if broker != node:
                signed.setdefault(_signature(step, broker, at), []).append(broker)
        groups = [signed[each] for each in sorted(signed)]
        if prod(factorial(len(group)) for group in groups) > MOST_ORDERS:
            orders = [[broker for group in groups for broker in group]]
        else:
            orders = [
                [broker for part in parts for broker in part]
                for parts in product(*[permutations(group) for group in groups])
            ]
        found = []
        for order in orders:
            name = dict(zip((node, *order), brokers, strict=True))
            found.append(tuple([name[b] for b in brokers]))
        return found

    def _form(
        self, step: Step, names: Names, numbers: Numbers, renumbering: Renumbering
    ) -> tuple[bytes, bytes, bytes, tuple[bytes, ...]]:
        def encoded(item: Any) -> bytes:
            return self._encode(item, names, numbers, renumbering)

        return (
            encoded(step.before),
            b"" if step.input is None else encoded(step.input),
            encoded(step.after),
            tuple(sorted([encoded(m) for m in step.sent])),
        )

    def _encode(self, item: Any, names: Names, numbers: Numbers, renumbering: Renumbering) -> bytes:
        values = self._facts_of(item).values
        own = tuple([numbers.get(value, UNNUMBERED) for value in values])
        key = (item, names, own, renumbering)
        known = self._encoded.get(key)
        if known is None:
            renaming = self._renamings.get((names, renumbering))
            if renaming is None:
                renaming = _Renaming(self._brokers, names, renumbering)
                self._renamings[names, renumbering] = renaming
            renaming.number = lambda value: numbers.get(value, UNNUMBERED)
            known = self._encoded[key] = _encode(renaming.item(item))
        return known

    def _facts_of(self, item: Any) -> Facts:
        known = self._facts.get(item)
        if known is None:
            known = self._facts[item] = facts_of(item)
        return known

    def renumbering(self, step: Step) -> Renumbering:
        """What becomes of the step's broker epochs and offsets."""
        return self._numbered(step)[1]

    def _numbered(self, step: Step) -> tuple[dict[int, int], Renumbering]:
        """Value -> number, in the order of first appearance, those in `sent` last; and the rest."""
        numbers: dict[int, int] = {}
        epochs: set[int] = {0}
        offsets: list[int] = []
        items = [step.before, step.input, step.after]
        items += step.sent if len(step.sent) < 2 else sorted(step.sent, key=_encode)
        for item in items:
            if item is not None:
                facts = self._facts_of(item)
                for value in facts.values:
                    numbers.setdefault(value, len(numbers) + 1)
                epochs |= facts.epochs
                offsets += facts.offsets
        if step.node == CONTROLLER:
            return numbers, UNCHANGED
        epochs.discard(UNDEFINED)
        shift = min(offsets) - INITIAL_OFFSET if offsets and step.action in SHIFTED else 0
        return numbers, Renumbering(tuple(sorted(epochs)), shift)
