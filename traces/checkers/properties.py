"""What a whole history must satisfy without an order of its operations being looked for.

A property is a table of anomalies and a function that finds them [jepsen.checker, jepsen.tests]:

    bank        transfers between accounts: every read shows one total
    set-full    elements that are added stay: each is lost, stale, stable or was never read
    unique-ids  no identifier is generated twice
    total-queue what was enqueued comes out, once the queue was drained
    comments    who sees a write sees those that were over before it began [causal-reverse]
    sequential  who sees a later insert of a client sees its earlier ones [jepsen.cockroach]

Each is weaker than linearizability, needs no search, and takes time linear in the history. What
would be no violation if the history went on is `unknown`, with the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from kraftcheck.traces.checkers.verdict import (
    CERTIFICATES_MAX,
    HOLDS,
    UNKNOWN,
    VIOLATED,
    Anomaly,
    Certificate,
    shown,
)
from kraftcheck.traces.history import FAIL, INDETERMINATE, OK, History, HistoryError, Operation
from kraftcheck.traces.values import Map, Real

LATEST: Final = 1 << 62


class PropertyAnomaly(NamedTuple):
    """An anomaly: which one, the operations that show it (the victim last), and a sentence."""

    name: str
    operations: tuple[int, ...]
    sentence: str


Found = tuple[list[PropertyAnomaly], str | None]
"""What is found, and why nothing can be said, or None."""


class Property(NamedTuple):
    """What is asked of a history of some operations."""

    verbs: frozenset[str]
    """The `f` of its operations."""
    anomalies: Mapping[str, str]
    """By name, what each is; those of `allowed` count only where linearizability is asked for."""
    find: Callable[[Sequence[Operation], Any], Found]
    """Of the operations of one object and the total (of the bank)."""
    allowed: frozenset[str] = frozenset()


class Judgement(NamedTuple):
    """The verdict on a history by a property."""

    verdict: str
    anomalies: tuple[Anomaly, ...]
    reason: str | None
    """Why it is unknown."""


def judge(history: History, which: str, *, start: Any = None, strict: bool = False) -> Judgement:
    """Judge a history by one of PROPERTIES.

    Args:
        history: what the clients requested and received.
        which: the name of the property.
        start: for a bank, the total of all accounts.
        strict: whether to forbid what linearizability excludes.

    Raises:
        HistoryError: an operation that the property does not have.
    """
    wanted = PROPERTIES[which]
    objects: dict[str | None, list[Operation]] = {}
    for each in history.operations:
        if each.f not in wanted.verbs:
            what = f"{each.f} is no operation of {which}"
            raise HistoryError(history.source, each.line, what)
        objects.setdefault(each.key, []).append(each)
    certificates: dict[str, list[Certificate]] = {}
    reasons = []
    for key, operations in objects.items():
        found, reason = wanted.find(operations, start)
        reasons += [reason] if reason is not None else []
        for name, numbers, sentence in found:
            certificates.setdefault(name, []).append(
                Certificate(operations=numbers, kind=name, sentence=sentence, key=key)
            )
    allowed = frozenset() if strict else wanted.allowed
    anomalies = tuple(
        Anomaly(
            name=kind,
            count=len(some),
            allowed=kind in allowed,
            reason=wanted.anomalies[kind],
            certificates=tuple(some[:CERTIFICATES_MAX]),
        )
        for kind, some in certificates.items()
    )
    if any(not each.allowed for each in anomalies):
        return Judgement(VIOLATED, anomalies, None)
    if reasons:
        return Judgement(UNKNOWN, anomalies, reasons[0])
    return Judgement(HOLDS, anomalies, None)


def _answered(operations: Sequence[Operation], *verbs: str) -> list[Operation]:
    return [each for each in operations if each.f in verbs and each.outcome == OK]


# -- bank


def _bank(operations: Sequence[Operation], total: Any, *, negative: bool = False) -> Found:
    """Of reads of all accounts. Where nobody says the total, it is that of the first read."""
    found: list[PropertyAnomaly] = []
    first: Operation | None = None
    accounts: frozenset[Any] = frozenset()
    reads = _answered(operations, "read")
    alone = len(reads) == 1 and total is None
    for each in reads:
        balances = dict(each.result.pairs) if type(each.result) is Map else {}
        wrong = [value for value in balances.values() if type(value) not in (int, Real)]
        if not balances or wrong:
            said = f"operation {each.index} read {shown(each.result)}, not a balance for each key"
            found.append(PropertyAnomaly("nil-balance", (each.index,), said))
            continue
        seen = sum(float(value) if type(value) is Real else value for value in balances.values())
        if first is None:
            first, accounts = each, frozenset(balances)
            total = seen if total is None else total
        if frozenset(balances) != accounts:
            said = f"operation {each.index} read other accounts than operation {first.index}"
            found.append(PropertyAnomaly("unexpected-key", (first.index, each.index), said))
        elif seen != total:
            said = f"operation {each.index} read {shown(each.result)}: a total of {seen}, not "
            found.append(
                PropertyAnomaly("wrong-total", (first.index, each.index), f"{said}{total}")
            )
        below = min(balances.values())
        if below < 0 and not negative:
            said = f"operation {each.index} read {shown(each.result)}: a balance of {below}"
            found.append(PropertyAnomaly("negative-value", (each.index,), said))
    if not reads:
        return found, "nobody read the accounts"
    return found, "one read, and nobody says the total (--initial)" if alone else None


# -- set-full


class _Element(NamedTuple):
    """When an element is known to be there, and what shows it; reads by their invocation."""

    known: int
    by: int
    present: Operation | None
    absent: Operation | None


def _set_full(operations: Sequence[Operation], start: Any) -> Found:
    adds: dict[Any, Operation] = {}
    for each in operations:
        if each.f == "add":
            first = adds.setdefault(each.argument, each)
            if _ended(each) < _ended(first) or (first.outcome == FAIL and each.outcome != FAIL):
                adds[each.argument] = each
    reads = sorted(_answered(operations, "read"), key=lambda each: each.invoked)
    found = list(_odd_elements(adds, reads))
    stable = 0
    for value, element in _elements(adds, reads):
        present, absent = element.present, element.absent
        begun = -LATEST if present is None else present.invoked
        if absent is not None and absent.invoked > max(begun, element.known):
            said = f"operation {absent.index} did not read {shown(value)}, which operation "
            said += f"{element.by} had shown to be there, and nobody did later"
            found.append(PropertyAnomaly("lost", (element.by, absent.index), said))
            continue
        stable += present is not None
        if present is not None and absent is not None and absent.invoked > element.known:
            said = f"operation {absent.index} did not read {shown(value)}, which operation "
            said += f"{element.by} had shown to be there"
            found.append(PropertyAnomaly("stale", (element.by, absent.index), said))
    return found, None if stable else "no element was read"


def _ended(each: Operation) -> int:
    """When it is known to have been done."""
    return LATEST if each.outcome != OK or each.completed is None else each.completed


def _odd_elements(
    adds: Mapping[Any, Operation], reads: Sequence[Operation]
) -> Iterator[PropertyAnomaly]:
    told: set[Any] = set()
    for each in reads:
        elements = each.result or ()
        if type(elements) is tuple and len({*elements}) < len(elements) and "twice" not in told:
            told.add("twice")
            value, _ = Counter(elements).most_common(1)[0]
            said = f"operation {each.index} read {shown(value)} more than once"
            yield PropertyAnomaly("duplicated", (each.index,), said)
        for value in elements:
            add = adds.get(value)
            if value in told or (add is not None and add.outcome != FAIL):
                continue
            told.add(value)
            said = f"operation {each.index} read {shown(value)}, "
            if add is None:
                yield PropertyAnomaly("unexpected", (each.index,), said + "which nobody added")
            else:
                yield PropertyAnomaly("G1a", (add.index, each.index), said + "whose add had failed")


def _elements(
    adds: Mapping[Any, Operation], reads: Sequence[Operation]
) -> Iterator[tuple[Any, _Element]]:
    """Each element that is known to have been there, and the last reads with and without it."""
    known = {
        value: (_ended(each), each.index) for value, each in adds.items() if each.outcome == OK
    }
    contents = [frozenset(each.result or ()) for each in reads]
    for at in sorted(range(len(reads)), key=lambda at: _ended(reads[at])):
        completed = _ended(reads[at])
        for value in contents[at]:
            if value in adds and completed < known.get(value, (LATEST, 0))[0]:
                known[value] = (completed, reads[at].index)
    present: dict[Any, Operation] = {}
    absent: dict[Any, Operation] = {}
    # From the last read on; an element leaves `open_` at its last absence, so that all of this
    # takes no longer than the reads are long.
    open_ = set(known)
    for at in range(len(reads) - 1, -1, -1):
        missing = open_ - contents[at]
        absent |= dict.fromkeys(missing, reads[at])
        open_ -= missing
    for each, content in zip(reads, contents, strict=True):
        present |= dict.fromkeys(content & known.keys(), each)
    for value, (when, by) in known.items():
        yield value, _Element(when, by, present.get(value), absent.get(value))


# -- unique-ids


def _unique_ids(operations: Sequence[Operation], start: Any) -> Found:
    first: dict[Any, Operation] = {}
    found = []
    generated = _answered(operations, "generate")
    for each in generated:
        other = first.setdefault(each.result, each)
        if other is not each:
            said = f"operations {other.index} and {each.index} both generated {shown(each.result)}"
            found.append(PropertyAnomaly("duplicated", (other.index, each.index), said))
    return found, None if len(generated) > 1 else "fewer than two identifiers were generated"


# -- total-queue


def _total_queue(operations: Sequence[Operation], start: Any) -> Found:
    enqueues = [each for each in operations if each.f == "enqueue"]
    dequeues = _answered(operations, "dequeue")
    attempts = Counter(each.argument for each in enqueues if each.outcome != FAIL)
    taken = Counter(each.result for each in dequeues if each.result is not None)
    found = []
    over: Counter[Any] = Counter()
    for each in dequeues:
        if each.result is None:
            continue
        over[each.result] += 1
        if over[each.result] > attempts[each.result]:
            odd = "unexpected" if each.result not in attempts else "duplicated"
            said = f"operation {each.index} dequeued {shown(each.result)}, "
            said += "which nobody enqueued" if odd == "unexpected" else "once more than it went in"
            found.append(PropertyAnomaly(odd, (each.index,), said))
    missing = []
    left = +taken
    for each in enqueues:
        if each.outcome != OK:
            continue
        if left[each.argument]:
            left[each.argument] -= 1
        else:
            missing.append(each)
    if not missing:
        return found, None if dequeues else "nobody dequeued"
    last = max(each.completed or 0 for each in missing)
    empty = next((e for e in dequeues if e.result is None and e.invoked > last), None)
    if empty is None:
        return found, f"{len(missing):,} elements are left, and nobody found the queue empty"
    open_ = sum(each.f == "dequeue" and each.outcome == INDETERMINATE for each in operations)
    if len(missing) <= open_:
        said = f"{len(missing):,} elements are gone, and {open_:,} dequeues were not answered"
        return found, said
    for each in missing:
        said = f"{shown(each.argument)} was enqueued (operation {each.index}), never dequeued, and "
        said += f"operation {empty.index} found the queue empty"
        found.append(PropertyAnomaly("lost", (each.index, empty.index), said))
    return found, None


# -- comments


def _comments(operations: Sequence[Operation], start: Any) -> Found:
    writes = {each.argument: each for each in operations if each.f == "write"}
    acked = sorted(
        (each for each in writes.values() if each.outcome == OK and each.completed is not None),
        key=lambda each: each.completed or 0,
    )
    found = []
    reads = _answered(operations, "read")
    seen_any = False
    for each in reads:
        seen = frozenset(each.result or ())
        known = [writes[value] for value in seen if value in writes]
        latest = max(known, key=lambda write: write.invoked, default=None)
        seen_any = seen_any or latest is not None
        for write in acked if latest is not None else ():
            assert latest is not None and write.completed is not None
            if write.completed >= latest.invoked:
                break
            if write.argument not in seen:
                said = f"operation {each.index} saw {shown(latest.argument)} (operation "
                said += f"{latest.index}) and not {shown(write.argument)} (operation {write.index})"
                said += ", which was over before that began"
                found.append(
                    PropertyAnomaly("missing", (write.index, latest.index, each.index), said)
                )
                break
    return found, None if seen_any else "nobody saw a write"


# -- sequential


def _sequential(operations: Sequence[Operation], start: Any) -> Found:
    """A write of a key inserts its subkeys in order; a read looks for each, the last one first.

    The answer is [key [subkey or nil, ...]], in the order of the reads.
    """
    writes = {each.argument: each for each in operations if each.f == "write"}
    found = []
    seen_any = False
    for each in _answered(operations, "read"):
        if type(each.result) is not tuple or len(each.result) != 2:
            said = f"operation {each.index} read {shown(each.result)}, not [key [subkey ...]]"
            found.append(PropertyAnomaly("unexpected", (each.index,), said))
            continue
        key, answers = each.result
        seen = [at for at, subkey in enumerate(answers or ()) if subkey is not None]
        if not seen:
            continue
        seen_any = True
        write = writes.get(key)
        if write is None or write.outcome == FAIL:
            said = f"operation {each.index} read {shown(answers[seen[0]])} of key {shown(key)}, "
            said += "which nobody wrote" if write is None else "whose write had failed"
            found.append(PropertyAnomaly("unexpected", (each.index,), said))
        elif None in answers[seen[0] :]:
            said = f"operation {each.index} saw {shown(answers[seen[0]])} of key {shown(key)} "
            said += f"(operation {write.index}), and then not one that was inserted before it"
            found.append(PropertyAnomaly("missing", (write.index, each.index), said))
    return found, None if seen_any else "nobody saw a write"


_BANK: Final = {
    "nil-balance": "an account without a balance",
    "unexpected-key": "other accounts than before",
    "wrong-total": "money was made or lost",
    "negative-value": "an account was overdrawn",
}
PROPERTIES: Final[Mapping[str, Property]] = {
    "bank": Property(frozenset({"read", "transfer"}), _BANK, _bank),
    "bank-negative": Property(
        frozenset({"read", "transfer"}), _BANK, partial(_bank, negative=True)
    ),
    "set-full": Property(
        frozenset({"add", "read"}),
        {
            "lost": "an element was there, and from some time on it was not",
            "stale": "an element was there, was missed, and was there again",
            "duplicated": "an element was read more than once",
            "unexpected": "an element was read that nobody added",
            "G1a": "an element was read whose add had failed",
        },
        _set_full,
        frozenset({"stale"}),
    ),
    "unique-ids": Property(
        frozenset({"generate"}), {"duplicated": "one identifier twice"}, _unique_ids
    ),
    "total-queue": Property(
        frozenset({"enqueue", "dequeue"}),
        {
            "lost": "what was enqueued never came out",
            "unexpected": "what came out was never enqueued",
            "duplicated": "more came out than went in",
        },
        _total_queue,
        frozenset({"duplicated"}),
    ),
    "comments": Property(
        frozenset({"read", "write"}),
        {"missing": "a write was seen, and one that was over before it began was not"},
        _comments,
    ),
    "sequential": Property(
        frozenset({"read", "write"}),
        {
            "missing": "an insert was seen, and then an earlier one of the same client was not",
            "unexpected": "what was read was never written",
        },
        _sequential,
    ),
}
"""By name, as `--model` has it."""
