"""Symbols for partition replication: logs by their matching prefix, sets of brokers, proposals.

What is abstracted, here and in partition_relation.py and nowhere else:

* A log is how long it is, and how long the prefix is that it shares with the log of the leader of
  one *watched* epoch: `match`. Cutting is exact on both. What appending makes of `match` follows
  from whose records they are (the lemmas of partition_relation.py).
* The epoch cache, producer state and sequence numbers are left open: what is asked of them is any
  value.
* `len`, `min` and `max` of the handlers' modules take symbols too; the order of sent messages is
  left as it is.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import z3

from reference.core import broker as core_broker
from reference.core import controller as core_controller
from reference.core import isr as core_isr
from reference.core import partition_row as core_row
from reference.core import partition_rules as core_rules
from reference.core import replication as core_replication
from reference.core.partition_log import EpochEnd
from reference.core.partition_messages import Member
from reference.core.partition_rules import PartitionRules
from reference.proofs.symbolic import (
    Choice,
    NodeSet,
    Number,
    Truth,
    assume,
    fresh,
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

    def __eq__(self, other: object) -> Any:
        mine, theirs = self.bits, broker_bits(other, list(self.bits))
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


def broker_bits(nodes: Any, brokers: Sequence[int]) -> Mapping[int, z3.BoolRef]:
    """A set of brokers as one truth value for each."""
    if isinstance(nodes, NodeSet):
        return nodes.bits
    there = tuple(nodes)
    return {b: z3.BoolVal(b in there) for b in brokers}


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


def _max(*values: Any) -> Any:
    return Number(-least(*[-term_of(value) for value in values]))


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
}
_BUILTIN: Final[Mapping[str, Callable[..., Any]]] = {"len": _len, "min": _min, "max": _max}
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


@contextmanager
def abstract_partition() -> Iterator[None]:
    """While it lasts, the core computes with the symbols of this file."""
    replaced: list[tuple[Any, str, Any, bool]] = []
    try:
        for module in _MODULES:
            for name, new in {**_OPEN_RULES, **_BUILTIN}.items():
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
_SETS: Final = frozenset({"maximal_isr", "high_watermark_quorum"})
_NUMBERS: Final = frozenset({"high_watermark_bound"})


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
    if hasattr(value, "__struct_fields__"):
        fields = value.__struct_fields__
        return (type(value).__name__, *(_key(getattr(value, name)) for name in fields))
    return value


def summarising(rules: type[PartitionRules]) -> type[PartitionRules]:
    """These rules, with the answers of some of them as one term each, also where one rule asks
    another. What was asked once is remembered.
    """

    def wrapped(name: str) -> Callable[..., Any]:
        rule = getattr(rules, name)

        def summed(self: Any, *given: Any) -> Any:
            key = (name, _key(given))
            if key not in self.known:
                # The arguments are kept so that their terms keep their identity.
                self.known[key] = (self.summed(name, lambda: rule(self, *given)), given)
            return self.known[key][0]

        return summed

    def summed(self: Any, name: str, code: Callable[[], Any]) -> Any:
        if name in _NUMBERS:
            return summarised_number(code, self.brokers)
        if name in _SETS:
            return BrokerSet(summarised_set(code, self.brokers))
        return summary(code, self.brokers)

    body = {name: wrapped(name) for name in sorted(_TRUTHS | _SETS | _NUMBERS)}
    return type(f"Summarised{rules.__name__}", (rules,), {**body, "summed": summed})
