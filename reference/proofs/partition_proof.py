"""The obligations of electable.py: the first state, every action, and what the invariant implies.

A step changes one row, or the controller's and perhaps one broker's, and sends messages. It is
judged with the row as the way through the handler has it, any other rows, and one message of each
kind and sender that was on its way before: the invariant says of each message what is true of it
for ever. What the invariant says of all epochs, and of all changes of the partition, is assumed at
those that the step mentions and shown for ones of which nothing is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations
from time import monotonic
from typing import Any, Final

import z3

from reference.core.partition_rules import PartitionRules
from reference.core.partition_types import PartitionConstants
from reference.proofs.electable import (
    Others,
    Parts,
    System,
    any_system,
    ascending,
    complete,
    first_system,
    other_messages,
    parts_of,
)
from reference.proofs.obligations import IMPLIES, Obligation
from reference.proofs.partition_actions import ACTIONS, Action, Model
from reference.proofs.partition_relation import (
    KINDS,
    MIN_ISR,
    PARTITION_ROLES,
    STATUSES,
    WATCHED,
    WATCHED_LEADER,
    PartitionCases,
)
from reference.proofs.symbolic import Unknown

PROPERTY: Final = "LeaderCandidateCompleteness"
_EPOCH: Final = z3.Int("any.epoch")
_CHANGE: Final = z3.Int("any.change")
_CHANGES: Final = (z3.Int("any.change.1"), z3.Int("any.change.2"))


def partition_obligations() -> list[str]:
    """The names of all obligations; each can be discharged for itself."""
    return ["Init", *ACTIONS, f"{IMPLIES}{PROPERTY}"]


def discharge_partition(
    brokers: int,
    name: str,
    rules: type[PartitionRules] = PartitionRules,
    timeout_ms: int = 60_000,
) -> Obligation:
    """One obligation by its name, for any min ISR, with ELR."""
    begin = monotonic()
    done = Obligation(name)
    if name == "Init":
        _initially(brokers, done, timeout_ms)
    elif name.startswith(IMPLIES):
        _implied(brokers, done, timeout_ms)
    else:
        _kept(brokers, name, rules, done, timeout_ms)
    done.seconds = monotonic() - begin
    return done


def _solver(brokers: int, timeout_ms: int) -> z3.Solver:
    solver = z3.Solver()
    solver.set("timeout", timeout_ms)
    solver.add(WATCHED >= 1, WATCHED_LEADER >= 0, brokers > WATCHED_LEADER)
    solver.add(MIN_ISR >= 1, brokers >= MIN_ISR)
    return solver


def _shown(s: System, others: Others) -> Parts:
    """What is to be shown of a system: for an epoch and changes of which nothing is known."""
    parts = parts_of(s, {"any epoch": _EPOCH}, {"any change": _CHANGE}, others)
    return parts | {"Ascending": ascending(s, *_CHANGES)}


def _initially(brokers: int, done: Obligation, timeout_ms: int) -> None:
    s = first_system(PartitionConstants(tuple(range(brokers)), 1))
    parts = _shown(s, other_messages(s.brokers))
    # No message has been sent.
    goals = {name: part for name, part in parts.items() if not _of_message(name)}
    _check(_solver(brokers, timeout_ms), goals, done, s, None)


def _of_message(name: str) -> bool:
    return name.startswith(("fetch of", "AlterPartition of", "answer to"))


def _implied(brokers: int, done: Obligation, timeout_ms: int) -> None:
    s = any_system(range(brokers))
    solver = _solver(brokers, timeout_ms)
    epochs = {"watched": WATCHED, "now": s.controller["leader_epoch"]}
    parts = parts_of(s, epochs, {}, other_messages(s.brokers))
    solver.add([part for name, part in parts.items() if not _of_message(name)])
    if solver.check() != z3.sat:
        done.status, done.reason = "unknown", "the invariant itself has no model"
        return
    _check(solver, {PROPERTY: complete(s)}, done, s, None)


def _kept(
    brokers: int,
    name: str,
    rules: type[PartitionRules],
    done: Obligation,
    timeout_ms: int,
) -> None:
    model = Model(PartitionCases(brokers, rules), any_system(range(brokers)))
    others = other_messages(model.brokers)
    try:
        for action in ACTIONS[name](model):
            done.paths += 1
            if not _action_keeps(brokers, action, others, done, timeout_ms):
                return
    except Unknown as error:
        done.status, done.reason = "unknown", str(error)
    if not done.paths and done.status == "proved":
        done.status, done.reason = "unknown", "the handler has no way: nothing was shown"


def _action_keeps(
    brokers: int, action: Action, others: Others, done: Obligation, timeout_ms: int
) -> bool:
    solver = _solver(brokers, timeout_ms)
    solver.add(*action.given)
    solver.add(*_assumed(action, others).values())
    goals = _shown(action.after, others) | action.said
    return _check(solver, goals, done, action.before, action)


def _assumed(action: Action, others: Others) -> Parts:
    """The invariant before, at the epochs and changes that the action mentions."""
    s, n = action.before, action.node
    row, c = s.rows[n], s.controller
    epochs: dict[str, Any] = {
        **action.epochs,
        "watched": WATCHED,
        "now": c["leader_epoch"],
        "any": _EPOCH,
        "mine": row["leader_epoch"],
    }
    for v in s.brokers:
        epochs[f"of {v}"] = s.rows[v]["leader_epoch"]
    changes: dict[str, Any] = {
        **action.changes,
        "now": c["partition_epoch"],
        "any": _CHANGE,
        "one": _CHANGES[0],
        "two": _CHANGES[1],
        "mine": row["partition_epoch"],
        "image": row["image.partition_epoch"],
    }
    for alter in others.alters.values():
        changes[f"of {alter.partition_epoch}"] = alter.partition_epoch
        epochs[f"of {alter.leader_epoch}"] = alter.leader_epoch
    for epoch in (*(m.epoch for m in others.fetches), others.fetched.epoch):
        epochs[f"of {epoch}"] = epoch
    parts = parts_of(s, epochs, changes, others)
    near = [*action.changes.values(), *(changes[name] for name in ("now", "mine", "image"))]
    near += [row["floor"], _CHANGE]
    for p, q in (*permutations(near, 2), _CHANGES):
        parts[f"Ascending from {p} to {q}"] = ascending(s, p, q)
    return parts


def _check(
    solver: z3.Solver,
    goals: Mapping[str, z3.BoolRef],
    done: Obligation,
    system: System,
    action: Action | None,
) -> bool:
    """Whether all goals follow; else those that do not, with a state in which one of them fails.

    One at a time: what the solver learns from one it has for the next, and a goal that a step does
    not touch is among what is assumed.
    """
    for goal in goals.values():
        solver.push()
        solver.add(z3.Not(goal))
        answer = solver.check()
        if answer == z3.sat:
            model = solver.model()
            done.status = "failed"
            done.broken = ", ".join(
                n for n, g in goals.items() if z3.is_false(model.eval(g, model_completion=True))
            )
            done.state = readable(model, system, action)
        elif answer == z3.unknown:
            done.status, done.reason = "unknown", f"the solver: {solver.reason_unknown()}"
        solver.pop()
        if answer != z3.unsat:
            return False
    return True


def readable(model: z3.ModelRef, system: System, action: Action | None) -> list[str]:
    """A model of the solver as lines: the controller, each row, and what the acting one becomes."""

    def value(term: z3.ExprRef) -> Any:
        found = model.eval(term, model_completion=True)
        return z3.is_true(found) if z3.is_bool(found) else found.as_long()

    lines = [
        f"watched: epoch {value(WATCHED)} of broker {value(WATCHED_LEADER)}, min ISR "
        f"{value(MIN_ISR)}, committed {value(system.committed)}, later leaders "
        f"{value(system.begun)} with {value(system.cap)}, stopper {value(system.stopper)}"
    ]
    lines += _lines(system, value)
    if action is not None:
        lines.append(f"broker {action.node}: {action.name}; then")
        lines.append(f"committed {value(action.after.committed)}")
        lines += _lines(action.after, value)
    return lines


def _lines(s: System, value: Any) -> list[str]:
    c = s.controller

    def members(view: Mapping[str, Any], field: str) -> list[int]:
        return [b for b in s.brokers if value(view[f"{field}.{b}"])]

    lines = [
        f"controller: leader {value(c['leader'])}, epoch {value(c['leader_epoch'])}, change "
        f"{value(c['partition_epoch'])}, ISR {members(c, 'isr')}, ELR {members(c, 'elr')}"
    ]
    for v, row in s.rows.items():
        remotes = [
            (value(row[f"remote.end.{b}"]), value(row[f"remote.epoch.{b}"])) for b in s.brokers
        ]
        lines.append(
            f"broker {v}: {STATUSES[value(row['status'])]} {PARTITION_ROLES[value(row['role'])]}, "
            f"epoch {value(row['leader_epoch'])}, change {value(row['partition_epoch'])}, length "
            f"{value(row['length'])}, match {value(row['match'])}, high watermark "
            f"{value(row['high_watermark'])}, ISR {members(row, 'isr')}, proposes "
            f"{KINDS[value(row['kind'])]} {members(row, 'member')}, remotes {remotes}, sent "
            f"{value(row['sent'])}, life {value(row['life'])}, broker epoch "
            f"{value(row['broker_epoch'])}, intact {value(row['intact'])}, old {value(row['old'])}"
        )
    return lines
