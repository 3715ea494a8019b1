"""From rows of interned values to the text of a TLA+ module.

TLC spends its time on a batch of steps in the parser and in the tables of constants, not in the
search: a few microseconds and 2.5 kB for each token, about a microsecond for each field of a row,
and quadratic time in the length of a line. So:

* Every distinct record stands once, in a table for its set of field names. A row of a table is a
  few letters of a string, the positions of the field values in the dictionaries of their fields
  (`stepcodes.py`). 10,000 steps of 20-field rows took 1.5 processor seconds as integers that pack
  several positions each, and 1.2 as letters, of which 0.6 are the start of TLC with the spec.
* Fields that take few values *together* (`common_fields`) stand in a table of their own, and a row
  has one position for all of them: fewer letters, and a field is copied instead of decoded.
* TLC evaluates definitions without parameters once, when it starts, in the order of the module. So
  tables come before the tables that refer to them. If records of some kind contain each other, no
  such order exists, and they are split by how deep they nest.
* Lines stay below 120 characters (a single string longer than that stands on its own line).

Laws of this file: the text depends on the rows only, byte for byte (no Python set is iterated, no
id is written); and it knows nothing of what the columns mean.

What the text defines, all with the prefix `SB_`, so that a frame may use every other name:

    SB_step(i)      step number i, counted from 1, as a record with one field per column
    SB_<n>          the table of the n-th kind of record, SB_<n>_<k> what its field k points into,
                    SB_<n>_common the table of its common fields
    SB_steps_*      the same for the columns of the steps
    *_rows          the strings that a table is read from; *_m what the members of sets point into
    SB_1s, SB_52s   what a letter is worth in each place
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import Final

from tla_utils.interning import Interner, literal
from tla_utils.stepcodes import (
    LINE,
    code,
    digit_tables,
    letters_for,
    position_read,
    row_read,
    row_strings,
)
from tla_utils.values import render, render_record

LINE_WIDTH: Final = 110
# From how many rows on common fields are looked for, and how many of them must share a value.
COMMON_FROM: Final = 64
COMMON_SHARE: Final = 8
# From how many sets on they are written as letters.
SETS_FROM: Final = 16

_PIECES = re.compile(r'"(?:[^"\\]|\\.)*"|[,@]+ ?|[^",@]+')


def step_definitions(
    interner: Interner, columns: Sequence[str], rows: list[tuple[int, ...]]
) -> str:
    """Write TLA+ definitions that end in `SB_step(i)`.

    They are for a module that extends Integers and Sequences (and TLC if a value holds a function,
    see `needs_tlc`).

    columns: field names of a step. rows: one tuple of value ids per step, in column order.
    """
    return _Builder(interner, list(columns), rows).text()


def needs_tlc(text: str) -> bool:
    """Whether definitions use `:>` or `@@`, which the module TLC defines."""
    return ":>" in text


def common_fields(rows: Sequence[tuple[int, ...]]) -> list[int]:
    """Choose fields that take few values together.

    As many of those with the fewest values as leave COMMON_SHARE rows on average to each of their
    combinations. None, if that is one field or the rows are few.
    """
    if len(rows) < COMMON_FROM:
        return []
    columns = list(zip(*rows, strict=True))
    counts = [len(set(column)) for column in columns]
    chosen: list[int] = []
    joint = [0] * len(rows)
    for k in sorted(range(len(columns)), key=counts.__getitem__):
        numbers: dict[tuple[int, int], int] = {}
        joint = [
            numbers.setdefault(pair, len(numbers)) for pair in zip(joint, columns[k], strict=True)
        ]
        if len(numbers) * COMMON_SHARE > len(rows):
            break
        chosen.append(k)
    return sorted(chosen) if len(chosen) > 1 else []


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
    """A place that takes values: a column, a field of a record table, or a member of a set."""

    name: str
    """The sequence that it points into, `size` long."""
    size: int
    positions: Mapping[int, int]
    """Of each value there, from 0."""

    @property
    def letters(self) -> int:
        return letters_for(self.size)

    def codes(self, values: Iterable[int]) -> dict[int, str]:
        return {value: code(self.positions[value], self.letters) for value in values}

    def read(self, columns: Sequence[str]) -> str:
        return f"{self.name}[{position_read('SB_r', columns)}]"


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
        self.definitions: list[str] = []
        self.letters = 1  # of the longest code

    def text(self) -> str:
        for column in zip(*self.rows, strict=True):
            for value in dict.fromkeys(column):
                self.visit(value)
        ordered = self.kinds_in_order()
        self.tables = {kind: _Table(n, kind[1]) for n, kind in enumerate(ordered, start=1)}
        for value in self.records:
            rows = self.tables[self.kind(value)].rows
            rows[value] = len(rows)
        for table in self.tables.values():
            parts = [self.interner.nodes[value].parts for value in table.rows]
            self.define_table(f"SB_{table.number}", table.names, parts)
        record = self.define_rows("SB_steps", self.columns, self.rows)
        self.definitions.append(f"SB_step(SB_i) ==\n  {record}\n")
        digits = [
            f"{name} ==\n  [{_fold(', '.join(fields))}]\n"
            for name, fields in digit_tables(self.letters)
        ]
        return "\n".join([*digits, *self.definitions])

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

    def define_table(
        self, name: str, names: Sequence[str], rows: Sequence[tuple[int, ...]]
    ) -> None:
        """Define `name` as the sequence of records with these field names and values."""
        record = self.define_rows(name, names, rows)
        self.definitions.append(f"{name} ==\n  [SB_i \\in 1..{len(rows)} |->\n  {record}]\n")

    def define_rows(self, name: str, names: Sequence[str], rows: Sequence[tuple[int, ...]]) -> str:
        """Define the strings `name`_rows and what they refer to.

        Returns the expression for the record that row SB_i stands for.
        """
        common = common_fields(rows)
        fields = [""] * len(names)
        codes: list[list[str]] = []  # for each place in a row, the letters of every row
        letters = 0
        bound = ""
        if common:
            shared = [tuple([row[k] for k in common]) for row in rows]
            distinct = list(dict.fromkeys(shared))
            self.define_table(f"{name}_common", [names[k] for k in common], distinct)
            slot = _Slot(f"{name}_common", len(distinct), {})
            letters = self.noted(slot.letters)
            written = {values: code(n, letters) for n, values in enumerate(distinct)}
            codes.append([written[values] for values in shared])
            bound = f"\n      SB_c == {slot.read(_columns(0, letters))}"
        for k, column in enumerate(names):
            if k in common:
                fields[k] = f"SB_c[{render(column)}]"
                continue
            values = [row[k] for row in rows]
            slot = self.slot(f"{name}_{k}", list(dict.fromkeys(values)))
            written_values = slot.codes(slot.positions)
            codes.append([written_values[value] for value in values])
            fields[k] = slot.read(_columns(letters, slot.letters))
            letters += slot.letters
        strings = row_strings(["".join(row) for row in zip(*codes, strict=True)], letters)
        self.definitions.append(_sequence(f"{name}_rows", strings))
        # Names that are no identifiers make this a function, whose pairs are a tree on one line.
        record = _fold(render_record(list(zip(names, fields, strict=True))))
        read = row_read(f"{name}_rows", "SB_i", letters)
        return f"LET SB_r == {read}{bound}\n  IN {record}"

    def noted(self, letters: int) -> int:
        self.letters = max(self.letters, letters)
        return letters

    def table_of(self, value: int) -> _Table | None:
        is_record = self.interner.nodes[value].kind == "record"
        return self.tables[self.kind(value)] if is_record else None

    def slot(self, name: str, values: list[int]) -> _Slot:
        """A place that takes these values.

        Records point into their table, or into the tables of all their kinds one behind the other;
        all else into a sequence called `name`.
        """
        tables = [table for table in map(self.table_of, values) if table is not None]
        starts: dict[str, int] = {}
        size = 0
        if tables and len(tables) == len(values):
            for table in {table.number: table for table in tables}.values():
                starts[f"SB_{table.number}"] = size
                size += len(table.rows)
            positions = {
                value: starts[f"SB_{table.number}"] + table.rows[value]
                for value, table in zip(values, tables, strict=True)
            }
            if len(starts) == 1:
                name = next(iter(starts))
            else:
                joined = " \\o ".join(starts)
                self.definitions.append(f"{name} ==\n  {joined}\n")
        else:
            size, positions = len(values), {value: n for n, value in enumerate(values)}
            self.define_values(name, values)
        self.noted(letters_for(size))
        return _Slot(name, size, positions)

    def define_values(self, name: str, values: list[int]) -> None:
        """Define `name` as the sequence of these values."""
        nodes = [self.interner.nodes[value] for value in values]
        members = list(dict.fromkeys(part for node in nodes for part in node.parts))
        all_sets = all(node.kind == "set" for node in nodes)
        if len(values) >= SETS_FROM and all_sets and all(map(self.table_of, members)):
            slot = self.slot(f"{name}_m", members)
            width = slot.letters
            if 0 < width * max(len(node.parts) for node in nodes) <= LINE:
                codes = slot.codes(members)
                strings = [f'"{"".join([codes[part] for part in node.parts])}"' for node in nodes]
                member = slot.read([f"SB_j * {width} + {n}" for n in range(1, width + 1)])
                self.definitions += [
                    _sequence(f"{name}_rows", strings),
                    f"{name} ==\n  [SB_i \\in 1..{len(values)} |->\n"
                    f"  LET SB_r == {name}_rows[SB_i] IN\n"
                    f"  {{{member} : SB_j \\in 0..(Len(SB_r) \\div {width}) - 1}}]\n",
                ]
                return
        self.definitions.append(_sequence(name, [self.literal(value) for value in values]))

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


def _columns(start: int, letters: int) -> list[str]:
    """The columns of a code behind `start` letters."""
    return [str(column) for column in range(start + 1, start + letters + 1)]


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
