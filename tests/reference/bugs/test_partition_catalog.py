"""The catalogue of the partition's bugs: complete, consistent in itself and with core."""

from __future__ import annotations

import inspect
from typing import get_args

import pytest

from reference.bugs.catalog import Detector, OutOfScope, UnknownBug
from reference.bugs.partition_catalog import (
    HISTORY_PROPERTIES,
    PARTITION_CATALOG,
    PARTITION_LIVENESS,
    PartitionBug,
    broker_handlers_for,
    partition_bug,
    partition_rules_for,
)
from reference.bugs.probing import Consulted
from reference.core.broker import BrokerHandlers
from reference.core.partition_invariants import PARTITION_INVARIANT_NAMES
from reference.core.partition_rules import PARTITION_RULES, PartitionRules
from tests.reference.core.partition_cluster import THREE
from tests.reference.core.partition_walks import PartitionWalk

REPLACED = [each for each in PARTITION_CATALOG if each.replacement is not None]
by_id = pytest.mark.parametrize("entry", REPLACED, ids=lambda entry: entry.id)


def test_the_zoo_is_complete() -> None:
    expected = [f"Z{n}" for n in range(22, 61)] + ["Z67", "Z69"]
    assert [each.id for each in PARTITION_CATALOG] == expected
    assert [each.id for each in PARTITION_CATALOG if each.scope] == ["Z22", "Z47", "Z57"]
    assert [each.id for each in PARTITION_CATALOG if each.configuration] == ["Z40", "Z53", "Z54"]


@pytest.mark.parametrize("entry", PARTITION_CATALOG, ids=lambda entry: entry.id)
def test_an_entry_says_what_there_is_to_say(entry: PartitionBug) -> None:
    assert entry.title and entry.source and entry.story.endswith(".")
    assert entry.boundary and entry.field
    assert "\n" not in entry.title + entry.story
    apart = {*PARTITION_LIVENESS, *HISTORY_PROPERTIES}
    assert {entry.property, *entry.also} <= {*PARTITION_INVARIANT_NAMES, *apart}
    assert (entry.klass == "liveness") == (entry.property in PARTITION_LIVENESS)
    assert set(entry.detectors) <= set(get_args(Detector))
    kinds = [entry.replacement is not None, bool(entry.configuration), bool(entry.scope)]
    assert kinds.count(True) == 1
    assert bool(entry.detectors) == entry.in_scope
    assert 1 <= entry.replicas <= 3


@by_id
def test_a_bug_is_something_replaced_and_nothing_else(entry: PartitionBug) -> None:
    assert entry.replacement is not None
    own = {name for name in vars(entry.replacement) if not name.startswith("__")}
    assert own == {*entry.rules, *entry.handlers} and own
    of = PartitionRules if entry.rules else BrokerHandlers
    for name in own:
        replaced, correct = getattr(entry.replacement, name), getattr(of, name)
        assert inspect.signature(replaced) == inspect.signature(correct)
    assert set(entry.rules) <= set(PARTITION_RULES)


@by_id
def test_its_file_and_class_bear_its_id(entry: PartitionBug) -> None:
    assert entry.replacement is not None
    module = entry.replacement.__module__.rpartition(".")[2]
    assert entry.replacement.__name__.lower() == module.replace("_", "")
    assert module.startswith("z23" if entry.id == "Z24" else entry.id.lower())


def test_a_bug_is_found_by_its_id() -> None:
    assert partition_bug("z28").title == partition_bug("Z28").title
    assert type(partition_rules_for("Z28", THREE)) is partition_bug("Z28").replacement
    assert type(partition_rules_for(None, THREE)) is PartitionRules
    assert type(broker_handlers_for("Z44", THREE)) is partition_bug("Z44").replacement
    assert type(broker_handlers_for("Z28", THREE)) is BrokerHandlers
    assert type(broker_handlers_for("Z28", THREE).rules) is partition_bug("Z28").replacement
    assert type(broker_handlers_for("Z40", THREE).rules) is PartitionRules


def test_an_unknown_or_impossible_bug_is_refused() -> None:
    with pytest.raises(UnknownBug, match="Z22 to Z69"):
        partition_bug("Z01")
    with pytest.raises(OutOfScope, match="Z47 cannot be replayed: it needs reassignment"):
        partition_rules_for("Z47", THREE)


@by_id
def test_probing_changes_no_answer(entry: PartitionBug) -> None:
    consulted = Consulted()
    plain = PartitionWalk(THREE, 3, partition_rules_for(entry.id, THREE))
    probed = PartitionWalk(THREE, 3, partition_rules_for(entry.id, THREE, consulted))
    for one, other in zip(plain.steps(80), probed.steps(80), strict=True):
        assert one.outcome == other.outcome
    assert set(consulted.asked) == set(entry.rules)
