"""Prove that the true high watermark is on every electable replica.

For any number of epochs, records, messages and changes of metadata.

One epoch is watched, any one; its leader's log is L. `committed` is how much of L some leader ever
called committed because the watched leader advanced its high watermark over it. What is proved:

    whoever runs and is in the ISR or the ELR has at least `committed` of L

Every high watermark that a leader holds was reached by an advance in some epoch (Provenance), and
that epoch may be the watched one. So the true high watermark, the highest that any leader ever
held, is on every replica that may be elected without loss (LeaderCandidateCompleteness).

What is remembered besides, and that no handler reads, stands in system.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import z3

from kraftcheck.reference.partition.proof.relation import (
    KINDS,
    MIN_ISR,
    PARTITION_ROLES,
    STATUSES,
    WATCHED,
    WATCHED_LEADER,
    View,
    any_view,
    prefix_of,
)
from kraftcheck.reference.partition.proof.symbols import count, least
from kraftcheck.reference.partition.proof.system import (
    DOWN,
    EXPAND,
    FOLLOWER,
    LEADER,
    NO_KIND,
    NOBODY,
    NONE,
    REVERTING,
    SHRINK,
    STARTING,
    System,
    at_most_one_way,
)

Parts = dict[str, z3.BoolRef]


# --- The controller.


def controller_parts(s: System) -> Parts:
    """What the invariant says of the controller and of what is remembered once."""
    c, brokers = s.controller, s.brokers
    epoch, change = c["leader_epoch"], c["partition_epoch"]
    rows = s.rows
    isr = [c[f"isr.{b}"] for b in brokers]
    same_isr = [z3.Select(s.isr_at[b], change) == c[f"isr.{b}"] for b in brokers]
    safe = [
        z3.Implies(z3.And(s.electable(b), rows[b]["intact"], epoch > WATCHED), s.holds(b))
        for b in brokers
    ]
    return {
        "Form of the controller": z3.And(
            *(at_most_one_way(c["leader"], brokers), epoch >= 0, change >= 0),
            *(z3.And(c[f"epoch.{b}"] >= 0, c[f"epoch.{b}"] < c["offset"]) for b in brokers),
        ),
        "LeaderInIsr": z3.And([z3.Implies(c["leader"] == b, c[f"isr.{b}"]) for b in brokers]),
        "IsrAndElr": z3.And(
            *(z3.Not(z3.And(c[f"isr.{b}"], c[f"elr.{b}"])) for b in brokers),
            *(z3.Implies(count(isr) >= MIN_ISR, z3.Not(c[f"elr.{b}"])) for b in brokers),
            # Only a leader that shrinks the ISR takes several out at once, and it stays in it.
            z3.Implies(MIN_ISR == 1, count([c[f"elr.{b}"] for b in brokers]) <= 1),
        ),
        "LeaderUnfenced": z3.And(
            [z3.Implies(c["leader"] == b, z3.Not(c[f"fenced.{b}"])) for b in brokers]
        ),
        "Known": z3.And(
            *(z3.Select(s.leader_of, epoch) == c["leader"], z3.Select(s.epoch_at, change) == epoch),
            *same_isr,
            z3.Implies(epoch >= WATCHED, z3.Select(s.leader_of, WATCHED) == WATCHED_LEADER),
        ),
        "OldNow": z3.And(
            [
                z3.And(
                    z3.Implies(epoch == WATCHED, rows[b]["old"] == s.electable(b)),
                    z3.Implies(epoch < WATCHED, z3.Not(rows[b]["old"])),
                )
                for b in brokers
            ]
        ),
        "Electable": z3.And(safe),
        "Beginning": z3.And(
            *(z3.Select(s.epoch_at, 0) == 0, z3.Select(s.leader_of, 0) == NOBODY),
            *(z3.Select(s.isr_at[b], 0) for b in brokers),
            *(z3.Select(s.registered_at[b], 0) == 0 for b in brokers),
        ),
        "Committed": z3.And(
            s.committed >= -1,
            z3.Implies(s.committed >= 0, z3.Select(s.led, WATCHED)),
            z3.Implies(s.begun, z3.And(epoch > WATCHED, s.committed <= s.cap)),
            z3.Implies(s.begun, z3.And(s.stopper >= 0, s.stopper < len(brokers))),
        ),
    }


# --- One broker.


def broker_form(s: System, v: int) -> z3.BoolRef:
    row, brokers = s.rows[v], s.brokers
    role, status, kind = row["role"], row["status"], row["kind"]
    rests = z3.Or(status == STARTING, status == DOWN)
    by_broker = [
        z3.And(
            row[f"remote.end.{b}"] >= -1,
            row[f"remote.epoch.{b}"] >= -1,
            z3.Implies(row[f"remote.end.{b}"] >= 0, row[f"remote.epoch.{b}"] >= 0),
            z3.Implies(kind == NO_KIND, z3.Not(row[f"member.{b}"])),
            z3.Implies(role != LEADER, z3.Not(row[f"isr.{b}"])),
            z3.Implies(role != LEADER, row[f"remote.end.{b}"] == -1),
        )
        for b in brokers
    ]
    return z3.And(
        *(status >= 0, status < len(STATUSES), role >= 0, role < len(PARTITION_ROLES)),
        *(kind >= 0, kind < len(KINDS), (role == NONE) == rests),
        *(row["match"] >= 0, row["match"] <= row["length"]),
        *(row["high_watermark"] >= 0, row["high_watermark"] <= row["length"]),
        *(row["checkpoint"] >= 0, row["flushed"] >= 0, row["broker_epoch"] >= -1),
        at_most_one_way(row["leader"], brokers),
        z3.Implies(kind == NO_KIND, z3.Not(row["refused"])),
        z3.Implies(role != LEADER, kind == NO_KIND),
        z3.Implies(kind != NO_KIND, z3.Or([row[f"member.{b}"] for b in brokers])),
        z3.Implies(role == NONE, z3.And(row["leader_epoch"] == -1, row["partition_epoch"] == -1)),
        z3.Implies(status == DOWN, row["broker_epoch"] == -1),
        z3.Implies(role != NONE, row["broker_epoch"] >= 0),
        z3.Implies(z3.Not(row["asked"]), z3.Not(z3.Or(row["waiting"], row["replied"]))),
        z3.Not(z3.And(row["waiting"], row["replied"])),
        z3.Implies(role == NONE, z3.Not(row["asked"])),
        z3.Implies(status != DOWN, row["clean"] == -1),
        *by_broker,
    )


def _lives(s: System, v: int) -> z3.BoolRef:
    """What its registration vouches for."""
    row, c = s.rows[v], s.controller
    epoch, mine = c[f"epoch.{v}"], row["broker_epoch"]
    down, unregistered = row["status"] == DOWN, z3.And(row["status"] == STARTING, mine == -1)
    known, started = c[f"incarnation.{v}"], row["incarnation"]
    return z3.And(
        row["life"] <= epoch,
        z3.Implies(mine >= 0, z3.And(mine == epoch, row["intact"], known == started)),
        z3.Implies(down, z3.And((row["clean"] == epoch) == row["intact"], known <= started)),
        z3.Implies(
            unregistered, z3.And((row["previous"] == epoch) == row["intact"], known < started)
        ),
        # Whoever stops cleanly was fenced before, and nobody who is down asks for more.
        z3.Implies(z3.And(mine == -1, row["intact"]), c[f"fenced.{v}"]),
        z3.Implies(_registered(s, v), c[f"fenced.{v}"]),
        *(row[f"remote.epoch.{b}"] <= c[f"epoch.{b}"] for b in s.brokers),
        *(row[f"member.epoch.{b}"] <= c[f"epoch.{b}"] for b in s.brokers),
    )


def _registered(s: System, v: int) -> z3.BoolRef:
    """It starts, and has its broker epoch."""
    row = s.rows[v]
    return z3.And(row["status"] == STARTING, row["broker_epoch"] >= 0)


def _reads(s: System, v: int) -> z3.BoolRef:
    """Its metadata is what was written."""
    row, c = s.rows[v], s.controller
    change, image = row["partition_epoch"], row["image.partition_epoch"]
    acts = row["role"] != NONE
    leads = row["role"] == LEADER
    isr = [z3.Select(s.isr_at[b], change) == row[f"isr.{b}"] for b in s.brokers]
    told = [
        z3.And(
            z3.Select(s.isr_at[b], image) == row[f"image.isr.{b}"],
            row[f"image.epoch.{b}"] >= z3.Select(s.registered_at[b], image),
        )
        for b in s.brokers
    ]
    followed = z3.Select(s.leader_of, row["leader_epoch"])
    return z3.And(
        *(image >= 0, image <= c["partition_epoch"], *told),
        z3.Select(s.epoch_at, image) == row["image.leader_epoch"],
        z3.Select(s.leader_of, row["image.leader_epoch"]) == row["image.leader"],
        z3.Implies(acts, z3.And(change >= 0, change <= c["partition_epoch"])),
        z3.Implies(acts, z3.Select(s.epoch_at, change) == row["leader_epoch"]),
        z3.Implies(acts, followed == row["leader"]),
        z3.Implies(leads, z3.And(row["leader"] == v, z3.Select(s.led, row["leader_epoch"]), *isr)),
        z3.Implies(row["role"] == FOLLOWER, row["leader"] != v),
        z3.Implies(row["asked"], z3.Select(s.led, row["asked.leader_epoch"])),
        z3.Implies(
            _registered(s, v), z3.And(row["floor"] >= 0, row["floor"] <= c["partition_epoch"])
        ),
    )


def _before_watched(s: System, v: int) -> z3.BoolRef:
    """It does not know of the watched epoch yet."""
    row = s.rows[v]
    late = z3.Select(s.epoch_at, row["floor"]) < WATCHED
    return z3.Or(
        z3.And(row["role"] != NONE, row["leader_epoch"] < WATCHED),
        z3.And(_registered(s, v), late),
        s.controller["leader_epoch"] < WATCHED,
    )


def _watermark(s: System, v: int) -> z3.BoolRef:
    """Provenance: what comes from an advance in the watched epoch is committed, and L's."""
    row = s.rows[v]
    shown = least(row["checkpoint"], row["length"])
    before = _before_watched(s, v)
    return z3.And(
        z3.Implies(row["from"], row["high_watermark"] <= least(s.committed, row["match"])),
        z3.Implies(row["checked"], row["checkpoint"] <= s.committed),
        z3.Implies(row["checked"], shown <= row["match"]),
        z3.Implies(before, z3.Not(z3.Or(row["from"], row["checked"]))),
        z3.Implies(z3.Or(row["from"], row["checked"]), z3.Select(s.led, WATCHED)),
    )


def _shares(s: System, v: int) -> z3.BoolRef:
    """How much of L it has."""
    row, epoch = s.rows[v], s.rows[v]["leader_epoch"]
    leads, watched = row["role"] == LEADER, v == WATCHED_LEADER
    counted = z3.And(row["old"], z3.Not(watched))
    kept = z3.And(watched, row["intact"], row["old"])
    return z3.And(
        z3.Implies(z3.And(leads, epoch == WATCHED), row["match"] == row["length"]),
        z3.Implies(z3.And(leads, epoch > WATCHED), row["match"] == prefix_of(epoch)),
        *(row["sent"] >= -1, z3.Implies(_before_watched(s, v), row["sent"] == -1)),
        z3.Implies(watched, row["sent"] == -1),
        z3.Implies(z3.And(z3.Not(watched), row["intact"]), row["match"] >= s.limit(v)),
        z3.Implies(kept, row["match"] >= s.committed),
        z3.Implies(counted, s.committed <= row["sent"]),
    )


def _stops(s: System, v: int) -> z3.BoolRef:
    """The stopper asks the watched leader no more."""
    moved = z3.And(s.past(v), s.stopper_life <= s.rows[v]["life"])
    return z3.Implies(s.is_stopper(v), moved)


def maximal(row: View, b: int) -> z3.BoolRef:
    """Whether the leader counts b as in sync, or may have to."""
    return z3.Or(row[f"isr.{b}"], z3.And(row["kind"] == EXPAND, row[f"member.{b}"]))


def is_new(row: View, b: int) -> z3.BoolRef:
    """Whether a proposal of the leader adds b."""
    return z3.And(row["kind"] == EXPAND, row[f"member.{b}"], z3.Not(row[f"isr.{b}"]))


def _enough(row: View, brokers: Sequence[int]) -> z3.BoolRef:
    return count([row[f"isr.{b}"] for b in brokers]) >= MIN_ISR


def _watched_leader(s: System, v: int) -> Parts:
    """The watched leader waits for whoever may stop it, and knows what they have."""
    row, others = s.rows[v], [b for b in s.brokers if b != v]
    remotes, superset, lives, proposed = [], [], [], []
    for b in others:
        end, epoch, life = row[f"remote.end.{b}"], row[f"remote.epoch.{b}"], s.rows[b]["life"]
        sent, image = s.rows[b]["sent"], row[f"image.epoch.{b}"]
        member = row[f"member.epoch.{b}"]
        remotes.append(z3.Implies(z3.And(end >= 0, epoch >= life), end <= sent))
        waited = z3.Or(s.rows[b]["old"], s.is_stopper(b))
        superset.append(z3.Implies(z3.And(_enough(row, s.brokers), waited), maximal(row, b)))
        known = z3.And(life <= image, z3.Or(epoch == -1, epoch >= life))
        stopped = z3.And(
            s.stopper_life <= image,
            z3.Or(epoch == -1, epoch >= s.stopper_life),
            end <= s.cap,
        )
        lives.append(z3.Implies(s.rows[b]["old"], known))
        lives.append(z3.Implies(s.is_stopper(b), stopped))
        vouched = z3.And(
            *(member >= 0, epoch >= member, image >= member),
            z3.Implies(member >= life, s.committed <= sent),
        )
        proposed.append(z3.Implies(is_new(row, b), vouched))
    waits = z3.Implies(row["waiting"], _asked(s, v))
    parts = {
        "Reached": s.committed <= row["high_watermark"],
        "Remotes": z3.And(remotes),
        "Superset": z3.And(superset),
        "Lives": z3.And(lives),
        "Proposed": z3.And(proposed),
        "Asked": waits,
    }
    leads = s.leads_watched(v)
    return {f"{name} of the watched leader": z3.Implies(leads, t) for name, t in parts.items()}


def _asked(s: System, v: int) -> z3.BoolRef:
    """What the watched leader has asked for is what it proposes, if that may be accepted."""
    row = s.rows[v]
    same = [
        z3.And(
            row[f"asked.member.{b}"] == row[f"member.{b}"],
            z3.Implies(row[f"member.{b}"], row[f"asked.epoch.{b}"] == row[f"member.epoch.{b}"]),
        )
        for b in s.brokers
    ]
    current = row["asked.partition_epoch"] == s.controller["partition_epoch"]
    now = z3.And(row["kind"] != NO_KIND, row["partition_epoch"] == row["asked.partition_epoch"])
    return z3.Implies(z3.And(current, row["asked.leader_epoch"] == WATCHED), z3.And(now, *same))


def _later_leader(s: System, v: int) -> z3.BoolRef:
    """A leader of a later epoch takes into the ISR only who has what it began with."""
    row = s.rows[v]
    start = prefix_of(row["leader_epoch"])
    said = [row["epoch_start"] >= start]
    for b in s.brokers:
        if b == v:
            continue
        other = s.rows[b]
        safe = z3.Implies(other["intact"], s.caught_up(b))
        end, epoch = row[f"remote.end.{b}"], row[f"remote.epoch.{b}"]
        member = row[f"member.epoch.{b}"]
        said += [
            z3.Implies(z3.And(end >= start, epoch >= other["life"]), safe),
            z3.Implies(
                is_new(row, b), z3.And(member >= 0, z3.Implies(member >= other["life"], safe))
            ),
        ]
    leads = z3.And(row["role"] == LEADER, row["leader_epoch"] > WATCHED)
    return z3.Implies(leads, z3.And(said))


def _answered(s: System, v: int) -> z3.BoolRef:
    """An answer to AlterPartition tells a change that was written.

    Or, if the proposal may be made anew, that it was not accepted.
    """
    row, change = s.rows[v], s.rows[v]["reply.partition_epoch"]
    isr = [z3.Select(s.isr_at[b], change) == row[f"reply.isr.{b}"] for b in s.brokers]
    known = z3.And(
        *(change <= s.controller["partition_epoch"], change >= row["asked.partition_epoch"]),
        z3.Select(s.epoch_at, change) == row["reply.leader_epoch"],
        *isr,
    )
    waited = [
        z3.Implies(z3.Or(s.rows[b]["old"], s.is_stopper(b)), z3.Select(s.isr_at[b], change))
        for b in s.brokers
        if b != v
    ]
    mine = z3.And(s.leads_watched(v), row["asked.leader_epoch"] == WATCHED)
    enough = s.isr_size_at(change) >= MIN_ISR
    told = z3.Implies(z3.And(mine, enough), z3.And(waited))
    unaccepted = [
        z3.Implies(z3.Or(s.rows[b]["old"], s.is_stopper(b)), row[f"isr.{b}"])
        for b in s.brokers
        if b != v
    ]
    refused = z3.Or([row["reply.error"] == error for error in REVERTING])
    kept = z3.Implies(z3.And(mine, refused, _enough(row, s.brokers)), z3.And(unaccepted))
    none = row["reply.error"] == 0
    return z3.Implies(row["replied"], z3.And(z3.Implies(none, z3.And(known, told)), kept))


def broker_parts(s: System, v: int) -> Parts:
    """What the invariant says of one broker."""
    row = s.rows[v]
    shrinks = [
        z3.Implies(z3.And(row["kind"] == SHRINK, row[f"member.{b}"]), row[f"isr.{b}"])
        for b in s.brokers
    ]
    mine = z3.Implies(row["waiting"], alter_part(s, asked_terms(s, v), v))
    return {
        "Form": broker_form(s, v),
        "Lives": _lives(s, v),
        "Reads": _reads(s, v),
        "Provenance": _watermark(s, v),
        "Shares": _shares(s, v),
        "Stops": _stops(s, v),
        **_watched_leader(s, v),
        "Proposed of a later leader": _later_leader(s, v),
        "Shrinks": z3.And(shrinks),
        "On its way": mine,
        "Answered": _answered(s, v),
    }


# --- Epochs and changes.


def epoch_parts(s: System, e: z3.ArithRef) -> Parts:
    """What the invariant says of one epoch."""
    led, leader = z3.Select(s.led, e), z3.Select(s.leader_of, e)
    now = s.controller["leader_epoch"]
    stays, chosen, starts = [], [], []
    for v, row in s.rows.items():
        acts = row["role"] != NONE
        floor = z3.Select(s.epoch_at, row["floor"])
        rests = z3.And(row["broker_epoch"] == -1, row["intact"])
        stays.append(
            z3.Implies(
                z3.And(led, leader == v),
                z3.And(
                    z3.Implies(acts, e <= row["leader_epoch"]),
                    z3.Implies(_registered(s, v), e < floor),
                    z3.Implies(rests, e < now),
                ),
            )
        )
        ahead = z3.And(e > WATCHED, e <= now, leader == v, acts, row["leader_epoch"] < e)
        chosen.append(z3.Implies(ahead, s.holds(v)))
        unread = z3.And(_registered(s, v), e >= floor, e <= now)
        starts.append(z3.Implies(unread, leader != v))
    return {
        "Led": z3.Implies(led, z3.And(e >= 0, e <= now)),
        "Began with": z3.Implies(
            z3.And(led, e > WATCHED), z3.And(s.begun, prefix_of(e) >= s.cap, prefix_of(e) >= 0)
        ),
        "Leads once": z3.And(stays),
        "Will begin with": z3.And(chosen),
        # Nobody elects a broker that starts: it is fenced.
        "Starts": z3.And(starts),
        "Form of leaders": at_most_one_way(leader, s.brokers),
    }


def change_parts(s: System, p: z3.ArithRef) -> Parts:
    """What the invariant says of one change of the partition."""
    c, epoch = s.controller, z3.Select(s.epoch_at, p)
    there = z3.And(p >= 0, p <= c["partition_epoch"])
    enough = s.isr_size_at(p) >= MIN_ISR
    leader = z3.Select(s.leader_of, epoch)
    said: list[z3.BoolRef] = [epoch >= 0, epoch <= c["leader_epoch"]]
    unread, lives = [], []
    for b in s.brokers:
        member, known = z3.Select(s.isr_at[b], p), z3.Select(s.registered_at[b], p)
        row = s.rows[b]
        said += [z3.Implies(leader == b, member), known <= c[f"epoch.{b}"]]
        waited = z3.And(z3.Or(row["old"], s.is_stopper(b)), b != WATCHED_LEADER)
        unread.append(z3.Implies(z3.And(enough, waited), member))
        other = b != WATCHED_LEADER
        lives.append(z3.Implies(z3.And(other, row["old"]), row["life"] <= known))
        lives.append(z3.Implies(z3.And(other, s.is_stopper(b)), s.stopper_life <= known))
    ahead = [z3.And(s.leads_watched(v), p > row["partition_epoch"]) for v, row in s.rows.items()]
    new = z3.Not(z3.Select(s.led, WATCHED))
    watched = z3.And(there, epoch == WATCHED)
    return {
        "Changes": z3.Implies(there, z3.And(said)),
        "Unread": z3.Implies(z3.And(watched, z3.Or(new, *ahead)), z3.And(unread)),
        "Lives at the beginning": z3.Implies(z3.And(watched, new), z3.And(lives)),
    }


def ascending(s: System, p: z3.ArithRef, q: z3.ArithRef) -> z3.BoolRef:
    """Leader epochs ascend with the changes."""
    there = z3.And(p >= 0, p <= q, q <= s.controller["partition_epoch"])
    return z3.Implies(there, z3.Select(s.epoch_at, p) <= z3.Select(s.epoch_at, q))


# --- Messages.


@dataclass(frozen=True)
class Fetch:
    """A fetch as terms."""

    source: int
    epoch: z3.ArithRef
    offset: z3.ArithRef
    broker_epoch: z3.ArithRef
    sound: z3.BoolRef
    """The sender's log was a prefix of the log of the epoch's leader."""


@dataclass(frozen=True)
class Fetched:
    """An answer to a fetch."""

    epoch: z3.ArithRef
    error: z3.ArithRef
    high_watermark: z3.ArithRef
    from_watched: z3.BoolRef
    """The high watermark comes from the watched epoch."""
    records: z3.ArithRef


@dataclass(frozen=True)
class Alter:
    """An AlterPartition."""

    broker_epoch: z3.ArithRef
    leader_epoch: z3.ArithRef
    partition_epoch: z3.ArithRef
    member: Mapping[int, z3.BoolRef]
    epoch: Mapping[int, z3.ArithRef]


def asked_terms(s: System, v: int) -> Alter:
    """The AlterPartition that a row has asked for."""
    return alter_terms(s.rows[v], s.brokers)


def alter_terms(view: View, brokers: Sequence[int]) -> Alter:
    return Alter(
        view["asked.broker_epoch"],
        view["asked.leader_epoch"],
        view["asked.partition_epoch"],
        {b: view[f"asked.member.{b}"] for b in brokers},
        {b: view[f"asked.epoch.{b}"] for b in brokers},
    )


def fetch_part(s: System, m: Fetch) -> z3.BoolRef:
    """What is true of a fetch for ever."""
    row = s.rows[m.source]
    mine = z3.And(m.sound, m.broker_epoch >= row["life"])
    watched = z3.And(m.epoch == WATCHED, m.sound)
    began = prefix_of(m.epoch)
    far = z3.And(m.epoch > WATCHED, mine, row["intact"], m.offset >= began)
    reached = z3.If(s.begun, least(began, s.cap), began)
    floor = z3.Select(s.epoch_at, row["floor"])
    asked = z3.And(
        z3.Implies(row["role"] != NONE, m.epoch <= row["leader_epoch"]),
        z3.Implies(_registered(s, m.source), m.epoch <= floor),
    )
    return z3.And(
        *(m.offset >= 0, m.epoch >= 0, m.broker_epoch >= 0),
        m.broker_epoch <= s.controller[f"epoch.{m.source}"],
        *(m.epoch <= s.controller["leader_epoch"], asked),
        z3.Implies(z3.And(watched, mine), m.offset <= row["sent"]),
        z3.Implies(
            z3.And(watched, s.is_stopper(m.source), m.broker_epoch >= s.stopper_life),
            m.offset <= s.cap,
        ),
        z3.Implies(far, z3.And(row["match"] >= reached, s.past(m.source))),
    )


def fetched_part(s: System, m: Fetched) -> z3.BoolRef:
    """What is true of an answer to a fetch for ever. Errors: NONE is 0, out of range the last."""
    began = prefix_of(m.epoch)
    shown = z3.And(
        *(m.high_watermark <= s.committed, m.epoch >= WATCHED),
        z3.Implies(m.epoch > WATCHED, m.high_watermark <= began),
    )
    return z3.And(
        *(m.high_watermark >= 0, m.records >= 0),
        z3.Implies(z3.Or(m.error == 0, m.error == 4), z3.Select(s.led, m.epoch)),
        z3.Implies(z3.And(m.from_watched, m.error == 0), shown),
    )


def alter_part(s: System, m: Alter, source: int) -> z3.BoolRef:
    """What is true of an AlterPartition on its way, as long as it may be accepted."""
    c = s.controller
    current = m.partition_epoch == c["partition_epoch"]
    members = []
    for b in s.brokers:
        other, epoch = s.rows[b], m.epoch[b]
        watched = z3.Implies(
            z3.And(m.leader_epoch == WATCHED, epoch >= other["life"], b != WATCHED_LEADER),
            s.committed <= other["sent"],
        )
        later = z3.Implies(
            z3.And(m.leader_epoch > WATCHED, epoch >= other["life"], other["intact"]),
            s.caught_up(b),
        )
        vouched = z3.Or(m.leader_epoch < WATCHED, z3.And(epoch >= 0, watched, later))
        members.append(z3.Implies(m.member[b], z3.Or(c[f"isr.{b}"], vouched)))
        members.append(z3.Implies(m.member[b], epoch <= c[f"epoch.{b}"]))
    return z3.And(
        *(m.partition_epoch >= 0, m.partition_epoch <= c["partition_epoch"]),
        z3.Select(s.epoch_at, m.partition_epoch) == m.leader_epoch,
        *(z3.Select(s.leader_of, m.leader_epoch) == source, z3.Select(s.led, m.leader_epoch)),
        z3.Implies(current, z3.And(members)),
    )


def orphan_part(s: System, m: Alter, source: int) -> z3.BoolRef:
    """The same of one whose sender stopped since: it does not lead the watched epoch any more."""
    alive = z3.And(s.leads_watched(source), m.leader_epoch == WATCHED)
    return z3.And(alter_part(s, m, source), z3.Not(alive))


# --- All of it.


@dataclass(frozen=True)
class Others:
    """Messages of which nothing is known but that they are on their way."""

    fetches: tuple[Fetch, ...]
    fetched: Fetched
    alters: Mapping[int, Alter]


def other_messages(brokers: Sequence[int]) -> Others:
    """A fetch and an AlterPartition of each broker, and an answer."""
    fetches = [
        Fetch(
            b,
            z3.Int(f"other.fetch{b}.epoch"),
            z3.Int(f"other.fetch{b}.offset"),
            z3.Int(f"other.fetch{b}.broker_epoch"),
            z3.Bool(f"other.fetch{b}.sound"),
        )
        for b in brokers
    ]
    answer = Fetched(
        z3.Int("other.fetched.epoch"),
        z3.Int("other.fetched.error"),
        z3.Int("other.fetched.high_watermark"),
        z3.Bool("other.fetched.from"),
        z3.Int("other.fetched.records"),
    )
    alters = {b: alter_terms(any_view(f"other.alter{b}", brokers), brokers) for b in brokers}
    return Others(tuple(fetches), answer, alters)


def message_parts(s: System, others: Others) -> Parts:
    parts = {f"fetch of {m.source}": fetch_part(s, m) for m in others.fetches}
    parts |= {f"AlterPartition of {v}": orphan_part(s, m, v) for v, m in others.alters.items()}
    return parts | {"answer to a fetch": fetched_part(s, others.fetched)}


def parts_of(
    s: System,
    epochs: Mapping[str, z3.ArithRef],
    changes: Mapping[str, z3.ArithRef],
    others: Others,
) -> Parts:
    """The whole invariant, with what it says of epochs and changes at these."""
    parts = dict(controller_parts(s))
    for v in s.brokers:
        parts |= {f"{name} of {v}": part for name, part in broker_parts(s, v).items()}
    for told, e in epochs.items():
        parts |= {f"{name}, {told}": part for name, part in epoch_parts(s, e).items()}
    for told, p in changes.items():
        parts |= {f"{name}, {told}": part for name, part in change_parts(s, p).items()}
    return parts | message_parts(s, others)


def complete(s: System) -> z3.BoolRef:
    """The property: whoever runs and is electable has all that is committed."""
    said = []
    for b in s.brokers:
        runs = s.rows[b]["broker_epoch"] >= 0
        there = s.rows[b]["match"] >= s.committed
        said.append(z3.Implies(z3.And(s.electable(b), runs), there))
    reached = [
        z3.Implies(row["from"], row["high_watermark"] <= s.committed) for row in s.rows.values()
    ]
    return z3.And(*said, *reached)


def leader_complete(s: System) -> z3.BoolRef:
    """Whom the controller has chosen has all that is committed, if it runs."""
    said = []
    for b in s.brokers:
        row = s.rows[b]
        chosen = z3.And(s.controller["leader"] == b, row["broker_epoch"] >= 0)
        said.append(z3.Implies(chosen, row["match"] >= s.committed))
    return z3.And(said)
