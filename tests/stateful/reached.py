"""What the searches of this process have reached: rules of the machines, actions of the spec,
roles, error codes, and the decisions of the reference with both outcomes.

A search that never reaches something says nothing about it, however long it lasts. So a long one
counts, prints what it counted, and fails when something of the list was never reached. What cannot
be reached is in UNREACHABLE, with the reason.

A search that fails ends early, and then makes its failure again and again; so what it has not
reached is nobody's fault. Only examples of searches that ended without a find are `finished`.

Law of this file: it observes and never steers. Only runs with the correct reference count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Final, get_args

from hypothesis.control import current_build_context
from hypothesis.stateful import RULE_MARKER

from kraftcheck.reference.kit.dispatch import action_name
from kraftcheck.reference.partition.broker import BROKER_HANDLERS
from kraftcheck.reference.partition.controller import CONTROLLER_HANDLERS
from kraftcheck.reference.partition.directories.messages import (
    BROKER_INPUTS as OF_BROKERS,
    CONTROLLER_INPUTS as OF_CONTROLLERS,
)
from kraftcheck.reference.partition.moving.messages import CONTROLLER_INPUTS as MOVING_INPUTS
from kraftcheck.reference.partition.moving.rules import MovingRules
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.types import PartitionRole, Status
from kraftcheck.reference.quorum.handlers import HANDLERS
from kraftcheck.reference.quorum.messages import Error
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.snapshots.messages import INPUTS as SNAPSHOT_INPUTS
from kraftcheck.reference.quorum.snapshots.rules import SnapshotRules
from kraftcheck.reference.quorum.types import ROLES
from kraftcheck.reference.quorum.voters.messages import INPUTS as VOTER_INPUTS
from kraftcheck.reference.quorum.voters.rules import VoterRules
from kraftcheck.reference.steered.moves import Steered

Counts = dict[str, Counter[str]]
"""By machine, how often each thing was reached: `rule crash`, `action HandleFetchRequest`, ..."""

EXECUTED: Final = "execute:rule:"
"""How Hypothesis names the time that a rule took."""

counts: Counts = {}
_judging: list[str] = []
"""The machine whose reference takes steps now, if it is the correct one."""

DECIDING: Final = (QuorumRules, PartitionRules, VoterRules, SnapshotRules, MovingRules)
"""Who decides with which outcomes."""
DATA_ERRORS: Final = (
    *("NOT_LEADER_OR_FOLLOWER", "FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH"),
    *("OFFSET_OUT_OF_RANGE", "NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS_AFTER_APPEND"),
    *("REQUEST_TIMED_OUT", "OFFSET_NOT_AVAILABLE", "DUPLICATE_BROKER_REGISTRATION"),
    *("STALE_BROKER_EPOCH", "INVALID_UPDATE_VERSION", "INELIGIBLE_REPLICA", "INVALID_REQUEST"),
    *("NEW_LEADER_ELECTED", "NOT_CONTROLLER", "OUT_OF_ORDER_SEQUENCE_NUMBER"),
    *("INVALID_PRODUCER_EPOCH",),
)
"""What brokers and controllers answer besides NONE (reference/partition)."""


_BROKEN: Final = "only a reference that breaks an invariant gets there"
_CONSTANT: Final = "the correct rules never decide so; a bug does"
_MALFORMED: Final = "the answer to a malformed request, which no node sends"
_NO_DISK: Final = "no disk is replaced: its voter would be down for good"

UNREACHABLE: Final[Mapping[str, str]] = {
    "role Halted": _BROKEN,
    "error INVALID_REQUEST": _MALFORMED,
    "decision QuorumRules.conflicting_leader: yes": _BROKEN,
    "decision PartitionRules.advances_after_alter_partition: no": _CONSTANT,
    "decision PartitionRules.keeps_end_offsets: yes": _CONSTANT,
    "error NEW_LEADER_ELECTED": "a leader that may not lead is replaced before it can ask",
    "error NOT_ENOUGH_REPLICAS_AFTER_APPEND": "no record is passed while too few are in sync (P6)",
    "action HandleReplaceDisk": _NO_DISK,
    "decision VoterRules.may_return_empty: yes": _NO_DISK,
    "decision VoterRules.may_return_empty: no": _NO_DISK,
    "decision VoterRules.flushes_as_observer: no": _CONSTANT,
    "decision SnapshotRules.replaces_log: no": _CONSTANT,
    "decision SnapshotRules.may_start: no": _BROKEN,
    "decision SnapshotRules.snapshot_is_ahead: yes": "what is known to be committed is on disk",
    "error NOT_CONTROLLER": "nobody knows more than a controller whose answers are sent",
}
"""What no machine can reach, and why."""

BY_HAND: Final[Mapping[str, str]] = {
    "decision PartitionRules.is_outdated_partition: yes": (
        "a leader is answered two changes of its ISR before it has read metadata of either, and "
        "then reads of the first alone"
    ),
    "decision PartitionRules.is_final_error: no": (
        "a leader is unregistered while it asks for another ISR: STALE_BROKER_EPOCH"
    ),
    "decision SnapshotRules.is_served: no": (
        "a leader deletes a snapshot while somebody is fetching it"
    ),
}
"""What a search can reach, but so rarely that it does not owe it, and why. Each is made by hand in
test_rarities.py, or of a quorum that changes in test_changing_cluster_machine.py.
"""


def expected() -> list[str]:
    """What the machines are to reach together, besides their own rules."""
    actions = (
        *(*HANDLERS.values(), *BROKER_HANDLERS.values(), *CONTROLLER_HANDLERS.values()),
        *[action_name(of) for of in (*VOTER_INPUTS, *SNAPSHOT_INPUTS, *MOVING_INPUTS)],
        *[action_name(of) for of in (*OF_BROKERS, *OF_CONTROLLERS)],
    )
    roles = (*ROLES, *get_args(PartitionRole), *get_args(Status))
    errors = {*get_args(Error), *DATA_ERRORS} - {"NONE"}
    found = [
        *[f"action {name}" for name in actions],
        *[f"role {name}" for name in roles],
        *[f"error {name}" for name in errors],
        *[said for rules in DECIDING for said in _outcomes(rules)],
    ]
    return sorted(set(found) - set(UNREACHABLE))


def _decisions(rules: type) -> list[str]:
    """The methods that decide yes or no."""
    return sorted(
        name
        for name, method in vars(rules).items()
        if getattr(method, "__annotations__", {}).get("return") == "bool"
    )


def _outcomes(rules: type) -> list[str]:
    """A yes and a no for each decision."""
    names = _decisions(rules)
    return [f"decision {rules.__name__}.{n}: {said}" for n in names for said in ("yes", "no")]


def watch_decisions() -> None:
    """From now on, notes what the rules of the reference decide. To be called once."""
    for rules in DECIDING:
        for name in _decisions(rules):
            setattr(rules, name, _noted(f"decision {rules.__name__}.{name}", getattr(rules, name)))


def _noted(name: str, method: Callable[..., bool]) -> Callable[..., bool]:
    names = {True: f"{name}: yes", False: f"{name}: no"}

    @wraps(method)
    def decide(*args: Any, **kwargs: Any) -> bool:
        decided = method(*args, **kwargs)
        if _judging:
            counts.setdefault(_judging[0], Counter())[names[bool(decided)]] += 1
        return decided

    return decide


def begin(machine: str, correct: bool) -> None:
    """An example begins."""
    _judging[:] = [machine] if correct else []
    if correct:
        of(machine)["examples"] += 1


def finished(machine: str, before: int) -> None:
    """A search has ended without a find. before: examples of the machine when it began."""
    of(machine)["finished"] += of(machine)["examples"] - before


def judging() -> str:
    """The machine whose correct reference takes steps now; empty: none."""
    return _judging[0] if _judging else ""


def of(machine: str) -> Counter[str]:
    return counts.setdefault(machine, Counter())


def said() -> str:
    """How many examples each machine has begun, in a few words; empty: no search has begun."""
    # A copy, made at once: another thread asks.
    begun = [f"{name} {found['examples']:,}" for name, found in list(counts.items())]
    return f"examples of {', '.join(begun)}" if begun else ""


def rules_of(machine: type) -> list[str]:
    """The names of a machine's rules."""
    return sorted(name for name in dir(machine) if hasattr(getattr(machine, name), RULE_MARKER))


def note_rules(machine: str) -> None:
    """The rules that the example which ends now has carried out."""
    if _judging == [machine]:
        times = getattr(current_build_context().data, "_stateful_run_times", {})
        of(machine).update(
            f"rule {key.removeprefix(EXECUTED)}" for key in times if key.startswith(EXECUTED)
        )


def note_run(machine: str, schedule: Steered) -> None:
    """What the run of an example has reached, before it is healed."""
    if _judging != [machine]:
        return
    found = of(machine)
    found["moves"] += len(schedule.moves)
    note_rules(machine)
    for step in schedule.steps():
        found[f"action {step.action}"] += 1
        row = step.after
        for field in ("role", "status"):
            if value := getattr(row, field, ""):
                found[f"role {value}"] += 1
        for message in step.sent:
            error = getattr(message, "error", "NONE")
            if error != "NONE":
                found[f"error {error}"] += 1
