"""A step under other names, for tests of what does not depend on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kraftcheck.reference.protocols import AnyConstants, peers_of
from kraftcheck.traces.steps.symmetry import UNCHANGED, Renaming, Renumbering, Step


def rename_step(
    constants: AnyConstants,
    step: Step,
    nodes: Mapping[int, int],
    number: Callable[[int], int],
    renumbering: Renumbering = UNCHANGED,
) -> Step:
    """The whole step under one bijection of nodes, one of values, and a renumbering."""
    peers = peers_of(constants)
    names = tuple([nodes[node] for node in peers])
    return Renaming(peers, names, number, renumbering).step(step)
