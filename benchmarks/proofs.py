"""The proofs' time for each obligation, and their relations against every step of TLC's graphs.

Two tables. First the obligations of 3 and 5 nodes with their seconds of processor time. Then, for
graphs of two nodes, every local step as a solution and every solution as a local step, found by
blocking clauses (traces/cover/drift.py, reference/proofs/partition_drift.py): what `make test` does
for a sample.

    python -m benchmarks.proofs [GRAPH ... | BUG ...]

default: quorum-votes and partition-change; half an hour on two cores. With graphs named, only they
are compared. With bugs of the partition named, or `bugs` for all of SEARCHES, their reachable
counterexamples are searched for and nothing else is done.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from time import process_time
from typing import Any, NamedTuple

from reference.bugs.partition_catalog import partition_bug
from reference.core.types import Constants
from reference.proofs import completeness_proof
from reference.proofs.election import prove
from reference.proofs.partition_actions import ACTIONS
from reference.proofs.partition_bounded import PROPERTY, VALID, find_partition
from reference.proofs.partition_drift import LocalStep
from reference.proofs.partition_drift import differences as of_partition
from reference.proofs.partition_proof import discharge_partition, partition_obligations
from traces.cover.drift import differences as of_quorum
from traces.cover.matching import Matcher
from traces.cover.models import dump_graph, read_covers

GRAPHS = ("quorum-votes", "partition-change")
_CHANGES = ("Lags", "Shrinks", "AsksAndHears", "AsksAndIsJudged", "Asks", "IsJudged")


class Wanted(NamedTuple):
    """Of how many brokers, in how many moves, of which kinds (all, if there are none), what."""

    brokers: int
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


def main() -> None:
    if not sys.argv[1:]:
        for nodes in (3, 5):
            _prove(nodes)
    for name in sys.argv[1:] or GRAPHS:
        for bug in SEARCHES if name == "bugs" else [name]:
            _search(bug) if bug in SEARCHES else _compare(bug)


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
    wanted = SEARCHES[name]
    rules: Any = partition_bug(name).replacement
    begin = process_time()
    least = wanted.moves if wanted.names else 1
    found = find_partition(
        *(wanted.brokers, rules, wanted.moves, 1800, least, wanted.names, wanted.property)
    )
    print(
        f"{name}: {wanted.brokers} brokers, {found.length} moves, confirmed {found.confirmed}, "
        f"{process_time() - begin:.1f} s {found.reason}"
    )
    for line in found.steps:
        print(f"    {line}")


def _compare(name: str) -> None:
    graph = dump_graph(read_covers()[name])
    matcher = Matcher(graph.dump, graph.composition)
    matcher.explore()
    begin = process_time()
    if graph.model.protocol == "quorum":
        compared, solved, told = of_quorum(matcher)
    else:
        constants: Any = graph.composition.constants
        compared, solved, told = of_partition(constants, partition_steps(matcher))
    print(
        f"{name}: {len(matcher.states):,} states, {len(matcher.moves.source):,} edges, "
        f"{compared:,} local steps, {solved:,} solutions, {len(told)} differences, "
        f"{process_time() - begin:.1f} s"
    )
    assert not told, told[0]


def partition_steps(matcher: Matcher) -> Iterator[LocalStep]:
    """The local steps of a graph whose actions the proof has."""
    for step in matcher.moves.steps:
        if step.action in ACTIONS or step.action == "HandleRegisterBrokerResponse":
            made = step.result
            yield LocalStep(step.action, step.node, step.before, step.input, made.row, made.sent)


if __name__ == "__main__":
    main()
