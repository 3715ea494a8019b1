"""The search for a linearization of one object's history, for every model.

Just-in-time linearization [Lowe, "Testing for linearizability", 2017, section 4; Knossos' linear]:
the events are taken in order, and an operation is given its place only when something forces it, at
the latest when it returns. What is carried from event to event is a set of *configurations*, each
of which stands for one way in which everything so far can have happened:

    state        of the object
    available    operations that began and may still take effect
    required     operations that began and must have a place before they return

The history is linearizable if and only if a configuration is left after its last event. Nothing of
the past is carried but the state, so memory follows the number of operations that are open, and not
the length of the history (whose compiled form and witness are linear).

Four laws keep the set small; each removes only what another configuration can do as well:

* *Nothing happened.* An operation that would leave the state as it is has a place now. It is no
  longer required, and stays available if it could do something later.
* *Overwritten.* An operation that no state refuses has a place just before an overwrite. Thus after
  one write, all other open writes need no place any more.
* *Dominance.* Of two configurations with one state, the one with more available and less required
  can do all that the other can. An operation of unknown outcome is never required.
* *Twins.* Of open operations that ask the same, the one with the earlier deadline goes first.

When configurations become too many they are cut to `width`, after which a configuration at the end
still proves a linearization, but none left proves nothing (search.py begins again, wider).
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterable, Sequence
from heapq import heappop, heappush
from typing import Any, Final, NamedTuple

from kraftcheck.traces.checkers.sequential import REFUSED, Effect, Model
from kraftcheck.traces.history import INDETERMINATE, Operation

_REFUSED: Final = -1
NEVER: Final = 1 << 62
_WORK: Final = 64
"""For each configuration that may be kept, so many may be tried at one event."""
_FORGET: Final = 4096
"""Interned states beyond which those that no configuration holds are forgotten."""


class Call(NamedTuple):
    """An operation as the search has it."""

    operation: int
    """Position among the operations that are judged."""
    kind: int
    """Operations of one kind ask and are answered the same: they step alike."""
    slot: int
    """Its bit while it is open."""
    effect: Effect
    deadline: int
    """The number of the event that is its return; NEVER for an indeterminate one."""


class Event(NamedTuple):
    """The return of an operation, and what was invoked since the return before."""

    invoked: tuple[Call, ...]
    returned: Call


Chain = tuple[int, Call, Any]
"""How a configuration came about: (event, operation linearized there, chain before) or None."""
Config = tuple[int, int, Any]
"""available and required as bits of slots, chain."""


Candidate = tuple[int, int, bool, bool, bool, Call]
"""bit, kind, whether it overwrites, whether no state refuses it, whether it may have twins."""


class Gave(Exception):
    """The limits were reached. The text says which."""


class Compiled:
    """A part of a history, with operations told apart only as far as the model sees them."""

    def __init__(
        self, operations: Sequence[Operation], model: Model, *, foresight: bool = True
    ) -> None:
        """foresight: whether what is answered later may be used to leave out ways early."""
        self.operations = [each for each in operations if model.judges(each)]
        narrow = model.foreseeing if foresight else model.narrowed
        self.model = narrow(self.operations)
        self.kinds: list[Operation] = []
        """One operation of each kind."""
        self.events: list[Event] = []
        self._compile()
        self.ahead = self._observations() if foresight else [None] * len(self.events)

    def _compile(self) -> None:
        known: dict[Hashable, int] = {}
        moments = []
        for number, each in enumerate(self.operations):
            moments.append((each.invoked, 0, number))
            if each.outcome != INDETERMINATE and each.completed is not None:
                moments.append((each.completed, 1, number))
        moments.sort()
        deadlines = {number: at for at, (_, ends, number) in enumerate(moments) if ends}
        free: list[int] = []
        slots = 0
        invoked: list[Call] = []
        open_calls: dict[int, Call] = {}
        for _, ends, number in moments:
            if not ends:
                if free:
                    slot = heappop(free)
                else:
                    slot, slots = slots, slots + 1
                call = self._call(number, slot, known, deadlines.get(number, NEVER))
                open_calls[number] = call
                invoked.append(call)
            else:
                call = open_calls.pop(number)
                heappush(free, call.slot)
                self.events.append(Event(tuple(invoked), call))
                invoked = []

    def _call(self, number: int, slot: int, known: dict[Hashable, int], deadline: int) -> Call:
        each = self.model.told_apart(self.operations[number])
        asked = (each.f, each.argument, each.result, each.end, each.to, each.outcome, each.error)
        kind = known.setdefault(asked, len(self.kinds))
        if kind == len(self.kinds):
            self.kinds.append(each)
        return Call(number, kind, slot, self.model.effect(each), deadline)

    def _observations(self) -> list[int | None]:
        """For each event, the kind of a later read that no overwrite can come before.

        Later: invoked after the event. That no overwrite comes before it: none is open at the event
        or invoked from there until the read returns.
        """
        ahead: list[int | None] = [None] * len(self.events)
        if type(self.model).can_lead is Model.can_lead:
            return ahead
        # Backwards: the last event so far at which an overwrite is open, and the nearest read.
        overwrites = self._overwritten_events()
        invoked_at = {
            call.operation: at for at, event in enumerate(self.events) for call in event.invoked
        }
        nearest: tuple[int, int, int] | None = None
        for at in range(len(self.events) - 1, -1, -1):
            if nearest is not None and nearest[0] > at and overwrites[nearest[1]] < at:
                ahead[at] = nearest[2]
            call = self.events[at].returned
            if call.effect is Effect.READ:
                since = invoked_at[call.operation]
                if nearest is None or since <= nearest[0]:
                    nearest = (since, at, call.kind)
        return ahead

    def _overwritten_events(self) -> list[int]:
        """For each event, the last event up to it with an overwrite open before it; else -1."""
        last, open_count, found = -1, 0, []
        for at, event in enumerate(self.events):
            open_count += sum(call.effect is Effect.OVERWRITE for call in event.invoked)
            if open_count:
                last = at
            found.append(last)
            open_count -= event.returned.effect is Effect.OVERWRITE
        return found


class Failure(NamedTuple):
    """Where no configuration was left: the event, and the ones that were tried there."""

    event: int
    states: tuple[Any, ...]
    """All in which the object could be just before, as values."""
    chain: Chain | None
    """One way that leads there."""


class Search:
    """One pass over the events with a given width."""

    def __init__(self, compiled: Compiled, width: int, deadline: float | None = None) -> None:
        """width: configurations kept at one event. deadline: by time.monotonic()."""
        self.compiled, self.width, self.deadline = compiled, width, deadline
        self.model = compiled.model
        self.cut = False
        """Whether configurations were dropped for their number alone."""
        self.failure: Failure | None = None
        self.explored = 0
        self.values: list[Any] = []
        self.ids: dict[Hashable, int] = {}
        self.steps: list[dict[int, int]] = []
        self.idle: dict[int, int] = {}
        """For each state in use, what is open, will return and would leave it as it is."""
        self.due: dict[int, Call] = {}
        """What is open and will return, by slot."""
        self.lost: list[Candidate] = []
        """What is open and will not: it stays, and nothing requires it."""
        self.fits: dict[tuple[int, int], bool] = {}
        self.tried: dict[int, list[Config]] = {}
        """At the last event: what could be before its return, still without a place for it."""
        self.kept = 0

    # -- States as small numbers, steps as look-ups

    def number(self, value: Any) -> int:
        found = self.ids.get(value)
        if found is None:
            found = self.ids[value] = len(self.values)
            self.values.append(value)
            self.steps.append({})
        return found

    def step(self, state: int, kind: int) -> int:
        known = self.steps[state].get(kind)
        if known is None:
            value = self.model.step(self.values[state], self.compiled.kinds[kind])
            known = _REFUSED if value is REFUSED else self.number(value)
            self.steps[state][kind] = known
        return known

    def idle_in(self, state: int) -> int:
        mask = self.idle.get(state)
        if mask is None:
            mask = 0
            for call in self.due.values():
                if self.step(state, call.kind) == state:
                    mask |= 1 << call.slot
            self.idle[state] = mask
        return mask

    def leads(self, state: int, ahead: int) -> bool:
        """Whether what is read later can still be read."""
        known = self.fits.get((state, ahead))
        if known is None:
            known = self.model.can_lead(self.values[state], self.compiled.kinds[ahead])
            self.fits[state, ahead] = known
        return known

    def forget(self, frontier: dict[int, list[Config]]) -> dict[int, list[Config]]:
        """Numbers the states that are in use anew, so that memory does not follow the length."""
        kept = {self.values[state]: configs for state, configs in frontier.items()}
        self.values, self.ids, self.steps = [], {}, []
        self.idle, self.fits = {}, {}
        return {self.number(value): configs for value, configs in kept.items()}

    # -- The pass

    def run(self) -> Chain | Failure | None:
        """The chain of a configuration that survives all events, or where none was left."""
        frontier: dict[int, list[Config]] = {self.number(self.model.initial()): [(0, 0, None)]}
        for at, event in enumerate(self.compiled.events):
            self._check_limits()
            self._invoke(event.invoked)
            after = self._return(at, event, frontier)
            if not after:
                return self._failed(at, frontier)
            bit = 1 << event.returned.slot
            del self.due[event.returned.slot]
            self.idle = {state: self.idle[state] & ~bit for state in after if state in self.idle}
            frontier = after
            if len(self.values) > _FORGET and len(self.values) > 4 * len(frontier):
                frontier = self.forget(frontier)
        configs = next(iter(frontier.values()))
        chain: Chain | None = configs[0][2]
        return chain

    def _check_limits(self) -> None:
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise Gave("time is up")

    def _invoke(self, calls: Iterable[Call]) -> None:
        for call in calls:
            if call.deadline == NEVER:
                self.lost.append(_candidate(call, twins=True))
                continue
            self.due[call.slot] = call
            for state, mask in self.idle.items():
                if self.step(state, call.kind) == state:
                    self.idle[state] = mask | 1 << call.slot

    def _return(
        self, at: int, event: Event, frontier: dict[int, list[Config]]
    ) -> dict[int, list[Config]]:
        """The configurations in which the operation that returns had its place."""
        x = 1 << event.returned.slot
        new_available = new_required = 0
        for call in event.invoked:
            if call.effect is not Effect.READ:
                new_available |= 1 << call.slot
            if call.deadline != NEVER:
                new_required |= 1 << call.slot
        out: dict[int, list[Config]] = {}
        work: list[tuple[int, int, int, Any, bool]] = []
        self.kept = 0
        for state, configs in frontier.items():
            idle = ~self.idle_in(state)
            for available, required, chain in configs:
                available |= new_available
                required = (required | new_required) & idle
                if not required & x:
                    self._keep(out, state, (available & ~x, required, chain))
                if (available | required) & x:
                    # It must have its place now, or could have its effect now for the last time.
                    work.append((state, available, required, chain, False))
        if work:
            work.reverse()
            self._expand(at, x, out, work)
        return out

    def _expand(
        self,
        at: int,
        x: int,
        out: dict[int, list[Config]],
        work: list[tuple[int, int, int, Any, bool]],
    ) -> None:
        """Linearizes open operations in every useful order until the one that returns has a place.

        The last field of a work item: an overwrite now would make useless the step before it.
        """
        calls = self._candidates()
        # What an overwrite hides: operations that no state refuses.
        hidden = 0
        for slot, call in self.due.items():
            if call.effect in (Effect.TOTAL, Effect.OVERWRITE):
                hidden |= 1 << slot
        ahead = self.compiled.ahead[at]
        seen = self.tried = {}
        patience = self.explored + _WORK * self.width
        while work:
            state, available, required, chain, idle_step = work.pop()
            self.explored += 1
            if not self.explored & 255:
                self._check_limits()
            if self.kept >= self.width or self.explored > patience:
                self.cut = True
                return
            steps = self.steps[state]
            tried: dict[int, bool] = {}
            for bit, kind, overwrites, total, twins, call in calls:
                if not available & bit or (overwrites and idle_step):
                    continue
                if twins:
                    # An earlier twin that is required goes first in any case; one that is not
                    # goes before those that are not.
                    before = tried.get(kind)
                    must = bool(required & bit)
                    if before or (before is False and not must):
                        continue
                    tried[kind] = must
                after = steps.get(kind)
                if after is None:
                    after = self.step(state, kind)
                if after < 0 or (after == state and not overwrites):
                    continue
                if ahead is not None and not self.leads(after, ahead):
                    continue
                left = required & ~bit
                if overwrites:
                    left &= ~hidden
                rest = left & ~self.idle_in(after)
                remain = available & ~bit
                item = (remain, rest, (at, call, chain))
                if not rest & x:
                    self._keep(out, after, (remain & ~x, rest, item[2]))
                if (remain | rest) & x and _add(seen, after, item):
                    work.append((after, *item, total and rest == left))

    def _candidates(self) -> list[Candidate]:
        """What may be linearized, by deadline."""
        calls = [call for call in self.due.values() if call.effect is not Effect.READ]
        calls.sort(key=lambda call: call.deadline)
        count: dict[int, int] = {}
        for call in calls:
            count[call.kind] = count.get(call.kind, 0) + 1
        return [*(_candidate(call, count[call.kind] > 1) for call in calls), *self.lost]

    def _keep(self, out: dict[int, list[Config]], state: int, config: Config) -> None:
        if _add(out, state, config):
            self.kept += 1

    def _failed(self, at: int, frontier: dict[int, list[Config]]) -> Failure:
        found = {**frontier, **self.tried}
        configs = next(iter(self.tried.values() or frontier.values()))
        return Failure(at, tuple(self.values[state] for state in found), configs[0][2])


def _candidate(call: Call, twins: bool) -> Candidate:
    overwrites = call.effect is Effect.OVERWRITE
    return 1 << call.slot, call.kind, overwrites, call.effect is not Effect.ANY, twins, call


def _add(table: dict[int, list[Config]], state: int, config: Config) -> bool:
    """Adds a configuration unless another dominates it; removes those that it dominates."""
    there = table.get(state)
    if there is None:
        table[state] = [config]
        return True
    available, required, _ = config
    beaten = False
    for other_available, other_required, _ in there:
        if available | other_available == other_available and other_required & ~required == 0:
            return False
        if available & other_available == other_available and required & ~other_required == 0:
            beaten = True
    if beaten:
        there[:] = [
            other for other in there if available & other[0] != other[0] or required & ~other[1]
        ]
    there.append(config)
    return True
