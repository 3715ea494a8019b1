"""How much of the bounded graphs any number of simulated runs have seen, nothing being recorded.

The same figures as `kraftcheck cover --campaign` gives of recorded runs: edges whose very local
step some run took, and local steps, for each graph of tier `campaign`. After 1, 10, 100 ... runs,
and every 10,000, a line of a table for each graph. Then what is to be expected of further ones, as
Good and Turing estimate it: of the classes of local steps seen so far, those that one run alone has
taken, for each run there was, is how many new ones the next run has on average. Seconds are of the
processor, with the graphs' own counted apart.

    python -m benchmarks graph_share                          both protocols, 1,000 runs of each
    python -m benchmarks.graph_share SCENARIO RUNS [SEED]     options drawn as ever
"""

from __future__ import annotations

import gc
import resource
import sys
from collections.abc import Mapping, Sequence
from time import process_time

from reference.runner.run import simulate_part
from tla_utils.dump import PEAK_PER_MB
from traces.cover.charts import Chart, chart_of, coverage_of
from traces.cover.matching import Matcher
from traces.cover.models import dump_graph, of_scenario, read_covers, select
from traces.cover.sieve import Sieve, Sight, merged
from traces.jobs.columns import Part
from traces.jobs.simulate import PART_RUNS

EVERY = 10_000
COLLECT_EVERY = 2000


def graphs(scenario: str) -> list[tuple[Chart, Matcher]]:
    """The graphs of tier `campaign` that these runs can see, charted."""
    found = []
    for model in of_scenario(select(read_covers(), [], ["campaign"]), scenario):
        dumped = dump_graph(model)
        matcher = Matcher(dumped.dump, dumped.composition)
        matcher.explore()
        assert not matcher.mismatches, f"{model.name}: the graphs differ"
        found.append((chart_of(matcher, model.name), matcher))
    return found


def told(charts: Sequence[Chart], seen: Mapping[bytes, Sight], runs: int) -> None:
    """One line for each graph."""
    first = {key: sight.first for key, sight in seen.items()}
    for chart in charts:
        share = coverage_of(chart, first, runs)
        keys = [bytes.fromhex(each.key) for each in chart.classes]
        alone = sum(seen[key].first == seen[key].last for key in keys if key in seen)
        edges, of = share.edges
        print(
            f"| {chart.graph} | {runs:,} | {share.seen} of {share.total} | {edges:,} of {of:,} | "
            f"{edges / of:.1%} | {alone} | {alone / runs:.2g} |",
            flush=True,
        )


def measure(scenario: str, runs: int, seed: int) -> None:
    begin = process_time()
    found = graphs(scenario)
    charts, sieve = [chart for chart, _ in found], Sieve([matcher for _, matcher in found])
    wanted = {bytes.fromhex(each.key) for chart in charts for each in chart.classes}
    prepared = process_time() - begin
    print("| graph | runs | local steps | edges | | of one run | new in the next |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    seen: dict[bytes, Sight] = {}
    simulating = sifting = 0.0
    marks = {runs, *(10**power for power in range(9)), *range(EVERY, runs, EVERY)}
    done = 0
    gc.disable()  # there are few cycles: they are looked for now and then
    while done < runs:
        until = min(mark for mark in marks if mark > done)
        count = min(PART_RUNS, until - done)
        begin = process_time()
        part = Part(simulate_part(scenario, seed, done, count))
        simulated = process_time()
        for key, sight in sieve.sights(part).items():
            if key in wanted:
                seen[key] = merged(seen[key], sight) if key in seen else sight
        simulating += simulated - begin
        sifting += process_time() - simulated
        done += count
        if done in marks:
            told(charts, seen, done)
        if done % COLLECT_EVERY == 0:
            gc.collect()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // PEAK_PER_MB
    print(
        f"\n{runs:,} runs of {scenario}, seed {seed}: {simulating:.0f} s of a processor to "
        f"simulate, {sifting:.0f} s to sift and name ({sieve.named:,} steps named), "
        f"{prepared:.0f} s for the graphs, {peak:,} MB"
    )


def main() -> None:
    given = sys.argv[1:]
    if not given:
        for scenario in ("quorum", "partition"):
            measure(scenario, 1000, 1)
    else:
        measure(given[0], int(given[1]), int(given[2]) if given[2:] else 1)


if __name__ == "__main__":
    main()
