"""From rows of interned values to the text of a TLA+ module.

TLC spends its time on a batch of steps in the parser, not in the search: about 2.5 kB and a few
microseconds for each token of a literal, and quadratic time in the length of a line. So:

* Every distinct record stands once, in a table for its set of field names. A table is a list of
  rows, and a row is one integer per up to 31 bits: the positions of the field values in the
  dictionaries of their fields, packed as the digits of a number with mixed bases. 10,000 steps of
  20-field rows took 2.1 processor seconds and 0.32 GB with packed rows, 2.6 s and 0.56 GB with a
  tuple of integers for each row; one table for rows that differ in what they nest then brought
  0.24 GB. Raw literals take about 1.8 GB.
* TLC evaluates definitions without parameters once, when it starts, in the order of the module. So
  tables come before the tables that refer to them. If records of some kind contain each other, no
  such order exists, and they are split by how deep they nest.
* Lines stay below 120 characters (a single string longer than that stands on its own line).

Laws of this file: the text depends on the rows only, byte for byte (no Python set is iterated, no
id is written); and it knows nothing of what the columns mean.

What the text defines, all with the prefix `SB_`:

    SB_step(i)      step number i, counted from 1, as a record with one field per column
    SB_<n>          the table of the n-th kind of record, SB_<n>_<k> the dictionary of its field k
    SB_c<k>         the dictionary of column k, where it has one
    SB_rows         the packed rows of the steps
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter

from tla_utils.interning import Interner, literal
from tla_utils.values import render_record

LINE_WIDTH = 110
INT_MAX = 2**31 - 1

_PIECES = re.compile(r'"(?:[^"\\]|\\.)*"|[,@]+ ?|[^",@]+')


def step_definitions(
    interner: Interner, columns: Sequence[str], rows: list[tuple[int, ...]]
) -> str:
    """TLA+ definitions that end in `SB_step(i)`, for a module that extends Integers (and TLC if
    a value holds a function, see `needs_tlc`).

    columns: field names of a step. rows: one tuple of value ids per step, in column order.
    """
    return _Builder(interner, list(columns), rows).text()


def needs_tlc(text: str) -> bool:
    """Whether definitions use `:>` or `@@`, which the module TLC defines."""
    return ":>" in text


# What makes two records of one kind: their field names, and where those nest in themselves, also
# the height.
_Kind = tuple[int, tuple[str, ...]]


@dataclass(slots=True)
class _Table:
    """The distinct records with one set of field names, in order of first use."""

    number: int
    names: tuple[str, ...]
    rows: dict[int, int] = field(default_factory=dict)  # value id -> position


@dataclass(slots=True)
class _Slot:
    """A place that takes values: a column, or a field of a record table.

    If all its values are records of one kind, it points into their table; else it has a
    dictionary of its own.
    """

    dictionary: str
    values: dict[int, int] = field(default_factory=dict)  # value id -> position
    table: _Table | None = None

    @property
    def size(self) -> int:
        return len(self.table.rows if self.table else self.values)

    @property
    def name(self) -> str:
        return f"SB_{self.table.number}" if self.table else self.dictionary

    def weights(self, place: int) -> dict[int, int]:
        """Value id -> what it adds to the integer in which this slot has this place value."""
        positions = self.table.rows if self.table else self.values
        return {value: positions[value] * place for value in self.values}


class _Builder:
    def __init__(self, interner: Interner, columns: list[str], rows: list[tuple[int, ...]]) -> None:
        self.interner = interner
        self.columns = columns
        self.rows = rows
        self.records: dict[int, None] = {}  # ids of records, parts before wholes
        self.tables: dict[_Kind, _Table] = {}
        self.nested = False
        self.literals: dict[int, str] = {}
        self.visited: set[int] = set()

    def text(self) -> str:
        used = [list(dict.fromkeys(column)) for column in zip(*self.rows, strict=True)]
        for values in used:
            for value in values:
                self.visit(value)
        ordered = self.kinds_in_order()
        self.tables = {kind: _Table(n, kind[1]) for n, kind in enumerate(ordered, start=1)}
        for value in self.records:
            rows = self.tables[self.kind(value)].rows
            rows[value] = len(rows)
        parts = [self.table_text(self.tables[kind]) for kind in ordered]
        used = used or [[] for _ in self.columns]
        slots = [self.slot(f"SB_c{k}", values) for k, values in enumerate(used)]
        parts += self.dictionaries(slots)
        parts.append(_record_table("SB_rows", slots, self.rows))
        body = _record_body(self.columns, slots)
        parts.append(f"SB_step(i) ==\n  LET r == SB_rows[i] IN\n  {body}\n")
        return "\n".join(parts)

    def visit(self, value: int) -> None:
        """Note every record inside the value, parts before wholes."""
        node = self.interner.nodes[value]
        if node.height == 0 or value in self.visited:
            return
        self.visited.add(value)
        nodes = self.interner.nodes
        for part in node.parts:
            if nodes[part].height:
                self.visit(part)
        if node.kind == "record":
            self.records[value] = None

    def kinds_in_order(self) -> list[_Kind]:
        """The kinds of records, each behind those that it contains."""
        nodes = self.interner.nodes
        contains: dict[_Kind, dict[_Kind, None]] = {}
        for value in self.records:
            inside = contains.setdefault(self.kind(value), {})
            for part in nodes[value].parts:
                if nodes[part].height:
                    inside.update(dict.fromkeys(self.kinds_inside(part)))
        try:
            return list(TopologicalSorter(contains).static_order())
        except CycleError:
            self.nested = True
            return sorted({self.kind(value) for value in self.records})

    def kinds_inside(self, value: int) -> list[_Kind]:
        """The kinds of the outermost records in a value."""
        node = self.interner.nodes[value]
        if node.height == 0:
            return []
        if node.kind == "record":
            return [self.kind(value)]
        return [kind for part in node.parts for kind in self.kinds_inside(part)]

    def kind(self, value: int) -> _Kind:
        node = self.interner.nodes[value]
        return (node.height if self.nested else 0, node.names)

    def table_of(self, value: int) -> _Table | None:
        is_record = self.interner.nodes[value].kind == "record"
        return self.tables[self.kind(value)] if is_record else None

    def slot(self, dictionary: str, values: list[int]) -> _Slot:
        slot = _Slot(dictionary, {value: i for i, value in enumerate(values)})
        kinds = [self.table_of(value) for value in values]
        if kinds and kinds[0] is not None and all(kind is kinds[0] for kind in kinds):
            slot.table = kinds[0]
        return slot

    def literal(self, value: int) -> str:
        """The text of a value, with each record written as a reference into its table."""
        known = self.literals.get(value)
        if known is None:
            table = self.table_of(value)
            if table is not None:
                known = f"SB_{table.number}[{table.rows[value] + 1}]"
            else:
                node = self.interner.nodes[value]
                known = literal(node, [self.literal(part) for part in node.parts])
            self.literals[value] = known
        return known

    def dictionaries(self, slots: list[_Slot]) -> list[str]:
        return [
            _sequence(slot.dictionary, [self.literal(value) for value in slot.values])
            for slot in slots
            if slot.table is None
        ]

    def table_text(self, table: _Table) -> str:
        rows = [self.interner.nodes[value].parts for value in table.rows]
        slots = [
            self.slot(f"SB_{table.number}_{k}", list(dict.fromkeys(row[k] for row in rows)))
            for k in range(len(table.names))
        ]
        name = f"SB_{table.number}"
        body = _record_body(table.names, slots)
        definition = (
            f"{name} ==\n  [i \\in 1..{len(rows)} |->\n  LET r == {name}_rows[i] IN\n  {body}]\n"
        )
        parts = [*self.dictionaries(slots), _record_table(f"{name}_rows", slots, rows), definition]
        return "\n".join(parts)


def _words(slots: Sequence[_Slot]) -> list[list[tuple[int, int]]]:
    """How the slots share integers: for each integer, (slot, place value) in rising order."""
    words: list[list[tuple[int, int]]] = [[]]
    place = 1
    for k, slot in enumerate(slots):
        if words[-1] and place * slot.size > INT_MAX:
            words.append([])
            place = 1
        words[-1].append((k, place))
        place *= max(slot.size, 1)
    return words


def _record_table(name: str, slots: Sequence[_Slot], rows: Sequence[tuple[int, ...]]) -> str:
    """`name` as the sequence of packed rows: an integer each, or a tuple of integers."""
    # For each word, the slots in it with what each value adds to the word.
    words = [[(k, slots[k].weights(place)) for k, place in word] for word in _words(slots)]
    items = []
    for row in rows:
        packed = [str(sum([weight[row[k]] for k, weight in word])) for word in words]
        items.append(packed[0] if len(packed) == 1 else f"<<{','.join(packed)}>>")
    return _sequence(name, items)


def _record_body(names: Sequence[str], slots: Sequence[_Slot]) -> str:
    """The record that a packed row `r` stands for."""
    words = _words(slots)
    values = [""] * len(slots)
    for w, word in enumerate(words):
        source = "r" if len(words) == 1 else f"r[{w + 1}]"
        for position, (k, place) in enumerate(word):
            digit = source if place == 1 else f"({source} \\div {place})"
            if position < len(word) - 1:
                digit = f"({digit} % {slots[k].size})"
            values[k] = f"{slots[k].name}[{digit} + 1]"
    # Names that are no identifiers make this a function, whose pairs are a tree on one line.
    return _fold(render_record(list(zip(names, values, strict=True))))


def _sequence(name: str, items: list[str]) -> str:
    return f"{name} ==\n  <<{_fold(', '.join(items))}>>\n"


def _fold(text: str) -> str:
    """The text with line breaks behind commas and @@, so that lines stay short."""
    if len(text) <= LINE_WIDTH:
        return text
    lines: list[str] = []
    line: list[str] = []
    width = 0
    for piece in _PIECES.findall(text):
        line.append(piece)
        width += len(piece)
        if width > LINE_WIDTH - 20 and piece in (", ", "@@ "):
            lines.append("".join(line).rstrip())
            line, width = [], 0
    lines.append("".join(line))
    return "\n  ".join(lines)
