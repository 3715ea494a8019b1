"""Runs of the quorum, as a family."""

from __future__ import annotations

from typing import Any, Final

from kraftcheck.reference.clients.promises import Configuration
from kraftcheck.reference.quorum.messages import MESSAGES
from kraftcheck.reference.quorum.sim.faults import OPTIONS, Options
from kraftcheck.reference.quorum.sim.machine import QuorumMemo
from kraftcheck.reference.quorum.sim.scenario import QUORUM
from kraftcheck.reference.quorum.sim.scheduler import Simulation
from kraftcheck.reference.quorum.types import Row
from kraftcheck.reference.sim.family import ClientLog, Family, Manner, who

LEGEND = """\
step    index of the step in the run, as in recorded violations
time    virtual seconds since the start of the run
n       the node that takes the step
role    U unattached, P prospective, C candidate, L leader, R resigned, F follower, D down,
        H halted; `F>P` when the step changed it
epoch   quorum epoch
ldr     the leader that the node knows, - for none
vote    for whom the node voted in this epoch, - for nobody
log     end offset, and the epoch of the last record; `5~3` when only 3 are on disk
hw      high watermark, - when unknown
input   what the step consumed; `0>1` is from node 0 to node 1; then what it sent, or why it was
        ignored; values that say nothing (no error, no leader, no records) are left out
"""

CONFIGURATION: Final = Configuration(log="metadata", reads_from="any")
"""Clients of a simulated quorum ask any of its nodes, each of which may lag behind."""


def _columns(step: Any) -> str:
    before, after = step.before, step.after
    role = after.role[0]
    if after.role != before.role:
        role = f"{before.role[0]}>{role}"
    return (
        f"{role:<4} {after.epoch:>5} {who(after.leader):>3} {who(after.voted):>4} "
        f"{_log(after):<8} {who(after.high_watermark):>3}"
    )


def _log(row: Row) -> str:
    log = row.log
    end = f"{len(log)}" if row.flushed == len(log) else f"{len(log)}~{row.flushed}"
    return f"{end}@{log[-1].epoch}" if log else end


SUFFERS: Final = {of.__name__: {"suffering": of.__name__} for of in MESSAGES}

FAMILY: Final = Family(
    scenario=QUORUM,
    of=Options,
    draw=lambda chooser, fixed: OPTIONS.draw(chooser, QUORUM.palettes, fixed),
    memo=lambda bug, enabled: QuorumMemo(QUORUM.timeouts, bug, enabled),
    key=QUORUM.timeouts,
    simulation=Simulation,
    manner=Manner(
        LEGEND,
        f"{'role':<4} {'epoch':>5} {'ldr':>3} {'vote':>4} {'log':<8} {'hw':>3}",
        _columns,
        always="voters",
    ),
    log=ClientLog(lambda _: CONFIGURATION, has_control_records=True),
    fixed=(
        {"voters": 3, "fetch_max_records": 2},
        {"voters": 1, "fetch_max_records": 2},
    ),
    first_look=600,
    on_request=SUFFERS,
)
