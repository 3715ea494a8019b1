"""The verdict on a history of transactions over lists or registers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from kraftcheck.traces.checkers.isolation import levels, lists, registers
from kraftcheck.traces.checkers.isolation.cycles import Cycle, cycles_of
from kraftcheck.traces.checkers.isolation.dependencies import NAMES, PROCESS, REALTIME, RW, WR
from kraftcheck.traces.checkers.isolation.findings import Evidence, Finding
from kraftcheck.traces.checkers.isolation.ordering import Order, serial_order
from kraftcheck.traces.checkers.isolation.transactions import Transaction, transactions_of
from kraftcheck.traces.checkers.verdict import (
    CERTIFICATES_MAX,
    HOLDS,
    UNKNOWN,
    VIOLATED,
    Anomaly,
    Certificate,
    shown,
)
from kraftcheck.traces.collection import no_collection
from kraftcheck.traces.history import History

EVIDENCE: Final = {"list-append": lists.evidence_of, "register": registers.evidence_of}
"""By model, what reads its objects."""
ORDERS: Final[dict[str, tuple[str, frozenset[int]]]] = {
    "no-serial-order-realtime": (levels.STRICT_SERIALIZABLE, frozenset()),
    "no-serial-order-process": (levels.STRONG_SESSION, frozenset({REALTIME})),
    "no-serial-order": (levels.SERIALIZABLE, frozenset({REALTIME, PROCESS})),
}
"""By anomaly, the model that it excludes, and the orders that need not be kept."""


class Isolation(NamedTuple):
    """What transactions satisfy.

    Attributes:
        verdict: holds, violated or unknown, of the model that was asked for.
        held: the strongest models that nothing found rules out.
        anomalies: all that were found; those that the model excludes are not allowed.
        reason: why the verdict is unknown, or what it rests on.
        transactions: the number judged.
    """

    verdict: str
    held: tuple[str, ...]
    anomalies: tuple[Anomaly, ...]
    reason: str | None
    transactions: int


def check_isolation(
    history: History, model: str, consistency: str = levels.STRICT_SERIALIZABLE
) -> Isolation:
    """Judges the transactions of a history by a consistency model.

    Args:
        model: what the objects are, one of EVIDENCE.
        consistency: one of levels.MODELS.
    """
    with no_collection():
        return _checked(history, model, consistency)


def _checked(history: History, model: str, consistency: str) -> Isolation:
    transactions = transactions_of(history)
    evidence = EVIDENCE[model](transactions)
    evidence.graph.add_orders(transactions, evidence.committed)
    cycles = cycles_of(evidence.graph)
    found = _by_name(transactions, evidence.findings, cycles.found.values())
    undecided = _undecided(evidence, cycles.undecided)
    if evidence.unordered and not undecided:
        more, reason = _ordered(transactions, evidence, frozenset(found))
        found |= more
        undecided |= reason
    excluded = levels.excluded(found)
    verdict = HOLDS
    if consistency in excluded:
        verdict = VIOLATED
    elif any(levels.breaks(name, consistency) for name in undecided):
        verdict = UNKNOWN
    open_models = levels.excluded(undecided)
    held = [each for each in levels.MODELS if each not in excluded and each not in open_models]
    return Isolation(
        verdict,
        levels.strongest(held),
        tuple(_anomaly(name, each, consistency) for name, each in found.items()),
        "; ".join(dict.fromkeys(undecided.values())) or None,
        len(transactions),
    )


def _by_name(
    transactions: list[Transaction], findings: Iterable[Finding], cycles: Iterable[Cycle]
) -> dict[str, list[Certificate]]:
    found: dict[str, list[Certificate]] = {}
    for each in findings:
        operations = tuple(transactions[n].first_of(each.key) for n in each.transactions)
        certificate = Certificate(
            operations=operations, kind=each.name, sentence=each.sentence, key=each.key
        )
        found.setdefault(each.name, []).append(certificate)
    for cycle in cycles:
        certificate = Certificate(
            operations=tuple(transactions[n].operation for n in cycle.transactions),
            kind=cycle.name,
            sentence=sentence_of(cycle, transactions),
        )
        found.setdefault(cycle.name, []).append(certificate)
    return {name: found[name] for name in sorted(found, key=_severity)}


def _severity(name: str) -> tuple[int, str]:
    """The anomalies that exclude most models come first."""
    return -len(levels.excluded((name,))), name


def sentence_of(cycle: Cycle, transactions: list[Transaction]) -> str:
    """The cycle in words, each edge with its reason."""
    numbers = [transactions[n].operation for n in cycle.transactions]
    steps = []
    for at, (kind, reason) in enumerate(zip(cycle.kinds, cycle.reasons, strict=True)):
        first, second = numbers[at], numbers[(at + 1) % len(numbers)]
        place = "" if reason.key is None else f" of {reason.key}"
        if kind == RW:
            seen = "nothing" if reason.before is None else shown(reason.before)
            said = f"{first} read {seen}{place}, before {second} wrote {shown(reason.after)}"
        elif kind == WR:
            said = f"{second} read {shown(reason.after)}{place}, which {first} wrote"
        elif kind in (PROCESS, REALTIME):
            said = (
                f"{first} was answered before {second} was invoked"
                if kind == REALTIME
                else f"one client made {first} before {second}"
            )
        else:
            over = f"over {shown(reason.before)} of {first}"
            said = f"{second} wrote {shown(reason.after)}{place} {over}"
        steps.append(f"{said} ({NAMES[kind]})")
    return "; ".join(steps)


def _undecided(evidence: Evidence, cycles: Iterable[str]) -> dict[str, str]:
    """By anomaly that may be there, why it is not known."""
    found = {
        name: f"the search for {name} was given up, after too many transactions" for name in cycles
    }
    if not evidence.committed:
        found["G0"] = "no transaction is known to have been committed"
    if evidence.twice:
        (key, value), _ = min(evidence.twice.items(), key=lambda each: each[1])
        place = "" if key is None else f" to {key}"
        said = f"{shown(value)} was written{place} twice, so reads of it have no one writer"
        found["G0"] = said
    return found


def _ordered(
    transactions: list[Transaction], evidence: Evidence, found: frozenset[str]
) -> tuple[dict[str, list[Certificate]], Mapping[str, str]]:
    """What an order of the transactions says that dependencies alone do not."""
    more: dict[str, list[Certificate]] = {}
    unknown: dict[str, str] = {}
    excluded = levels.excluded(found)
    # An order that keeps more serves the weaker questions as well.
    for name, (model, free) in ORDERS.items():
        if model in excluded:
            continue
        order = serial_order(transactions, evidence.graph, evidence.committed, free)
        if order.verdict == HOLDS:
            break
        if order.verdict == UNKNOWN:
            unknown[name] = (
                f"{evidence.unordered} objects have writes whose order no read tells, and no order "
                "of all transactions was found that explains the reads"
            )
        else:
            more[name] = [_unplaced(transactions, order, name)]
    return more, unknown


def _unplaced(transactions: list[Transaction], order: Order, name: str) -> Certificate:
    """Why there is no order."""
    if order.reader < 0:
        return Certificate(operations=(), kind=name, sentence="every order contradicts a read")
    numbers = [n for n in (order.other, order.writer, order.reader) if n >= 0]
    place = "" if order.key is None else f" of {order.key}"
    reader = transactions[order.reader].operation
    return Certificate(
        operations=tuple(transactions[n].first_of(order.key) for n in numbers),
        kind=name,
        sentence=f"no order explains what the transaction of operation {reader} read{place}",
        key=order.key,
    )


def _anomaly(name: str, certificates: list[Certificate], consistency: str) -> Anomaly:
    broken = levels.breaks(name, consistency)
    return Anomaly(
        name=name,
        count=len(certificates),
        allowed=not broken,
        reason=f"{consistency} excludes it" if broken else f"{consistency} allows it",
        certificates=tuple(
            sorted(certificates, key=lambda each: (len(each.operations), each.operations))
        )[:CERTIFICATES_MAX],
    )
