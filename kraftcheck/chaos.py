"""A chaos machine for any protocol: Hypothesis makes every choice of a run, and shrinks what fails.

    from kraftcheck.chaos import chaos

    test_lease = chaos("lease")

A choice is a natural number whose simplest meaning is 0 (reference/sim/choices.py), so what
Hypothesis shrinks towards is a run with few faults. The kit's own protocols have machines that draw
moves (tests/stateful): a run of groups or transactions takes thousands of choices.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings, strategies as st

from kraftcheck.reference.runner.narrate import narrate
from kraftcheck.reference.runner.run import simulate_run
from kraftcheck.reference.sim.choices import Stream, StreamName


class _Drawn:
    """One object for all streams: Hypothesis knows no streams."""

    def __init__(self, data: st.DataObject) -> None:
        self._draw = data.draw

    def stream(self, name: StreamName) -> Stream:
        return self

    def below(self, bound: int) -> int:
        return self._draw(st.integers(0, bound - 1)) if bound > 1 else 0


def chaos(
    scenario: str, bug: str | None = None, options: dict[str, Any] | None = None
) -> Callable[[], None]:
    """A test for pytest: no run of the scenario, with this bug or none, violates a property.

    options: those that are fixed. Raises ValueError: no such scenario, bug or option.
    """

    @settings(deadline=None)  # How long a run takes says nothing of the protocol.
    @given(st.data())
    def test(data: st.DataObject) -> None:
        run = simulate_run(scenario, 0, 0, bug, options, chooser=_Drawn(data))
        assert not run.result.violations, "\n".join(["", *narrate(run)])

    return test
