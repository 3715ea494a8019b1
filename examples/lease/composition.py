"""Two leases, one after the other: who was granted the first asks for the second."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lease.protocol import PROTOCOL, Acquire, Granted

from kraftcheck.reference.kit.protocol import Composition, Join, Outcome, Property


def asks_next(node: int, before: Any, input: Any, outcome: Outcome) -> Iterable[tuple[int, Any]]:
    """Say what a step of the first component leads to: the client of the same number asks."""
    return [(node, Acquire())] if isinstance(input, Granted) and not outcome.ignored else []


def second_after_first(
    constants: Any,
    before: Mapping[str, Mapping[int, Any]],
    after: Mapping[str, Mapping[int, Any]],
) -> str | None:
    clients = set(after["first"]) & set(after["second"])
    wrong = [c for c in clients if c and after["second"][c].token and not after["first"][c].token]
    return f"client {wrong[0]} has the second lease and never had the first" if wrong else None


COMPOSITION = Composition(
    name="lease-chain",
    sentence="who has been granted one lease asks for another",
    parts={"first": PROTOCOL, "second": PROTOCOL},
    joins=(
        Join(
            "who is granted the first lease asks for the second",
            of="first",
            to="second",
            inputs=(Acquire,),
            leads=asks_next,
        ),
    ),
    properties=(
        Property(
            "SecondAfterFirst",
            "nobody has the second lease who never had the first",
            second_after_first,
        ),
    ),
)
