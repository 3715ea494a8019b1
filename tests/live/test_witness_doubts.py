"""Two doubts about brokers and controllers, on Kafka's classes, each with its control.

A fetch of a process that is gone is noted while the one after it is fenced, and does no harm. A new
controller tells a broker that is about to stop to go at once (docs/reference/decisions.md).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kraftcheck.kafka.live.sources import VERSION
from kraftcheck.kafka.witness.driving import host_of
from kraftcheck.kafka.witness.following import follow
from kraftcheck.kafka.witness.kafka import Kafka
from kraftcheck.kafka.witness.partition import BROKERS
from kraftcheck.reference.steered.scripts import Script, read

pytestmark = [
    pytest.mark.slow,
    pytest.mark.kafka,
    pytest.mark.xdist_group("witness-doubts"),
]
KAFKA = Kafka(VERSION, None, "", files=True)
EXAMPLES = Path(__file__).parents[2] / "examples" / "witness"


def script(name: str) -> Script:
    found, _ = read((EXAMPLES / f"{name}.moves").read_text(encoding="utf-8"))
    return found


def steps(of: Script) -> list[Any]:
    """Kafka's, all of whose moves are possible."""
    setting = BROKERS.setting(of.options)
    constants = BROKERS.constants(setting)
    with host_of(KAFKA, BROKERS.protocol, constants) as host:
        found = follow(of, BROKERS.begin(setting, host, watched=True))
    assert (found.left_out, found.failure) == ([], None)
    return [*found.schedule.steps()]


def test_what_a_process_that_is_gone_has_fetched_makes_no_member() -> None:
    taken = steps(script("old-broker-epoch"))
    fetches = [
        step
        for step in taken
        if type(step.input).__name__ == "ReplicaFetchRequest" and step.input.source == 1
    ]
    _, gone, control, anew = fetches
    assert gone.input == control.input

    [answer] = gone.sent
    assert answer.error == "NONE"
    noted = gone.after.remotes[1]
    assert (noted.end_offset, noted.broker_epoch, noted.caught_up) == (1, 0, True)
    # The process that is there has nothing: 1 is no member by it, then or when it is unfenced.
    behind = taken[taken.index(gone) : taken.index(anew)]
    leader = [step.after for step in behind if step.node == 0]
    assert {row.isr for row in leader} == {(0, 2)}
    assert {row.pending.kind for row in leader} == {"None"}
    assert {row.high_watermark for row in leader} == {0}

    [refusal] = control.sent
    assert refusal.error == "NOT_LEADER_OR_FOLLOWER"
    assert control.after == control.before
    known = anew.after.remotes[1]
    assert (known.end_offset, known.broker_epoch) == (0, anew.input.broker_epoch)


@pytest.mark.parametrize("failover", [True, False])
def test_another_controller_lets_a_stopping_broker_go_at_once(failover: bool) -> None:
    """The control is the schedule without the failover: there it waits for the others."""
    whole = script("stop-at-once")
    moves = [words for words in whole.moves if failover or "Failover" not in words]
    last = steps(Script(machine=whole.machine, moves=tuple(moves), options=whole.options))[-1]
    [answer] = [each for each in last.sent if type(each).__name__ == "HeartbeatResponse"]
    assert answer.should_shut_down is failover
    # Its registration says in both that it is about to stop, and it leads nothing.
    assert last.before.registrations[0].stopping
    assert last.before.partition.leader != 0
