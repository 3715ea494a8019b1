"""A state graph that TLC dumped, read as a stream into columns.

A graph of some hundred thousand edges is read line by line: a state is a tuple of small integers,
each distinct piece of text is parsed once, and an edge is three integers.

    TLC 2.15, `-dump dot,actionlabels`        here
    7822518 [label="/\\ a = {..}",style=..]   a state: for each variable a `Split`
    7822518 -> 745784 [label="Move",..]       an edge: source, target, label

A *piece* is an element of a set, an item of a sequence or the image of one argument of a function,
where that is the whole value of a variable; any other value is one piece.

What TLC 2.15 gives, found by trying and held by tests:

* It writes one line for each successor that it generates, also when the state was seen before, and
  also when the edge was: the dump is a multigraph, and its edges are the generated states less the
  initial ones. `read_dump` is told that number and refuses a dump with another one.
* The label is the name of the outermost definition that TLC's search for disjuncts comes to rest
  at. It carries no arguments.

Laws of this file: the graph is read whole or not at all. A file that ends too early, an edge to a
state that was never described, no initial state, or more than the caller allows is a ToolError; the
last says how far it came, and what to lower.
"""

from __future__ import annotations

import re
import resource
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from io import TextIOWrapper
from pathlib import Path
from typing import Literal, NamedTuple

from kraftcheck.osutil.files import open_file
from tla_utils.errors import ToolError
from tla_utils.values import Value, parse, render

_NODE = re.compile(r'(-?\d+) \[label="(.*)"(,style = filled)?\];?$')
_EDGE = re.compile(r'(-?\d+) -> (-?\d+)(?: \[label="((?:[^"\\]|\\.)*)")?')
_VARIABLE = re.compile(r"(?:^|\n)/\\ (\w+) = ")
# What opens, what closes, and strings, in which neither counts.
_BRACKET = re.compile(r'(<<|[\[{(])|(>>|[\]})])|"(?:[^"\\]|\\.)*"')

LOOK_EVERY = 1000
"""States between two looks at the memory."""
PEAK_PER_MB = 1 << 20 if sys.platform == "darwin" else 1 << 10
"""Units of `ru_maxrss` in a MiB."""

Kind = Literal["whole", "set", "sequence", "function"]


class Split(NamedTuple):
    """The value of a variable by its pieces: in ascending order for a set, else as they stand."""

    kind: Kind
    keys: tuple[str, ...]
    """The domain of a function, as text; else empty."""
    pieces: tuple[int, ...]


@dataclass
class Dump:
    """A state graph by column.

    source, target, label: for each edge, numbers of states and of a label.
    """

    variables: tuple[str, ...] = ()
    """Their names, sorted."""
    pieces: list[Value] = field(default_factory=list)
    """The distinct pieces, parsed; `canonical` their text as `values.render` writes it, so that a
    piece can be found by a value from elsewhere.
    """
    canonical: dict[str, int] = field(default_factory=dict)
    states: list[tuple[Split, ...]] = field(default_factory=list)
    """For each state a Split for each variable."""
    initial: list[int] = field(default_factory=list)
    """The numbers of initial states."""
    labels: list[str] = field(default_factory=list)
    """The distinct labels."""
    source: array[int] = field(default_factory=lambda: array("i"))
    target: array[int] = field(default_factory=lambda: array("i"))
    label: array[int] = field(default_factory=lambda: array("i"))

    def split_of(self, state: int, variable: str) -> Split:
        return self.states[state][self.variables.index(variable)]

    def value(self, split: Split) -> Value:
        """The value that was split."""
        items = [self.pieces[piece] for piece in split.pieces]
        if split.kind == "set":
            return frozenset(items)
        if split.kind == "sequence":
            return tuple(items)
        if split.kind == "function":
            pairs = [
                f"{key} :> {render(item)}" for key, item in zip(split.keys, items, strict=True)
            ]
            return parse(f"({' @@ '.join(pairs)})")
        return items[0]


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is read."""

    states: int = 1_000_000
    edges: int = 10_000_000
    memory_mb: int = 1 << 20
    """How large this process may become, in MiB."""
    lower: str = "the bounds of the model"
    """What to lower when it is not enough, as the message says it."""

    def look_at_memory(self, name: str, states: int, edges: int, done: str = "read") -> None:
        """Raise ToolError if this process has become larger than it may.

        `done` says with what so many states and edges of the graph.
        """
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // PEAK_PER_MB
        if peak_mb > self.memory_mb:
            raise ToolError(
                f"the state graph {name} takes more than {self.memory_mb} MB, "
                f"with {states} states and {edges} edges {done}: lower {self.lower}"
            )


DEFAULT_LIMITS = Limits()


def read_dump(path: Path, limits: Limits = DEFAULT_LIMITS, edges: int | None = None) -> Dump:
    """Read the graph of a dot file of TLC.

    Args:
        path: the file.
        limits: the largest graph to read.
        edges: the expected number of edges, if known.

    Raises:
        ToolError: the file breaks one of the laws of this module.
    """
    reader = _Reader(path, limits)
    try:
        with TextIOWrapper(open_file(path), encoding="utf-8") as lines:
            reader.read(lines)
    except OSError as error:
        raise ToolError(f"the state graph {path} cannot be read: {error.strerror}") from error
    return reader.finished(edges)


class _Reader:
    def __init__(self, path: Path, limits: Limits) -> None:
        self.path, self.limits = path, limits
        self.dump = Dump()
        self._number: dict[str, int] = {}
        self._label: dict[str, int] = {}
        self._described: list[tuple[Split, ...] | None] = []
        self._known_text: dict[str, int] = {}
        self._begun = self._ended = False

    def read(self, lines: Iterable[str]) -> None:
        depth = 0
        for line in lines:
            if not self._begun:
                self._begun = line.startswith("strict digraph")
                if not self._begun:
                    break
            text = line.rstrip("\n")
            if edge := _EDGE.match(text):
                self._edge(edge)
            elif node := _NODE.match(text):
                self._node(node)
            elif text.startswith("subgraph cluster_legend"):
                # Nothing of the graph follows; the file's end is still looked for.
                depth = 1
            self._ended = text.strip() == "}" or (self._ended and not text.strip())
            if depth and (node or edge):
                raise ToolError(f"{self.path} has a state or an edge behind its legend")

    def finished(self, edges: int | None) -> Dump:
        dump = self.dump
        if not self._begun or not self._ended:
            raise ToolError(
                f"{self.path} is not a complete state graph of TLC: run it again with -dump dot"
            )
        for number, state in enumerate(self._described):
            if state is None:
                name = next(name for name, n in self._number.items() if n == number)
                raise ToolError(f"{self.path} has an edge with the state {name}, never described")
            dump.states.append(state)
        if not dump.initial:
            raise ToolError(f"{self.path} has no initial state: an empty graph covers nothing")
        if edges is not None and len(dump.source) != edges:
            raise ToolError(
                f"{self.path} has {len(dump.source)} edges where TLC generated {edges}: "
                "it does not show every move"
            )
        return dump

    def _state(self, name: str) -> int:
        number = self._number.get(name)
        if number is None:
            number = self._number[name] = len(self._described)
            self._described.append(None)
            if number >= self.limits.states:
                self._too_large()
            if number % LOOK_EVERY == 0:
                edges = len(self.dump.source)
                self.limits.look_at_memory(self.path.name, len(self._described), edges)
        return number

    def _too_large(self) -> None:
        raise ToolError(
            f"the state graph {self.path.name} has more than {len(self._described) - 1} states and "
            f"{len(self.dump.source)} edges, which is what is allowed: lower {self.limits.lower}"
        )

    def _edge(self, edge: re.Match[str]) -> None:
        dump = self.dump
        if len(dump.source) >= self.limits.edges:
            self._too_large()
        source, target = self._state(edge[1]), self._state(edge[2])
        dump.source.append(source)
        dump.target.append(target)
        label = edge[3] or ""
        number = self._label.get(label)
        if number is None:
            number = self._label[label] = len(dump.labels)
            dump.labels.append(_unescape(label))
        dump.label.append(number)

    def _node(self, node: re.Match[str]) -> None:
        number = self._state(node[1])
        if node[3] and number not in self.dump.initial:
            self.dump.initial.append(number)
        if self._described[number] is None:
            self._described[number] = self._parsed(_unescape(node[2]))

    def _parsed(self, text: str) -> tuple[Split, ...]:
        # A state of one variable has no conjunction sign.
        parts = _VARIABLE.split(text if text.startswith("/\\ ") else f"/\\ {text}")
        if len(parts) < 3 or parts[0].strip():
            raise ToolError(f"a state in {self.path.name} cannot be read: {text[:60]!r}")
        values = dict(zip(parts[1::2], parts[2::2], strict=True))
        names = tuple(sorted(values))
        if not self.dump.variables:
            self.dump.variables = names
        if names != self.dump.variables:
            raise ToolError(f"a state in {self.path.name} has the variables {', '.join(names)}")
        return tuple([split_value(values[name], self._piece) for name in names])

    def _piece(self, text: str) -> int:
        text = " ".join(text.split())
        known = self._known_text.get(text)
        if known is None:
            try:
                value = parse(text)
            except ValueError as error:
                raise ToolError(f"a state in {self.path.name} cannot be read: {error}") from error
            canonical = render(value)
            known = self.dump.canonical.get(canonical)
            if known is None:
                known = self.dump.canonical[canonical] = len(self.dump.pieces)
                self.dump.pieces.append(value)
            self._known_text[text] = known
        return known


def split_value(text: str, piece: Callable[[str], int]) -> Split:
    """The text of one value by its pieces; `piece` gives the number of a piece from its text."""
    text = text.strip()
    opened, closed = text[:1], text[-1:]
    if opened == "{" and closed == "}":
        items = list(_top_level(text, 1, 1, ","))
        return Split("set", (), tuple(sorted([piece(item) for item in items])))
    if text.startswith("<<") and text.endswith(">>"):
        return Split("sequence", (), tuple([piece(i) for i in _top_level(text, 2, 2, ",")]))
    if opened == "(" and closed == ")":
        pairs = [pair.split(":>", 1) for pair in _top_level(text, 1, 1, "@@")]
        if all(len(pair) == 2 for pair in pairs):
            keys = tuple([" ".join(key.split()) for key, _ in pairs])
            return Split("function", keys, tuple([piece(item) for _, item in pairs]))
    return Split("whole", (), (piece(text),))


def _top_level(text: str, head: int, tail: int, separator: str) -> Iterator[str]:
    """The parts between separators that stand in no bracket of their own."""
    end = len(text) - tail
    begin, gap, depth = head, head, 0
    for bracket in _BRACKET.finditer(text, head, end):
        if bracket[1]:
            if depth == 0:
                found = text.find(separator, gap, bracket.start())
                while found >= 0:
                    yield text[begin:found]
                    begin = found + len(separator)
                    found = text.find(separator, begin, bracket.start())
            depth += 1
        elif bracket[2]:
            depth -= 1
            gap = bracket.end()
    for part in text[gap:end].split(separator):
        whole = text[begin : gap + len(part)]
        if whole.strip():
            yield whole
        gap += len(part) + len(separator)
        begin = gap


def _unescape(text: str) -> str:
    kept = text.replace("\\\\", "\0").replace("\\n", "\n").replace('\\"', '"')
    return kept.replace("\0", "\\")


def shortest_ways(
    states: int, initial: Sequence[int], source: Sequence[int], target: Sequence[int]
) -> list[int]:
    """Return for each state the edge by which a breadth-first search reaches it.

    Returns:
        Numbers of edges; -1 for initial states, -2 for unreachable states.
    """
    leaving: list[list[int]] = [[] for _ in range(states)]
    for edge, at in enumerate(source):
        leaving[at].append(edge)
    way = [-2] * states
    front = list(dict.fromkeys(initial))
    for state in front:
        way[state] = -1
    for state in front:
        for edge in leaving[state]:
            if way[target[edge]] == -2:
                way[target[edge]] = edge
                front.append(target[edge])
    return way
