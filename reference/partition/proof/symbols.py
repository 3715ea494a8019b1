"""Symbols for partition replication: logs by their matching prefix, sets of brokers, proposals.

What is abstracted, here and in relation.py and nowhere else:

* A log is how long it is, and how long the prefix is that it shares with the log of the leader of
  one *watched* epoch: `match`. Cutting is exact on both. What appending makes of `match` follows
  from whose records they are (the lemmas of relation.py).
* The epoch cache, producer state and sequence numbers are left open: what is asked of them is any
  value.
* `len`, `min` and `max` of the handlers' modules take symbols too; the order of sent messages is
  left as it is.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

import z3

from kraftcheck.reference.partition import (
    broker as core_broker,
    controller as core_controller,
    isr as core_isr,
    replication as core_replication,
    row as core_row,
    rules as core_rules,
)
from kraftcheck.reference.partition.log import EpochEnd
from kraftcheck.reference.partition.messages import Member, Partition
from kraftcheck.reference.proofs.symbolic import (
    Choice,
    NodeSet,
    Number,
    Path,
    Truth,
    assume,
    bits_of,
    folded,
    fresh,
    paths,
    summarised_number,
    summarised_set,
    summary,
    term_of,
)

SEQUENCE_ERRORS: Final = ("NONE", "OUT_OF_ORDER_SEQUENCE_NUMBER", "INVALID_PRODUCER_EPOCH")


def least(*terms: z3.ArithRef) -> z3.ArithRef:
    """The smallest of some terms."""
    found = terms[0]
    for term in terms[1:]:
        found = z3.If(term < found, term, found)
    return found


def count(bits: Sequence[z3.BoolRef]) -> z3.ArithRef:
    """How many hold."""
    return z3.Sum([z3.If(bit, 1, 0) for bit in bits])


class PrefixLog:
    """A log: its length, and the length of what it shares with the watched leader's log."""

    __slots__ = ("length", "match")

    def __init__(self, length: z3.ArithRef, match: z3.ArithRef) -> None:
        self.length = length
        self.match = match

    def __getitem__(self, part: slice) -> PrefixLog:
        """A prefix of it; exact."""
        assert part.start is None and part.step is None, "only prefixes are asked for"
        cut = term_of(part.stop)
        cut = z3.If(cut < 0, 0, cut)
        return PrefixLog(least(self.length, cut), least(self.match, cut))

    def __add__(self, records: Records) -> PrefixLog:
        """Longer. The prefix it shares does not get shorter; the lemmas say more."""
        match = fresh("match").term
        length = self.length + records.number
        assume(z3.And(match >= self.match, match <= length))
        return PrefixLog(length, match)


class Records:
    """Some records of another log, or new ones."""

    __slots__ = ("number",)

    def __init__(self, number: z3.ArithRef) -> None:
        self.number = number

    def __bool__(self) -> bool:
        return bool(Truth(self.number > 0))

    def __getitem__(self, at: int) -> Any:
        return _Open()

    def __iter__(self) -> Iterator[Any]:
        # No record of a response is of a later epoch than the response (lemma Appended).
        return iter(())


class _Open:
    """A record of which nothing is known."""

    @property
    def epoch(self) -> Number:
        return fresh("epoch")


class BrokerSet(NodeSet):
    """A set of brokers; comparing it with another is one term."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return bool(Truth(z3.Or(list(self.bits.values()))))

    def __contains__(self, node: Any) -> bool:
        if isinstance(node, Number):
            there = [z3.And(node.term == b, bit) for b, bit in self.bits.items()]
            return bool(Truth(z3.Or(there)))
        return super().__contains__(node)

    def issubset(self, others: Sequence[int]) -> Any:
        return Truth(z3.Not(z3.Or([bit for b, bit in self.bits.items() if b not in others])))

    def __eq__(self, other: object) -> Any:
        mine, theirs = self.bits, bits_of(other, list(self.bits))
        return Truth(z3.And([mine[b] == theirs[b] for b in mine]))

    def __ne__(self, other: object) -> Any:
        return Truth(z3.Not((self == other).term))

    __hash__ = None  # type: ignore[assignment]


class MemberSet:
    """The members of a proposal, each with a broker epoch."""

    __slots__ = ("bits", "epochs")

    def __init__(self, bits: Mapping[int, z3.BoolRef], epochs: Mapping[int, z3.ArithRef]) -> None:
        self.bits = bits
        self.epochs = epochs

    def __bool__(self) -> bool:
        return bool(Truth(z3.Or(list(self.bits.values()))))

    def __iter__(self) -> Iterator[Member]:
        for b, bit in self.bits.items():
            if Truth(bit):
                yield Member(b, Number(self.epochs[b]))  # type: ignore[arg-type]

    def __eq__(self, other: object) -> Any:
        bits, epochs = members_of(other, list(self.bits))
        same = [
            z3.And(self.bits[b] == bits[b], z3.Implies(bits[b], self.epochs[b] == epochs[b]))
            for b in self.bits
        ]
        return Truth(z3.And(same))

    def __ne__(self, other: object) -> Any:
        return Truth(z3.Not((self == other).term))

    __hash__ = None  # type: ignore[assignment]


class AnyPartition(Partition, frozen=True):
    """A record of the partition on symbols; comparing it with another is one term."""

    def __eq__(self, other: object) -> Any:
        assert isinstance(other, Partition), "a partition is compared with another"
        numbers = ("leader", "leader_epoch", "partition_epoch", "last_known_leader")
        same = [term_of(getattr(self, name)) == term_of(getattr(other, name)) for name in numbers]
        for name in ("isr", "elr"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if not isinstance(mine, BrokerSet):
                mine, theirs = theirs, mine
            same.append((mine == theirs).term if isinstance(mine, BrokerSet) else mine == theirs)
        return Truth(z3.And(*same, self.recovering == other.recovering))

    def __ne__(self, other: object) -> Any:
        return Truth(z3.Not((self == other).term))

    __hash__ = None  # type: ignore[assignment]


def members_of(
    members: Any, brokers: Sequence[int]
) -> tuple[Mapping[int, z3.BoolRef], Mapping[int, z3.ArithRef]]:
    """The members of a proposal as truth values, and their broker epochs, -1 for the others."""
    if isinstance(members, MemberSet):
        return members.bits, members.epochs
    epochs = {member.broker: term_of(member.epoch) for member in members}
    nobody = z3.IntVal(-1)
    return (
        {b: z3.BoolVal(b in epochs) for b in brokers},
        {b: epochs.get(b, nobody) for b in brokers},
    )


# --- What the handlers' modules see instead of their own.


def _len(value: Any) -> Any:
    if isinstance(value, PrefixLog):
        return Number(value.length)
    if isinstance(value, Records):
        return Number(value.number)
    if isinstance(value, BrokerSet | MemberSet):
        return Number(count(list(value.bits.values())))
    return builtins.len(value)


def _min(*values: Any) -> Any:
    return Number(least(*map(term_of, values)))


def _set(*given: Any) -> Any:
    (value,) = given or ((),)
    return value if isinstance(value, BrokerSet) else set(value)


def _max(*values: Any) -> Any:
    return Number(-least(*[-term_of(value) for value in values]))


def _without(values: Any, value: int) -> Any:
    if isinstance(values, BrokerSet):
        return BrokerSet({b: z3.And(bit, b != value) for b, bit in values.bits.items()})
    return tuple([each for each in values if each != value])


def _epoch_end(cache: Any, end: Any, epoch: Any) -> Any:
    """Any answer; within one step the same question has the same."""
    epoch, end = Number(z3.Int("asked.epoch")), Number(z3.Int("asked.end"))
    return EpochEnd(epoch, end)


def _open(*given: Any) -> Any:
    return fresh("open")


_OPEN_RULES: Final[Mapping[str, Callable[..., Any]]] = {
    "end_offset_for": _epoch_end,
    "last_epoch_of": _open,
    "cache_assign": _open,
    "cache_truncate": _open,
    "cache_append": _open,
    "producers_of": _open,
    "producers_from": _open,
    "producers_after_append": _open,
    "duplicate_in": _open,
    "sequence_error": lambda *given: Choice(fresh("sequence").term, SEQUENCE_ERRORS),
    "batches_from": lambda *given: _some_records(),
    "canonical": lambda messages: tuple(messages),
    "_without": _without,
}
_BUILTIN: Final[Mapping[str, Callable[..., Any]]] = {
    **{"len": _len, "min": _min, "max": _max},
    "set": _set,
}
_MODULES: Final = (
    core_broker,
    core_controller,
    core_isr,
    core_row,
    core_rules,
    core_replication,
)


def _some_records() -> Records:
    number = fresh("records").term
    assume(number >= 0)
    return Records(number)


def modules_of(rules: type[Any]) -> list[Any]:
    """The modules that these rules are written in, a bug's own among them."""
    written = (sys.modules.get(each.__module__) for each in rules.__mro__ if each is not object)
    return [module for module in written if module is not None and module not in _MODULES]


@contextmanager
def abstract_partition(also: Sequence[Any] = ()) -> Iterator[None]:
    """Have the core compute with the symbols of this file, while it lasts.

    Names mean these where a module has them, and builtins everywhere. also: other modules that do
    so, those of a bug.
    """
    replaced: list[tuple[Any, str, Any, bool]] = []
    try:
        for module in (*_MODULES, *also):
            for name, new in (*_OPEN_RULES.items(), *_BUILTIN.items()):
                own = name in vars(module)
                if own or name in _BUILTIN:
                    replaced.append((module, name, vars(module).get(name), own))
                    setattr(module, name, new)
        yield
    finally:
        for module, name, old, own in reversed(replaced):
            if own:
                setattr(module, name, old)
            else:
                delattr(module, name)


_TRUTHS: Final = frozenset(
    {
        *("is_active", "is_isr_eligible", "is_in_sync", "may_expand_isr", "is_out_of_sync"),
        *("is_waited_for", "enough_in_sync", "isr_member_active", "isr_member_epoch_matches"),
        *("is_stale_replica", "may_send_alter_partition", "response_matches"),
    }
)
_SETS: Final = frozenset({"maximal_isr", "high_watermark_quorum", "target_elr", "valid_leaders"})
_NUMBERS: Final = frozenset({"high_watermark_bound"})
_PARTITIONS: Final = frozenset(
    {"changes", "after_fencing", "after_unfencing", "after_unclean_restart"}
)
CHANGES: Final = _PARTITIONS | {"members_eligible"}
"""Methods of the controller's handlers that are summarised."""


def _key(value: Any) -> Any:
    """What a value on symbols is known by: the identity of its terms, which Z3 shares."""
    if isinstance(value, Number | Truth | Choice):
        return "term", value.term.get_id()
    if isinstance(value, NodeSet):
        return tuple((node, bit.get_id()) for node, bit in value.bits.items())
    if isinstance(value, MemberSet):
        epochs = tuple(epoch.get_id() for epoch in value.epochs.values())
        return tuple((node, bit.get_id()) for node, bit in value.bits.items()), epochs
    if isinstance(value, PrefixLog):
        return "log", value.length.get_id(), value.match.get_id()
    if isinstance(value, Records):
        return "records", value.number.get_id()
    if isinstance(value, tuple):
        return tuple(map(_key, value))
    if isinstance(value, set):
        return "set", *sorted(value)
    if hasattr(value, "__struct_fields__"):
        fields = value.__struct_fields__
        return (type(value).__name__, *(_key(getattr(value, name)) for name in fields))
    return value if value.__hash__ else ("object", id(value))


class Memory:
    """What code makes of its arguments, as terms over all its ways; asked once for each."""

    def __init__(self, brokers: Sequence[int]) -> None:
        self.brokers = brokers
        self._known: dict[Any, tuple[Any, Any]] = {}

    def recall(self, name: str, given: Any, code: Callable[[], Any]) -> Any:
        """What the code of this name makes of what is given."""
        key = (name, _key(given))
        if key not in self._known:
            # The arguments are kept so that their terms keep their identity.
            self._known[key] = (self._summed(name, code), given)
        return self._known[key][0]

    def _summed(self, name: str, code: Callable[[], Any]) -> Any:
        if name in _NUMBERS:
            return summarised_number(code, self.brokers)
        if name in _SETS:
            return BrokerSet(summarised_set(code, self.brokers))
        if name in _PARTITIONS:
            return self._partition(code)
        return summary(code, self.brokers)

    def _partition(self, code: Callable[[], Any]) -> Partition:
        found = paths(code, (), self.brokers)

        def joined(of: Callable[[Any], z3.ExprRef]) -> z3.ExprRef:
            return folded([Path(path.condition, of(path.result)) for path in found])

        def whole(field: str) -> Any:
            return Number(joined(lambda p: term_of(getattr(p, field))))

        def members(field: str) -> Any:
            return BrokerSet({b: joined(partial(member, field, b)) for b in self.brokers})

        def member(field: str, b: int, partition: Partition) -> z3.BoolRef:
            return bits_of(getattr(partition, field), self.brokers)[b]

        assert not any(path.result.recovering for path in found), "no election is unclean"
        return AnyPartition(
            leader=whole("leader"),
            leader_epoch=whole("leader_epoch"),
            partition_epoch=whole("partition_epoch"),
            isr=members("isr"),
            elr=members("elr"),
            last_known_leader=whole("last_known_leader"),
            recovering=False,
        )


def summarising(of: type[Any], names: Iterable[str]) -> type[Any]:
    """Give the class with the answers of some of its methods as one term each.

    So also where one of them asks another. Its instances have a `memory`.
    """

    def wrapped(name: str) -> Callable[..., Any]:
        method = getattr(of, name)

        def summed(self: Any, *given: Any) -> Any:
            return self.memory.recall(name, given, lambda: method(self, *given))

        return summed

    return type(f"Summarising{of.__name__}", (of,), {name: wrapped(name) for name in sorted(names)})


RULES: Final = _TRUTHS | _SETS | _NUMBERS
"""Rules that are summarised."""
