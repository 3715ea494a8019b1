"""What of a graph is needed to say how much of it runs have seen: its classes of local steps.

To chart a graph TLC dumps it and the reference is matched with it, which takes seconds; a chart is
some hundred lines of text. So charts are kept in a folder, each under a digest of all that it was
made from: the modules and the cfg of the graph, the jar, the reference, and our code that names a
class. Under another digest nothing is known, and the graph is charted again.

Law of this file: only a graph whose edges are exactly the reference's moves has a chart. A damaged
one is an error that names its file.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import msgspec

from kraftcheck.osutil.commands import command
from kraftcheck.osutil.files import read_bytes, replace_file
from kraftcheck.reference.protocols import AnyConstants
from kraftcheck.specs import SPECS
from kraftcheck.traces.cover.matching import Matcher
from kraftcheck.traces.cover.models import (
    MODULE,
    Graph,
    dump_graph,
    libraries_of,
    module_folder,
    rule_book,
    twin_of,
)
from kraftcheck.traces.sealed import Unsealed, sealed, unsealed
from kraftcheck.traces.steps.record import constants_text
from kraftcheck.traces.steps.slicing import Relevance
from kraftcheck.traces.steps.symmetry import Canonicaliser, Step
from kraftcheck.traces.steps.verdict_store import stamp
from tla_utils import Jar, Java, ToolError, settings
from tla_utils.sources import source_digest

# The package. In a checkout a link leads here, which must not be resolved.
ROOT: Final = Path(__file__).absolute().parents[2]
MADE_BY: Final = (
    "reference/**/*.py",
    *("traces/steps/slicing.py", "traces/steps/translation.py", "traces/cover/charts.py"),
    *("traces/cover/matching.py", "traces/cover/rulebook.py"),
)
"""Our sources, besides those of a verdict's stamp, on which a chart depends."""


class ChartClass(msgspec.Struct, frozen=True, array_like=True):
    """A class of local steps."""

    key: str
    """As conformance names it, in hexadecimal digits."""
    action: str
    """Of its steps."""
    edges: int
    """How many edges of the graph are one of them."""


class Chart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    graph: str
    """Its name."""
    edges: int
    """How many it has."""
    classes: tuple[ChartClass, ...]
    """By key."""


@dataclass(frozen=True)
class Coverage:
    """How much of a graph's local steps, in classes, and of its edges were seen.

    by_action, edges_by_action: action -> (seen, of).
    """

    total: int
    seen: int
    by_action: dict[str, tuple[int, int]]
    edges_by_action: dict[str, tuple[int, int]]
    growth: list[tuple[int, int, int]]
    """(runs, classes seen by then, edges seen by then)."""

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
        }

    def _of_action(self, action: str) -> dict[str, int]:
        seen, of = self.by_action[action]
        edges_seen, edges = self.edges_by_action[action]
        return {"seen": seen, "of": of, "edges_seen": edges_seen, "edges": edges}


# --- Charting ---


def chart_of(matcher: Matcher, name: str, keys: Sequence[bytes] | None = None) -> Chart:
    """The chart of a matched graph; keys: of its local steps, where they are known."""
    named = keys_of(matcher, matcher.book.constants) if keys is None else keys
    edges: Counter[bytes] = Counter()
    for step, count in Counter(matcher.moves.step).items():
        edges[named[step]] += count
    actions = {key: step.action for key, step in zip(named, matcher.moves.steps, strict=True)}
    classes = [ChartClass(key.hex(), actions[key], count) for key, count in sorted(edges.items())]
    return Chart(name, len(matcher.moves.step), tuple(classes))


def keys_of(matcher: Matcher, constants: AnyConstants) -> list[bytes]:
    """Give the class of each local step of a graph, as conformance names it.

    The class is made of what the step is judged on (traces/steps/slicing.py), in canonical form.
    """
    namer = Namer(constants)
    return [
        namer.name(
            Step(s.action, s.node, s.before, s.input, s.result.row, s.result.sent, s.result.ignored)
        )
        for s in matcher.moves.steps
    ]


class Namer:
    """Names the classes of steps that are taken under one set of constants."""

    def __init__(self, constants: AnyConstants, specs: Path = SPECS) -> None:
        self._relevance = Relevance(constants, specs)
        self._canonicalisers: dict[AnyConstants, Canonicaliser] = {}

    def name(self, step: Step) -> bytes:
        """The key of a step's class, of 128 bits."""
        judged = self._relevance.judged(step)
        under = judged.constants
        if under not in self._canonicalisers:
            self._canonicalisers[under] = Canonicaliser(under)
        form = self._canonicalisers[under].of_pieces(judged.step)
        return form.digest(constants_text(under).encode())


# --- What was seen of it ---


def coverage_of(chart: Chart, first: Mapping[bytes, int], runs: int) -> Coverage:
    """first: key of a class -> the run that took it first, from 0. runs: how many there are."""
    total, had = Counter[str](), Counter[str]()
    edges, edges_had = Counter[str](), Counter[str]()
    firsts: list[int] = []
    firsts_of_edges: list[int] = []
    for each in chart.classes:
        total[each.action] += 1
        edges[each.action] += each.edges
        run = first.get(bytes.fromhex(each.key))
        if run is not None:
            had[each.action] += 1
            edges_had[each.action] += each.edges
            firsts.append(run)
            firsts_of_edges += [run] * each.edges
    actions = sorted(total)
    return Coverage(
        total=len(chart.classes),
        seen=len(firsts),
        by_action={action: (had[action], total[action]) for action in actions},
        edges_by_action={action: (edges_had[action], edges[action]) for action in actions},
        growth=_growth(sorted(firsts), sorted(firsts_of_edges), runs),
    )


def _growth(steps: Sequence[int], edges: Sequence[int], runs: int) -> list[tuple[int, int, int]]:
    """How many classes and edges had been seen after 1, 2, 5, 10, 20, 50 ...

    runs, and after all of them; each sequence: the run that first saw each, ascending.
    """
    marks = [d * 10**e for e in range(10) for d in (1, 2, 5) if d * 10**e < runs]
    return [(at, bisect_left(steps, at), bisect_left(edges, at)) for at in (*marks, runs)]


# --- Charts that are kept ---


class ChartStore:
    """Charts in a folder, which is made when the first one is written."""

    def __init__(self, folder: Path, specs: Path = SPECS) -> None:
        self.folder, self.specs = folder, specs

    def path(self, model: Graph) -> Path:
        return self.folder / f"{model.name}.{basis(model, self.specs)}.json"

    def chart(
        self,
        model: Graph,
        *,
        jar: Jar | None = None,
        java: Java | None = None,
        note: Callable[[str], None] = lambda text: None,
    ) -> Chart:
        """The chart of a graph: the one that is kept, or else a new one, which then is.

        Raises ToolError: the file is damaged or cannot be written, TLC could not dump the graph, or
        its edges are not the reference's moves.
        """
        path = self.path(model)
        if path.exists():
            return _read(path, model)
        dumped = dump_graph(model, self.specs, jar=jar, java=java, note=note)
        matcher = Matcher(dumped.dump, dumped.book)
        matcher.explore()
        # The second is implied by the first, and asked all the same: a chart is kept.
        if matcher.mismatches or len(matcher.moves.source) != model.edges:
            wrong = f"the reference does not move as the graph {model.name} does"
            raise ToolError(f"{wrong}: see {command('cover', '--graph', model.name)}")
        chart = chart_of(matcher, model.name)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            replace_file(path, sealed(msgspec.json.encode(chart)))
        except OSError as error:
            raise ToolError(f"{error.filename or path}: {error.strerror}") from None
        return chart


def _read(path: Path, model: Graph) -> Chart:
    try:
        chart = msgspec.json.decode(unsealed(read_bytes(path)), type=Chart)
    except OSError as error:
        raise ToolError(f"{path}: {error.strerror}") from None
    except (Unsealed, msgspec.MsgspecError):
        chart = None
    whole = chart is not None and sum(each.edges for each in chart.classes) == model.edges
    if chart is None or not whole or (chart.graph, chart.edges) != (model.name, model.edges):
        raise ToolError(f"{path}: damaged: remove it, and the graph is charted again")
    return chart


def basis(model: Graph, specs: Path = SPECS) -> str:
    """A digest of all that a chart is made from. Raises ToolError: there is no jar of TLC."""
    digest = sha256(_sources(specs).encode())
    digest.update(graph_digest(model, specs).encode())
    return digest.hexdigest()[:32]


def graph_digest(model: Graph, specs: Path = SPECS) -> str:
    """sha256 over the modules and the cfg of a graph, without remarks: what TLC dumps it from."""
    folders = [module_folder(model, specs), *libraries_of(model, specs)]
    book = rule_book(model)
    return source_digest([MODULE], book.cfg(), folders, {MODULE: twin_of(book, specs)})


@cache
def _sources(specs: Path) -> str:
    digest = sha256(stamp(specs).encode())
    made_by = [path for each in MADE_BY for path in sorted(ROOT.glob(each))]
    for path in [*made_by, Path(settings.__file__)]:
        digest.update(path.name.encode() + read_bytes(path))
    return digest.hexdigest()
