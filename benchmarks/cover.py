"""Edges of TLC's graphs covered on the reference, against MongoDB's 87,143 tests in 40 minutes.

One line of a table for each graph: states and edges; walks, moves and the certified bound on both
together, with the gap; seconds of the processor, our own and TLC's, the reading of its dump
included; edges for each minute of a processor; refusals attempted and what they cost; and how large
our process became. Each graph has a process of its own. Seconds of the processor depend little on
who else wants it, wall times do. The comparison is with what MongoDB's engineers report of tests
generated from their model's states, one test for each: 2,179 a minute.

    python -m benchmarks cover                             all graphs, about half an hour
    python -m benchmarks cover [--mutants N] GRAPH ...     these; N as in `kraftcheck cover`
"""

from __future__ import annotations

import argparse
import resource
from collections.abc import Sequence
from typing import NamedTuple

from benchmarks._measure import Spent, apart, spent
from kraftcheck.cover import cover_graph
from kraftcheck.screen import Screen
from kraftcheck.traces.cover.models import Graph, dump_graph, read_covers, select
from kraftcheck.traces.cover.refusals import KINDS, Refusals, refuse
from tla_utils import CheckOptions
from tla_utils.dump import PEAK_PER_MB

MONGODB_PER_MINUTE = 87_143 / 40
ALL_MUTANTS = 10_000_000
HEADS = (
    *("graph", "states", "edges", "walks", "moves", "bound (gap)", "own s", "TLC s"),
    *("edges a minute", "refusals", "own s", "TLC s", "MB"),
)


class Figures(NamedTuple):
    """What one graph took."""

    model: Graph
    walks: int
    moves: int
    bound: int
    gap: int
    covering: Spent
    refusals: Refusals | None
    """None if none were attempted."""
    refusing: Spent
    peak_mb: int
    """Of our process."""

    def cells(self) -> list[str]:
        refused = ["", "", ""]
        if self.refusals is not None:
            attempts, skipped = self.refusals.attempts, self.refusals.skipped
            of = f" of {attempts + skipped:,}" if skipped else ""
            refused = [f"{attempts:,}{of}", *(f"{s:.1f}" for s in self.refusing)]
        return [
            *(self.model.name, f"{self.model.states:,}", f"{self.model.edges:,}"),
            *(f"{self.walks:,}", f"{self.moves:,}", f"{self.bound:,} ({self.gap})"),
            *(f"{s:.1f}" for s in self.covering),
            *(f"{per_minute(self.model.edges, self.covering):,.0f}", *refused),
            f"{self.peak_mb:,}",
        ]


def per_minute(edges: int, spent: Spent) -> float:
    return 60 * edges / spent.both


def measured(model: Graph, mutants: int) -> Figures:
    """Covers a graph whole. mutants: at most so many, -1 for no refusals at all."""
    begin = spent()
    covered = cover_graph(dump_graph(model), mutants=-1, screen=Screen(quiet=True))
    cover, driven = covered.cover, covered.driven
    assert cover is not None and driven is not None, f"{model.name}: the graphs differ"
    assert not covered.wrong and driven.edges == model.edges, f"{model.name}: not all is covered"
    covering, begin = spent().since(begin), spent()
    found = None
    if mutants >= 0:
        found = refuse(covered.matcher, mutants, CheckOptions(chunk=50_000, parallel=1))
        assert not found.rejected and not found.unknown, f"{model.name}: {found.rejected[:1]}"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // PEAK_PER_MB
    sizes = (len(cover.walks), cover.moves, cover.bound, cover.gap)
    return Figures(model, *sizes, covering, found, spent().since(begin), peak)


def main(arguments: Sequence[str]) -> None:
    asked = argparse.ArgumentParser(description="Covers graphs and says what it took.")
    asked.add_argument("--mutants", type=int, default=ALL_MUTANTS)
    asked.add_argument("graphs", nargs="*")
    options = asked.parse_args(arguments)
    known = read_covers()
    models = sorted(select(known, options.graphs or list(known), []), key=lambda m: m.edges)
    print(f"| {' | '.join(HEADS)} |\n|---|{'---:|' * (len(HEADS) - 1)}", flush=True)
    done = []
    for model in models:
        done.append(apart(measured, model, options.mutants))
        print(f"| {' | '.join(done[-1].cells())} |", flush=True)
    total = Spent(*(sum(times) for times in zip(*(each.covering for each in done), strict=True)))
    edges = sum(each.model.edges for each in done)
    rate = per_minute(edges, total)
    print(
        f"\n{len(done)} graphs, {edges:,} edges in {total.both:,.0f} s of a processor, "
        f"{rate:,.0f} a minute, {rate / MONGODB_PER_MINUTE:,.0f} times as many as MongoDB's"
    )
    refused = [each.refusals for each in done if each.refusals is not None]
    counts = {kind: sum(each.total(kind) for each in refused) for kind in KINDS}
    attempts = sum(each.attempts for each in refused)
    print(f"{attempts:,} attempts: {', '.join(f'{kind} {n:,}' for kind, n in counts.items())}")
