"""Every invariant says the same in Python and in TLA+, of states in order and of broken ones.

Steps of walks, such steps with one change, and what is planted for each clause are judged by both
sides, property by property; each property is seen to hold and to be violated. So is the
memory: what both sides remember beside the rows. Where the rows have no form, which the guards say,
an expression of the spec may have no value, so that nothing else is compared.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from msgspec import Struct
from msgspec.structs import replace

from kraftcheck.reference.kit.fields import fields_of, within
from kraftcheck.reference.kit.log import CacheEntry, Entry
from kraftcheck.reference.partition.broker import BrokerHandlers
from kraftcheck.reference.partition.log import Record
from kraftcheck.reference.partition.properties import PARTITION_INVARIANTS
from kraftcheck.reference.partition.types import (
    BrokerRow,
    BrokerState,
    ControllerRow,
    Image,
    Member,
    Partition,
    PartitionConstants,
    Pending,
    Registration,
    Remote,
)
from kraftcheck.reference.protocols import protocol_of
from kraftcheck.reference.quorum.properties import INVARIANTS
from kraftcheck.reference.quorum.types import Constants, QuorumStateFile, Row
from kraftcheck.traces.steps.translation import Abstraction
from tests.conformance.judged_states import Asked, Variables, answers
from tests.reference import pairs
from tests.reference.changes import Pool
from tests.reference.pairs import Pair, PartitionMoment, QuorumMoment
from tests.reference.partition import cluster as partition_cluster, plants as partition_plants
from tests.reference.partition.walks import Moves
from tests.reference.quorum import plants
from tla_utils import Record as SpecRecord, function, read_manifest
from tla_utils.definitions import definition
from tla_utils.overrides import read_module

pytestmark = pytest.mark.tlc

MEMORY: Final = "Memory"
EACH: Final = 3
"""Steps of a kind."""
CHANGES: Final = 8
"""Of each step."""


class Side(NamedTuple):
    """The properties of a protocol on both sides.

    memory: the action that says what is remembered. guards: the invariants that say whether rows
    have a form. variables: a moment and what was sent before it, as the module has it. check:
    whether an invariant holds of a pair. planted: violations. parts: what
    the rows are made of.
    """

    module: str
    constants: Constants | PartitionConstants
    invariants: tuple[Any, ...]
    memory: str
    guards: tuple[str, ...]
    variables: Callable[[Any, tuple[Any, ...]], Variables]
    check: Callable[[Any, Pair], bool]
    steps: Callable[[], Iterator[Pair]]
    pool: Callable[[list[Pair], frozenset[str]], Pool]
    planted: Callable[[], Iterable[Pair]]
    parts: tuple[type[Struct], ...]

    def text(self, specs: Path) -> str:
        return read_manifest(specs / "models.toml").module_text(self.module)

    def mentioned(self, specs: Path) -> frozenset[str]:
        """The fields that the properties mention, by our names."""
        source = read_module(self.text(specs))
        fields = {field for each in source.definitions.values() for field in each.fields}
        kinds = protocol_of(self.constants).kinds
        structs = within(struct for kind in kinds for struct in (kind.row, *kind.inputs))
        ours = (field for struct in structs for field in fields_of(struct))
        return frozenset(field.name for field in ours if field.spec_name in fields)

    def asked(self, specs: Path) -> Asked:
        """Every property as the module defines it: of a state, or of a step, which is [][A]_v."""
        states, steps = {}, {}
        formed = " /\\ ".join(self.guards)
        both = f"{formed} /\\ ({formed})'"
        for each in self.invariants:
            body = definition(self.text(specs), each.name).body.strip()
            if each.kind == "state":
                states[each.name] = f"({formed} => {each.name})"
            elif body == "Abstract!Spec":
                steps[each.name] = f"({both} => [Abstract!Step]_<<committed, KnownCommitted>>)"
            else:
                assert body == f"[][{each.name}Step]_vars"
                steps[each.name] = f"({both} => [{each.name}Step]_vars)"
        states |= {name: name for name in self.guards}
        steps[MEMORY] = f"({both} => ({self.memory}))"
        return Asked(states, steps)

    def pairs(self, specs: Path) -> list[Pair]:
        """Steps of each kind, and each of them changed, with the memory of the step or with that of
        the change."""
        taken = pairs.varied(self.steps(), EACH)
        pool = self.pool(taken, self.mentioned(specs) | {"rows"})
        chance = random.Random(1)
        drawn = [*taken, *self.planted()]
        for step in taken:
            for number in range(CHANGES):
                pair = pairs.changed(step, pool, chance)
                rows = pair.changed[:2] == ("after", "rows")
                drawn.append(pairs.entered(pair, self.constants) if rows and number % 2 else pair)
        return drawn

    def says(self, pair: Pair) -> dict[str, bool]:
        """Which properties hold of the pair, as far as they say anything."""
        earlier = pair._replace(after=pair.before)
        formed = {e.name: self.check(e, pair) for e in self.invariants if e.name in self.guards}
        if not all(formed.values()):
            return formed
        was = all(self.check(e, earlier) for e in self.invariants if e.name in self.guards)
        asked = [e for e in self.invariants if was or e.kind == "state"]
        said = {each.name: self.check(each, pair) for each in asked}
        if was:
            said[MEMORY] = pairs.entered(pair, self.constants).after == pair.after
        return said


# --- The quorum

THREE: Final = Constants((1, 2, 3), 2)
BUGS: Final = (None, None, None, None, None, "Z01", "Z04", "Z06", "Z03")


def quorum_variables(moment: QuorumMoment, sent: tuple[Any, ...]) -> Variables:
    form = Abstraction(THREE)
    ballots = [SpecRecord(epoch=each.epoch, given=frozenset(each.given)) for each in moment.ballots]
    return {
        "rows": function(zip(THREE.voters, map(form.row, moment.rows), strict=True)),
        "network": form.sent(sent),
        "committed": form.row(moment.committed),
        "ballots": function(zip(THREE.voters, ballots, strict=True)),
        "appended": frozenset((e.offset, e.epoch, e.value) for e in moment.appended),
    }


def quorum_check(each: Any, pair: Pair) -> bool:
    before = dict(zip(THREE.voters, pair.before.rows, strict=True))
    after = dict(zip(THREE.voters, pair.after.rows, strict=True))
    return each.check(before, after, pair.after.history(pair.before, THREE)) is None


def quorum_planted(plant: plants.Plant) -> Pair:
    history = plants.history_of(*plant.earlier, plant.before)
    row = replace(plant.before[plant.node], **plant.change)
    before = QuorumMoment.of(plant.before.values(), history)
    after = QuorumMoment.of({**plant.before, plant.node: row}.values(), history)
    return pairs.entered(Pair(before, after), THREE)


QUORUM: Final = Side(
    "QuorumProperties",
    THREE,
    INVARIANTS,
    "HistoryNext /\\ TraceAppends",
    ("RowTypeInv",),
    quorum_variables,
    quorum_check,
    lambda: pairs.quorum_steps(THREE, BUGS, 200),
    pairs.quorum_pool,
    lambda: map(quorum_planted, [*plants.PLANTS, *plants.TWINS]),
    (Row, QuorumStateFile, Entry, CacheEntry),
)

# --- A partition

LOSSLESS: Final = Moves(lossy=0, corrupt=0, unclean=0, again=False)
LOSSY: Final = Moves(lossy=0.6, corrupt=0.5, delete=0.1)
WALKS: Final = (
    *[(None, LOSSLESS)] * 4,
    *[(None, LOSSY)] * 3,
    *[(bug, LOSSLESS) for bug in ("Z26", "Z33", "Z41", "Z58")],
)


PARTS: Final = (
    *(BrokerRow, Image, BrokerState, Pending, Member, Remote, Record, CacheEntry),
    *(ControllerRow, Registration, Partition),
)


def partition(constants: PartitionConstants) -> Side:
    form, handlers = Abstraction(constants), BrokerHandlers(constants)

    def variables(moment: PartitionMoment, sent: tuple[Any, ...]) -> Variables:
        return {
            "rows": function(zip(constants.brokers, map(form.row, moment.rows), strict=True)),
            "controller": form.row(moment.controller),
            "metadata": form.row(moment.metadata),
            "network": form.sent(sent),
            "committed": form.row(moment.committed),
            "acked": frozenset(moment.acked),
        }

    def check(each: Any, pair: Pair) -> bool:
        before, after = pair.before.state(constants), pair.after.state(constants)
        return each.check(before, after, pair.after.history(pair.before), handlers) is None

    return Side(
        "PartitionProperties",
        constants,
        PARTITION_INVARIANTS,
        "HistoryNext",
        ("PartitionRowTypeInv", "ControllerTypeInv", "LogBounds"),
        variables,
        check,
        lambda: pairs.partition_steps(constants, WALKS, 200),
        pairs.partition_pool,
        lambda: partition_planted(constants),
        PARTS,
    )


@cache
def ground_of(made: Callable[[], partition_cluster.Partitioned]) -> partition_cluster.Partitioned:
    """Nobody changes it: a plant is made of its state."""
    return made()


def partition_planted(constants: PartitionConstants) -> Iterator[Pair]:
    for plant in [*partition_plants.PLANTS, *partition_plants.TWINS]:
        ground = ground_of(plant.ground)
        if ground.constants == constants:
            before = PartitionMoment.of(ground.state, ground.history)
            after = PartitionMoment.of(plant.change(ground.state), ground.history)
            yield pairs.entered(Pair(before, after, plant.sent), constants)


SIDES: Final = {
    "quorum": QUORUM,
    "partition": partition(partition_cluster.THREE),
    "partition-without-elr": partition(partition_plants.NO_ELR),
    "partition-alone": partition(partition_plants.ALONE),
}
UNBROKEN: Final = {
    # A member of the ISR that ends too low lacks what is committed, and StrongIsr says so.
    "partition-without-elr": {"ValidHighWatermark", "DeletedEverywhere"},
    # What several brokers can break.
    "partition-alone": {
        *("ValidControllerIsrAndElr", "WeakIsr", "StrongIsr", "ValidHighWatermark"),
        *("ReplicationQuorumSuperset", "PartitionLogMatching", "DeletedEverywhere"),
        *("FencedNeverElected", "ValidControllerState"),
    },
}
"""Properties that need not be violated there: all others are seen to be."""


@pytest.mark.slow
@pytest.mark.parametrize("name", SIDES)
def test_both_sides_say_the_same(name: str, specs_dir: Path) -> None:
    side = SIDES[name]
    drawn = side.pairs(specs_dir)
    theirs = answers(
        side.module,
        side.constants,
        side.asked(specs_dir),
        [(side.variables(p.before, ()), side.variables(p.after, p.sent)) for p in drawn],
        specs_dir,
    )
    seen: Counter[tuple[str, bool]] = Counter()
    for pair, their in zip(drawn, theirs, strict=True):
        ours = side.says(pair)
        assert ours == {each: their[each] for each in ours}, pair
        seen.update(ours.items())
    names = {*(each.name for each in side.invariants), MEMORY}
    assert {each for each, holds in seen if holds} == names
    assert names - {each for each, holds in seen if not holds} <= UNBROKEN.get(name, set())
    fields = {field for part in side.parts for field in part.__struct_fields__}
    places = {field for pair in drawn for field in pair.changed}
    asked = side.mentioned(specs_dir) & fields
    assert asked <= places or name in UNBROKEN, "every field that is asked for has changed"
