"""The relations of the proofs against every step of TLC's graphs.

For graphs of two nodes, every local step as a solution and every solution as a local step
(tests/reference/quorum/proof/drift.py, and that of the partition): what `make test-slow` does for
a sample. Of a graph of RECORDS (logs grow, or are cut by a crash) it is the relation with the
quorum's logs as branches.

    python -m tests.reference.proofs.graphs [GRAPH ...]      default: GRAPHS; minutes
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from time import process_time
from typing import Any

import click

from kraftcheck.reference.partition.proof.actions import ACTIONS
from kraftcheck.traces.cover.matching import Matcher
from kraftcheck.traces.cover.models import dump_graph, read_covers
from tests.reference.partition.proof.drift import PartitionRelation
from tests.reference.proofs.local_steps import LocalStep, Relation, differences
from tests.reference.quorum.proof.drift import ELECTIONS, IN_BRANCHES, QuorumRelation

RECORDS = ("quorum-one-record", "quorum-replication", "quorum-restarts")
GRAPHS = ("quorum-votes", "quorum-handover", *RECORDS, "partition-change")


def main() -> None:
    for name in sys.argv[1:] or GRAPHS:
        _compare(name)


def _compare(name: str) -> None:
    graph = dump_graph(read_covers()[name])
    matcher = Matcher(graph.dump, graph.book)
    matcher.explore()
    begin = process_time()
    constants: Any = graph.book.constants
    steps = list(local_steps(matcher))
    relation: Relation
    if graph.model.protocol == "quorum":
        relation = QuorumRelation(constants, IN_BRANCHES if name in RECORDS else ELECTIONS)
    else:
        relation = PartitionRelation(constants)
        proved = (*ACTIONS, "HandleRegisterBrokerResponse")
        steps = [step for step in steps if step.action in proved]
    found = differences(relation, steps)
    told = [*found.missing, *found.spare]
    click.echo(
        f"{name}: {len(matcher.states):,} states, {len(matcher.moves.source):,} edges, "
        f"{found.steps:,} local steps, {len(told)} differences, {process_time() - begin:.1f} s"
    )
    assert not found.skipped, "these graphs have one peer, and so at most one parked fetch"
    assert not told, told[0]


def local_steps(matcher: Matcher) -> Iterator[LocalStep]:
    """All local steps of a graph, in the order in which they were found."""
    for step in matcher.moves.steps:
        made = step.result
        yield LocalStep(step.action, step.node, step.before, step.input, made.row, made.sent)


if __name__ == "__main__":
    main()
