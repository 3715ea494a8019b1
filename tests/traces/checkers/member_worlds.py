"""Small histories of consumer groups, and what naming every pair of operations says of them.

    python -m tests.traces.checkers.member_worlds 100000 --seed 1

A world has a log for each partition, a coordinator that gives a partition on when its member has
given it up or was removed, and members that poll, process, commit, lose their partitions or die.
Its histories hold. Half of them are changed in one place, and `anomalies` counts what is wrong by
the definitions, pair by pair. It shares no code with the checker.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any, NamedTuple

from msgspec.structs import replace

from kraftcheck.reference.clients.promises import Configuration
from kraftcheck.traces.checkers.check import check_history
from kraftcheck.traces.checkers.groups import broken
from kraftcheck.traces.checkers.members import members_of
from kraftcheck.traces.history import FAIL, INDETERMINATE, NOT_COMMITTED, OK, History, Operation
from tests.traces.checkers.calls import tally, whole

KEYS = ("t-0", "t-1")
GROUP = "g"
CONFIGURATION = Configuration(one_client=False, consumers="listen", reset="earliest")
EVER = 1 << 60


class Member:
    """positions: of what it has; processed: how far. removed: by its coordinator."""

    def __init__(self, process: int) -> None:
        self.process = process
        self.positions: dict[str, int] = {}
        self.processed: dict[str, int] = {}
        self.removed = False


class MemberWorld:
    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.logs: dict[str, list[int | None]] = {key: [] for key in KEYS}
        self.operations: list[Operation] = []
        self.clock = 0
        self.processes = count(1)
        self.committed: dict[str, int] = {}
        self.owner: dict[str, Member | None] = dict.fromkeys(KEYS)
        self.members: list[Member] = []

    # -- What is told

    def tell(self, process: int, f: str, outcome: str = OK, **more: Any) -> None:
        self.clock += 2
        never = outcome == INDETERMINATE and self.draw.random() < 0.5
        self.operations.append(
            Operation(
                index=0,
                process=process,
                f=f,
                invoked=self.clock,
                completed=None if never else self.clock + 1,
                outcome=outcome,
                group=0,
                **more,
            )
        )

    def history(self, size: int) -> History:
        self.join()
        acts = [self.append] * 4 + [self.poll] * 6 + [self.commit] * 3 + [self.process] * 3
        acts += [self.fetch, self.move, self.move, self.give, self.give, self.zombie, self.die]
        while len(self.operations) < size:
            self.draw.choice(acts)()
        return in_order(self.operations)

    # -- The log

    def append(self) -> None:
        key = self.draw.choice(KEYS)
        log = self.logs[key]
        if self.draw.random() < 0.2:
            log.append(None)  # no record: a marker
        value = self.clock
        told = len(log) if self.draw.random() < 0.8 else None
        self.tell(0, "append", key=key, argument=value, result=told)
        log.append(value)

    # -- Members

    def join(self) -> None:
        if len(self.members) < 3:
            member = Member(next(self.processes))
            self.members.append(member)
            self.tell(member.process, "subscribe", argument=KEYS)

    def give(self) -> None:
        """What nobody has goes to somebody."""
        free = [key for key in KEYS if self.owner[key] is None]
        able = [each for each in self.members if not each.removed]
        if not able or not free:
            self.join()
            return
        member, keys = self.draw.choice(able), tuple(free[: self.draw.randint(1, 2)])
        self.tell(member.process, "partitions-assigned", argument=(GROUP, keys))
        for key in keys:
            self.owner[key] = member
            member.positions[key] = member.processed[key] = self.committed.get(key, 0)

    def move(self) -> None:
        member = self.someone()
        if member is None or not member.positions:
            return
        if member.removed:  # it hears of it
            self.drop(member, "partitions-lost", tuple(member.positions))
            member.removed = False
            return
        self.drop(member, "partitions-revoked", (self.draw.choice(sorted(member.positions)),))

    def drop(self, member: Member, how: str, keys: tuple[str, ...]) -> None:
        self.tell(member.process, how, argument=(GROUP, keys))
        for key in keys:
            del member.positions[key]
            if self.owner[key] is member:
                self.owner[key] = None

    def zombie(self) -> None:
        """The coordinator removes a member, which does not know it."""
        member = self.someone()
        if member is not None and self.draw.random() < 0.5:
            member.removed = True
            self.release(member)

    def die(self) -> None:
        member = self.someone()
        if member is not None and self.draw.random() < 0.3:
            self.members.remove(member)
            self.release(member)
            if self.draw.random() < 0.5:
                self.tell(member.process, "leave", argument=(GROUP, ()))
            self.join()

    def release(self, member: Member) -> None:
        for key, owner in self.owner.items():
            if owner is member:
                self.owner[key] = None

    def someone(self) -> Member | None:
        return self.draw.choice(self.members) if self.members else None

    def poll(self) -> None:
        member = self.someone()
        if member is None or not member.positions:
            return
        key = self.draw.choice(sorted(member.positions))
        log, begin = self.logs[key], member.positions[key]
        end = self.draw.randint(begin, min(len(log), begin + 4)) if begin < len(log) else begin
        shown = tuple((at, log[at]) for at in range(begin, end) if log[at] is not None)
        told = self.draw.random()
        self.tell(
            member.process,
            "fetch",
            key=key,
            argument=begin if told < 0.3 else None,
            result=shown or None,
            to=end if told > 0.5 else None,
        )
        # Who shows no records and does not say where it stands has gone nowhere that is known.
        member.positions[key] = end

    def process(self) -> None:
        member = self.someone()
        if member is None or not member.positions:
            return
        key = self.draw.choice(sorted(member.positions))
        member.processed[key] = member.positions[key]
        self.tell(member.process, "processed", argument=(GROUP, ((key, member.processed[key]),)))

    def commit(self) -> None:
        member = self.someone()
        if member is None or not member.positions:
            return
        key = self.draw.choice(sorted(member.positions))
        offset = member.processed[key]
        outcome = self.draw.choice((OK, OK, OK, INDETERMINATE, FAIL))
        if member.removed:
            outcome = FAIL
        self.tell(member.process, "commit-offsets", outcome, argument=(GROUP, ((key, offset),)))
        if outcome == OK or (outcome == INDETERMINATE and self.draw.random() < 0.5):
            self.committed[key] = offset

    def fetch(self) -> None:
        told = tuple((key, self.committed.get(key, NOT_COMMITTED)) for key in KEYS)
        self.tell(99, "committed", argument=GROUP, result=told)


def in_order(operations: list[Operation]) -> History:
    listed = sorted(operations, key=lambda each: each.invoked)
    return whole(replace(each, index=at, group=at) for at, each in enumerate(listed))


def changed(history: History, draw: random.Random) -> History:
    """One thing is not as it was told."""
    operations = list(history.operations)
    at = draw.randrange(len(operations))
    each = operations[at]
    by = draw.choice((-2, -1, 1, 2))
    if each.f in ("commit-offsets", "processed"):
        (key, offset), *_ = each.argument[1]
        if draw.random() < 0.5:
            operations[at] = replace(each, argument=(GROUP, ((key, max(0, offset + by)),)))
        else:
            operations[at] = replace(each, outcome=OK, completed=each.invoked + 1)
    elif each.f == "committed":
        told = tuple(
            (key, draw.choice((max(NOT_COMMITTED, offset + by), NOT_COMMITTED)))
            for key, offset in each.result
        )
        operations[at] = replace(each, result=told)
    elif each.f == "fetch" and each.result:
        shown = tuple((max(0, offset + by), value) for offset, value in each.result)
        operations[at] = replace(each, result=shown, argument=None, to=None)
    elif each.f == "partitions-revoked":
        # It is over later, or earlier, than it was.
        late = each.invoked + draw.choice((7, 15, 31))
        operations[at] = replace(each, completed=late)
    elif each.f in ("fetch", "append"):
        del operations[at]
    return in_order(operations)


# -- By definition


class Span(NamedTuple):
    process: int
    key: str
    begin: int
    given: int
    end: int
    how: str


class Commit(NamedTuple):
    process: int
    key: str
    offset: int
    begin: int
    end: int


class Answer(NamedTuple):
    """What a group was told that is committed of some key."""

    offset: int
    begin: int
    end: int


def in_some_order(commits: Sequence[Commit], answers: Sequence[Answer]) -> bool:
    """Whether some order of the commits explains the answers: every one is tried."""
    things: list[Commit | Answer] = [*commits, *answers]
    seen = set()

    def goes_on(done: frozenset[int], offset: int) -> bool:
        if all(at in done for at in range(len(commits), len(things))):
            return True
        if (done, offset) in seen:
            return False
        seen.add((done, offset))
        left = [at for at in range(len(things)) if at not in done]
        until = min(things[at].end for at in left)
        for at in left:
            each = things[at]
            if each.begin > until:
                continue
            if isinstance(each, Answer) and each.offset != offset:
                continue
            if goes_on(done | {at}, each.offset):
                return True
        return False

    return goes_on(frozenset(), NOT_COMMITTED)


def _end(each: Operation) -> int:
    return EVER if each.completed is None or each.outcome == INDETERMINATE else each.completed


def _spans(history: History) -> list[Span]:
    heard: dict[int, int] = {}
    for each in history.operations:
        last = each.invoked if each.completed is None else each.completed
        heard[each.process] = max(heard.get(each.process, last), last)
    found: list[Span] = []
    have: dict[tuple[int, str], Operation] = {}
    for each in history.operations:
        if each.f == "partitions-assigned":
            for key in each.argument[1]:
                have[each.process, key] = each
        elif each.f in ("partitions-revoked", "partitions-lost", "leave"):
            keys = each.argument[1]
            if each.f == "leave":
                keys = [key for process, key in have if process == each.process]
            for key in keys:
                given = have.pop((each.process, key))
                orderly = each.f == "partitions-revoked"
                end = each.completed if orderly else each.invoked
                assert end is not None
                times = (given.invoked, _end(given), end)
                found.append(Span(each.process, key, *times, each.f))
    for (process, key), given in have.items():
        times = (given.invoked, _end(given), heard[process])
        found.append(Span(process, key, *times, "gone"))
    return found


def _of(spans: list[Span], process: int, key: str | None, each: Operation) -> Span | None:
    end = each.invoked if each.completed is None else each.completed
    mine = [s for s in spans if (s.process, s.key) == (process, key)]
    mine = [s for s in mine if s.begin <= end and s.end >= each.invoked]
    return max(mine, key=lambda span: span.begin, default=None)


def anomalies(history: History) -> Counter[str]:
    """How often each anomaly happened."""
    found: Counter[str] = Counter()
    spans = _spans(history)
    for second in spans:
        earlier = [s for s in spans if s.key == second.key and s.begin < second.begin < s.end]
        found["overlap"] += any(s.how == "partitions-revoked" for s in earlier)
        found["zombie-overlap"] += any(s.how != "partitions-revoked" for s in earlier)
    commits = [
        Commit(each.process, key, offset, each.invoked, _end(each))
        for each in history.operations
        if each.f == "commit-offsets" and each.outcome != FAIL
        for key, offset in each.argument[1]
    ]
    answers: dict[str, list[Answer]] = {}
    wrong = set()
    for each in history.operations:
        if each.f == "committed":
            for key, offset in each.result:
                name = _told(commits, key, offset, each)
                found[name] += 1
                wrong |= {key} if name else set()
                answers.setdefault(key, []).append(Answer(offset, each.invoked, _end(each)))
    for key, told in answers.items():
        mine = [c for c in commits if c.key == key]
        found["stale-offset"] += key not in wrong and not in_some_order(mine, told)
    for name, times in _starts(history, spans, commits):
        found[name] += times
    found.update(_left(history, spans))
    found.update(_who(history, spans))
    del found[""]
    return Counter({name: times for name, times in found.items() if times})


def _live(commits: list[Commit], key: str | None, begin: int, end: int) -> tuple[set[int], bool]:
    """Offsets that may be committed at some time between, and whether there may be none."""
    mine = [c for c in commits if c.key == key]
    over = [c for c in mine if c.end < begin]
    live = {c.offset for c in mine if c.begin < end and not any(o.begin > c.end for o in over)}
    return live, not over


def _told(commits: list[Commit], key: str, offset: int, each: Operation) -> str:
    assert each.completed is not None
    live, none = _live(commits, key, each.invoked, each.completed)
    if offset in live or (offset == NOT_COMMITTED and none):
        return ""
    if offset == NOT_COMMITTED:
        return "offset-lost"
    ever = any(
        (c.key, c.offset) == (key, offset) and c.begin < each.completed and c.end != EVER
        for c in commits
    )
    return "stale-offset" if ever else "unknown-offset"


def _records(history: History) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {key: set() for key in KEYS}
    for each in history.operations:
        if each.f == "append" and each.result is not None:
            found[str(each.key)].add(each.result)
        elif each.f == "fetch":
            found[str(each.key)] |= {offset for offset, _ in each.result or ()}
    return found


class Went(NamedTuple):
    """A poll: from where to where."""

    each: Operation
    span: Span | None
    before: int
    after: int


def _went(history: History, spans: list[Span]) -> list[Went]:
    stood: dict[Span, int] = {}
    found = []
    for each in history.operations:
        if each.f != "fetch" or not any(s.process == each.process for s in spans):
            continue
        span = _of(spans, each.process, each.key, each)
        offsets = [offset for offset, _ in each.result or ()]
        known = each.argument if each.argument is not None else stood.get(span) if span else None
        if known is None and not offsets and each.to is None:
            continue
        before = min([*offsets, *([] if known is None else [known])], default=each.to)
        assert before is not None
        ends = [*(offset + 1 for offset in offsets), *([] if each.to is None else [each.to])]
        after = max(ends, default=before)
        if span:
            stood[span] = after
        found.append(Went(each, span, min(before, after), after))
    return found


def _starts(
    history: History, spans: list[Span], commits: list[Commit]
) -> Iterator[tuple[str, int]]:
    records = _records(history)
    first: dict[Span, Went] = {}
    for went in _went(history, spans):
        if went.span is not None:
            first.setdefault(went.span, went)
    for span, went in first.items():
        mine = records[span.key]
        low = max((each + 1 for each in mine if each < went.before), default=0)
        assert went.each.completed is not None
        live, none = _live(commits, span.key, span.begin, went.each.completed)
        if any(low <= offset <= went.before for offset in live):
            continue
        if none and low <= min(mine, default=EVER):
            continue
        early = not none and all(went.before < offset for offset in live)
        yield "early-start" if early else "wrong-start", 1


def _left(history: History, spans: list[Span]) -> Counter[str]:
    found: Counter[str] = Counter()
    went, records = _went(history, spans), _records(history)
    most: dict[Span, int] = {}
    for poll in went:
        if poll.span is not None:
            most[poll.span] = max(most.get(poll.span, -1), poll.after)
    final: dict[str, int] = {}
    processed: dict[str, set[int]] = {}
    done: dict[Span, int] = {}
    for each in history.operations:
        if each.f not in ("commit-offsets", "processed") or each.outcome == FAIL:
            continue
        for key, offset in each.argument[1]:
            span = _of(spans, each.process, key, each)
            if each.f == "processed":
                processed.setdefault(key, set())
                if span is not None:
                    done[span] = max(done.get(span, -1), offset)
            elif span is not None and offset > most.get(span, EVER):
                found["commit-beyond"] += 1
            elif _end(each) != EVER:
                final[key] = max(final.get(key, -1), offset)
    for key, mine in records.items():
        here = [poll for poll in went if poll.each.key == key]
        begun = min((poll.before for poll in here), default=EVER)
        read = {at for poll in here for at in range(poll.before, poll.after)}
        finished = {
            at
            for poll in here
            if poll.span is not None and poll.span in done
            for at in range(poll.before, min(poll.after, done[poll.span]))
        }
        below = {at for at in mine if begun <= at < final.get(key, -1)}
        found["skipped-record"] += len(below - read)
        if key in processed:
            found["committed-unprocessed"] += len((below & read) - finished)
    return found


def _who(history: History, spans: list[Span]) -> Counter[str]:
    found: Counter[str] = Counter()
    for each in history.operations:
        if each.f == "fetch" and each.result and any(s.process == each.process for s in spans):
            found["unowned-poll"] += _of(spans, each.process, each.key, each) is None
        if each.f != "commit-offsets" or _end(each) == EVER or each.outcome == FAIL:
            continue
        for key, _ in each.argument[1]:
            if _of(spans, each.process, key, each) is None and any(
                s.process == each.process for s in spans
            ):
                mine = [s for s in spans if (s.process, s.key) == (each.process, key)]
                mine = [s for s in mine if s.end <= each.invoked]
                last = max(mine, key=lambda span: span.end, default=None)
                heirs = [
                    s
                    for s in spans
                    if s.key == key and s.process != each.process
                    if s.given < each.invoked and s.end > _end(each)
                ]
                taken = last is not None and last.how == "partitions-lost" and heirs
                found["zombie-commit-offsets" if taken else "commit-by-non-owner"] += 1
    return found


def world(seed: int) -> History:
    """Half of them are changed in one place."""
    draw = random.Random(seed)
    history = MemberWorld(draw).history(draw.randint(4, 60))
    return history if draw.random() < 0.5 else changed(history, draw)


# -- Comparison


def counted(history: History) -> Counter[str]:
    """What the checker says."""
    members = members_of(history)
    assert members is not None
    return Counter({each.name: each.times for each in broken(members, "earliest")})


def _has_log(history: History) -> bool:
    return any(each.f in ("fetch", "append") for each in history.operations)


def compare(seed: int) -> str:
    """What came of one history; raises AssertionError where the two do not agree."""
    draw = random.Random(seed)
    history = MemberWorld(draw).history(draw.randint(8, 60))
    if members_of(history) is None or not _has_log(history):
        return "no members"
    kind = "holds"
    if draw.random() < 0.5:
        history = changed(history, draw)
        if members_of(history) is None or not _has_log(history):
            return "no members"
        kind = "changed"
    expected, found = anomalies(history), counted(history)
    assert found == expected, f"{seed}: {dict(found)}, not {dict(expected)}"
    report = check_history(history, configuration=CONFIGURATION, gaps=True, complete=False)
    if kind == "holds":
        assert report.verdict == "holds", f"{seed}: {report}"
        return "holds"
    allowed = {"zombie-overlap", "commit-by-non-owner", "commit-beyond"}
    wrong = set(expected) - allowed
    assert report.verdict == "violated" or not wrong - {"overlap"}, f"{seed}: {report}"
    return "violated" if wrong else "harmless"


if __name__ == "__main__":
    tally(compare)
