"""Small histories with transactions, and what an enumeration of all fates says of them.

    python -m tests.traces.checkers.transaction_worlds 100000 --seed 1

A world keeps two logs by the rules of KIP-98: records lie there before they are decided, markers
come one partition after the other, fetches of what is committed end at the first undecided record.
Its histories hold. Half of them are changed in one place, and then `violates` says by trying every
combination of fates whether any explains them. It shares no code with the checker.
"""

from __future__ import annotations

import random
from itertools import product
from typing import Any, NamedTuple

from msgspec.structs import replace

from kraftcheck.reference.clients.promises import Configuration
from kraftcheck.traces.checkers.atomicity import broken
from kraftcheck.traces.checkers.check import check_history
from kraftcheck.traces.checkers.fates import fates_of
from kraftcheck.traces.checkers.transactions import transactions_of
from kraftcheck.traces.history import ABORT, COMMIT, FAIL, INDETERMINATE, OK, History, Operation
from tests.traces.checkers.calls import tally, whole

KEYS = ("t-0", "t-1")
ALL = frozenset((COMMIT, ABORT))
CONFIGURATION = Configuration(one_client=False, transactions=True, isolation="read_committed")


class Entry(NamedTuple):
    """What lies at an offset. value: None, of a marker."""

    txn: int
    value: int | None
    marker: str | None = None


class TransactionWorld:
    def __init__(self, draw: random.Random, *, steps: bool) -> None:
        self.draw, self.steps = draw, steps
        self.logs: dict[str, list[Entry]] = {key: [] for key in KEYS}
        self.operations: list[Operation] = []
        self.clock = 0
        self.open: dict[int, int] = {}
        self.used: dict[int, set[str]] = {}
        self.waiting: list[tuple[str, int, str]] = []
        self.positions: dict[tuple[int, str], int] = {}
        self.fresh = {"txn": 0, "value": 0, "process": 10}
        self.producers = [0, 1]

    def next(self, what: str) -> int:
        self.fresh[what] += 1
        return self.fresh[what]

    def tell(self, process: int, f: str, outcome: str = OK, **more: Any) -> None:
        self.clock += 2
        never = outcome == INDETERMINATE and self.draw.random() < 0.5
        self.operations.append(
            Operation(
                index=len(self.operations),
                process=process,
                f=f,
                invoked=self.clock,
                completed=None if never else self.clock + 1,
                outcome=outcome,
                group=len(self.operations),
                **more,
            )
        )

    def history(self, size: int) -> History:
        acts = [self.produce] * 3 + [self.poll] * 3 + [self.mark] * 2
        while len(self.operations) < size:
            self.draw.choice(acts)()
        while self.waiting:
            self.mark()
        return whole(self.operations)

    # -- Producers

    def produce(self) -> None:
        at = self.draw.randrange(len(self.producers))
        process = self.producers[at]
        if not self.steps:
            self.whole(process)
        elif process not in self.open:
            txn = self.open[process] = self.next("txn")
            self.used[txn] = set()
            self.tell(process, "begin", txn=txn)
        elif self.draw.random() < 0.6:
            self.send(process, at)
        else:
            self.end(process, at)

    def send(self, process: int, at: int) -> None:
        txn, key, value = self.open[process], self.draw.choice(KEYS), self.next("value")
        outcome = self.draw.choice((OK, OK, OK, OK, INDETERMINATE, FAIL))
        offset = None
        if outcome == OK or (outcome == INDETERMINATE and self.draw.random() < 0.5):
            offset = self.append(txn, key, value)
        told = offset if outcome == OK and self.draw.random() < 0.8 else None
        self.tell(process, "append", outcome, key=key, argument=value, result=told, txn=txn)
        if outcome == INDETERMINATE:  # nobody commits after that
            del self.open[process]
            self.decide(txn, ABORT)
            self.producers[at] = self.next("process")

    def append(self, txn: int, key: str, value: int) -> int:
        self.used[txn].add(key)
        self.logs[key].append(Entry(txn, value))
        return len(self.logs[key]) - 1

    def end(self, process: int, at: int) -> None:
        txn = self.open.pop(process)
        wanted = self.draw.choice((COMMIT, COMMIT, COMMIT, ABORT))
        outcome = self.draw.choice((OK, OK, OK, INDETERMINATE, FAIL))
        happened = wanted
        if outcome == FAIL or (outcome == INDETERMINATE and self.draw.random() < 0.5):
            happened = ABORT
        self.tell(process, "end", outcome, argument=wanted, txn=txn)
        self.decide(txn, happened)
        if outcome == INDETERMINATE:
            self.producers[at] = self.next("process")

    def decide(self, txn: int, decision: str) -> None:
        self.waiting += [(key, txn, decision) for key in sorted(self.used[txn])]

    def mark(self) -> None:
        if self.waiting:
            at = self.draw.randrange(len(self.waiting))
            key, txn, decision = self.waiting.pop(at)
            self.logs[key].append(Entry(txn, None, decision))

    def whole(self, process: int) -> None:
        """A transaction as one operation of several appends."""
        txn, group = self.next("txn"), len(self.operations)
        self.used[txn] = set()
        sends = [(self.draw.choice(KEYS), self.next("value")) for _ in range(2)]
        outcome = self.draw.choice((OK, OK, OK, INDETERMINATE, FAIL))
        commit = outcome == OK or (outcome == INDETERMINATE and self.draw.random() < 0.5)
        self.clock += 2
        for key, value in sends:
            offset = self.append(txn, key, value)
            told = offset if outcome == OK and self.draw.random() < 0.8 else None
            self.operations.append(
                Operation(
                    index=len(self.operations),
                    process=process,
                    f="append",
                    key=key,
                    argument=value,
                    result=told,
                    invoked=self.clock,
                    completed=self.clock + 1,
                    outcome=outcome,
                    group=group,
                )
            )
        self.decide(txn, COMMIT if commit else ABORT)
        if outcome == INDETERMINATE:
            self.producers[self.producers.index(process)] = self.next("process")

    # -- Consumers

    def poll(self) -> None:
        process, key = self.draw.choice((100, 101)), self.draw.choice(KEYS)
        uncommitted = self.steps and self.draw.random() < 0.2
        position = self.positions.get((process, key), 0)
        log = self.logs[key]
        # What is not decided here keeps back all that comes after.
        decided = {entry.txn: entry.marker for entry in log if entry.marker}
        end = next((o for o, e in enumerate(log) if e.txn not in decided), len(log))
        if uncommitted:
            end = len(log)
        after = end if self.draw.random() < 0.7 else self.draw.randint(min(position, end), end)
        records = tuple(
            (offset, log[offset].value)
            for offset in range(position, after)
            if log[offset].value is not None and (uncommitted or decided[log[offset].txn] == COMMIT)
        )
        if not uncommitted:
            self.positions[process, key] = max(position, after)
        self.tell(
            process + 2 * uncommitted,
            "fetch",
            key=key,
            argument=position if uncommitted or self.draw.random() < 0.7 else None,
            result=records,
            to=after if after > position and self.draw.random() < 0.7 else None,
            isolation="read_uncommitted" if uncommitted else None,
        )


def changed(history: History, draw: random.Random) -> History:
    """One thing is not as it was told."""
    operations = list(history.operations)
    polls = [at for at, each in enumerate(operations) if each.f == "fetch" and each.result]
    sends = [at for at, each in enumerate(operations) if each.f == "append"]
    ends = [at for at, each in enumerate(operations) if each.f == "end"]
    placed = [
        (at, send)
        for at in polls
        for send in sends
        if operations[send].key == operations[at].key and operations[send].result is not None
    ]
    what = draw.choice(("drop", "show", "end"))
    if what == "show" and placed:
        at, send = draw.choice(placed)
        shown = {*operations[at].result, (operations[send].result, operations[send].argument)}
        operations[at] = replace(operations[at], result=tuple(sorted(shown)))
    elif what == "end" and ends:
        at = draw.choice(ends)
        other = ABORT if operations[at].argument == COMMIT else COMMIT
        operations[at] = replace(operations[at], argument=other)
    elif polls:
        at = draw.choice(polls)
        records = list(operations[at].result)
        gone = records.pop(draw.randrange(len(records)))
        before = operations[at].argument
        operations[at] = replace(
            operations[at],
            result=tuple(records),
            argument=gone[0] if before is None else before,
            to=max(operations[at].to or 0, gone[0] + 1),
        )
    return replace(history, operations=tuple(operations))


# -- By enumeration


def violates(history: History) -> bool:
    """Whether no combination of fates explains what was read. Times are not looked at."""
    fates, sends = _told(history)
    polls = [
        each
        for each in history.operations
        if each.f == "fetch" and each.result is not None and each.isolation is None
    ]
    went = _went(polls)
    shown = {(e.key, o, v) for e in history.operations if e.f == "fetch" for o, v in e.result or ()}
    for chosen in product(*(sorted(fates[txn]) for txn in fates)):
        fate = dict(zip(fates, chosen, strict=True))
        if all(
            _agrees(poll, span, send, fate, shown)
            for poll, span in zip(polls, went, strict=True)
            for send in sends
        ):
            return False
    return True


def _told(history: History) -> tuple[dict[int, set[str]], list[tuple[int, Operation]]]:
    """What each transaction may have come to, and what it sent."""
    fates: dict[int, set[str]] = {}
    sends = []
    for each in history.operations:
        if each.f == "begin" and each.txn is not None:
            fates[each.txn] = {ABORT}
        elif each.f == "append":
            txn = each.group if each.txn is None else each.txn
            if each.txn is None:
                fates[txn] = {OK: {COMMIT}, FAIL: {ABORT}}.get(each.outcome, set(ALL))
            if each.outcome != FAIL or each.txn is None:
                sends.append((txn, each))
        elif each.f == "end" and each.txn is not None and each.argument == COMMIT:
            fates[each.txn] = {OK: {COMMIT}, FAIL: {ABORT}}.get(each.outcome, set(ALL))
    return fates, sends


def _went(polls: list[Operation]) -> list[range]:
    stood: dict[tuple[int, str | None], int] = {}
    spans = []
    for each in polls:
        offsets = [offset for offset, _ in each.result]
        begin = each.argument if each.argument is not None else stood.get((each.process, each.key))
        begin = min([*offsets, *([] if begin is None else [begin])], default=None)
        end = max(
            [*(o + 1 for o in offsets), *([] if each.to is None else [each.to])], default=None
        )
        spans.append(range(0) if begin is None or end is None else range(begin, end))
        if end is not None:  # Where it stands is known, even if not where it came from.
            stood[each.process, each.key] = end
    return spans


def _agrees(
    poll: Operation,
    span: range,
    send: tuple[int, Operation],
    fate: dict[int, str],
    shown: set[tuple[str | None, int, Any]],
) -> bool:
    txn, append = send
    if append.key != poll.key:
        return True
    if any(value == append.argument for _, value in poll.result):
        return fate[txn] == COMMIT
    places = {o for key, o, v in shown if (key, v) == (append.key, append.argument)}
    if append.result is not None and append.outcome == OK:
        places.add(append.result)
    return fate[txn] == ABORT or not any(place in span for place in places)


# -- Comparison


def compare(seed: int) -> str:
    """What came of one history; raises AssertionError where the two do not agree."""
    draw = random.Random(seed)
    history = TransactionWorld(draw, steps=draw.random() < 0.7).history(draw.randint(8, 50))
    if draw.random() < 0.5:
        found = check_history(history, configuration=CONFIGURATION, complete=False)
        assert found.verdict == "holds", f"{seed}: {found}"
        return "holds"
    history = changed(history, draw)
    transactions = transactions_of(history)
    expected = violates(history)
    if transactions is None:
        assert not expected, seed
        return "no transactions"
    fates = fates_of(transactions)
    names = {each.name for each in broken(fates)}
    names &= {"unstable-fate", "torn-transaction", "lost-commit"}
    aborted = fates.transactions(fates.seen) & (transactions.ends.fate == 1)
    assert (bool(names) or bool(aborted.any())) == expected, f"{seed}: {names}, {expected}"
    verdict = check_history(history, configuration=CONFIGURATION).verdict
    assert verdict == "violated" or not expected, f"{seed}: {verdict}"
    return "violated" if expected else "harmless"


if __name__ == "__main__":
    tally(compare)
