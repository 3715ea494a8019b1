"""What is planted in states of protocols that have no simulation of their own.

Tests judge it plainly and cheaply (test_plain_properties.py), and hold the specification against it
(tests/conformance/test_plain.py).
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from kraftcheck.reference.kit.protocol import Protocol

Rows: TypeAlias = dict[int, Any]


class Plant(NamedTuple):
    """A step from a state in order to one that violates the property, perhaps among others."""

    violates: str
    before: Rows
    after: Rows


class Planted(NamedTuple):
    """first, settled: states in order, under these constants."""

    protocol: Protocol
    constants: Any
    first: Rows
    settled: Rows
    plants: tuple[Plant, ...]
    twins: tuple[Plant, ...] = ()
    """What is close to a violation of the property, and is none."""

    def violated(self, before: Rows, after: Rows) -> set[str]:
        """The properties that a step violates."""
        assert self.protocol.world is not None
        asked = self.protocol.world.properties
        return {e.name for e in asked if e.check(self.constants, before, after) is not None}


def initial_rows(protocol: Protocol, constants: Any) -> Rows:
    nodes = protocol.nodes(constants)
    return {n: protocol.kind_of(constants, n).initial(constants) for n in nodes}
