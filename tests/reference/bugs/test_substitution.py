"""A substitution reaches every rule and handler, also where other protocols extend its class."""

from __future__ import annotations

from typing import Any

import pytest

from kraftcheck.reference.bugs.bug import BASES
from kraftcheck.reference.bugs.catalog import UnknownBug, joined, replayable_in, substitution
from kraftcheck.reference.clients.rules import ProducerRules
from kraftcheck.reference.groups.coordinator import CoordinatorHandlers
from kraftcheck.reference.kit.protocol import Protocol
from kraftcheck.reference.protocols import PROTOCOLS, asks
from kraftcheck.reference.quorum.quorum41 import Quorum41Rules
from kraftcheck.reference.quorum.rules import QuorumRules
from kraftcheck.reference.quorum.types import Constants
from kraftcheck.reference.runner.run import simulate_part, simulate_run
from kraftcheck.reference.runner.scenarios import FAMILIES

RUN = [each for each in PROTOCOLS if each.name in FAMILIES]
UNASKED = {
    ("commits", "LoaderHandlers"),
    ("commits", "OffsetsHandlers"),
    ("commits", "MigrationHandlers"),
    ("reassignment", "BrokerHandlers"),
}
"""Nodes of the protocol that is extended, and that this one does not have."""


def asked_in(protocol: Protocol, runs: int = 4) -> set[type]:
    """The classes that the handlers of a protocol are made of, those of each set of voters too."""
    found = set[type]()

    def of(base: type[Any]) -> type[Any]:
        found.update(base.__mro__)
        return base

    for number in range(runs):
        run = simulate_run(protocol.name, 1, number)
        constants: Any = run.result.constants
        handle = protocol.handlers(constants, of)
        for step in run.steps:
            handle(step.node, step.before, step.input)
    return found


@pytest.mark.parametrize("protocol", RUN, ids=lambda each: each.name)
def test_every_class_that_a_protocol_asks_may_be_replaced(protocol: Protocol) -> None:
    asked = asked_in(protocol)
    for base, replaceable in BASES.items():
        if asks(protocol, replaceable.protocol) and base is not ProducerRules:
            missed = (protocol.name, base.__name__) in UNASKED
            assert (base in asked) is not missed, base


def test_a_class_that_extends_a_replaced_one_extends_the_replacement() -> None:
    class Mine(QuorumRules):
        def log_ok(self, row: Any, m: Any) -> bool:
            return True

    both = joined(Quorum41Rules, Mine)
    rules = both(Constants((1, 2, 3), 2))
    assert rules.log_ok(None, None) is True
    own = [name for name in vars(Quorum41Rules) if not name.startswith("_")]
    assert own and all(getattr(both, name) is getattr(Quorum41Rules, name) for name in own)


def test_a_bug_of_the_quorum_is_met_where_voters_change() -> None:
    part = simulate_part("snapshots", 1, 6, 1, bug="Z06")
    [violations] = part.tables["runs"]["violations"].to_pylist()
    assert "LeaderCompleteness" in {each["invariant"] for each in violations}


def test_a_bug_that_a_protocol_does_not_ask_is_unknown_there() -> None:
    groups = next(each for each in PROTOCOLS if each.name == "groups")
    with pytest.raises(UnknownBug):
        replayable_in("Z06", groups)
    assert substitution(None, None)(CoordinatorHandlers) is CoordinatorHandlers
