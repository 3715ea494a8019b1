"""Two compositions of a partition compared by the states that they reach.

A projection is what the properties of PartitionProperties read of a state, without the numbers that
only identify things (partition epochs, offsets of metadata). Every state of the asynchronous
composition must have its projection in the reduced one, so that an invariant of the projection that
fails in the first fails in the second.

Each state is projected twice. "Full" leaves out the states that only the asynchronous composition
has: a broker that is down, or whose registration has reached the controller and that does not serve
yet. "Logs" is of every state, and looks at the log alone of a broker that serves nobody: one that
has not started, or is fenced and no leader.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from specs import SPECS
from tests.specs.cfgs import LIBRARIES
from tla_utils import ModuleText, TlcJob, TlcResult, run_tlc
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
_MODEL = (SPECS / "partition" / "models" / "partition-crash.cfg").read_text("utf-8")
_PROPERTIES = _MODEL[_MODEL.index("INVARIANTS\n") + len("INVARIANTS\n") :]


@dataclass(frozen=True, slots=True)
class Bounds:
    """What both sides of a comparison share, and what only one of them knows.

    replicas: "Two" or "Three". any_order: any valid leader may be elected, else Kafka's order.
    common, messages, reduced: constants that differ from the defaults above.
    bug: the module of an overlay; rules: what it replaces in PartitionRules.
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


@dataclass(frozen=True, slots=True)
class Reached:
    """The projections of a complete search, TLC's count of states, and which properties failed
    (known only where Bounds.judged)."""

    projections: frozenset[Value]
    distinct: int
    violated: frozenset[str] = frozenset()


def reached_by_messages(bounds: Bounds) -> Reached:
    """Every projection that the asynchronous composition reaches within its bounds."""
    constants = {**_COMMON, **_MESSAGES, **bounds.common, **bounds.messages}
    outside = (
        "controller.partition.partitionEpoch > MaxPartitionEpoch"
        " \\/ controller.partition.leaderEpoch > MaxLeaderEpoch"
    )
    return _reached("MCPartition", bounds, constants, outside, "CONSTRAINT WithinBounds\n")


def reached_reduced(bounds: Bounds, **changed: str) -> Reached:
    """Every projection that the reduced composition reaches; `changed`: constants."""
    constants = {**_COMMON, **_REDUCED, **bounds.common, **bounds.reduced, **changed}
    return _reached("MCPartitionReduced", bounds, constants, "FALSE", "")


def _reached(
    module: str, bounds: Bounds, constants: Mapping[str, str], outside: str, more: str
) -> Reached:
    cfg = "SPECIFICATION MCSpec\nCONSTANTS\n"
    cfg += "".join(f"  {name} = {value}\n" for name, value in constants.items())
    cfg += f"  Replicas <- {bounds.replicas}\n" + (_ANY_ORDER if bounds.any_order else "")
    cfg += _overrides(bounds) + more + ("VIEW AliveView\n" if more else "")
    cfg += "INVARIANTS\n  Shown\n" + (_PROPERTIES if bounds.judged else "")
    extended = ", ".join(filter(None, [module, bounds.bug]))
    root = f"---- MODULE Projected ----\nEXTENDS {extended}\n{_SEEN % outside}====\n"
    result = run_tlc(
        TlcJob(
            module=ModuleText("Projected", root),
            cfg=cfg,
            libraries=LIBRARIES,
            deadlock=False,
            go_on=bounds.judged,
            heap_mb=3072,
            timeout_s=3600,
        )
    )
    return Reached(_complete(result, bounds.judged), result.distinct or 0, _violated(result))


def _overrides(bounds: Bounds) -> str:
    """The cfg lines that put the bug in place; its operators begin with its number."""
    return "".join(
        f"  {rule} <- [PartitionRules] {(bounds.bug or '')[:3]}_{rule}\n" for rule in bounds.rules
    )


def _complete(result: TlcResult, judged: bool) -> frozenset[Value]:
    found = f"{result.verdict}: {result.reason or result.property}"
    assert result.complete and (judged or result.verdict == "holds"), found
    return frozenset(result.printed_values())


def _violated(result: TlcResult) -> frozenset[str]:
    return frozenset(violation.property or "" for violation in result.violations)
