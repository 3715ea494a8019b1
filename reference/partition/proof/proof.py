"""The obligations of electable.py: the first state, every action, and what the invariant implies.

A step changes one row, or the controller's and perhaps one broker's, and sends messages. It is
judged with the row as the way through the handler has it, any other rows, and one message of each
kind and sender that was on its way before: the invariant says of each message what is true of it
for ever. What the invariant says of all epochs, and of all changes of the partition, is assumed at
those that the step mentions and shown for ones of which nothing is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import permutations
from typing import Any, Final

import z3

from kraftcheck.reference.partition.proof.actions import ACTIONS, Action, Model
from kraftcheck.reference.partition.proof.electable import (
    Others,
    Parts,
    ascending,
    change_parts,
    complete,
    epoch_parts,
    leader_complete,
    other_messages,
    parts_of,
)
from kraftcheck.reference.partition.proof.relation import (
    KINDS,
    MIN_ISR,
    PARTITION_ROLES,
    STATUSES,
    WATCHED,
    WATCHED_LEADER,
    PartitionCases,
)
from kraftcheck.reference.partition.proof.system import System, any_system, first_system
from kraftcheck.reference.partition.rules import PartitionRules
from kraftcheck.reference.partition.types import PartitionConstants
from kraftcheck.reference.proofs.assumed import WrittenOnce
from kraftcheck.reference.proofs.obligations import Obligation, Proof, discharged, obligation_names
from kraftcheck.reference.proofs.terms import values_in

PROPERTIES: Final = ("LeaderCandidateCompleteness", "PartitionLeaderCompleteness")
"""What is proved of a partition, by the names of PartitionProperties.tla; of the second, what it
says of committed records."""
_EPOCH: Final = z3.Int("any.epoch")
_CHANGE: Final = z3.Int("any.change")
_CHANGES: Final = (z3.Int("any.change.1"), z3.Int("any.change.2"))


def partition_obligations(properties: Sequence[str] = PROPERTIES) -> list[str]:
    """The names of all obligations; each can be discharged for itself."""
    return obligation_names(ACTIONS, properties)


def discharge_partition(
    brokers: int,
    name: str,
    rules: type[PartitionRules] = PartitionRules,
    timeout_ms: int = 60_000,
) -> Obligation:
    """One obligation by its name, for any min ISR, with ELR."""
    return discharged(
        name,
        initially=partial(_initially, brokers, timeout_ms),
        kept=partial(_kept, brokers, rules, timeout_ms),
        implied=partial(_implied, brokers, timeout_ms),
    )


def _solver(brokers: int, timeout_ms: int) -> z3.Solver:
    solver = z3.SimpleSolver()
    solver.set("timeout", timeout_ms)
    solver.add(WATCHED >= 1, WATCHED_LEADER >= 0, brokers > WATCHED_LEADER)
    solver.add(MIN_ISR >= 1, brokers >= MIN_ISR)
    return solver


def _shown(s: System, others: Others) -> Parts:
    """What is to be shown of a system: for an epoch and changes of which nothing is known."""
    parts = parts_of(s, {"any epoch": _EPOCH}, {"any change": _CHANGE}, others)
    return parts | {"Ascending": ascending(s, *_CHANGES)}


def _initially(brokers: int, timeout_ms: int, done: Obligation) -> None:
    s = first_system(PartitionConstants(tuple(range(brokers)), 1))
    parts = _shown(s, other_messages(s.brokers))
    # No message has been sent.
    goals = {name: part for name, part in parts.items() if not _of_message(name)}
    done.judge(_solver(brokers, timeout_ms), goals, timeout_ms, partial(readable, s, None))


def _of_message(name: str) -> bool:
    return name.startswith(("fetch of", "AlterPartition of", "answer to"))


def _implied(brokers: int, timeout_ms: int, name: str, done: Obligation) -> None:
    s = any_system(range(brokers))
    solver = _solver(brokers, timeout_ms)
    epochs = {"watched": WATCHED, "now": s.controller["leader_epoch"]}
    parts = parts_of(s, epochs, {}, other_messages(s.brokers))
    solver.add([part for name, part in parts.items() if not _of_message(name)])
    of = {PROPERTIES[0]: complete, PROPERTIES[1]: leader_complete}[name]
    if done.possible(solver):
        done.judge(solver, {name: of(s)}, timeout_ms, partial(readable, s, None))


def _kept(
    brokers: int, rules: type[PartitionRules], timeout_ms: int, name: str, done: Obligation
) -> None:
    model = Model(PartitionCases(brokers, rules), any_system(range(brokers)))
    assuming = Assuming(model.before, other_messages(model.brokers))
    solver = _solver(brokers, timeout_ms)
    solver.add(*assuming.always())
    done.each(
        ACTIONS[name](model),
        lambda action: _action_keeps(solver, action, assuming, done, timeout_ms),
        called="way",
    )


def _action_keeps(
    solver: z3.Solver, action: Action, assuming: Assuming, done: Obligation, timeout_ms: int
) -> bool:
    assumed = assuming.assumptions(action)
    # What a step does not touch is among what is assumed.
    known = {part.get_id() for part in (*assuming.always(), *assumed)}
    shown = _shown(action.after, assuming.others) | action.said
    goals = {name: part for name, part in shown.items() if part.get_id() not in known}
    solver.push()
    solver.add(*action.given, *assumed)
    kept = done.judge(solver, goals, timeout_ms, partial(readable, action.before, action))
    solver.pop()
    return kept


class Assuming:
    """The invariant before a step, at the epochs and changes that the step mentions.

    What it says at each is written once for all steps that begin in the same system.
    """

    def __init__(self, before: System, others: Others) -> None:
        self.before, self.others = before, others
        self._once = WrittenOnce()

    def always(self) -> Sequence[z3.BoolRef]:
        """What may be assumed before every step."""
        return self._once.parts("all", lambda: parts_of(self.before, {}, {}, self.others).values())

    def assumptions(self, action: Action) -> list[z3.BoolRef]:
        """What may be assumed before this step besides."""
        s, n = self.before, action.node
        row, c = s.rows[n], s.controller
        epochs = [*action.epochs.values(), WATCHED, c["leader_epoch"], _EPOCH]
        epochs += [each["leader_epoch"] for each in s.rows.values()]
        mine = [c["partition_epoch"], row["partition_epoch"], row["image.partition_epoch"]]
        changes = [*action.changes.values(), *mine, _CHANGE, *_CHANGES]
        if s.controller is not action.after.controller:
            # What the controller writes may be what others have not read yet.
            fields = ("partition_epoch", "image.partition_epoch", "floor")
            changes += [each[field] for each in s.rows.values() for field in fields]
        for alter in self.others.alters.values():
            changes.append(alter.partition_epoch)
            epochs.append(alter.leader_epoch)
        epochs += [*(m.epoch for m in self.others.fetches), self.others.fetched.epoch]
        found: list[z3.BoolRef] = []
        for e in epochs:
            found += self._at_epoch(e)
        for p in changes:
            found += self._at_change(p)
        near = [*action.changes.values(), *mine, row["floor"], _CHANGE]
        for p, q in (*permutations(near, 2), _CHANGES):
            found += self._ascending(p, q)
        return found

    def _at_epoch(self, e: z3.ArithRef) -> Sequence[z3.BoolRef]:
        return self._once.parts("epoch", lambda: epoch_parts(self.before, e).values(), e)

    def _at_change(self, p: z3.ArithRef) -> Sequence[z3.BoolRef]:
        return self._once.parts("change", lambda: change_parts(self.before, p).values(), p)

    def _ascending(self, p: z3.ArithRef, q: z3.ArithRef) -> Sequence[z3.BoolRef]:
        return self._once.parts("ascending", lambda: [ascending(self.before, p, q)], p, q)


def readable(system: System, action: Action | None, model: z3.ModelRef) -> list[str]:
    """A model of the solver as lines: the controller, each row, and what the acting one becomes."""
    value = values_in(model)
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


PROOF: Final = Proof(
    PROPERTIES,
    lambda properties: partition_obligations(properties),
    lambda nodes, name, rules, timeout_ms: discharge_partition(nodes, name, rules, timeout_ms),
)
