"""Z72 on a real cluster: a coordinator that was replaced lets a batch in behind its marker.

See README.md for the story, the settings and the control.
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

import click
import msgspec

from experiments import evidence
from experiments.by_request import Connections, Producer, await_log
from experiments.tools import ADMIN, STATES, Partition, until
from experiments.transact import ID, KEY, numbers
from finds.Z163.run import CONFIGURATION
from kraftcheck.kafka.live.cluster import Cluster, ClusterError

COORDINATOR, LEADER, NEXT, OTHER, CONTROLLER = "b1", "b2", "b3", "b4", "c1"
CONTROLS = ("none", "links", "epochs")
CUT_AFTER_S = 5.5
"""Between b1's last links and b2's: at least so long is left of b1's session of 9 s, in which it is
heard of every two seconds. b2's ends as long after b1's."""
HEARD_S = 5.0
"""Until b2 has heard of b3: in version 2 it adds the partition, and b1 would refuse that."""


def run(cluster: Cluster, folder: Path, control: str) -> bool:
    """Whether a record of the aborted transaction is read as committed."""
    partition = Partition(cluster, ADMIN, ADMIN, [LEADER, NEXT]).create(min_insync=1)
    version = 2 if control == "epochs" else 1
    producer = Producer(ID, version, LEADER)
    promised = msgspec.structs.replace(CONFIGURATION, late_requests=version == 1)
    with evidence.scene(cluster, folder, promised) as scene, Connections(cluster) as by:
        tell = partial(scene.journal.event, scene.processes.next(), f="txn")
        await_log(by, LEADER)
        partition.elect([COORDINATOR, NEXT, OTHER], asking=[COORDINATOR, LEADER], topic=STATES)
        producer.init(by, COORDINATOR)
        first, second, third = (scene.values.next() for _ in range(3))
        sent = [["send", KEY, first], ["send", KEY, second]]
        tell("invoke", value=sent)
        producer.write(by, COORDINATOR, first)
        late = producer.batch(second)
        scene.cut_off(COORDINATOR, NEXT, OTHER, CONTROLLER)
        partition.say("b1's links are cut but for that to b2")
        time.sleep(CUT_AFTER_S)
        if control != "links":
            cluster.cut(LEADER, CONTROLLER)
            partition.say("b2's link to the controller is cut")
        producer.must_end(by, NEXT, committed=False)
        tell("fail", value=sent)
        until(lambda: partition.batches(LEADER) == 2, "its marker is written")
        partition.say("b3 has aborted the transaction, b2 has written the marker")
        told, _ = producer.send(by, late)
        partition.say(f"the late batch: {told}")
        scene.heal()
        time.sleep(HEARD_S)
        if f"Leader: {LEADER[1:]}" not in partition.describe(NEXT):
            # It had no answer from b1, and was fenced meanwhile.
            partition.elect([LEADER, NEXT], asking=[NEXT])
        tell("invoke", value=[["send", KEY, third]])
        at = producer.write(by, NEXT, third)
        producer.must_end(by, NEXT, committed=True)
        tell("ok", value=[["send", KEY, [at, third]]])
        partition.say("the next transaction is committed")
    for line in partition.dump(LEADER, "*.log"):
        click.echo(f"         {line}")
    read = numbers(partition, LEADER)
    click.echo(f"read as committed: {read}; aborted were {first} and {second}")
    if third not in read:
        raise ClusterError("the last transaction is committed, and is not read")
    return second in read


main = evidence.experiment(
    run,
    "Try whether a coordinator that was replaced lets a batch in behind its marker.",
    control=None,
    more=[evidence.choice("--control", CONTROLS)],
    layout="spare",
    settings=evidence.QUICK_TRANSACTIONS,
    guests=(ADMIN,),
    shown="a record of an aborted transaction is read as committed",
    otherwise="what was read is what was committed",
)
