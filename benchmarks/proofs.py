"""The proofs' time for each obligation, and their relations against every step of TLC's graphs.

Two tables. First the obligations of 3 and 5 nodes with their seconds of processor time. Then, for
graphs of two nodes, every local step as a solution and every solution as a local step, found by
blocking clauses (traces/cover/drift.py, reference/proofs/partition_drift.py): what `make test` does
for a sample. Of a graph of RECORDS (logs grow, or are cut by a crash) it is the relation with the
quorum's logs as branches (reference/proofs/branch_drift.py).

    python -m benchmarks.proofs [GRAPH ... | BUG ...]

default: GRAPHS; half an hour on two cores. With graphs named, only they are compared. With bugs of
the partition or of the quorum's logs named, or `bugs` for all of SEARCHES and IN_LOGS, their
reachable counterexamples are searched for and nothing else is done.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from time import process_time
from typing import Any, NamedTuple

from reference.bugs.catalog import bug
from reference.core.types import Constants
from reference.proofs import completeness_proof
from reference.proofs.branch_drift import BranchRelation
from reference.proofs.branch_drift import differences as of_branches
from reference.proofs.election import prove
from reference.proofs.local_steps import LocalStep
from reference.proofs.partition_actions import ACTIONS
from reference.proofs.partition_bounded import PROPERTY, VALID, find_partition
from reference.proofs.partition_drift import differences as of_partition
from reference.proofs.partition_proof import discharge_partition, partition_obligations
from reference.proofs.quorum_bounded import find_in_logs
from traces.cover.drift import differences as of_quorum
from traces.cover.drift import local_steps
from traces.cover.matching import Matcher
from traces.cover.models import dump_graph, read_covers

RECORDS = ("quorum-one-record", "quorum-replication", "quorum-restarts")
GRAPHS = ("quorum-votes", *RECORDS, "partition-change")
_CHANGES = ("Lags", "Shrinks", "AsksAndHears", "AsksAndIsJudged", "Asks", "IsJudged")


class Wanted(NamedTuple):
    """Of how many nodes, in how many moves, of which kinds (all, if there are none), what."""

    nodes: int
    moves: int
    names: tuple[str, ...] = ()
    property: str = PROPERTY


SEARCHES = {
    "Z26": Wanted(
        3,
        11,
        (
            *("Produces", "TimesOut 0", "ReadsAll", "Beats 0", "Fetches 1 0", "AsksAndHears 1"),
            *("Fetches 1 2", "Serves 1 2"),
        ),
    ),
    "Z28": Wanted(
        3,
        11,
        (
            *("Lags 0 2", "Shrinks 0", "AsksAndHears 0", "Produces 0", "Fetches 0 1", "Serves 0 1"),
            *("TimesOut 0", "ReadsAll 1", "ReadsAll 2", "Fetches 1 2", "Serves 1 2"),
            "AsksAndIsJudged 1",
        ),
    ),
    "Z29": Wanted(
        2,
        9,
        ("Produces", "TimesOut 0", "ReadsAll", "Beats 0", "Serves 1 0", "AsksAndIsJudged 1"),
    ),
    "Z33": Wanted(2, 8, (*_CHANGES, "Fetches", "Produces", "ReadsAll")),
    "Z34": Wanted(2, 3),
    "Z35": Wanted(
        3,
        10,
        (
            *("Lags 0 2", "Shrinks 0", "Asks 0", "IsJudged 0", "TimesOut 1", "ReadsAll 0"),
            *("Beats 1", "Produces 0", "Fetches 0 2"),
        ),
    ),
    "Z37": Wanted(2, 4, (), VALID),
    "Z38": Wanted(
        2,
        11,
        (
            *("Lags 0 1", "Shrinks 0", "AsksAndHears 0", "Produces 0", "Fetches 0 1"),
            *("Crashes 1", "TimesOut 1", "ComesBack 1", "Beats 1", "AsksAndIsJudged 0"),
        ),
    ),
    "Z41": Wanted(2, 3),
    "Z42": Wanted(2, 6),
    "Z67": Wanted(
        3,
        16,
        (
            *("TimesOut 0", "ReadsAll", "Beats 0", "Fetches 1 0", "AsksAndHears 1", "Produces 1"),
            *("Fetches 1 2", "Serves 1 2", "Elects", "Fetches 0 2"),
        ),
    ),
    "Z69": Wanted(2, 10, (*_CHANGES, "Fetches", "Produces", "ReadsAll")),
}
"""Bug -> where its counterexample is."""
_FIGURE_8 = Wanted(
    3,
    11,
    (
        *("Wins 0 1", "Wins 1 2", "Begins 1 0", "Wins 0 2", "Begins 0 1", "Stands 1 2"),
        *("Begins 0 2", "Flushes 0", "Fetches 2 0", "Votes 1 2"),
    ),
    "LeaderCompleteness",
)
_DIVERGES = ("Wins 0 1", "Wins 1 2", "Begins 1 0", "Flushes 1", "Fetches 0 1")
IN_LOGS = {
    "Z02": Wanted(2, 5, (), "LogMatching"),
    "Z03": Wanted(2, 4, (), "CommittedSurvives"),
    "Z04": _FIGURE_8,
    "Z05": _FIGURE_8,
    "Z06": Wanted(
        3,
        7,
        ("Leads 0 2", "Stands 1 2", "Votes 1 0", "Flushes 0", "Fetches 2 0"),
        "LeaderCompleteness",
    ),
    "Z07": Wanted(3, 7, (*_DIVERGES, "Flushes 0", "Appends 1"), "LogMatching"),
    "Z08": Wanted(3, 5, _DIVERGES, "CommittedSurvives"),
    "Z20": Wanted(2, 2, (), "EpochCacheSound"),
}
"""The same of the quorum's logs."""


def main() -> None:
    if not sys.argv[1:]:
        for nodes in (3, 5):
            _prove(nodes)
    for name in sys.argv[1:] or GRAPHS:
        for each in (*SEARCHES, *IN_LOGS) if name == "bugs" else [name]:
            _search(each) if each in SEARCHES or each in IN_LOGS else _compare(each)


def _prove(nodes: int) -> None:
    begin = process_time()
    constants = Constants(tuple(range(nodes)), 1)
    for done in prove(constants):
        _show(nodes, "quorum", done)
    for name in completeness_proof.obligations():
        _show(nodes, "quorum", completeness_proof.discharge(constants, name))
    for name in partition_obligations():
        _show(nodes, "partition", discharge_partition(nodes, name))
    print(f"{nodes} nodes  all {process_time() - begin:.1f} s")


def _show(nodes: int, part: str, done: Any) -> None:
    print(f"{nodes} nodes  {part:9} {done.name:52} {done.status:8} {done.seconds:8.2f} s")


def _search(name: str) -> None:
    begin = process_time()
    wanted = SEARCHES.get(name) or IN_LOGS[name]
    nodes, moves, names, property = wanted
    least = moves if names else 1
    rules: Any
    if name in SEARCHES:
        rules = bug(name).replacement
        found = find_partition(nodes, rules, moves, 1800, least, names, property)
    else:
        rules = bug(name).replacement
        found = find_in_logs(nodes, rules, property, moves, 1800, least, names)
    print(
        f"{name}: {nodes} nodes, {found.length} moves, confirmed {found.confirmed}, "
        f"{process_time() - begin:.1f} s {found.reason}"
    )
    for line in found.steps:
        print(f"    {line}")


def _compare(name: str) -> None:
    graph = dump_graph(read_covers()[name])
    matcher = Matcher(graph.dump, graph.composition)
    matcher.explore()
    begin = process_time()
    if name in RECORDS:
        constants: Any = graph.composition.constants
        found = of_branches(BranchRelation(constants), local_steps(matcher))
        compared, told = found.steps, [*found.missing, *found.spare]
        solved = compared - len(set(found.missing))
        assert not found.skipped, "these graphs have one peer, and so at most one parked fetch"
    elif graph.model.protocol == "quorum":
        compared, solved, told = of_quorum(matcher)
    else:
        constants = graph.composition.constants
        compared, solved, told = of_partition(constants, partition_steps(matcher))
    print(
        f"{name}: {len(matcher.states):,} states, {len(matcher.moves.source):,} edges, "
        f"{compared:,} local steps, {solved:,} solutions, {len(told)} differences, "
        f"{process_time() - begin:.1f} s"
    )
    assert not told, told[0]


def partition_steps(matcher: Matcher) -> Iterator[LocalStep]:
    """The local steps of a graph whose actions the proof has."""
    for step in local_steps(matcher):
        if step.action in ACTIONS or step.action == "HandleRegisterBrokerResponse":
            yield step


if __name__ == "__main__":
    main()
