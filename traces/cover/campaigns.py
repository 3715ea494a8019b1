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

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kraftcheck.specs import SPECS
from kraftcheck.traces.cover.charts import Coverage, chart_of, coverage_of, keys_of
from kraftcheck.traces.cover.driving import Driven, drive, script
from kraftcheck.traces.cover.matching import Matcher
from kraftcheck.traces.cover.sieve import Sieve
from kraftcheck.traces.jobs.conform import JUDGED_STEPS, read_judged
from kraftcheck.traces.jobs.ranges import answer_path, code_digest, read_receipt
from kraftcheck.traces.schema import TraceError
from kraftcheck.traces.steps.classes import Classes
from kraftcheck.traces.steps.record import Part
from kraftcheck.traces.store import Manifest, read_manifest, read_part
from tla_utils import ToolError
from tla_utils.covering import Cover
from tla_utils.covering_classes import cover_classes
from tla_utils.dump import shortest_ways

_KEYS: Final = pa.schema([("key", pa.binary()), ("run", pa.int64())])


@dataclass(frozen=True)
class Seen:
    """What runs did: for each class of local steps the first run that took it."""

    scenario: str
    """Of the campaign."""
    runs: int
    """How many there are."""
    first: dict[bytes, int]
    """Key of the class -> number of the run."""


class Missing(NamedTuple):
    """A class of local steps that was not seen.

    It says how many edges are of it, and gives a shortest path to one of them, that edge last.
    """

    action: str
    edges: int
    way: list[str]
    steps: tuple[int, ...]
    """Those of the class, by their numbers in the matcher."""

    def as_json(self) -> dict[str, Any]:
        return {"action": self.action, "edges": self.edges, "way": self.way}


@dataclass(frozen=True)
class Share(Coverage):
    """How much of a graph was seen, and what was not."""

    missing: dict[int, Missing]
    """One local step (its number in the matcher) for each class not seen."""

    def as_json(self) -> dict[str, Any]:
        return super().as_json() | {"missing": [each.as_json() for each in self.missing.values()]}


def runs_of(folder: Path) -> tuple[str, int]:
    """The scenario of a trace, and how many runs it has.

    Raises TraceError for a folder without a trace or with a damaged one, ToolError for one without
    runs.
    """
    manifest = read_manifest(folder)
    runs = sum(entry.runs for entry in manifest.parts)
    if not runs:
        raise ToolError(f"{folder} holds no runs: nothing was seen")
    return manifest.campaign.scenario, runs


def read_seen(
    folder: Path, wanted: Collection[bytes] | None = None, sieve: Sieve | None = None
) -> Seen:
    """Read the classes of a trace's local steps.

    They come from its conformance or its campaign if it was judged, and are made anew otherwise.
    wanted: keys of the classes that matter; default: all. sieve: what of a trace that was not
    judged need be named; default: all.

    Raises what `runs_of` does.
    """
    scenario, runs = runs_of(folder)
    among = None if wanted is None else pa.array(sorted(wanted), pa.binary())
    found = [_KEYS.empty_table()]
    for table in _tables(folder, read_manifest(folder), sieve):
        own = table.select(_KEYS.names).cast(_KEYS)
        found.append(own if among is None else own.filter(pc.is_in(own["key"], value_set=among)))
    firsts = pa.concat_tables(found).group_by("key").aggregate([("run", "min")])
    pairs = zip(firsts["key"].to_pylist(), firsts["run_min"].to_pylist(), strict=True)
    return Seen(scenario, runs, dict(pairs))


def _tables(folder: Path, manifest: Manifest, sieve: Sieve | None) -> Iterator[pa.Table]:
    """Tables with the classes that were taken (key) and the runs that took them first (run)."""
    judged = read_judged(folder, JUDGED_STEPS)
    if judged is not None:
        yield judged
        return
    code = code_digest(SPECS)
    for entry in manifest.parts:
        if read_receipt(folder, entry, code) is not None:
            yield _read(answer_path(folder, entry, "slim"))
        elif sieve is not None:
            sights = sieve.sights(Part(read_part(folder, entry)))
            firsts = [sight.first for sight in sights.values()]
            yield pa.table([pa.array(list(sights), pa.binary()), firsts], schema=_KEYS)
        else:
            yield Classes(Part(read_part(folder, entry))).slim()


def _read(path: Path) -> pa.Table:
    try:
        return pq.read_table(path, columns=_KEYS.names)
    except (OSError, pa.ArrowException) as error:
        raise TraceError(f"{path}: {error}") from None


def share_of(matcher: Matcher, seen: Seen) -> Share:
    """The graph's classes of local steps against those of the runs."""
    keys = keys_of(matcher, matcher.book.constants)
    chart = chart_of(matcher, matcher.book.protocol.name, keys)
    covered = coverage_of(chart, seen.first, seen.runs)
    alike: dict[bytes, list[int]] = {}
    for number, key in enumerate(keys):
        alike.setdefault(key, []).append(number)
    unseen = {numbers[0]: key for key, numbers in alike.items() if key not in seen.first}
    edges = {bytes.fromhex(each.key): each.edges for each in chart.classes}
    ways = _ways(matcher, list(unseen))
    missing = {
        number: Missing(
            matcher.moves.steps[number].action,
            edges[unseen[number]],
            way,
            tuple(alike[unseen[number]]),
        )
        for number, way in ways.items()
    }
    own = {field.name: getattr(covered, field.name) for field in fields(covered)}
    return Share(**own, missing=missing)


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
    class_of = {step: at for at, each in enumerate(share.missing.values()) for step in each.steps}
    classes: list[list[int]] = [[] for _ in share.missing]
    for edge, step in enumerate(matcher.moves.step):
        if step in class_of:
            classes[class_of[step]].append(edge)
    moves = matcher.moves
    cover = cover_classes(len(matcher.states), moves.source, moves.target, start, classes)
    return cover, drive(matcher, cover.walks)
