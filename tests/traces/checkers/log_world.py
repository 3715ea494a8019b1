"""Client histories of a partition's log that are valid by construction, for each row of promises.

A small world is run, not a protocol: a log, its committed end, what each replica shows of it, and
what the row's mechanism does to them (a new leader shows less for a while, an old one goes on
answering, a follower lags behind, an open transaction hides what follows, a retry leaves a copy,
the cleaner takes what was replaced). Every operation takes effect at a moment between its
invocation and its completion, or later where its outcome is unknown. `damaged` changes one thing
afterwards.

One seed is one history, everywhere and always.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from kraftcheck.reference.clients.promises import Configuration, Envelope, Promise, promised
from kraftcheck.traces.history import FAIL, INDETERMINATE, OK, History, Operation
from tests.traces.checkers.calls import whole

KEY: Final = "log-0"
NEVER: Final = 1e9
KEYS: Final = ("a", "b", "c")


class Setting(NamedTuple):
    """level: the clients' configuration by name; fault: what went wrong, by name."""

    level: str
    fault: str
    configuration: Configuration
    envelope: Envelope

    @property
    def promise(self) -> Promise:
        return promised(self.configuration, self.envelope)

    @property
    def gaps(self) -> bool:
        return self.configuration.transactions or self.configuration.compaction != "none"


_BASE: Final = Configuration(one_client=False)
_WEAK: Final = replace(_BASE, idempotence=False, retries=False)
CONFIGURATIONS: Final[dict[str, Configuration]] = {
    "acks=all": _BASE,
    "reads its own": Configuration(),
    "asks for the end": replace(_BASE, asks_latest=True),
    "goes back": replace(_BASE, goes_back=True),
    "at least once": replace(_BASE, idempotence=False),
    "acks=1": replace(_WEAK, acks="1"),
    "acks=1, own": replace(_WEAK, acks="1", one_client=True),
    "acks=1, retries": replace(_BASE, acks="1"),
    "acks=0": replace(_WEAK, acks="0"),
    "acks=0, own": replace(_WEAK, acks="0", one_client=True),
    "follower": replace(_BASE, reads_from="follower"),
    "follower, own": replace(_BASE, reads_from="follower", one_client=True),
    "follower, asks": replace(_BASE, reads_from="follower", asks_latest=True),
    "any replica": replace(_BASE, reads_from="any"),
    "read committed": replace(_BASE, transactions=True, isolation="read_committed"),
    "read committed, own": replace(
        _BASE, transactions=True, isolation="read_committed", one_client=True
    ),
    "read uncommitted": replace(_BASE, transactions=True),
    "groups": replace(_BASE, consumers="subscribe"),
    "compacted, keyed": replace(_BASE, compaction="keyed"),
    "compacted, unknown": replace(_BASE, compaction="keys-unknown"),
}
ENVELOPES: Final[dict[str, Envelope]] = {
    "none": Envelope(),
    "moved": Envelope(leader_moves=1),
    "clean": Envelope(leader_moves=1, network_partitions=1, zombie=True),
    "lossy": Envelope(leader_moves=1, lossy=1),
    "expired": Envelope(expired=True),
    "lost": Envelope(leader_moves=1, lossy=2),
    "unclean": Envelope(unclean_moves=1),
}
SETTINGS: Final = tuple(
    Setting(level, fault, configuration, envelope)
    for level, configuration in CONFIGURATIONS.items()
    for fault, envelope in ENVELOPES.items()
    # Where nothing is promised there is nothing to judge: once is enough.
    if level == "acks=all" or not promised(configuration, envelope).nothing
)


class Entry(NamedTuple):
    """A place in the leader's log. hidden: a control record, or one that was aborted."""

    value: Any
    key: str
    hidden: bool = False
    transaction: int = -1


class View(NamedTuple):
    """What a replica shows: records from `start` to before `end`, but for those that are gone."""

    end: int
    start: int
    gone: frozenset[int] = frozenset()


class _World:
    """The log of one run, and everything that happens to it."""

    def __init__(self, dice: random.Random, setting: Setting, size: int) -> None:
        self.dice, self.setting = dice, setting
        self.configuration, self.envelope = setting.configuration, setting.envelope
        self.promise = setting.promise
        self.entries: list[Entry] = []
        self.committed = self.start = 0
        self.open: dict[int, int] = {}
        """Transactions to their first offset."""
        self.aborted: set[int] = set()
        self.past: list[tuple[float, int, int]] = [(-1.0, 0, 0)]
        """(from when on, the committed end, the start)."""
        self.shows: tuple[float, int, int] = (-1.0, 0, 0)
        """Until when the leader shows less than is committed: how much, and from where."""
        self.zombie: tuple[float, float, int, int] = (NEVER, NEVER, 0, 0)
        self.gone: list[set[int]] = [set() for _ in range(3)]
        self.lag = [0.0, dice.choice((0, 15, 60)), dice.choice((0, 15, 60))]
        self.leader = self.reached = 0
        self.numbers = count()
        self.queue: list[tuple[float, int, Callable[[float], None]]] = []
        self.calls: list[dict[str, Any]] = []
        self.processes = count(100)
        self.groups = count()
        self.told = dice.choice((1.0, 1.0, 0.5, 0.0)) if self.configuration.acks != "0" else 0.0
        self.unknown = dice.choice((0.0, 0.1, 0.3))
        # A record that was aborted is not told apart from another of the same value.
        plain = self.configuration.compaction == "none" and not self.configuration.transactions
        self.repeats = dice.random() < 0.03 and plain
        self.span = 14.0 * size / 3
        self._trouble()

    def at(self, moment: float, what: Callable[[float], None]) -> None:
        heapq.heappush(self.queue, (moment, next(self.numbers), what))

    def run(self) -> None:
        while self.queue:
            moment, _, what = heapq.heappop(self.queue)
            what(moment)

    # -- What happens to the log

    def _trouble(self) -> None:
        dice, envelope = self.dice, self.envelope
        if envelope.leader_moves or envelope.unclean_moves:
            for _ in range(dice.choice((1, 1, 2))):
                self.at(dice.uniform(0, self.span), self._move)
        if dice.random() < 0.25:
            for _ in range(dice.choice((1, 2))):
                self.at(dice.uniform(0, self.span), self._delete)
        if self.configuration.compaction != "none":
            for _ in range(dice.choice((1, 2, 4))):
                self.at(dice.uniform(0, self.span), self._clean)

    def _note(self, moment: float) -> None:
        self.past.append((moment, self.committed, self.start))

    def _move(self, moment: float) -> None:
        dice, entries = self.dice, self.entries
        if self.envelope.zombie and dice.random() < 0.8:
            lasts = dice.choice((20, 80, 200))
            shown, first = self._leads(moment)
            self.zombie = (moment, moment + lasts, shown, first)
        nothing = self.promise.nothing
        if self.configuration.acks == "1" or nothing:
            # What only the old leader had is gone.
            least = dice.randint(0, self.committed) if nothing else self.committed
            del entries[dice.randint(least, len(entries)) :]
            self.committed = min(self.committed, len(entries))
        shown = dice.randint(0, self.committed) if dice.random() < 0.7 else self.committed
        _, _, self.start = dice.choice(self.past)
        self.shows = (moment + dice.choice((0, 20, 60)), max(shown, self.start), self.start)
        self.leader = dice.randrange(3)
        self._note(moment)

    def _delete(self, moment: float) -> None:
        end, _ = self._leads(moment)
        self.start = max(self.start, self.dice.randint(0, end))
        self._note(moment)

    def _clean(self, _: float) -> None:
        """Each replica cleans on its own, what is committed and never the last record."""
        gone = self.gone[self.dice.randrange(3)]
        last = self.committed - 1
        newest = {entry.key: at for at, entry in enumerate(self.entries[: self.committed])}
        for at, entry in enumerate(self.entries[: max(last, 0)]):
            if (newest[entry.key] > at or self.tomb(entry)) and self.dice.random() < 0.8:
                gone.add(at)

    def add(self, entry: Entry, moment: float) -> int:
        """Appends a record, that is committed at once or a little later."""
        self.entries.append(entry)
        place = len(self.entries) - 1
        if entry.transaction >= 0 and not entry.hidden:
            self.open.setdefault(entry.transaction, place)
        if self.configuration.acks == "1":
            self.at(moment + self.dice.choice((0, 10, 40)), lambda m: self._commit(place + 1, m))
        else:
            self._commit(place + 1, moment)
        return place

    def _commit(self, end: int, moment: float) -> None:
        self.committed = max(self.committed, min(end, len(self.entries)))
        self._note(moment)

    # -- What is seen of it

    def _leads(self, moment: float) -> tuple[int, int]:
        until, shown, _ = self.shows
        return (min(shown, self.committed) if moment < until else self.committed), self.start

    def view(self, moment: float, reader: int, asks: bool = False) -> View:
        """What a reader is shown. asks: of the log's end, which followers do not tell."""
        since, until, shown, first = self.zombie
        replica = self.leader
        end, start = self._leads(moment)
        if since <= moment < until and self.dice.random() < 0.5:
            end, start = shown, first
        elif self.configuration.reads_from != "leader" and not asks:
            any_one = self.configuration.reads_from == "any"
            replica = self.dice.randrange(3) if any_one else reader % 3
            then = moment - self.lag[replica]
            _, end, start = max(
                (each for each in self.past if each[0] <= then), default=self.past[0]
            )
            end = min(end, len(self.entries))
        if self.configuration.isolation == "read_committed" and self.open:
            end = min(end, *self.open.values())
        return View(end, min(start, end), frozenset(self.gone[replica]))

    def records(self, view: View, position: int, most: int) -> tuple[tuple[int, Any], ...]:
        committed = self.configuration.isolation == "read_committed"
        last = {entry.key: at for at, entry in enumerate(self.entries[: view.end])}
        found = [
            (at, entry.value)
            for at, entry in enumerate(self.entries[: view.end])
            # A replica cleans for the sake of what it shows.
            if at >= position
            and not (at in view.gone and (last[entry.key] > at or self.tomb(entry)))
            and not entry.hidden
            and not (committed and entry.transaction in self.aborted)
        ]
        return tuple(found[:most])

    def tomb(self, entry: Entry) -> bool:
        return self.configuration.compaction == "keyed" and entry.value[1] is None


class _Client:
    """A process that does one thing after the other."""

    def __init__(self, world: _World, number: int, verbs: tuple[str, ...], left: int) -> None:
        self.world, self.number, self.verbs, self.left = world, number, verbs, left
        self.process = number
        self.position = self.known = 0
        dice = world.dice
        configuration = world.configuration
        back = world.promise.allows("session-regress")
        calm = world.promise.level == 7 or not world.envelope.leader_moves
        self.wanders = dice.random() < 0.5 and (back or calm)
        self.subscribes = configuration.consumers == "subscribe"
        self.silent = self.subscribes or (dice.random() < 0.2 and not self.wanders)
        """It does not say where it reads."""
        if self.subscribes:
            self.wanders = False
            self.call(0.0, 0.0, f="subscribe", argument=(KEY,), key=None)
        self.next(dice.uniform(0, 20))

    def call(self, invoked: float, completed: float | None, **fields: Any) -> dict[str, Any]:
        made: dict[str, Any] = {"process": self.process, "begin": invoked, "end_at": completed}
        made |= {"outcome": OK, "group": next(self.world.groups), "key": KEY, "result": None}
        made |= fields
        self.world.calls.append(made)
        return made

    def next(self, begin: float) -> None:
        if self.left <= 0:
            return
        self.left -= 1
        dice = self.world.dice
        begin = float(int(begin))
        end = begin + dice.choice((2, 6, 14, 30))
        moment = dice.uniform(begin, end)
        verb = dice.choice(self.verbs)
        if verb == "append":
            self.append(begin, moment, end)
        elif verb == "transaction":
            self.transaction(begin, end)
        else:
            self.world.at(moment, lambda m: self.read(verb, begin, m, end))

    def then(self, end: float) -> None:
        self.next(end + self.world.dice.choice((0, 1, 5, 20)))

    # -- Writers

    def value(self) -> Entry:
        world, dice = self.world, self.world.dice
        number = next(world.numbers)
        if world.repeats and dice.random() < 0.5:
            number = dice.randrange(3)
        key = dice.choice(KEYS)
        if world.configuration.compaction == "keyed":
            return Entry((key, None if dice.random() < 0.1 else number), key)
        return Entry(number, key)

    def append(self, begin: float, moment: float, end: float) -> None:
        world, dice = self.world, self.world.dice
        size = 2 if dice.random() < 0.08 and world.configuration.acks == "all" else 1
        group = next(world.groups)
        entries = [self.value() for _ in range(size)]
        calls = [
            self.call(begin, end, f="append", argument=each.value, group=group) for each in entries
        ]
        roll = dice.random()
        if roll < 0.05:
            self._ended(calls, FAIL)
        elif roll < 0.05 + world.unknown:
            self._ended(calls, INDETERMINATE)
            when = begin + dice.choice((1, 10, 50, 150)) * dice.random()
            if dice.random() < 0.6:
                for each in entries:
                    world.at(when, partial(self._lands, each))
            self.process = next(world.processes)
        elif world.configuration.acks == "0":
            when = begin + dice.choice((1, 10, 50)) * dice.random()
            if dice.random() < 0.85:
                world.at(when, lambda m: self._lands(entries[0], m))
            if dice.random() < 0.3:
                self._ended(calls, INDETERMINATE)
                self.process = next(world.processes)
        else:
            moments = sorted(dice.uniform(moment, end) for _ in entries)
            for each, call, when in zip(entries, calls, moments, strict=True):
                self._acked(each, call, begin, when, end)
        world.at(end, lambda m: self.then(m))

    def _ended(self, calls: list[dict[str, Any]], outcome: str) -> None:
        for call in calls:
            call["outcome"] = outcome
            if outcome == INDETERMINATE:
                call["end_at"] = None

    def _lands(self, entry: Entry, moment: float) -> None:
        self.world.add(entry, moment)

    def _acked(
        self, entry: Entry, call: dict[str, Any], begin: float, when: float, end: float
    ) -> None:
        world, dice = self.world, self.world.dice
        copies = not world.promise.exactly_once and dice.random() < 0.25
        if copies:
            # The first request, whose answer was lost, may also come after the second one.
            early = dice.random() < 0.5
            first = dice.uniform(begin, when) if early else when + dice.choice((1, 30, 80))
            world.at(first, lambda m: self._lands(entry, m))

        def arrives(moment: float) -> None:
            since, until, shown, _ = world.zombie
            lost = world.configuration.acks == "1" and since <= moment < until
            if lost and dice.random() < 0.4:
                # The old leader took it, and nobody else.
                call["result"] = max(shown, len(world.entries)) if dice.random() < 0.5 else None
                return
            place = world.add(entry, moment)
            until, shown, _ = world.shows
            waits = world.configuration.acks == "all" and moment < until
            if waits and end < until:
                # It is committed only when the new leader knows that it is.
                call["outcome"], call["end_at"] = INDETERMINATE, None
                if self.process == call["process"]:
                    self.process = next(world.processes)
            elif dice.random() < world.told:
                call["result"] = place

        world.at(when, arrives)

    def transaction(self, begin: float, end: float) -> None:
        world, dice = self.world, self.world.dice
        end += dice.choice((0, 20, 60))
        number, group = next(world.numbers), next(world.groups)
        made = []
        outcome = dice.choices((OK, FAIL, INDETERMINATE), (7, 2, 1))[0]
        closes = dice.uniform((begin + end) / 2, end)
        for when in sorted(dice.uniform(begin, closes) for _ in range(dice.choice((1, 2, 3)))):
            entry = self.value()._replace(transaction=number)
            made.append(self.call(begin, end, f="append", argument=entry.value, group=group))
            world.at(when, partial(self._in_transaction, entry, made[-1]))
        if outcome == INDETERMINATE:
            closes = begin + dice.choice((10, 200)) * (1 + dice.random())
            self._ended(made, outcome)
            self.process = next(world.processes)
        elif outcome == FAIL:
            self._ended(made, outcome)
        aborts = outcome == FAIL or (outcome == INDETERMINATE and dice.random() < 0.5)
        world.at(max(closes, begin), lambda m: self._closes(number, aborts, m))
        world.at(end, lambda m: self.then(m))

    def _in_transaction(self, entry: Entry, call: dict[str, Any], moment: float) -> None:
        world = self.world
        if call["outcome"] == INDETERMINATE and entry.transaction in world.aborted:
            return
        place = world.add(entry, moment)
        if call["outcome"] == OK and world.dice.random() < world.told:
            call["result"] = place

    def _closes(self, number: int, aborts: bool, moment: float) -> None:
        world = self.world
        if aborts:
            world.aborted.add(number)
        world.open.pop(number, None)
        world.add(Entry(None, "", hidden=True), moment)

    # -- Readers

    def read(self, verb: str, begin: float, moment: float, end: float) -> None:
        world = self.world
        view = world.view(moment, self.number, asks=verb == "latest")
        if verb == "latest":
            until, _, _ = world.shows
            zombie = world.zombie[0] <= moment < world.zombie[1]
            if moment >= until or zombie:
                self.call(begin, end, f="latest", result=view.end)
        elif verb == "earliest":
            self.call(begin, end, f="earliest", result=view.start)
        else:
            self.fetch(view, begin, end)
        self.then(end)

    def fetch(self, view: View, begin: float, end: float) -> None:
        world, dice = self.world, self.world.dice
        if self.wanders:
            self.position = dice.randint(0, self.known)
        elif self.subscribes and dice.random() < 0.3:
            # Where the group had got to, as far as another of its consumers knew.
            self.position = dice.randint(0, world.reached)
        if self.position < view.start:
            # Out of range: it asks for the start, and goes on from there.
            self.call(begin, end, f="earliest", result=view.start)
            self.position = view.start
            return
        found = world.records(view, self.position, dice.choice((1, 2, 4)))
        seen = found[-1][0] + 1 if found else max(view.end, self.position)
        told = max(view.end, seen) if dice.random() < 0.4 and not self.silent else None
        asked = None if self.silent else self.position
        stood = self._stands(view, seen)
        self.call(begin, end, f="fetch", argument=asked, result=found, end=told, to=stood)
        self.position = seen if found or not self.wanders else self.position
        self.known = max(self.known, seen)
        world.reached = max(world.reached, seen)

    def _stands(self, view: View, seen: int) -> int | None:
        """Where it tells that it stands: behind what it was shown, and what is not shown."""
        own = random.Random(f"{self.number} {seen} {view.end}")
        if own.random() < 0.5:
            return None
        left = self.world.records(view, seen, 1)
        hidden = left[0][0] if left else view.end
        return max(seen, hidden) if own.random() < 0.5 else seen


def log_history(setting: Setting, seed: int, size: int) -> History:
    """A history of about `size` operations."""
    dice = random.Random(f"{setting.level} {setting.fault} {seed}")
    world = _World(dice, setting, size)
    c = setting.configuration
    writes = ("append", "append", "transaction") if c.transactions else ("append",)
    reads = ("fetch", "fetch", "fetch", "latest" if c.asks_latest else "fetch", "earliest")
    if c.one_client:
        clients = [(*writes, *reads, "latest")] * dice.choice((1, 2, 3))
    else:
        clients = [writes] * dice.choice((1, 2)) + [reads] * dice.choice((1, 2)) + [("latest",)]
    share = max(1, round(size / len(clients)))
    for number, verbs in enumerate(clients):
        _Client(world, number, verbs, 1 if verbs == ("latest",) else share)
    world.run()
    return _history(world.calls, setting)


def _history(calls: list[dict[str, Any]], setting: Setting) -> History:
    ordered = sorted(calls, key=lambda each: (each["begin"], each["group"]))
    operations = []
    for at, each in enumerate(ordered):
        begin, end = each.pop("begin"), each.pop("end_at")
        completed = None if end is None else int(end)
        operations.append(Operation(index=at, invoked=int(begin), completed=completed, **each))
    return whole(operations, source=f"{setting.level}, {setting.fault}")


# -- One thing changed


def damaged(history: History, seed: int) -> History:
    """The history with one answer, one time or one operation changed; at times to no effect. It
    does not tell where consumers stood, of which slow_logs.py knows nothing (small.py does).
    """
    untold = tuple(replace(each, to=None) for each in history.operations)
    history = replace(history, operations=untold)
    dice = random.Random(f"{history.source} {seed} damaged")
    operations = [each for each in history.operations if each.key is not None]
    for _ in range(20):
        each = dice.choice(operations)
        change = dice.choice(_CHANGES)
        found = change(each, operations, dice)
        if found is not None and found != each:
            kept = [found if o is each else o for o in history.operations]
            return _in_order(history, [o for o in kept if o.f])
    return history


def _in_order(history: History, operations: list[Operation]) -> History:
    ordered = sorted(operations, key=lambda o: (o.invoked, o.index))
    return replace(history, operations=tuple(replace(o, index=at) for at, o in enumerate(ordered)))


_Change = Callable[[Operation, list[Operation], random.Random], Operation | None]


def _shifted(each: Operation, others: list[Operation], dice: random.Random) -> Operation | None:
    """Earlier or later; of a process of its own, unless it stays between its neighbours."""
    by = dice.choice((-60, -30, -10, 10, 30, 60))
    begin = max(0, each.invoked + by)
    end = None if each.completed is None else max(begin, each.completed + by)
    mine = [o for o in others if o.process == each.process and o.group != each.group]
    clear = all(
        (o.completed is not None and o.completed <= begin and o.index < each.index)
        or (end is not None and o.invoked >= end and o.index > each.index)
        for o in mine
    )
    alone = sum(o.group == each.group for o in others) == 1
    process = each.process if clear or not alone else max(o.process for o in others) + 1
    return replace(each, invoked=begin, completed=end, process=process) if alone else None


def _told(each: Operation, others: list[Operation], dice: random.Random) -> Operation | None:
    """Another offset, or none, or one that it was not told."""
    if each.f == "append":
        if each.outcome != OK:
            return None
        place = dice.randrange(len(others)) if each.result is None else each.result
        return replace(each, result=dice.choice((None, place + 1, max(0, place - 1), place + 3)))
    if each.f in ("latest", "earliest"):
        return replace(each, result=max(0, each.result + dice.choice((-2, -1, 1, 2))))
    if each.end is None:
        return replace(each, end=dice.randrange(len(others)))
    return replace(each, end=max(0, each.end + dice.choice((-2, -1, 1, 2))))


def _swapped(each: Operation, others: list[Operation], dice: random.Random) -> Operation | None:
    """The offset that another append was told: so two have one."""
    acked = [o.result for o in others if o.f == "append" and o.result is not None]
    if each.f != "append" or each.outcome != OK or not acked:
        return None
    return replace(each, result=dice.choice(acked))


def _outcome(each: Operation, others: list[Operation], dice: random.Random) -> Operation | None:
    """It failed, or is unknown, or was answered after all; or never happened."""
    if each.f != "append":
        return None
    outcome = dice.choice((FAIL, OK, INDETERMINATE, ""))
    completed = each.completed
    if outcome == INDETERMINATE:
        completed = None
    elif completed is None:
        completed = each.invoked + 5
    process = max(o.process for o in others) + 1
    each = replace(each, outcome=outcome, result=None, completed=completed, process=process)
    return each if outcome else replace(each, f="")


def _answer(each: Operation, others: list[Operation], dice: random.Random) -> Operation | None:
    """Records lost, moved, doubled, exchanged, or read as others."""
    if each.f != "fetch":
        return None
    records = list(each.result or ())
    sent = [o.argument for o in others if o.f == "append"]
    roll = dice.randrange(8)
    if roll == 0 or not records:
        end = max((r[0] for o in others if o.f == "fetch" for r in o.result or ()), default=-1)
        if roll == 0:
            return replace(each, result=())
        at = dice.choice((each.argument or 0, end + 1, 0))
        return replace(each, result=((at, dice.choice(sent)),)) if sent else None
    at = dice.randrange(len(records))
    offset, value = records[at]
    if roll == 1:
        records[at] = (offset, dice.choice(sent or [value]))
    elif roll == 2:
        records[at] = (max(0, offset + dice.choice((-1, 1, 2))), value)
    elif roll in (3, 4):
        del records[at]
    elif roll == 5:
        records.append((records[-1][0] + 1, dice.choice(sent or [value])))
    elif roll == 6 and len(records) > 1:
        other = dice.randrange(len(records))
        records[at], records[other] = records[other], records[at]
    else:
        return replace(each, argument=max(0, offset + dice.choice((-1, 1, 2))))
    return replace(each, result=tuple(records))


_CHANGES: Final[tuple[_Change, ...]] = (_shifted, _told, _swapped, _outcome, _answer, _answer)
