"""Runs of a partition, as a family."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from kraftcheck.reference.partition.invariants import first_violation
from kraftcheck.reference.partition.sim.beginnings import beginnings, walks
from kraftcheck.reference.partition.sim.begun import BegunSimulation
from kraftcheck.reference.partition.sim.machine import PartitionMemo
from kraftcheck.reference.partition.sim.network import FETCHES, WITH_CONTROLLER
from kraftcheck.reference.partition.sim.options import (
    OPTIONS,
    PartitionOptions,
    configuration_of,
    envelope_of,
)
from kraftcheck.reference.partition.sim.scenario import PARTITION
from kraftcheck.reference.partition.sim.scheduler import PartitionSimulation
from kraftcheck.reference.partition.types import BrokerRow, ControllerRow
from kraftcheck.reference.sim.family import ClientLog, Family, Manner, who

LEGEND = """\
step    index of the step in the run, as in recorded violations
time    virtual seconds since the start of the run
n       the node that takes the step: a broker, or C, the controller
role    L leader, F follower, N neither, S starting, X stopping, D down; C the controller;
        `F>L` when the step changed it
epoch   leader epoch and partition epoch
ldr     the leader that the node knows, - for none
log     end offset, and the epoch of the last record; `5~3` when only 3 are on disk; of the
        controller, a mark for each broker: f fenced, s about to stop
hw      high watermark
isr     of a leader, with what it proposes behind `>` (! refused for good); of the controller,
        with the eligible leader replicas behind `+`
input   what the step consumed; `0>1` is from node 0 to node 1, C the controller, K clients, M the
        metadata log; then what it sent, or why it was ignored; values that say nothing are left out
"""

_decode: Final = msgspec.json.Decoder(PartitionOptions).decode


def columns(step: Any) -> str:
    """Of a broker or the controller."""
    before, after = step.before, step.after
    if isinstance(after, ControllerRow):
        partition = after.partition
        isr = _members(partition.isr) + (f"+{_members(partition.elr)}" if partition.elr else "")
        fenced = "".join(_flags(each) for each in after.registrations)
        epochs = f"{partition.leader_epoch}.{partition.partition_epoch}"
        return f"{'C':<4} {epochs:>5} {who(partition.leader):>3} {fenced:<8} {'':>3} {isr:<8}"
    assert isinstance(after, BrokerRow)
    role = _role(after)
    if role != _role(before):
        role = f"{_role(before)}>{role}"
    epochs = f"{who(after.leader_epoch)}.{who(after.partition_epoch)}"
    end = (
        f"{len(after.log)}"
        if after.flushed == len(after.log)
        else (f"{len(after.log)}~{after.flushed}")
    )
    if after.epoch_cache:
        end += f"@{after.epoch_cache[-1].epoch}"
    isr = _members(after.isr)
    if after.pending.kind != "None":
        proposed = _members(tuple(member.broker for member in after.pending.isr))
        isr += f">{proposed}{'!' if after.pending.refused else ''}"
    return (
        f"{role:<4} {epochs:>5} {who(after.leader):>3} {end:<8} {after.high_watermark:>3} {isr:<8}"
    )


def _role(row: BrokerRow) -> str:
    short = {"Starting": "S", "ShuttingDown": "X", "Down": "D"}
    return short.get(row.status, row.role[0])


def _members(brokers: tuple[int, ...]) -> str:
    return "".join(str(broker) for broker in brokers)


def _flags(registration: Any) -> str:
    return "f" if registration.fenced else "s" if registration.stopping else "."


def _simulation(scenario: Any, options: PartitionOptions, *given: Any) -> PartitionSimulation:
    of = PartitionSimulation if options.begins is msgspec.UNSET else BegunSimulation
    return of(scenario, options, *given)


SUFFERS: Final = {of: {"suffering": of} for of in (*FETCHES, *WITH_CONTROLLER)}

FAMILY: Final = Family(
    scenario=PARTITION,
    of=PartitionOptions,
    draw=lambda chooser, fixed: OPTIONS.draw(chooser, PARTITION.palettes, fixed),
    memo=PartitionMemo,
    key=PARTITION.name,
    simulation=_simulation,
    manner=Manner(
        LEGEND,
        f"{'role':<4} {'epoch':>5} {'ldr':>3} {'log':<8} {'hw':>3} {'isr':<8}",
        columns,
        always="replicas",
    ),
    log=ClientLog(lambda options: configuration_of(_decode(options)), envelope_of),
    fixed=(
        {"replicas": 3, "min_insync_replicas": 2, "elr": True, "unclean": False},
        {"replicas": 2, "min_insync_replicas": 1, "elr": False, "unclean": True},
    ),
    first_look=60,
    on_request=SUFFERS,
    beginnings=beginnings(),
    walks=walks(),
    unpromised=first_violation,
)
