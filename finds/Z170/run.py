"""Z170 on a real cluster: a fetch of an old leadership lets a replica in that lacks what is acked.

See README.md for the story, the settings and the control.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

import click

from experiments import evidence
from experiments.tools import Partition, Program
from finds.Z69.run import sent
from kraftcheck.kafka.live.cluster import Cluster, ClusterError
from kraftcheck.reference.clients.promises import Configuration

A, S, F = "b1", "b2", "b3"
ADMIN: Final = "admin"
HOLD: Final = Path(__file__).resolve().with_name("HoldFetch.java")
PORT: Final = "5005"
DEBUGGED: Final = f"-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=127.0.0.1:{PORT}"
TAIL, LATER = 3, 2
"""So many records A has alone; so many are acked later. S must seem to have the latter."""
START, END = 1, 1 + TAIL
"""Where S's log ends once it is cut, and before."""
JOIN_S: Final = 15.0


def run(cluster: Cluster, folder: Path, control: bool) -> bool:
    """Whether records were acked and then lost."""
    partition = Partition(cluster, ADMIN, ADMIN, (A, F, S))
    cluster.kill(A)
    cluster.start(A, jvm=[DEBUGGED])
    partition.create(asking=F)
    with (
        evidence.scene(cluster, folder, Configuration(one_client=False)) as scene,
        Program(cluster.tool(A, str(HOLD), PORT)) as debugger,
    ):
        number = cluster.node(S).number
        scene.stop(S)
        partition.await_isr({A, F}, asking=F)
        acked = [sent(scene, "all")]
        partition.say("S is stopped; a record is acked")
        scene.journal.moment("start-partition", S)
        for other in (A, F):
            cluster.cut(S, other)
        cluster.start(S)
        debugger.do(f"hold {number} {END}")
        scene.journal.moment("start-partition", F)
        cluster.cut(A, F)
        for _ in range(TAIL):
            sent(scene, "1")
        partition.say("F cut from A, records produced to A alone")
        cluster.heal(A, S)
        await_held(debugger, END)
        partition.say("S has copied them; its next fetch is held")
        partition.elect((F, A, S), asking=(F,))
        cluster.heal(A, F)
        if control:
            debugger.do(f"release {END}")
        acked += [sent(scene, "all") for _ in range(LATER)]
        partition.say("F elected, A cut its log; records are acked")
        debugger.do(f"hold {number} {START}")
        partition.elect((A, S, F), asking=(F,))
        await_held(debugger, START)
        cluster.cut(A, S)
        debugger.do(f"release {START}")
        time.sleep(1)
        partition.say("A leads again; S cut its log; they are parted")
        if not control:
            debugger.do(f"release {END}")
        joined = has_joined(partition)
        partition.say("S is in the ISR" if joined else "S is not in the ISR")
        cluster.heal(S, F)
        scene.kill(A)
        leader = S if joined else F
        partition.await_leader(leader, asking=F)
        time.sleep(3)
        partition.say(f"A killed, {leader} elected from the ISR")
    values = partition.read(F)
    click.echo(f"acked: {acked}; Kafka's consumer reads {values}")
    return None not in acked and not {*map(str, acked)} <= {*values}


def await_held(debugger: Program, offset: int) -> None:
    if not debugger.do(f"await {offset}")["held"]:
        raise ClusterError(f"S did not fetch from offset {offset}")


def has_joined(partition: Partition) -> bool:
    try:
        partition.await_isr({A, F, S}, asking=F, seconds=JOIN_S)
    except ClusterError:
        return False
    return True


main = evidence.experiment(
    run,
    "Try whether a fetch of an old leadership lets a replica in that lacks what is acked.",
    control="The thread goes on while the other leads.",
    guests=(ADMIN,),
    shown="acked records were lost",
    otherwise="no acked record was lost",
)
