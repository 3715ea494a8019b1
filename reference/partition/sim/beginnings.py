"""Counterexamples of TLC with which runs of a partition may begin (begun.py).

A counterexample is the constants of its model and moves, one a line, which begin with the broker
(the controller, clients) that takes them:

    1 hears 5 ReplicaFetchRequest    the message of that type that was sent as the sixth arrives
    2 reads 1                        so many batches of metadata that it has not read
    0 does SendReplicaFetch 0        the first of what it wants of that kind
    1 elects PREFERRED               an election before which this broker is listed first
    0 takes BrokerCrash keep=0       an input that nothing causes: of a client, a crash, an end of
                                     a session; fields that are -1 are left out

Messages go by number, since what is in them depends on the rules of the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from reference.partition.sim.shown_by_tlc import SHOWN

OF: Final = ("replicas", "min_insync_replicas", "elr", "unclean", "fetch_max_records")
"""The options of a run that are its constants."""
LEFT_OUT: Final = 12
"""So many moves at the end are left out at most, of those that lead to what TLC shows."""


class Counterexample(NamedTuple):
    """of: the bug that it shows, or its name where it shows none. options: its constants."""

    of: str
    options: Mapping[str, Any]
    moves: tuple[str, ...]


def _read(text: str) -> Iterator[tuple[str, Counterexample]]:
    for each in text.strip().split("\n\n"):
        head, *moves = each.splitlines()
        name, of, options = head.split(" ", 2)
        yield name, Counterexample(of, msgspec.json.decode(options), tuple(moves))


COUNTEREXAMPLES: Final = dict(_read(SHOWN))


def beginnings() -> dict[str, tuple[dict[str, Any], ...]]:
    """By what is shown, the options of runs that begin so, one for each number of moves."""
    found: dict[str, tuple[dict[str, Any], ...]] = {}
    for name, shown in COUNTEREXAMPLES.items():
        ends = range(max(1, len(shown.moves) - LEFT_OUT), len(shown.moves) + 1)
        own = tuple([{**shown.options, "begins": [name, end]} for end in ends])
        found[shown.of] = found.get(shown.of, ()) + own
    return found
