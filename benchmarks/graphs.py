"""Edges of TLC's graphs taken by Apache Kafka's classes, against MongoDB's 2,179 tests a minute.

One line of a table for each graph, taken by `kraftcheck witness cover` in a process of its own:
edges that are steps of Kafka's, those taken, moves told, and seconds of the processor: of the dump
(TLC's, the reading of it, and the reference's moves), of driving (Kafka's JVM with its start, and
ours), and of the TLC that judges where Kafka parts. They are of the whole tree of processes, and
depend little on who else wants the machine. A graph in which voters fetch is taken by a release
that has its rules: 4.0.2 before KIP-1166, and the default since.

    python -m benchmarks graphs                        all of the quorum's; needs Maven and a JDK
    python -m benchmarks graphs [--kafka VERSION] GRAPH ...    these, or those of a protocol
"""

from __future__ import annotations

import argparse
import subprocess
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from benchmarks._processes import KRAFTCHECK
from kraftcheck.exits import HOLDS, VIOLATED
from kraftcheck.kafka.live.witness.jars import DEFAULT
from kraftcheck.kafka.witness.quorum import fetches
from kraftcheck.specs import SPECS
from kraftcheck.traces.cover.models import Graph, read_covers

BEFORE_KIP_1166: Final = "4.0.2"
QUORUMS: Final = ("quorum", "quorum41")
HEADS: Final = (
    *("graph", "release", "edges", "Kafka's", "taken", "moves", "dump s", "driving s"),
    *("judging s", "not taken"),
)
PHASES: Final = ("dump", "driving", "judging")


def release_of(model: Graph) -> str:
    """One that has the rules of this graph."""
    before = model.protocol == "quorum" and fetches(model, SPECS)
    return BEFORE_KIP_1166 if before else DEFAULT


def taken(model: Graph, release: str) -> dict[str, Any]:
    """What `witness cover` says of it. Raises CalledProcessError: it could not be driven."""
    words = [KRAFTCHECK, "witness", "cover", model.name, "--kafka", release, "--json", "--quiet"]
    done = subprocess.run(words, stdout=subprocess.PIPE, check=False)
    if done.returncode not in (HOLDS, VIOLATED) or not done.stdout:
        done.check_returncode()
    [graph] = msgspec.json.decode(done.stdout)["graphs"]
    found: dict[str, Any] = graph
    return found


def cells(model: Graph, release: str, graph: dict[str, Any]) -> list[str]:
    numbers = [graph[name] for name in ("edges", "kafkas", "taken", "moves")]
    seconds = [graph["processor_seconds"][phase] for phase in PHASES]
    gap = "; ".join(f"{edges:,}: {why}" for why, edges in graph["not_taken"].items())
    return [model.name, release, *(f"{n:,}" for n in numbers), *(f"{s:.1f}" for s in seconds), gap]


def main(arguments: Sequence[str]) -> None:
    asked = argparse.ArgumentParser(description="Has Kafka take graphs, and says what it took.")
    asked.add_argument("--kafka", metavar="VERSION", help="for all; default: one with their rules")
    asked.add_argument("names", nargs="*", metavar="GRAPH")
    options = asked.parse_args(arguments)
    known = read_covers().values()
    names = options.names or QUORUMS
    if strange := {*names} - {m.name for m in known} - {m.protocol for m in known}:
        asked.error(f"no graph, and no protocol with graphs: {', '.join(sorted(strange))}")
    models = [m for m in known if m.name in names or m.protocol in names]
    print(f"| {' | '.join(HEADS)} |\n|---|---|{'---:|' * (len(HEADS) - 3)}---|", flush=True)
    done = []
    for model in sorted(models, key=lambda m: m.edges):
        release = options.kafka or release_of(model)
        done.append(taken(model, release))
        print(f"| {' | '.join(cells(model, release, done[-1]))} |", flush=True)
    edges, moves = sum(each["taken"] for each in done), sum(each["moves"] for each in done)
    dump, driving, judging = (
        sum(each["processor_seconds"][phase] for each in done) for phase in PHASES
    )
    print(
        f"\n{len(done)} graphs: {edges:,} edges taken in {moves:,} moves and {driving:,.0f} s of a "
        f"processor, {60 * edges / driving:,.0f} a minute; besides {dump:,.0f} s of dumps, and "
        f"{judging:,.0f} s of judging"
    )
