"""Moves with which runs of a partition may begin (begun.py): counterexamples of TLC, and walks.

A walk is of a graph of tier `campaign` (specs/partition/cover): few of them take all kinds of steps
that the graph has and a run can take. Moves are in words, which begin with the broker (the
controller, clients) that takes them:

    1 hears 5 ReplicaFetchRequest    the message of that type that was sent as the sixth arrives
    2 reads 1                        so many batches of metadata that it has not read
    0 does SendReplicaFetch 0        the first of what it wants of that kind
    -1 sends 0                       a producer of the run, the first, has a record for the leader
    1 elects PREFERRED               an election before which this broker is listed first
    0 takes BrokerCrash keep=0       an input that nothing causes: of a client, a crash, an end of
                                     a session; fields that are -1 are left out

Messages go by number, since what is in them depends on the rules of the run.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any, Final

from kraftcheck.reference.sim.begun import AT_ONCE, read

OF: Final = ("replicas", "min_insync_replicas", "elr", "unclean", "fetch_max_records")
"""The options of a run that are its constants."""
LEFT_OUT: Final = 12
"""So many moves at the end of a counterexample are left out at most."""
MORE: Final = (12, 24, 48)
"""So many moves are drawn after those of a counterexample."""
# A worker of a cluster imports from an archive, in which there are no paths.
_STORED: Final = files(__package__)
SHOWN: Final = "shown_by_tlc.moves"
"""The data of `python -m tests.stateful.shown_by_tlc`."""
WALKED: Final = "walked.moves"
"""The data of `python -m tests.stateful.walked`."""
COUNTEREXAMPLES: Final = read((_STORED / SHOWN).read_text("utf-8"))
WALKS: Final = read((_STORED / WALKED).read_text("utf-8"))
BEGINNINGS: Final = {**COUNTEREXAMPLES, **WALKS}


def beginnings() -> dict[str, tuple[dict[str, Any], ...]]:
    """Give the options of runs that begin as counterexamples do.

    For each number of moves one that goes on as any other, and those that make some more at once
    and are short.
    """
    found: dict[str, tuple[dict[str, Any], ...]] = {}
    for name, shown in COUNTEREXAMPLES.items():
        for end in range(max(1, len(shown.moves) - LEFT_OUT), len(shown.moves) + 1):
            own = [{**shown.options, "begins": [name, end, 0]}]
            own += [{**shown.options, **AT_ONCE, "begins": [name, end, more]} for more in MORE]
            found[shown.of] = (*found.get(shown.of, ()), *own)
    return found


def walks() -> tuple[dict[str, Any], ...]:
    """The options of runs that make a walk each, and are short."""
    return tuple(
        {**walk.options, **AT_ONCE, "begins": [name, len(walk.moves), 0]}
        for name, walk in WALKS.items()
    )
