"""All rows of a partition as terms, and what is remembered of how they came to be so.

Electability is proved of one epoch, any one, which is watched; its leader's log is L, and
`committed` is how much of L some leader ever called committed because the watched leader advanced
its high watermark over it (electable.py).

What is remembered that no handler reads (L5), beside `committed`:

    sent[r]      how far r's log was L's when it asked the watched leader for more, in this life
    life[r]      the broker epoch with which r's present life began: since its last unclean stop
    intact[r]    r has lost nothing that its registration vouches for
    old[r]       r is electable in the watched epoch, or was at its end and has lost nothing since
    begun, cap   a leader of a later epoch has begun; the least that such leaders shared with L
    stopper      one of them that the watched leader waits for, so that it cannot pass `cap` now
    prefix[x]    how much the log of the leader of epoch x shares with L
    waiting, replied, floor   an AlterPartition is on its way, its answer is; what metadata r must
                 read before it acts
    from[r], checked[r]   r's high watermark, its checkpoint come from an advance in the watched
                 epoch

`prefix`, and what a log shares with L before the watched leader has begun, are prophecies: they
are fixed before they are known, and executions in which they turn out otherwise are not
executions. There is one right prophecy for each execution, so nothing is lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import z3

from kraftcheck.reference.partition.proof.relation import (
    ANSWERS,
    KINDS,
    PARTITION_ROLES,
    STATUSES,
    WATCHED,
    View,
    any_controller,
    any_view,
    controller_view,
    prefix_of,
    view_of,
)
from kraftcheck.reference.partition.proof.symbols import count, least
from kraftcheck.reference.partition.types import PartitionConstants, initial_controller, initial_row

NOBODY: Final = -1
NONE, LEADER, FOLLOWER = (PARTITION_ROLES.index(r) for r in ("None", "Leader", "Follower"))
STARTING, STOPPING, DOWN = (
    STATUSES.index(status) for status in ("Starting", "ShuttingDown", "Down")
)
# Answers that name the proposal as it is not accepted, with nothing changed since.
REVERTING: Final = (
    ANSWERS.index("INELIGIBLE_REPLICA"),
    ANSWERS.index("OPERATION_NOT_ATTEMPTED"),
)
NO_KIND, EXPAND, SHRINK = (KINDS.index(kind) for kind in ("None", "Expand", "Shrink"))


@dataclass(frozen=True)
class System:
    """All rows, and what is remembered. Tables: by epoch, or by partition epoch (`changed`)."""

    brokers: tuple[int, ...]
    controller: View
    rows: Mapping[int, View]
    committed: z3.ArithRef
    begun: z3.BoolRef
    cap: z3.ArithRef
    stopper: z3.ArithRef
    stopper_life: z3.ArithRef
    led: z3.ArrayRef
    """Epoch -> whether its leader has begun."""
    leader_of: z3.ArrayRef
    """Epoch -> its leader."""
    epoch_at: z3.ArrayRef
    """Partition epoch -> leader epoch."""
    isr_at: Mapping[int, z3.ArrayRef]
    """Broker -> partition epoch -> whether it is in the ISR."""
    registered_at: Mapping[int, z3.ArrayRef]
    """Broker -> partition epoch -> its broker epoch, as far as the log before tells it."""

    def electable(self, b: int) -> z3.BoolRef:
        return z3.Or(self.controller[f"isr.{b}"], self.controller[f"elr.{b}"])

    def isr_size_at(self, change: z3.ArithRef) -> z3.ArithRef:
        return count([z3.Select(self.isr_at[b], change) for b in self.brokers])

    def limit(self, b: int) -> z3.ArithRef:
        """What b shares with L at least, if it has lost nothing."""
        sent = self.rows[b]["sent"]
        return z3.If(self.begun, least(sent, self.cap), sent)

    def past(self, b: int) -> z3.BoolRef:
        """Whether b has left the watched epoch behind."""
        row = self.rows[b]
        starts = z3.And(row["status"] == STARTING, row["broker_epoch"] >= 0)
        return z3.And(
            z3.Implies(row["role"] != NONE, row["leader_epoch"] > WATCHED),
            z3.Implies(starts, z3.Select(self.epoch_at, row["floor"]) > WATCHED),
        )

    def caught_up(self, b: int) -> z3.BoolRef:
        """Whether b has what a later leader began with."""
        return z3.And(self.begun, self.rows[b]["match"] >= self.cap, self.past(b))

    def holds(self, b: int) -> z3.BoolRef:
        """Why b does not endanger what is committed."""
        return z3.Or(self.rows[b]["old"], self.caught_up(b))

    def is_stopper(self, b: int) -> z3.BoolRef:
        return z3.And(self.begun, self.stopper == b)

    def leads_watched(self, v: int) -> z3.BoolRef:
        row = self.rows[v]
        return z3.And(row["role"] == LEADER, row["leader_epoch"] == WATCHED)


_GHOST_NUMBERS: Final = (
    *("sent", "life", "floor", "reply.error", "reply.leader_epoch", "reply.partition_epoch"),
)
_GHOST_TRUTHS: Final = ("intact", "old", "from", "checked", "waiting", "replied")


def ghosts(name: str, brokers: Sequence[int]) -> View:
    """What is remembered of one broker, as symbols."""
    view: View = {field: z3.Int(f"{name}.{field}") for field in _GHOST_NUMBERS}
    view |= {field: z3.Bool(f"{name}.{field}") for field in _GHOST_TRUTHS}
    return view | {f"reply.isr.{b}": z3.Bool(f"{name}.reply.isr.{b}") for b in brokers}


def any_system(brokers: Sequence[int]) -> System:
    """Any state."""
    integers = z3.IntSort()
    truths = z3.BoolSort()
    return System(
        brokers=tuple(brokers),
        controller=any_controller("controller", brokers),
        rows={v: any_view(f"b{v}", brokers) | ghosts(f"b{v}", brokers) for v in brokers},
        committed=z3.Int("committed"),
        begun=z3.Bool("begun"),
        cap=z3.Int("cap"),
        stopper=z3.Int("stopper"),
        stopper_life=z3.Int("stopper.life"),
        led=z3.Array("led", integers, truths),
        leader_of=z3.Array("leader.of", integers, integers),
        epoch_at=z3.Array("epoch.at", integers, integers),
        isr_at={b: z3.Array(f"isr.at.{b}", integers, truths) for b in brokers},
        registered_at={b: z3.Array(f"registered.at.{b}", integers, integers) for b in brokers},
    )


def first_system(constants: PartitionConstants) -> System:
    """The first state: everybody registered and in the ISR, and no leader yet."""
    brokers = constants.brokers
    integers = z3.IntSort()
    zero, no = z3.IntVal(0), z3.BoolVal(False)
    known: View = dict.fromkeys(_GHOST_NUMBERS, zero)
    known |= dict.fromkeys(_GHOST_TRUTHS, no)
    known |= {f"reply.isr.{b}": no for b in brokers}
    known |= {"sent": z3.IntVal(-1), "intact": z3.BoolVal(True)}
    row = view_of(initial_row(constants), brokers) | known
    return System(
        brokers=brokers,
        controller=controller_view(initial_controller(constants), brokers),
        rows=dict.fromkeys(brokers, row),
        committed=z3.IntVal(-1),
        begun=no,
        cap=zero,
        stopper=zero,
        stopper_life=zero,
        led=z3.K(integers, no),
        leader_of=z3.K(integers, z3.IntVal(NOBODY)),
        epoch_at=z3.K(integers, zero),
        isr_at=dict.fromkeys(brokers, z3.K(integers, z3.BoolVal(True))),
        registered_at=dict.fromkeys(brokers, z3.K(integers, zero)),
    )


def at_most_one_way(term: z3.ArithRef, brokers: Sequence[int]) -> z3.BoolRef:
    """A broker, or nobody."""
    return z3.And(term >= NOBODY, term < len(brokers))


def after_controller(s: System, view: View, evicted: Mapping[int, z3.BoolRef]) -> System:
    """The system after a step of the controller. evicted: who has lost data, and is told so."""
    c = s.controller
    epoch, change = view["leader_epoch"], view["partition_epoch"]
    wrote = change != c["partition_epoch"]
    rows = {}
    for b, row in s.rows.items():
        electable = z3.Or(view[f"isr.{b}"], view[f"elr.{b}"])
        lost = evicted.get(b, z3.BoolVal(False))
        old = z3.If(epoch == WATCHED, electable, row["old"])
        rows[b] = row | {"old": z3.And(old, z3.Not(lost))}

    def written(table: z3.ArrayRef, value: z3.ExprRef) -> z3.ArrayRef:
        return z3.If(wrote, z3.Store(table, change, value), table)

    leader_of = z3.If(
        epoch != c["leader_epoch"], z3.Store(s.leader_of, epoch, view["leader"]), s.leader_of
    )
    return replace(
        s,
        controller=view,
        rows=rows,
        leader_of=leader_of,
        epoch_at=written(s.epoch_at, epoch),
        isr_at={b: written(t, view[f"isr.{b}"]) for b, t in s.isr_at.items()},
        registered_at={b: written(t, c[f"epoch.{b}"]) for b, t in s.registered_at.items()},
    )


def after_broker(s: System, n: int, view: View, remembered: View) -> System:
    """The system after a step of broker n. remembered: what the action changes of the ghosts."""
    row = s.rows[n]
    leads = view["role"] == LEADER
    epoch = view["leader_epoch"]
    begins = begins_of(row, view)
    advanced = z3.And(leads, view["high_watermark"] > row["high_watermark"])
    new = row | view | remembered
    new["from"] = z3.If(advanced, epoch == WATCHED, new["from"])
    new["waiting"] = z3.And(new["waiting"], view["asked"])
    new["replied"] = z3.And(new["replied"], view["asked"])
    opens = z3.And(begins, epoch > WATCHED)
    lower = z3.And(opens, z3.Not(z3.And(s.begun, row["match"] >= s.cap)))
    cap = z3.If(s.begun, least(s.cap, row["match"]), row["match"])
    return replace(
        s,
        rows={**s.rows, n: new},
        committed=z3.If(z3.And(advanced, epoch == WATCHED), view["high_watermark"], s.committed),
        begun=z3.Or(s.begun, opens),
        cap=z3.If(lower, cap, s.cap),
        stopper=z3.If(lower, n, s.stopper),
        stopper_life=z3.If(lower, row["life"], s.stopper_life),
        led=z3.If(begins, z3.Store(s.led, epoch, z3.BoolVal(True)), s.led),
    )


def begins_of(row: View, view: View) -> z3.BoolRef:
    """Whether a broker begins to lead an epoch."""
    before = z3.And(row["role"] == LEADER, row["leader_epoch"] == view["leader_epoch"])
    return z3.And(view["role"] == LEADER, z3.Not(before))


def prophecy(s: System, n: int, view: View) -> z3.BoolRef:
    """What was foretold of the log with which a leader begins."""
    row, epoch = s.rows[n], view["leader_epoch"]
    return z3.Implies(
        begins_of(row, view),
        z3.And(
            z3.Implies(epoch == WATCHED, row["match"] == row["length"]),
            z3.Implies(epoch > WATCHED, row["match"] == prefix_of(epoch)),
        ),
    )
