"""Random walks of a small quorum: what tests of the core use to reach states worth judging.

Not the simulator: no time, every message may come at any moment, again and again, as in the spec's
network (L3). A walk is a function of its seed alone.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec

from kraftcheck.reference.quorum.handlers import QuorumHandlers
from kraftcheck.reference.quorum.invariants import check_step, history_init
from kraftcheck.reference.quorum.messages import (
    Append,
    BeginQuorumEpochTimeout,
    CheckQuorumTimeout,
    Crash,
    ElectionTimeout,
    FetchMaxWait,
    FetchTimeout,
    Flush,
    Input,
    Message,
    RequestTimeout,
    Resign,
    Restart,
)
from kraftcheck.reference.quorum.timers import timer_effects
from kraftcheck.reference.quorum.types import Constants, Outcome, Row, initial_row


class Step(NamedTuple):
    """One step of a walk: every row before it and after it."""

    node: int
    input: Input
    before: Mapping[int, Row]
    after: Mapping[int, Row]
    outcome: Outcome


def inputs_of(constants: Constants, row: Row, chance: random.Random, value: int) -> list[Input]:
    """Inputs other than messages that this row may take, likelier ones more often."""
    peer = chance.choice(constants.voters)
    inputs: list[Input] = [
        Append(value),
        Append(value),
        Flush(),
        Flush(),
        Flush(),
        BeginQuorumEpochTimeout(),
        RequestTimeout(peer),
        RequestTimeout(peer),
        *map(FetchMaxWait, row.parked),
    ]
    if chance.random() < 0.2:
        inputs += [ElectionTimeout(), FetchTimeout()]
    if chance.random() < 0.03:
        inputs += [CheckQuorumTimeout(), Resign()]
    if chance.random() < 0.1:
        inputs += [Crash(chance.randint(row.flushed, max(row.flushed, len(row.log))))]
    if row.role == "Down":
        inputs += [Restart()] * 5
    elif row.role in ("Unattached", "Resigned"):
        inputs += [ElectionTimeout()] * 3
    return inputs


def walk(
    handlers: QuorumHandlers, seed: int, steps: int, rows: Mapping[int, Row] | None = None
) -> Iterator[Step]:
    """`steps` enabled steps, from the initial state unless `rows` are given."""
    constants = handlers.constants
    chance = random.Random(seed)
    rows = dict(rows or dict.fromkeys(constants.voters, initial_row(constants)))
    network: list[Message] = []
    taken = 0
    while taken < steps:
        input: Input
        if network and chance.random() < 0.7:
            # Mostly what was sent last, so that walks get somewhere.
            late = chance.random() < 0.1
            input = network[
                chance.randrange(len(network))
                if late
                else -chance.randint(1, min(len(network), 2 * len(constants.voters)))
            ]
            node = input.destination
        else:
            node = chance.choice(constants.voters)
            input = chance.choice(inputs_of(constants, rows[node], chance, taken))
        outcome = handlers.step(node, rows[node], input)
        if outcome is None:
            continue
        taken += 1
        before, rows = rows, {**rows, node: outcome.row}
        network += outcome.sent
        yield Step(node, input, before, rows, outcome)


def digest(seed: int, steps: int) -> str:
    """A digest of everything that the core says about one walk of five voters."""
    constants = Constants((1, 2, 3, 4, 5), 2)
    history = history_init(constants)
    summed = hashlib.sha256()
    for step in walk(QuorumHandlers(constants), seed, steps):
        before = step.before[step.node]
        effects = timer_effects(constants, step.node, before, step.input, step.outcome)
        violated = check_step(constants, step.before, step.after, step.node, history)
        name = violated.name if violated else ""
        summed.update(msgspec.msgpack.encode((step.input, step.outcome, effects, name)))
        summed.update(msgspec.msgpack.encode((history.committed, history.ballots)))
    return summed.hexdigest()
