"""Z213 on a real cluster: a transaction for a topic that was made anew can be neither committed nor
aborted.

    KRAFTCHECK_KAFKA=4.4.0 .venv/bin/python -m experiments.recreated_topic [--control] [--repeat N]

Since 4.4 Kafka's producer names the topics of sendOffsetsToTransaction by their ids, if it knows
those of all: that is, if it writes to them as well. It makes that request once, and repeats it as
it is while the answer is one that may pass. That a topic id is unknown is such an answer.

1. An application reads a record of the topic `t`, and answers it in `t`, in a transaction. It reads
   its own answer, too.
2. The topic is deleted, and created again: it has another id.
3. The application reads a record of the new topic. It needs no answer; the application says in a
   transaction how far it has read. The producer asks with the id of before, for ever:
   sendOffsetsToTransaction ends with a TimeoutException after max.block.ms, and so does every
   attempt to abort, also when the coordinator has given up the transaction long since.

The control: the record needs an answer. That is refused first, the producer hears of the new id,
and all goes well.

The application is Kafka's Java clients with their own settings, but for those that this takes
(transactional.id, enable.auto.commit=false, auto.offset.reset=earliest). The broker has Kafka's own
settings, but for the numbers of partitions and replicas of two internal topics: a quick start of
one broker.

Ends with 1 if the transaction could not be ended, with 0 if it could, with 3 if it could not be
tried.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

from experiments import evidence
from experiments.tools import TOPIC, Partition, Program
from live.cluster import Cluster, ClusterError

HOST: Final = "n1"
APPLICATION: Final = Path(__file__).resolve().with_name("Recreated.java")
SETTINGS: Final = {
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
}
REASONS: Final = (
    "broker offsets.topic.*, transaction.state.log.*: one partition and one replica, a quick start",
)
TIMEOUT_S: Final = 75.0
"""The transaction's (a minute), and the sweep that looks for it (ten seconds)."""


def run(cluster: Cluster, folder: Path, *, control: bool) -> bool:
    """Whether a transaction can be neither committed nor aborted."""
    partition = Partition(cluster, HOST, HOST, [HOST])
    partition.create(asking=HOST, min_insync=1)

    def tried(step: str) -> str:
        answer = application.do(step)
        partition.say(f"{answer['did']}: {answer['error'] or 'done'}, {answer['ms'] / 1000:.1f} s")
        return str(answer["error"])

    words = (cluster.bootstrap, TOPIC)
    with Program(cluster.tool(HOST, str(APPLICATION), *words)) as application:
        for step in ("feed 1", "read", "answer", "read"):
            if error := tried(step):
                raise ClusterError(f"{step}: {error}, and the topic is as it was")
        partition.ask("TopicCommand", HOST, "--delete", "--topic", TOPIC)
        partition.create(asking=HOST, min_insync=1)
        partition.say("the topic was deleted, and created again")
        for step in ("feed 9", "read"):
            if error := tried(step):
                raise ClusterError(f"{step}: {error}")
        if not tried("answer" if control else "pass"):
            return False
        stuck = bool(tried("abort"))
        time.sleep(TIMEOUT_S)
        return bool(tried("abort")) and stuck


main = evidence.experiment(
    run,
    "Try whether a transaction can be ended after one of its topics was created anew.",
    control="The application writes to the topic before it says how far it has read.",
    layout="single",
    settings=SETTINGS,
    reasons=REASONS,
    shown="the transaction can be neither committed nor aborted",
    otherwise="it was ended",
)

if __name__ == "__main__":
    main()
