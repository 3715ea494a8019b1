"""Two compositions of a partition compared by the states that they reach.

A projection is what the properties of PartitionProperties read of a state, without the numbers that
only identify things (partition epochs, offsets of metadata). Every state of the asynchronous
composition must have its projection in the reduced one, so that an invariant of the projection that
fails in the first fails in the second.

Each state is projected twice. "Full" leaves out the states that only the asynchronous composition
has: a broker that is down, or whose registration has reached the controller and that does not serve
yet. "Logs" is of every state, and looks at the log alone of a broker that serves nobody: one that
has not started, or is fenced and no leader.

What a comparison came to is kept in comparisons.json under the digests of both searches, as the
answers to models are (`answers.py`): the same two searches are not made again.
"""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final, NamedTuple

import msgspec

from kraftcheck.known_bugs.entries import manifest_of
from tests.specs.answers import AGAIN, HERE, UPDATE, digest_of
from tests.specs.cfgs import LIBRARIES, beside
from tla_utils import ModuleText, TlcJob, TlcResult, run_tlc
from tla_utils.config import cfg_text
from tla_utils.values import Value

_SEEN = r"""
RowSeen(r) ==
  <<r.status, r.brokerEpoch # Undefined, r.role, r.leader, r.leaderEpoch, r.log, r.logStart,
    r.highWatermark, r.epochStart, r.epochCache, r.isr, r.pending.kind,
    {m.broker : m \in r.pending.isr}, r.lastFetchedEpoch>>
PartitionSeen(p) == <<p.leader, p.leaderEpoch, p.isr, p.elr, p.lastKnownLeader, p.recovering>>
Seen ==
  <<[n \in Brokers |-> RowSeen(rows[n])], PartitionSeen(controller.partition),
    [n \in Brokers |-> controller.registrations[n].fenced], committed>>

ServesNobody(n) ==
  \/ rows[n].status # "Running"
  \/ controller.registrations[n].fenced /\ rows[n].role # "Leader"
LogsSeen ==
  <<[n \in Brokers |-> IF ServesNobody(n) THEN <<rows[n].log, rows[n].logStart>>
                       ELSE RowSeen(rows[n])],
    PartitionSeen(controller.partition),
    [n \in Brokers |-> controller.registrations[n].fenced], committed>>

IsWaiting(n) ==
  /\ rows[n].status = "Starting"
  /\ \/ rows[n].brokerEpoch # Undefined
     \/ controller.registrations[n].incarnation = rows[n].incarnation
Outside == %s
OnlyHere == \E n \in Brokers : rows[n].status = "Down" \/ IsWaiting(n)

(* Each projection is printed once. *)
ASSUME TLCSet(1, {})
Show(projection) ==
  \/ projection \in TLCGet(1)
  \/ TLCSet(1, TLCGet(1) \cup {projection}) /\ PrintT(projection)
Shown ==
  \/ Outside
  \/ Show(<<"Logs", LogsSeen>>) /\ (OnlyHere \/ Show(<<"Full", Seen>>))
"""

_ANY_ORDER = """  LeaderChoices <- [PartitionRules] AnyChoice
  PreferredChoices <- [PartitionRules] AnyOtherChoice
  PreferredReplica <- [PartitionRules] NoBroker
"""

_COMMON: Mapping[str, str] = {
    "b1": "b1",
    "b2": "b2",
    "b3": "b3",
    "MinInsyncReplicas": "2",
    "ElrEnabled": "TRUE",
    "UncleanElection": "FALSE",
    "FetchMaxRecords": "1",
    "MaxLeaderEpoch": "2",
    "MaxRecords": "1",
    "MaxCrashes": "0",
    "MaxFences": "0",
    "AcksAll": "FALSE",
}

_MESSAGES: Mapping[str, str] = {
    "MaxPartitionEpoch": "2",
    "MaxTimeouts": "0",
    "AlterOnce": "TRUE",
    "Moves": '{"Fetch", "Elect"}',
}

_REDUCED: Mapping[str, str] = {
    "Lossy": "TRUE",
    "Torn": "FALSE",
    "MaxStops": "0",
    "MaxDeletes": "0",
    "Planned": "TRUE",
    "Idempotent": "FALSE",
    "MaxRetries": "0",
    "Folding": "TRUE",
    "AtomicFetch": "FALSE",
    "KeepCaughtUp": "FALSE",
    "KeepParked": "FALSE",
    "KeepOld": "{}",
}


# What the reduced models check, read from one of them.
_MODEL = manifest_of().models["partition-crash"]
_PROPERTIES = cfg_text(_MODEL.config).partition("INVARIANTS\n")[2]


@dataclass(frozen=True, slots=True)
class Bounds:
    """What both sides of a comparison share, and what only one of them knows.

    replicas: "Two" or "Three". any_order: any valid leader may be elected, else Kafka's order.
    common, messages, reduced: constants that differ from the defaults above.
    bug: its id; rules: what it replaces in PartitionRules.
    judged: search with every property of the reduced models, on past each violation.
    """

    replicas: str = "Two"
    any_order: bool = True
    common: Mapping[str, str] = field(default_factory=dict)
    messages: Mapping[str, str] = field(default_factory=dict)
    reduced: Mapping[str, str] = field(default_factory=dict)
    bug: str | None = None
    rules: tuple[str, ...] = ()
    judged: bool = False


class Search(NamedTuple):
    """A complete search of one composition. judged: as of its Bounds."""

    job: TlcJob
    judged: bool


class Reached(NamedTuple):
    """The projections of a complete search, and which properties failed (known only where it is
    judged)."""

    projections: frozenset[Value]
    violated: frozenset[str]


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """Two searches. seen: projections that the first reaches. lost: those of them that the second
    does not; added: those that only the second does. violated: properties, of the first and of the
    second."""

    seen: int
    lost: int
    added: int
    violated: tuple[list[str], list[str]]


def by_messages(bounds: Bounds) -> Search:
    """Of the asynchronous composition within its bounds."""
    constants = {**_COMMON, **_MESSAGES, **bounds.common, **bounds.messages}
    outside = (
        "controller.partition.partitionEpoch > MaxPartitionEpoch"
        " \\/ controller.partition.leaderEpoch > MaxLeaderEpoch"
    )
    return _search("MCPartition", bounds, constants, outside, "CONSTRAINT WithinBounds\n")


def reduced(bounds: Bounds, **changed: str) -> Search:
    """Of the reduced composition; `changed`: constants."""
    constants = {**_COMMON, **_REDUCED, **bounds.common, **bounds.reduced, **changed}
    return _search("MCPartitionReduced", bounds, constants, "FALSE", "")


def compared(one: Search, other: Search) -> Compared:
    """What is kept of these two; where nothing is, TLC is asked."""
    under = digest(one, other)
    found = asked.get(under)
    if found is None and not os.environ.get(AGAIN):
        found = kept().get(under)
    if found is None:
        warnings.warn(f"TLC's answers are not all kept: `{UPDATE}` keeps them", stacklevel=2)
        found = compare(one, other)
    asked[under] = found
    return found


def digest(one: Search, other: Search) -> str:
    """What a comparison is kept under."""
    return sha256(f"{digest_of(one.job)} {digest_of(other.job)}".encode()).hexdigest()[:32]


def compare(one: Search, other: Search) -> Compared:
    """Two searches that TLC makes now."""
    first, second = reached(one), reached(other)
    return Compared(
        seen=len(first.projections),
        lost=len(first.projections - second.projections),
        added=len(second.projections - first.projections),
        violated=(sorted(first.violated), sorted(second.violated)),
    )


KEPT: Final = HERE / "comparisons.json"

asked: dict[str, Compared] = {}
"""The comparisons of this process, by digest."""

_reached: dict[str, Reached] = {}


@functools.cache
def kept() -> dict[str, Compared]:
    """The stored comparisons."""
    return msgspec.json.decode(KEPT.read_bytes(), type=dict[str, Compared])


def reached(search: Search) -> Reached:
    """What TLC says, which is asked once in a process."""
    under = digest_of(search.job)
    if under not in _reached:
        result = run_tlc(search.job)
        _reached[under] = Reached(_complete(result, search.judged), _violated(result))
    return _reached[under]


def _search(
    module: str, bounds: Bounds, constants: Mapping[str, str], outside: str, more: str
) -> Search:
    cfg = "SPECIFICATION MCSpec\nCONSTANTS\n"
    cfg += "".join(f"  {name} = {value}\n" for name, value in constants.items())
    cfg += f"  Replicas <- {bounds.replicas}\n" + (_ANY_ORDER if bounds.any_order else "")
    cfg += _overrides(bounds) + more + ("VIEW AliveView\n" if more else "")
    cfg += "INVARIANTS\n  Shown\n" + (_PROPERTIES if bounds.judged else "")
    extended = ", ".join(filter(None, [module, bounds.bug and "PartitionBugs"]))
    root = f"---- MODULE Projected ----\nEXTENDS {extended}\n{_SEEN % outside}====\n"
    job = TlcJob(
        module=ModuleText("Projected", root),
        cfg=cfg,
        libraries=LIBRARIES,
        beside=beside(extended, cfg),
        deadlock=False,
        go_on=bounds.judged,
        heap_mb=3072,
        timeout_s=3600,
    )
    return Search(job, bounds.judged)


def _overrides(bounds: Bounds) -> str:
    """The cfg lines that put the bug in place; its operators begin with its number."""
    return "".join(f"  {rule} <- [PartitionRules] {bounds.bug}_{rule}\n" for rule in bounds.rules)


def _complete(result: TlcResult, judged: bool) -> frozenset[Value]:
    found = f"{result.verdict}: {result.reason or result.property}"
    assert result.complete and (judged or result.verdict == "holds"), found
    return frozenset(result.printed_values())


def _violated(result: TlcResult) -> frozenset[str]:
    return frozenset(violation.property or "" for violation in result.violations)
