"""The proof of a partition goes through; with a bug in the rules it does not, and says where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import z3

from kraftcheck.reference.bugs.catalog import bug
from kraftcheck.reference.partition.broker import BROKER_HANDLERS
from kraftcheck.reference.partition.controller import CONTROLLER_HANDLERS
from kraftcheck.reference.partition.proof import electable, proof as partition_proof
from kraftcheck.reference.partition.proof.actions import ACTIONS
from kraftcheck.reference.partition.proof.proof import (
    PROPERTIES,
    discharge_partition,
    partition_obligations,
)
from kraftcheck.reference.proofs.obligations import IMPLIES

# What the composition of docs/reference/reductions.md does not have, or has as a part of another
# action.
LEFT_OUT = {
    *("HandleConsumerFetchRequest", "HandleListOffsetsRequest", "HandleDeleteRecordsRequest"),
    *("HandleProduceTimeout", "HandleSendRegistration", "HandleSendHeartbeat"),
    "HandleRegisterBrokerResponse",
}


def test_every_handler_is_an_obligation() -> None:
    names = partition_obligations()
    handlers = {*BROKER_HANDLERS.values(), *CONTROLLER_HANDLERS.values()}
    assert set(ACTIONS) == handlers - LEFT_OUT and set(ACTIONS) < set(names)
    assert len(names) == len(ACTIONS) + 1 + len(PROPERTIES)


QUICK = [
    "Init",
    *(f"{IMPLIES}{name}" for name in PROPERTIES),
    *("HandleSendReplicaFetch", "HandleBrokerCrash", "HandleElectLeaders"),
]


@pytest.mark.parametrize("name", QUICK)
def test_an_obligation_is_proved(name: str) -> None:
    """A sample; `make prove` discharges all, for 3 and 5 brokers."""
    found = discharge_partition(3, name)
    assert (found.status, found.broken, found.reason) == ("proved", "", "")
    assert found.paths or name not in ACTIONS


@pytest.mark.parametrize("name", PROPERTIES)
def test_a_property_that_the_invariant_does_not_imply_fails(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its part Shares, the invariant says nothing of what logs hold."""
    full = electable.parts_of

    def fewer(*given: Any) -> Mapping[str, z3.BoolRef]:
        return {k: part for k, part in full(*given).items() if not k.startswith("Shares")}

    monkeypatch.setattr(partition_proof, "parts_of", fewer)
    found = discharge_partition(3, f"{IMPLIES}{name}")
    assert found.status == "failed" and found.broken == name
    assert found.state[0].startswith("watched: epoch ") and len(found.state) == 5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("id", "action", "broken"),
    [
        ("Z36", "HandleSendAlterPartition", "Form of 0, Answered of 0"),
        (
            "Z69",
            "HandleMetadataUpdate",
            "Committed, Superset of the watched leader of 0, Asked of the watched leader of 0, "
            "On its way of 0, Shares of 1, Shares of 2",
        ),
    ],
)
def test_a_bug_breaks_an_obligation_and_the_state_is_told(
    id: str, action: str, broken: str
) -> None:
    rules: Any = bug(id).replacement
    found = discharge_partition(3, action, rules)
    assert (found.status, found.broken) == ("failed", broken)
    assert any(action in line for line in found.state)


def test_a_solver_without_time_is_unknown_and_never_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    def unsure(ctx: z3.Context | None = None) -> z3.Solver:
        solver = z3.Solver(ctx=ctx)
        solver.check = lambda *given: z3.unknown
        solver.reason_unknown = lambda: "timeout"
        return solver

    monkeypatch.setattr(z3, "SimpleSolver", unsure)
    found = discharge_partition(3, "HandleSendReplicaFetch")
    assert found.status == "unknown" and found.reason.startswith("the solver: timeout (Electable, ")


def test_a_handler_without_a_way_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(model: Any) -> Iterator[Any]:
        return iter(())

    monkeypatch.setitem(ACTIONS, "HandleSendReplicaFetch", nothing)
    assert discharge_partition(3, "HandleSendReplicaFetch").status == "unknown"
