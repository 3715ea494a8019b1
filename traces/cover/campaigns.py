"""How much of a graph the runs of a campaign have seen.

What is mapped are *local steps* in canonical form (L9): action, node, row before, input, row after,
messages sent, reason for ignoring, in the fields that its action mentions, up to the names of nodes
and values, under equal constants (L8; those that the action mentions). An edge is a local step in a
surrounding (other rows, the network, what has been spent), and a run's surroundings are almost
never those of a bounded graph. So an edge counts as seen when the runs took its very step, in any
surrounding; where all have been seen, no handler call of the graph is new to the runs.

A campaign's runs have several constants; only those count whose step is one of the graph's.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq

from reference.core.types import Constants
from tla_utils import ToolError
from tla_utils.covering import Cover, cover_edges
from tla_utils.dump import shortest_ways
from traces.cover.driving import Driven, drive, script
from traces.cover.matching import Matcher
from traces.jobs.canonical import Canonicaliser, Step
from traces.jobs.columns import Part
from traces.jobs.distinct import Classes
from traces.jobs.partition_canonical import PartitionCanonicaliser
from traces.jobs.protocols import SPECS, AnyConstants, constants_text
from traces.jobs.relevance import Relevance
from traces.schema import read_manifest, read_part

JUDGED: Final = Path("conform") / "steps.parquet"
SHOWN: Final = 50


@dataclass(frozen=True)
class Seen:
    """What runs did: for each class of local steps the first run that took it.

    scenario: of the campaign. runs: how many there are. first: key of the class -> number of the
    run.
    """

    scenario: str
    runs: int
    first: dict[bytes, int]


@dataclass(frozen=True)
class Share:
    """How much of a graph's local steps, in classes, and of its edges were seen.

    by_action, edges_by_action: action -> (seen, of). missing: one local step (its number in the
    matcher) for each class not seen, with a shortest way to an edge that is it. growth: (runs,
    classes seen by then, edges seen by then).
    """

    total: int
    seen: int
    by_action: dict[str, tuple[int, int]]
    edges_by_action: dict[str, tuple[int, int]]
    missing: dict[int, list[str]]
    growth: list[tuple[int, int, int]]

    @property
    def edges(self) -> tuple[int, int]:
        """How many edges were seen, of how many."""
        counts = self.edges_by_action.values()
        return sum(seen for seen, _ in counts), sum(of for _, of in counts)

    def as_json(self) -> dict[str, Any]:
        return {
            "local_steps": self.total,
            "seen": self.seen,
            "edges": self.edges[1],
            "edges_seen": self.edges[0],
            "by_action": {action: self._of_action(action) for action in self.by_action},
            "growth": [{"runs": runs, "seen": n, "edges_seen": e} for runs, n, e in self.growth],
            "missing": [{"way": way} for way in list(self.missing.values())[:SHOWN]],
        }

    def _of_action(self, action: str) -> dict[str, int]:
        seen, of = self.by_action[action]
        edges_seen, edges = self.edges_by_action[action]
        return {"seen": seen, "of": of, "edges_seen": edges_seen, "edges": edges}


def read_seen(folder: Path) -> Seen:
    """The classes of a trace's local steps: from its conformance, if it was judged, else anew.

    Raises TraceError for a folder without a trace, ToolError for one without runs.
    """
    manifest = read_manifest(folder)
    runs = sum(entry.runs for entry in manifest.parts)
    if not runs:
        raise ToolError(f"{folder} holds no runs: nothing was seen")
    first: dict[bytes, int] = {}
    if (folder / JUDGED).exists():
        table = pq.read_table(folder / JUDGED, columns=["key", "run"])
        pairs = zip(table["key"].to_pylist(), table["run"].to_pylist(), strict=True)
        return Seen(manifest.campaign.scenario, runs, dict(pairs))
    for entry in manifest.parts:
        slim = Classes(Part(read_part(folder, entry))).slim()
        for key, run in zip(slim["key"].to_pylist(), slim["run"].to_pylist(), strict=True):
            first[key] = min(run, first.get(key, run))
    return Seen(manifest.campaign.scenario, runs, first)


def keys_of(matcher: Matcher, constants: AnyConstants) -> list[bytes]:
    """The class of each local step of a graph, as conformance names it: by what it is judged on
    (traces/jobs/relevance.py), in canonical form."""
    relevance = Relevance(constants, SPECS)
    canonicalisers: dict[AnyConstants, Canonicaliser | PartitionCanonicaliser] = {}
    keys = []
    for s in matcher.moves.steps:
        judged = relevance.judged(
            Step(s.action, s.node, s.before, s.input, s.result.row, s.result.sent, s.result.ignored)
        )
        under = judged.constants
        if under not in canonicalisers:
            canonicalisers[under] = _canonicaliser(under)
        form = canonicalisers[under].canonical(judged.step)
        keys.append(form.digest(constants_text(under).encode()))
    return keys


def _canonicaliser(constants: AnyConstants) -> Canonicaliser | PartitionCanonicaliser:
    if isinstance(constants, Constants):
        return Canonicaliser(constants)
    return PartitionCanonicaliser(constants)


def share_of(matcher: Matcher, seen: Seen) -> Share:
    """The graph's classes of local steps against those of the runs."""
    keys = keys_of(matcher, matcher.composition.constants)
    one: dict[bytes, int] = {}
    for number, key in enumerate(keys):
        one.setdefault(key, number)
    steps = matcher.moves.steps
    total, had = Counter[str](), Counter[str]()
    for key, number in one.items():
        total[steps[number].action] += 1
        had[steps[number].action] += key in seen.first
    unseen = [number for key, number in one.items() if key not in seen.first]
    edges, edges_had = Counter[str](), Counter[str]()
    firsts_of_edges = []
    for number, count in Counter(matcher.moves.step).items():
        action, first = steps[number].action, seen.first.get(keys[number])
        edges[action] += count
        if first is not None:
            edges_had[action] += count
            firsts_of_edges += [first] * count
    firsts = [seen.first[key] for key in one if key in seen.first]
    return Share(
        total=len(one),
        seen=len(firsts),
        by_action={action: (had[action], total[action]) for action in sorted(total)},
        edges_by_action={action: (edges_had[action], edges[action]) for action in sorted(total)},
        missing=_ways(matcher, unseen),
        growth=_growth(sorted(firsts), sorted(firsts_of_edges), seen.runs),
    )


def _growth(steps: Sequence[int], edges: Sequence[int], runs: int) -> list[tuple[int, int, int]]:
    """How many classes and edges had been seen after 1, 2, 5, 10, 20, 50 ... runs, and after all of
    them; each sequence: the run that first saw each, ascending."""
    marks = [d * 10**e for e in range(10) for d in (1, 2, 5) if d * 10**e < runs]
    return [(at, bisect_left(steps, at), bisect_left(edges, at)) for at in (*marks, runs)]


def _edge_of(matcher: Matcher, unseen: Sequence[int]) -> dict[int, int]:
    """For each of these local steps the first edge that is it."""
    wanted = set(unseen)
    edges: dict[int, int] = {}
    for edge, step in enumerate(matcher.moves.step):
        if step in wanted:
            edges.setdefault(step, edge)
    return edges


def _ways(matcher: Matcher, unseen: Sequence[int]) -> dict[int, list[str]]:
    """A way to each unseen local step and the step itself, as a script."""
    moves = matcher.moves
    start = matcher.dump.initial
    by = shortest_ways(len(matcher.states), start, moves.source, moves.target)
    ways = {}
    for step, edge in _edge_of(matcher, unseen).items():
        way = [edge]
        while by[moves.source[way[-1]]] >= 0:
            way.append(by[moves.source[way[-1]]])
        ways[step] = script(matcher, way[::-1])
    return ways


def fill(matcher: Matcher, share: Share, start: int) -> tuple[Cover, Driven]:
    """Runs exactly what is missing: few walks that take an edge for each unseen local step.

    Raises ToolError when nothing is missing.
    """
    required = list(_edge_of(matcher, list(share.missing)).values())
    cover = cover_edges(
        len(matcher.states), matcher.moves.source, matcher.moves.target, start, required
    )
    return cover, drive(matcher, cover.walks)
