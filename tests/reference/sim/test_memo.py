"""The memo changes nothing but the time; and whoever changes a value in place is found out (L7)."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import force_setattr

from kraftcheck.reference.quorum import invariants, system
from kraftcheck.reference.quorum.handlers import QuorumHandlers
from kraftcheck.reference.quorum.invariants import first_violated
from kraftcheck.reference.quorum.messages import FetchRequest, FetchResponse
from kraftcheck.reference.quorum.sim import machine as quorum_machine, scheduler
from kraftcheck.reference.quorum.types import Constants, Outcome, Row
from kraftcheck.reference.runner import run as run_module
from kraftcheck.reference.runner.run import forget, simulate_part, simulate_run
from kraftcheck.reference.sim.memo import Memos
from kraftcheck.reference.sim.recorder import Recorder

RUNS = 25


@pytest.fixture(autouse=True)
def forgetful() -> Iterator[None]:
    """Each test begins without a memo, and leaves none that was filled under a plant."""
    forget()
    yield
    forget()


def test_the_same_bytes_from_a_memo_that_knows_more() -> None:
    cold = simulate_part("quorum", 5, 10, RUNS)
    simulate_part("quorum", 6, 0, RUNS)
    simulate_part("quorum", 5, 0, RUNS)
    assert simulate_part("quorum", 5, 10, RUNS).digests() == cold.digests()


def test_the_same_bytes_when_the_memo_is_begun_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    cold = simulate_part("quorum", 5, 0, RUNS)
    monkeypatch.setattr(run_module, "_memos", Memos(10))
    assert simulate_part("quorum", 5, 0, RUNS).digests() == cold.digests()


def test_bugs_have_their_own_memo() -> None:
    simulate_part("quorum", 5, 0, RUNS)
    assert simulate_part("quorum", 5, 0, RUNS, bug="Z03").digests() == (
        simulate_part("quorum", 5, 0, RUNS, bug="Z03", memo=False).digests()
    )


@pytest.mark.parametrize("bug", [None, "Z01", "Z02", "Z03", "Z06", "Z07", "Z15", "Z16", "Z20"])
def test_checking_only_what_can_have_broken_finds_the_same(
    bug: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against every property evaluated whole after every step."""
    quick = [simulate_run("quorum", 1, run, bug=bug).result for run in range(RUNS)]

    def whole(
        constants: Any, before: dict[int, Row], after: dict[int, Row], node: int, history: Any
    ) -> Any:
        invariants.enter_step(before[node], after[node], node, history)
        return first_violated(before, after, history)

    forget()
    monkeypatch.setattr(system, "check_step", whole)
    monkeypatch.setattr(
        "kraftcheck.reference.quorum.sim.machine.is_inert", lambda before, after: False
    )
    slow = [simulate_run("quorum", 1, run, bug=bug).result for run in range(RUNS)]
    assert [r.violations for r in quick] == [r.violations for r in slow]
    assert [r.handler_calls for r in quick] == [r.handler_calls for r in slow]


def test_a_part_and_a_forgotten_memo_leave_no_memory_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What the memo keeps is out of the garbage collector's sight: a circle would stay for ever."""
    watched: list[weakref.ref[Any]] = []

    class Watched(Recorder):
        def __init__(self, first_run: int) -> None:
            super().__init__(first_run)
            watched.append(weakref.ref(self))

    class WatchedMachine(quorum_machine.QuorumMachine):
        def __init__(self, of: quorum_machine.QuorumMemo, constants: Constants) -> None:
            super().__init__(of, constants)
            watched.append(weakref.ref(self))

    monkeypatch.setattr(run_module, "Recorder", Watched)
    monkeypatch.setattr(quorum_machine, "QuorumMachine", WatchedMachine)
    simulate_part("quorum", 5, 0, 3)
    gc.collect()
    assert [each() is None for each in watched][:2] == [True, False]
    forget()
    gc.collect()
    assert all(each() is None for each in watched)


# --- Planted: handlers that change what they were given ---


def plant_on_row(monkeypatch: pytest.MonkeyPatch) -> None:
    correct = QuorumHandlers.handle_fetch_request

    def mutating(self: QuorumHandlers, n: int, row: Row, m: FetchRequest) -> Outcome:
        outcome = correct(self, n, row, m)
        force_setattr(row, "has_fetched", not row.has_fetched)
        return outcome

    monkeypatch.setattr(QuorumHandlers, "handle_fetch_request", mutating)


def plant_on_input(monkeypatch: pytest.MonkeyPatch) -> None:
    correct = QuorumHandlers.handle_fetch_response

    def mutating(self: QuorumHandlers, n: int, row: Row, m: FetchResponse) -> Outcome:
        outcome = correct(self, n, row, m)
        force_setattr(m, "high_watermark", m.high_watermark + 1)
        return outcome

    monkeypatch.setattr(QuorumHandlers, "handle_fetch_response", mutating)


@pytest.mark.parametrize("remember", [True, False])
@pytest.mark.parametrize(("plant", "what"), [(plant_on_row, "row"), (plant_on_input, "input")])
def test_a_handler_that_changes_a_value_is_found_out(
    plant: Any, what: str, remember: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    with pytest.raises(AssertionError, match=f"changed (the|a|an) {what}"):
        simulate_part("quorum", 5, 0, 3, memo=remember)


def test_a_change_after_the_last_step_is_found_by_the_sweep(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The run is over, no handler will see the row again; the end of the part looks at all."""
    changed: list[Row] = []
    correct = scheduler.Simulation.execute

    def mutating(self: scheduler.Simulation) -> None:
        correct(self)
        if not changed:
            changed.append(self.rows[0])
            force_setattr(self.rows[0], "epoch", 99)

    monkeypatch.setattr(scheduler.Simulation, "execute", mutating)
    with pytest.raises(AssertionError, match="a handler changed a row, Row"):
        simulate_part("quorum", 5, 0, 1)
