"""The declaration of a partition as a system: its moves make runs that keep all properties, and
that break one under a bug.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace

from kraftcheck.reference.core.run import Run
from kraftcheck.reference.core.system import Configuration, Move, NodeMemo, System, world_of
from kraftcheck.reference.kit.protocol import Composition, Protocol
from kraftcheck.reference.partition.directories import (
    system as of_directories,
    types as directories,
)
from kraftcheck.reference.partition.directories.properties import INVARIANTS as OF_DIRECTORIES
from kraftcheck.reference.partition.directories.sim.machine import DirectoryMemo
from kraftcheck.reference.partition.messages import BrokerCrash, ElectLeaders, SendHeartbeat
from kraftcheck.reference.partition.moving import types as moving
from kraftcheck.reference.partition.moving.properties import INVARIANTS as OF_MOVING
from kraftcheck.reference.partition.properties import PARTITION_INVARIANTS
from kraftcheck.reference.partition.protocol import PARTITION
from kraftcheck.reference.partition.sim.machine import PartitionMemo
from kraftcheck.reference.partition.types import PartitionConstants
from kraftcheck.reference.protocols import ProtocolError, _checked, protocol_of
from kraftcheck.reference.quorum.protocol import QUORUM
from kraftcheck.reference.runner.run import simulate_run
from kraftcheck.reference.sim.memo import State, Step
from kraftcheck.reference.sim.recorder import Recorder

THREE = PartitionConstants((0, 1, 2), min_insync_replicas=2)
MOVES = moving.Constants((0, 1, 2), 2, first_replicas=(0, 1))
DISKS = directories.Constants((0, 1, 2), 2, first_replicas=(0, 1))


def is_bearable(at: Configuration, move: Move) -> bool:
    """Whether a move loses nothing that was written, and elects nobody without it."""
    input: Any = move.input.value
    if isinstance(input, BrokerCrash):
        return input.keep == len(at.states[move.node].row.log)
    return not (isinstance(input, ElectLeaders) and input.election == "UNCLEAN")


def violated(bug: str | None, seed: int, length: int, constants: Any = THREE) -> set[str]:
    """What a walk violates. Messages come, and metadata is read, as often as all else happens."""
    run = Walk(Given(constants), NodeMemo(protocol_of(constants), bug), Recorder(0))
    draw = random.Random(seed)
    for _ in range(length):
        kinds: dict[str, list[Move]] = {}
        for move in filter(lambda move: is_bearable(run.at, move), run.system.moves(run.at)):
            kinds.setdefault(f"{move.kind} {move.input.kind}", []).append(move)
        move = draw.choice(draw.choice([*kinds.values()]))
        if move.kind == "take":
            goes_on = run.take_turn(move.node, move.input)
        elif move.kind == "lose":
            run.at, goes_on = run.system.arrive(run.at, move), True
        else:
            goes_on = run.goes_on(run.arrived(move))
        if not goes_on:
            break
    return {each.invariant for each in run.violations}


class Given(NamedTuple):
    constants: Any
    watched: bool = True


class Walk(Run):
    """A run of the declaration, whose judge sees the answers to clients."""

    def make_constants(self, protocol: Protocol, options: Given) -> Any:
        return options.constants


@pytest.mark.parametrize("constants", [THREE, MOVES, DISKS], ids=["plain", "moves", "disks"])
@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_violated_and_metadata_is_read_in_order(seed: int, constants: Any) -> None:
    assert violated(None, seed, 300, constants) == set()


def test_a_bug_is_found() -> None:
    assert violated("Z43", 0, 300) == {"ValidControllerState"}


def test_metadata_that_is_read_out_of_order_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: a broker misses the first of what it has not read."""
    readings = System.readings

    def missing(self: System, at: Configuration, state: State) -> Iterator[Any]:
        for each in readings(self, at, state):
            yield replace(each, records=each.records[1:] or each.records)

    monkeypatch.setattr(System, "readings", missing)
    assert "MetadataLogMatching" in violated(None, 0, 300)


def test_the_simulator_s_nodes_take_the_declared_steps() -> None:
    """Planted: with a bug in them, they take others."""
    system = System(NodeMemo(PARTITION, None).machine(THREE))
    others = [PartitionMemo(bug).machine(THREE) for bug in (None, "Z43")]
    draw, at, differing = random.Random(0), system.initial(), [0, 0]
    for _ in range(600):
        moves = [move for move in system.moves(at) if is_bearable(at, move)]
        effect = system.apply(at, draw.choice(moves))
        assert effect is not None
        if effect.step is not None:
            before, input = effect.step.before, effect.step.input.value
            for place, machine in enumerate(others):
                state = machine.state(before.node, machine.interner.row(before.row))
                step = machine.step(state, machine.interner.input(input))
                differing[place] += step is None or said(step) != said(effect.step)
        at = effect.after
    assert differing[0] == 0 < differing[1]


def said(step: Step) -> tuple[Any, ...]:
    return step.after.row, [message.value for _, message in step.sent], step.ignored


@pytest.mark.parametrize(
    ("constants", "own"),
    [
        (THREE, PARTITION_INVARIANTS),
        (MOVES, OF_MOVING),
        (DISKS, OF_DIRECTORIES),
    ],
)
def test_a_run_is_asked_the_invariants_of_its_protocol(constants: Any, own: Any) -> None:
    machine: Any = DirectoryMemo(None).machine(constants)
    assert machine.protocol.world.judge(machine).invariants == own


def undeclared() -> set[str]:
    """The inputs of nodes' own in runs of a cluster that the declarations do not list, by type."""
    options = {"topic_changes": 4, "reassignments": 4, "directories": 2}
    run = simulate_run("cluster", 3, 1, options=options)
    constants: Any = run.result.constants
    of = (constants.quorum, *constants.partitions)
    found = set()
    for step in run.steps:
        own, input = of[step.component or 0], step.input
        protocol = protocol_of(own)
        comes = (*protocol.messages, protocol.shared.read) if protocol.shared else ()
        if protocol.name == "directories" and not isinstance(input, comes):
            local = world_of(protocol).local(own, step.node, step.before)
            if input not in [*local]:
                found.add(type(input).__name__)
    return found


def test_nothing_happens_in_runs_that_is_not_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: directories do not fail."""
    assert undeclared() == set()
    monkeypatch.setattr(of_directories, "LogDirFailure", lambda directory: SendHeartbeat())
    assert undeclared() == {"LogDirFailure"}


def test_it_is_no_part_of_a_composition() -> None:
    """Nobody would ask its properties there."""
    both = {"one": PARTITION, "other": QUORUM}
    found = Composition(name="both", sentence="", parts=both, joins=(), properties=())
    with pytest.raises(ProtocolError, match="the component one of both is partition"):
        _checked(found, "here")
