"""Small histories of share groups, and what trying every order says of them.

    python -m tests.traces.checkers.share_worlds 100000 --seed 1

`records` draws what was done with one record, mostly with something wrong; `World` is a share
partition with locks, delivery counts, sessions and leaders that move, whose histories hold. The
definitions here try every order, and every pair, and share no code with the checker.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import permutations
from typing import Any

from kraftcheck.traces.checkers.shares import (
    EVER,
    Ack,
    Delivery,
    doubly_held,
    miscounted,
    placed,
    redelivered,
)
from kraftcheck.traces.history import (
    ACCEPT,
    ACKNOWLEDGE,
    FAIL,
    INDETERMINATE,
    OK,
    REJECT,
    RELEASE,
    RENEW,
    SHARE_POLL,
    History,
    Operation,
)
from tests.traces.checkers.calls import whole

GROUP, KEY = "g", "t-0"
LIMIT = 3
KINDS = (ACCEPT, ACCEPT, REJECT, RELEASE, RENEW)
OUTCOMES = (OK, OK, OK, OK, FAIL, INDETERMINATE)


# -- One record


def records(draw: random.Random) -> list[Delivery]:
    """Up to three deliveries of one record, with up to four acknowledgements in all."""
    times = draw.sample(range(60), 24)

    def pair() -> tuple[int, int]:
        first, second = sorted((times.pop(), times.pop()))
        return first, second

    found = []
    for number in range(draw.choice((1, 2, 2, 2, 3, 3))):
        count = draw.choice((None, number + 1, number + 1, draw.randint(1, LIMIT)))
        found.append(Delivery(*pair(), draw.randint(1, 2), count, number, []))
    found.sort()
    for number in range(draw.choice((0, 1, 1, 2, 2, 3, 4))):
        mine, (invoked, completed) = draw.choice(found), pair()
        invoked = max(invoked, mine.completed + 1)
        latest = [d for d in found if d.process == mine.process and d.completed < invoked]
        kind, outcome = draw.choice(KINDS), draw.choice(OUTCOMES)
        completed = EVER if outcome == INDETERMINATE else max(completed, invoked + 1)
        ack = Ack(invoked, completed, kind, outcome, 10 + number)
        max(latest, key=lambda each: each.completed).acks.append(ack)
    return found


def orders(deliveries: Sequence[Delivery]) -> bool:
    """Whether some order of everything is one that a share partition can have."""
    steps: list[tuple[int, int, str, int, Any, bool]] = []
    for d in deliveries:
        full = d.number is None or d.number >= LIMIT
        steps.append((d.invoked, d.completed, "deliver", d.process, full, True))
        for a in d.acks:
            if a.outcome != FAIL:
                sure = a.outcome == OK
                steps.append((a.invoked, a.completed, a.kind, d.process, None, sure))

    @cache
    def reach(left: frozenset[int], state: str, holder: int, full: bool) -> bool:
        if not any(steps[at][5] for at in left):
            return True
        if state != "done" and full and reach(left, "done", 0, False):
            return True  # archived
        due = min(steps[at][1] for at in left if steps[at][5])
        for at in left:
            invoked, _, what, member, more, sure = steps[at]
            if invoked > due:
                continue
            rest = left - {at}
            if what == "deliver":
                if state != "done" and reach(rest, "acquired", member, more):
                    return True
                continue
            mine = state == "acquired" and holder == member
            if not sure and reach(
                rest, "done" if what in (ACCEPT, REJECT) else state, holder, full
            ):
                return True
            if state == "done":
                ahead = sure and reach(rest, state, holder, full)
            elif mine:
                after = {RENEW: "acquired", RELEASE: "available"}.get(what, "done")
                ahead = reach(rest, after, holder, full)
            else:
                ahead = False
            if ahead:
                return True
        return False

    return reach(frozenset(range(len(steps))), "available", 0, False)


def locks_broken(deliveries: Sequence[Delivery], lock: int) -> bool:
    """Whether two members certainly held the record at once: all moments of all pairs."""
    for one, other in permutations(deliveries, 2):
        if one.process >= other.process:
            continue
        fine = False
        for first, later in ((one, other), (other, one)):
            for at in range(first.invoked, first.completed + 1):
                for then in range(later.invoked, later.completed + 1):
                    if then < at:
                        continue
                    sure = [a for a in first.acks if a.kind == RENEW and a.outcome == OK]
                    until = max([at, *(a.invoked for a in sure if a.completed < later.invoked)])
                    mine = (a for d in deliveries if d.process == first.process for a in d.acks)
                    given = (a.invoked for a in mine if a.kind != RENEW and a.outcome != FAIL)
                    fine = fine or then >= until + lock
                    fine = fine or any(first.invoked < moment < then for moment in given)
        if not fine:
            return True
    return False


def counts_broken(deliveries: Sequence[Delivery]) -> bool:
    """Whether no order of the deliveries has counts that grow."""
    known = [each for each in deliveries if each.number is not None]
    for order in permutations(known):
        in_time = all(
            not later.completed < earlier.invoked
            for at, earlier in enumerate(order)
            for later in order[at + 1 :]
        )
        numbers = [each.number or 0 for each in order]
        if in_time and numbers == sorted(set(numbers)):
            return False
    return bool(known)


def disagreements(number: int, seed: int) -> tuple[list[str], Counter[str]]:
    """Of so many records, where checker and definitions differ, and what was found how often."""
    draw, wrong, seen = random.Random(seed), [], Counter[str]()
    for at in range(number):
        found, lock = records(draw), draw.choice((5, 20, 60))
        again = any(
            a.kind in (ACCEPT, REJECT) and a.outcome == OK and other.invoked > a.completed
            for d in found
            for a in d.acks
            for other in found
        )
        said = {
            "placed": (placed(found, LIMIT), orders(found)),
            "redelivered": (redelivered(found) is not None, again),
            "locks": (doubly_held(found, lock, {}) is not None, locks_broken(found, lock)),
            "counts": (miscounted(found) is not None, counts_broken(found)),
        }
        for name, (checked, defined) in said.items():
            seen[f"{name} {defined}"] += 1
            if checked != defined:
                wrong.append(f"record {at}: {name} {checked}, and by definition {defined}: {found}")
        if again and orders(found):
            wrong.append(f"record {at}: acked-redelivered has an order: {found}")
    return wrong, seen


# -- A share partition


class ShareWorld:
    """One partition, read by one group whose members crash, renew, release and lose their locks."""

    LOCK = 40

    def __init__(self, draw: random.Random, *, moves: bool = False) -> None:
        self.draw, self.moves = draw, moves
        self.clock, self.members = 0, [1, 2, 3]
        self.operations: list[Operation] = []
        self.log: list[int] = []
        self.state: dict[int, tuple[str, int, int]] = {}
        """Of each offset: state, holder, when its lock ends."""
        self.counts: Counter[int] = Counter()
        self.stored: Counter[int] = Counter()
        self.held: dict[int, dict[int, int]] = {each: {} for each in self.members}

    def tell(self, process: int, f: str, outcome: str = OK, **more: Any) -> None:
        never = outcome == INDETERMINATE
        self.operations.append(
            Operation(
                index=len(self.operations),
                group=len(self.operations),
                process=process,
                f=f,
                invoked=self.clock * 10**9,
                completed=None if never else (self.clock + 1) * 10**9,
                outcome=outcome,
                **more,
            )
        )
        self.clock += 2

    def append(self) -> None:
        self.state[len(self.log)] = ("available", 0, 0)
        self.log.append(1000 + len(self.log))
        offset = len(self.log) - 1
        self.tell(0, "append", key=KEY, argument=self.log[-1], result=offset)

    def poll(self) -> None:
        member = self.draw.choice(self.members)
        shown: list[tuple[int, int, int]] = []
        for offset in range(len(self.log)):
            self.expire(offset)
            if self.state[offset][0] == "available" and len(shown) < 3:
                self.counts[offset] += 1
                self.state[offset] = ("acquired", member, self.clock + self.LOCK)
                self.held[member][offset] = self.clock
                shown.append((offset, self.log[offset], self.counts[offset]))
        key = KEY if shown else None
        self.tell(member, SHARE_POLL, key=key, argument=GROUP, result=tuple(shown))

    def expire(self, offset: int) -> None:
        state, _, until = self.state[offset]
        if state == "acquired" and self.clock >= until:
            self.free(offset)

    def free(self, offset: int) -> None:
        self.stored[offset] = self.counts[offset]
        full = self.counts[offset] >= LIMIT
        self.state[offset] = ("done" if full else "available", 0, 0)

    def acknowledge(self) -> None:
        member = self.draw.choice(self.members)
        if not self.held[member]:
            return
        offset = self.draw.choice(list(self.held[member]))
        kind = self.draw.choice(KINDS)
        self.expire(offset)
        state, holder, _ = self.state[offset]
        outcome = OK if (state, holder) == ("acquired", member) else FAIL
        lost = self.draw.random() < 0.1
        if outcome == OK and not (lost and self.draw.random() < 0.5):
            if kind == RENEW:
                self.state[offset] = (state, holder, self.clock + self.LOCK)
            elif kind == RELEASE:
                self.free(offset)
            else:
                self.state[offset] = ("done", 0, 0)
        if kind != RENEW:
            del self.held[member][offset]
        outcome = INDETERMINATE if lost else outcome
        self.tell(
            member, ACKNOWLEDGE, outcome, key=KEY, argument=(GROUP, ((offset, kind),)), result=None
        )

    def leave(self) -> None:
        member = self.draw.choice(self.members)
        for offset, (state, holder, _) in self.state.items():
            if (state, holder) == ("acquired", member):
                self.free(offset)
        self.tell(member, "leave", argument=(GROUP, ()))
        self.members[self.members.index(member)] = max(self.held) + 1
        self.held[max(self.held) + 1] = {}

    def move(self) -> None:
        """A new leader has what was stored."""
        for offset, (state, _, _) in self.state.items():
            if state == "acquired":
                self.state[offset] = ("available", 0, 0)
                self.counts[offset] = self.stored[offset]

    def whole(self) -> History:
        return whole(self.operations, time_unit="ns")

    def history(self, size: int) -> History:
        acts = [self.append] * 3 + [self.poll] * 4 + [self.acknowledge] * 6 + [self.leave]
        acts += [self.move] if self.moves else []
        while len(self.operations) < size:
            self.draw.choice(acts)()
        return self.whole()

    def drained(self) -> History:
        """Everything is delivered until it is done."""
        while any(state != "done" for state, _, _ in self.state.values()):
            self.clock += self.LOCK
            self.poll()
            for member in self.members:
                for offset in list(self.held[member]):
                    if self.state[offset][:2] == ("acquired", member):
                        self.state[offset] = ("done", 0, 0)
                        asked = (GROUP, ((offset, ACCEPT),))
                        self.tell(member, ACKNOWLEDGE, key=KEY, argument=asked)
                    del self.held[member][offset]
        return self.whole()


def worlds(number: int, seed: int, **more: Any) -> Iterator[ShareWorld]:
    for at in range(number):
        yield ShareWorld(random.Random(f"{seed}:{at}"), **more)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("number", type=int)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    wrong, seen = disagreements(given.number, given.seed)
    lines = [*wrong[:5], f"{given.number:,} records, {len(wrong):,} disagreements"]
    sys.stdout.write(
        "\n".join([*lines, *(f"{n:,} {what}" for what, n in sorted(seen.items())), ""])
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
