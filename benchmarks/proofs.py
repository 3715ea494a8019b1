"""The proof's time for each obligation, and its relation against every row of TLC's graphs.

Two tables. First the obligations of 3 and 5 voters with their seconds. Then, for graphs of two
voters, every local step as a solution and every solution as a local step, found by blocking clauses
(traces/cover/drift.py): what `make test` does for a sample.

    python -m benchmarks.proofs [GRAPH ...]     default quorum-votes; some minutes on two cores
"""

from __future__ import annotations

import sys
from time import monotonic

from reference.core.types import Constants
from reference.proofs.election import prove
from traces.cover.drift import differences
from traces.cover.matching import Matcher
from traces.cover.models import dump_graph, read_covers

GRAPHS = ("quorum-votes",)


def main() -> None:
    for voters in (3, 5):
        begin = monotonic()
        for done in prove(Constants(tuple(range(voters)), 1)):
            print(f"{voters} voters  {done.name:36} {done.status:8} {done.seconds:8.2f} s")
        print(f"{voters} voters  all {monotonic() - begin:.1f} s")
    for name in sys.argv[1:] or GRAPHS:
        graph = dump_graph(read_covers()[name])
        matcher = Matcher(graph.dump, graph.composition)
        matcher.explore()
        begin = monotonic()
        compared, solved, told = differences(matcher)
        print(
            f"{name}: {len(matcher.states):,} states, {len(matcher.moves.source):,} edges, "
            f"{compared:,} local steps, {solved:,} solutions, {len(told)} differences, "
            f"{monotonic() - begin:.1f} s"
        )
        assert not told, told[0]


if __name__ == "__main__":
    main()
