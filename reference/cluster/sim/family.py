"""Runs of a cluster, as a family."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from kraftcheck.reference.bugs.catalog import bug as known_bug
from kraftcheck.reference.cluster.sim.options import (
    OF_MOVING,
    OF_QUORUM,
    ClusterOptions,
    draw,
    is_moving,
)
from kraftcheck.reference.cluster.sim.scenario import CLUSTER
from kraftcheck.reference.cluster.sim.scheduler import ClusterSimulation
from kraftcheck.reference.partition.directories.protocol import DIRECTORIES
from kraftcheck.reference.partition.directories.sim.machine import DirectoryMemo
from kraftcheck.reference.partition.moving.protocol import MOVING
from kraftcheck.reference.partition.protocol import PARTITION
from kraftcheck.reference.partition.sim.family import SUFFERS as OF_PARTITIONS, columns
from kraftcheck.reference.partition.sim.options import configuration_of, envelope_of
from kraftcheck.reference.quorum.protocol import QUORUM
from kraftcheck.reference.quorum.sim.family import SUFFERS as OF_VOTERS
from kraftcheck.reference.quorum.snapshots.protocol import SNAPSHOTS
from kraftcheck.reference.quorum.snapshots.sim.changes import taken_by
from kraftcheck.reference.quorum.snapshots.sim.machine import ChangingMemo
from kraftcheck.reference.quorum.timers import Timeouts
from kraftcheck.reference.quorum.voters.protocol import VOTERS
from kraftcheck.reference.sim.family import ClientLog, Family, Manner
from kraftcheck.reference.sim.memo import JoinedMemo

LEGEND = """\
step    index of the step in the run, as in recorded violations
time    virtual seconds since the start of the run
of      Q the quorum, whose log is the metadata; or the number of a partition, to which all that
        follows on the line belongs
n       of the quorum a voter; of a partition a broker, or C, its controller, which takes a step
        when the quorum has committed it
role    of a voter U unattached, P prospective, C candidate, L leader, R resigned, F follower,
        D down, H halted; of a broker L leader, F follower, N neither, S starting, D down
epoch   quorum epoch; of a partition leader epoch and partition epoch
ldr     the leader that the node knows, - for none
        then, of a voter: its vote, its log, its high watermark; of a partition: log, high
        watermark, ISR (`replay` of the scenarios quorum and partition explains them); where
        replicas move, behind the ISR: / who holds the partition, + who comes, - who goes;
        where there are directories, of a broker @ that of its replica, ! if it has failed
input   what the step consumed; then what it sent, or why it was ignored; K clients, M the
        metadata log; values that say nothing are left out
"""

_decode: Final = msgspec.json.Decoder(ClusterOptions).decode


OF_METADATA: Final = (QUORUM.name, VOTERS.name, SNAPSHOTS.name)
"""Protocols of which the quorum's bugs are; which of them takes its steps, options say."""


def bugs_of_parts(id: str | None) -> tuple[str | None, str | None]:
    """The bug as one of the quorum, and as one of partitions. Raises UnknownBug: it is neither."""
    if id is None:
        return None, None
    found = known_bug(id)
    return (found.id, None) if found.protocol in OF_METADATA else (None, found.id)


def memo_of(
    bug: str | None, enabled: bool = True, timeouts: Timeouts = CLUSTER.timeouts
) -> JoinedMemo:
    """What is known of a cluster with this bug, simulated or steered."""
    of_quorum, of_partition = bugs_of_parts(bug)
    quorum = ChangingMemo(timeouts, of_quorum, enabled)
    return JoinedMemo({"quorum": quorum, "partition": DirectoryMemo(of_partition, enabled)})


def _options(options: ClusterOptions, told: Callable[[Any], str]) -> str:
    shape = options.shape
    moving = "".join(
        [
            f"{name}={getattr(shape, name)} "
            for name in OF_MOVING
            if getattr(shape, name) is not msgspec.UNSET
        ]
    )
    return (
        f"brokers={shape.brokers} topic_partitions={shape.topic_partitions} {moving}"
        f"{told(options.data)}; quorum: {told(options.quorum)}"
    )


def _taken_by(requested: Mapping[str, Any]) -> tuple[str, ...]:
    """The protocols of the quorum and of partitions under these options."""
    own = {
        name.removeprefix(OF_QUORUM): value
        for name, value in requested.items()
        if name.startswith(OF_QUORUM)
    }
    of_quorum = taken_by({**own, "brokers": 0} if "observing" in requested else own)
    if "directories" in requested:
        return of_quorum, DIRECTORIES.name
    return of_quorum, (MOVING if is_moving(requested) else PARTITION).name


SUFFERS: Final = {
    **{of: {f"{OF_QUORUM}{option}": of for option in own} for of, own in OF_VOTERS.items()},
    **OF_PARTITIONS,
}

FAMILY: Final = Family(
    scenario=CLUSTER,
    of=ClusterOptions,
    draw=lambda chooser, fixed: draw(chooser, CLUSTER.palettes, fixed),
    memo=memo_of,
    key=CLUSTER.name,
    simulation=ClusterSimulation,
    manner=Manner(
        LEGEND,
        f"{'role':<4} {'epoch':>5} {'ldr':>3} {'vote/log/hw or log/hw/isr':<21}",
        columns,
        options=_options,
        composed=True,
    ),
    log=ClientLog(lambda options: configuration_of(_decode(options).data), envelope_of),
    fixed=(),
    first_look=6,
    on_request=SUFFERS,
    taken_by=_taken_by,
)
