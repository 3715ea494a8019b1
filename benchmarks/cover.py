"""Edges of TLC's graphs covered on the reference, against MongoDB's 87,143 tests in 40 minutes.

One line for each graph: edges, paths and moves with the lower bound, seconds by stage, edges per
minute, and seconds of the processor, TLC and the reading of its dump included. The comparison is
with what MongoDB's engineers report of tests generated from their model's states, one test for
each: 2,179 a minute.

    python -m benchmarks.cover [GRAPH ...]     default: the small and medium graphs, some minutes
"""

from __future__ import annotations

import resource
import sys

from kraftcheck.cover import cover_graph
from kraftcheck.screen import Screen
from traces.cover.models import dump_graph, read_covers, select

MONGODB_PER_MINUTE = 87_143 / 40


def processor_seconds() -> float:
    """Of this process and of those that it waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def main() -> None:
    tiers = [] if sys.argv[1:] else ["small", "medium"]
    edges, seconds = 0, 0.0
    for model in select(read_covers(), sys.argv[1:], tiers):
        before = processor_seconds()
        covered = cover_graph(dump_graph(model), mutants=-1, screen=Screen(quiet=True))
        assert covered.cover is not None and covered.driven is not None, "the graphs differ"
        spent = sum(covered.seconds.values())
        cpu = processor_seconds() - before
        edges, seconds = edges + covered.driven.edges, seconds + spent
        stages = ", ".join(f"{stage} {s:.1f}" for stage, s in covered.seconds.items())
        print(
            f"{model.name:22} {model.edges:8,} edges, {len(covered.cover.walks):7,} paths, "
            f"{covered.cover.moves:9,} moves (gap {covered.cover.gap}), {spent:6.1f} s ({stages}), "
            f"{60 * covered.driven.edges / spent:9,.0f} edges a minute, {cpu:5.1f} s of processor, "
            f"{covered.driven.edges / cpu:7,.0f} edges for each",
            flush=True,
        )
    rate = 60 * edges / seconds
    print(f"together {rate:,.0f} edges a minute, {rate / MONGODB_PER_MINUTE:,.0f} times as many")


if __name__ == "__main__":
    main()
