"""What was recorded, read: which protocols a trace is of, and a part of it as flat arrays.

An *occurrence* is one step of one run. All occurrences of a part stand one behind the other, run by
run, so that a question is a handful of NumPy operations on a million of them. `Occurrences` decodes
nothing, for questions that are cheap; `Part` knows more and costs more: of what is distinct (rows,
inputs, steps) it has Python objects.

Laws of this file: nothing is judged here. Whatever the tables hold is carried over as it is, and
what cannot be decoded is a TraceError that names the part, the table and the id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from hashlib import blake2b
from itertools import chain, pairwise, repeat
from threading import Lock
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kraftcheck.reference.kit.fields import union
from kraftcheck.reference.kit.protocol import Protocol
from kraftcheck.reference.protocols import (
    CONSTANTS,
    EARLIER,
    KINDS,
    MESSAGES,
    PROTOCOLS,
    AnyConstants,
    RunConstants,
    component_name,
    components_of,
    extended_by,
    is_composed,
    kind_of,
    protocol_of,
    row_has_form,
    takers_of,
)
from kraftcheck.traces.schema import PartTables, TraceError, digest
from kraftcheck.traces.steps.symmetry import Item, Pieces, Step, apart, item_of

T = TypeVar("T")

# --- Constants and inputs, as texts and bytes ---


def constants_text(constants: RunConstants) -> str:
    """As a trace has them."""
    return msgspec.json.encode(constants, order="sorted").decode()


_decode_constants: Final = msgspec.json.Decoder(union(CONSTANTS)).decode


def decode_constants(text: str) -> RunConstants:
    """Raises TraceError for what names no constants."""
    try:
        return _decode_constants(text)
    except (msgspec.MsgspecError, AssertionError) as error:
        hint = "; a protocol of your own needs --protocol" if "$.protocol" in str(error) else ""
        raise TraceError(f"constants {text!r}: {error}{hint}") from None


def decode_step_constants(text: str) -> AnyConstants:
    """The same for those of a step, which a cluster has none of."""
    found = decode_constants(text)
    if is_composed(found):
        raise TraceError(f"constants {text!r}: a cluster takes no steps, its components do")
    return found


def protocols_of(constants: RunConstants) -> tuple[Protocol, ...]:
    """Of each component of a run, each once."""
    return tuple(dict.fromkeys(protocol_of(each) for each in components_of(constants)))


def actions_of(texts: Iterable[str]) -> tuple[str, ...]:
    """All actions of the protocols that have these constants, each once."""
    protocols = [protocol for text in texts for protocol in protocols_of(decode_constants(text))]
    names = [a for protocol in protocols for kind in protocol.kinds for a in kind.actions]
    return tuple(dict.fromkeys(names))


def decoder_of_inputs(constants: RunConstants) -> Callable[[bytes], Any]:
    """What reads an input or a sent message of a run.

    It raises msgspec.MsgspecError for what is none.
    """
    return decoder_of(union(types_of_inputs(constants)))


def types_of_inputs(constants: RunConstants) -> tuple[type[Any], ...]:
    """Of inputs and of messages: those of a run's protocols, and of all that come with them."""
    return _types_beside(frozenset(map(_place, protocols_of(constants))))


def _place(protocol: Protocol) -> tuple[str, str]:
    """One that extends another stands alone: its messages may take the place of others'."""
    return protocol.modules, protocol.name if protocol.extends else ""


@cache
def _types_beside(places: frozenset[tuple[str, str]]) -> tuple[type[Any], ...]:
    named = [p for p in PROTOCOLS if _place(p) in places]
    extended = {name for protocol in named for name in extended_by(protocol)}
    beside = [protocol for protocol in named if protocol.name not in extended]
    types = [of for protocol in beside for kind in protocol.kinds for of in kind.inputs]
    types += [of for protocol in beside for of in protocol.messages]
    return tuple(dict.fromkeys(types))


_making: Final = Lock()


@cache
def decoder_of(of: Any) -> Callable[[bytes], Any]:
    """What reads a value of this type. It raises msgspec.MsgspecError for what is none.

    One at a time is made: msgspec (0.22, `StructInfo_Convert`) keeps what it learns of a type where
    other threads find it before it is whole, and whoever reads with that ends the process.
    """
    with _making:
        return msgspec.msgpack.Decoder(of).decode


# --- Arrays, without decoding anything ---

Ints: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]


def ints(column: Any) -> Ints:
    return np.asarray(column.to_numpy(), dtype=np.int64)


def whole(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """The column in one piece."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    if not column.num_chunks:
        return pa.array([], column.type)
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)


def lists(column: pa.ChunkedArray | pa.Array) -> tuple[Ints, pa.Array]:
    """How long each list is, and the items of all of them one behind the other."""
    array = whole(column)
    offsets = np.asarray(array.offsets.to_numpy(), dtype=np.int64)
    return np.diff(offsets), array.flatten()


@dataclass(frozen=True)
class Occurrences:
    """Per occurrence: the step's id, the place of its run in the part, when it was (virtual us)."""

    step: Ints
    run_at: Ints
    time: Ints
    component: Ints
    """Whose step it is, in a run of several components (traces/schema.py)."""
    components: int
    """At most in a run."""

    @classmethod
    def from_runs(cls, runs: pa.Table) -> Occurrences:
        """From the table `runs` of a part."""
        lengths, steps = lists(runs["steps"])
        named, items = lists(runs["components"])
        component = np.zeros(len(steps), dtype=np.int64)
        component[np.repeat(named > 0, lengths)] = ints(items)
        run_at = np.repeat(np.arange(len(lengths)), lengths)
        time = ints(lists(runs["times"])[1])
        count = int(component.max(initial=0)) + 1
        return cls(ints(steps), run_at, time, component, count)

    @cached_property
    def thread(self) -> Ints:
        """Run and component as one number."""
        return self.run_at * self.components + self.component

    @cached_property
    def by_thread(self) -> Ints:
        """The occurrences ordered by thread; within one, in the order of time."""
        return np.argsort(self.thread, kind="stable")


def read_bodies(table: pa.Table, decode: Callable[[bytes], T], what: str) -> list[T]:
    """Each row or input of a part, as far as `decode` reads it. Raises TraceError: it is none."""
    try:
        return [decode(body) for body in table["body"].to_pylist()]
    except msgspec.MsgspecError as error:
        raise TraceError(f"{what} cannot be read: {error}") from None


def tally(tables: Mapping[str, pa.Table]) -> tuple[Ints, Ints]:
    """Of each step of a part: how often it was taken, and the first occurrence; -1 if never."""
    taken = ints(lists(tables["runs"]["steps"])[1])
    steps = tables["steps"].num_rows
    return np.bincount(taken, minlength=steps), first_taken(taken, steps)


def first_taken(taken: Ints, steps: int) -> Ints:
    """Per step: the first occurrence that took it; -1 if none did."""
    first = np.full(steps, -1, dtype=np.int64)
    found, at = np.unique(taken, return_index=True)
    first[found] = at
    return first


# --- A part, decoded where it is distinct ---

NOT_A_MESSAGE = -1
"""The destination of an input that is no message."""
STORED_LIMIT: Final = 100_000
"""How many rows and inputs a worker keeps from part to part, those that were met last; a decoded
row has some 3 KB."""

_encode = msgspec.msgpack.Encoder().encode
_MESSAGES: Final = frozenset(MESSAGES)


class Wrong(NamedTuple):
    """What is wrong, and at which occurrence of the part."""

    at: int
    explanation: str


class Stored(msgspec.Struct, eq=False):
    """A row or an input as it is stored."""

    value: Any
    name: bytes
    """The digest of what it holds, whatever digest it is stored under."""
    whole: bool
    """Whether the body holds nothing that the value does not have."""


class _Reader(NamedTuple):
    """What reads bodies, and the types of what it makes of them."""

    decode: Callable[[bytes], Any]
    types: tuple[type[Any], ...]


@lru_cache(STORED_LIMIT)
def _stored(decode: Callable[[bytes], Any], body: bytes) -> Stored:
    value = decode(body)
    return Stored(value, digest(body), _encode(value) == body)


@lru_cache(STORED_LIMIT)
def _has_form(row: Stored, constants: AnyConstants) -> bool:
    return row_has_form(constants, row.value)


def forget_stored() -> None:
    """Frees what this process keeps of rows and inputs."""
    _stored.cache_clear()
    _has_form.cache_clear()


def name_of(*parts: object) -> bytes:
    """128 bits for a recorded step, of all that it consists of."""
    return blake2b(_encode(parts), digest_size=16).digest()


@dataclass(frozen=True)
class Ragged:
    """A list of integers per entry: those of entry i are items[offsets[i]:offsets[i + 1]]."""

    offsets: Ints
    items: Ints

    @cached_property
    def lengths(self) -> Ints:
        return np.diff(self.offsets)

    def __getitem__(self, entry: int) -> Ints:
        return self.items[self.offsets[entry] : self.offsets[entry + 1]]


class Occurrence(NamedTuple):
    """One step of one run, for whoever explains it. `at` is its place among the part's."""

    at: int
    step: int
    node: int
    action: str
    kind: str
    """The type of the input."""
    role: str
    """The role in the row before."""
    where: str
    """The component, where there are several."""


class Part:
    """One part of a trace, by column. Ids are the part's own.

    Per run (R of them): `run` its index in the campaign, `handler_calls`, `run_constants`.
    Per occurrence (N): `taken` the id of the step, `run_at` the position of its run in the part.
    Per step (S): `node`, `action`, `before`, `input`, `after`, `sent`, `ignored`, `constants`,
    `count`. Constants are indices into `constants_texts`.
    A run is made of components, mostly of one: per occurrence, `component` says whose step it is,
    and `thread` names run and component with one number.
    Per row and per input: `row_digests`, `input_digests`, and what is stored.
    """

    def __init__(self, tables: PartTables) -> None:
        self.first_run = tables.first_run
        self.tables = tables.tables
        runs, steps = self.tables["runs"], self.tables["steps"]
        self.run = ints(runs["run"])
        self.handler_calls = ints(runs["handler_calls"])
        self.steps_of_run = _ragged(runs["steps"])
        found = Occurrences.from_runs(runs)
        self.taken, self.run_at, self.thread = found.step, found.run_at, found.thread
        self.component, self.components = found.component, found.components

        self.node = ints(steps["node"])
        self.action: list[str] = steps["action"].to_pylist()
        self.before = ints(steps["before"])
        self.input = ints(steps["input"])
        self.after = ints(steps["after"])
        self.sent = _ragged(steps["sent"])
        self.ignored: list[str] = steps["ignored"].to_pylist()
        self.count = ints(steps["count"])

        texts = [*runs["constants"].to_pylist(), *steps["constants"].to_pylist()]
        self.constants_texts: list[str] = list(dict.fromkeys(texts))
        code = {text: number for number, text in enumerate(self.constants_texts)}
        codes = np.array([code[text] for text in texts], dtype=np.int64)
        self.run_constants, self.step_constants = np.split(codes, [len(self.run)])

        self._known = tables.known or {}
        self._rows_apart: dict[int, Pieces] = {}
        self._items: dict[int, Item] = {}
        self.row_bodies: list[bytes] = self.tables["rows"]["body"].to_pylist()
        self.row_digests: list[bytes] = self.tables["rows"]["digest"].to_pylist()
        self.input_bodies: list[bytes] = self.tables["inputs"]["body"].to_pylist()
        self.input_digests: list[bytes] = self.tables["inputs"]["digest"].to_pylist()
        self.input_types: list[str] = self.tables["inputs"]["type"].to_pylist()

    @cached_property
    def constants(self) -> list[RunConstants]:
        """What the texts in `constants_texts` say."""
        return [decode_constants(text) for text in self.constants_texts]

    @cached_property
    def owed_constants(self) -> Ints:
        """Per occurrence: the constants that its step must have, or -1 if no step has them."""
        code = {text: number for number, text in enumerate(self.constants_texts)}
        owed = np.full((len(self.constants_texts), self.components), -1, dtype=np.int64)
        for run in np.unique(self.run_constants).tolist():
            of_run = components_of(self.constants[run])[: self.components]
            for component, constants in enumerate(of_run):
                text = self.constants_texts[run] if len(of_run) == 1 else constants_text(constants)
                owed[run, component] = code.get(text, -1)
        found: Ints = owed[self.run_constants[self.run_at], self.component]
        return found

    @cached_property
    def step_kind(self) -> Ints:
        """Per step: which of KINDS the node is."""
        pairs = np.stack([self.step_constants, self.node], axis=1)
        distinct, of = np.unique(pairs, axis=0, return_inverse=True)
        kinds = [KINDS.index(kind_of(self.constants[c], n)) for c, n in distinct.tolist()]
        return np.array(kinds, dtype=np.int64)[of.reshape(-1)]

    @cached_property
    def row_kind(self) -> Ints:
        """Per row: which of KINDS the node is whose row it is."""
        kinds = np.zeros(len(self.row_bodies), dtype=np.int64)
        kinds[self.before] = kinds[self.after] = self.step_kind
        return kinds

    @cached_property
    def stored_rows(self) -> list[Stored]:
        readers = [_Reader(decoder_of(kind.row), (kind.row,)) for kind in KINDS]
        of = [readers[kind] for kind in self.row_kind.tolist()]
        return self._stored("rows", of, self.row_bodies)

    @cached_property
    def stored_inputs(self) -> list[Stored]:
        constants = self.constants[0]
        reader = _Reader(decoder_of_inputs(constants), types_of_inputs(constants))
        of = [reader] * len(self.input_bodies)
        return self._stored("inputs", of, self.input_bodies)

    @cached_property
    def rows(self) -> list[Any]:
        return [stored.value for stored in self.stored_rows]

    @cached_property
    def inputs(self) -> list[Any]:
        return [stored.value for stored in self.stored_inputs]

    @cached_property
    def step_names(self) -> list[bytes]:
        """Per step: 128 bits for it as it was recorded, the same in every part."""
        rows = [stored.name for stored in self.stored_rows]
        inputs = [stored.name for stored in self.stored_inputs]
        texts = [self.constants_texts[code] for code in self.step_constants.tolist()]
        steps = zip(texts, self.action, self.parts_of_steps, self.ignored, strict=True)
        return [
            name_of(
                *(text, action, node, rows[before], inputs[input], rows[after]),
                *([inputs[message] for message in sent], ignored),
            )
            for text, action, (node, before, input, after, sent), ignored in steps
        ]

    @cached_property
    def parts_of_steps(self) -> list[tuple[int, int, int, int, list[int]]]:
        """Per step: node, before, input, after, sent.

        Elements of arrays are made anew each time that somebody asks for one.
        """
        items, ends = self.sent.items.tolist(), self.sent.offsets.tolist()
        sent = [items[begin:end] for begin, end in pairwise(ends)]
        columns = (self.node, self.before, self.input, self.after)
        return list(zip(*[column.tolist() for column in columns], sent, strict=True))

    @cached_property
    def position(self) -> Ints:
        """Per occurrence: its number in its run, from 0."""
        return np.arange(len(self.taken)) - self.steps_of_run.offsets[self.run_at]

    @cached_property
    def row_running(self) -> Mask:
        checks = [kind.is_running for kind in KINDS]
        of = zip(self.row_kind.tolist(), self.rows, strict=True)
        return np.array([checks[kind](row) for kind, row in of], dtype=np.bool_)

    @cached_property
    def ill_formed(self) -> Mask:
        """Per step: whether it has no form in the spec (translation.py)."""
        ill = np.zeros(len(self.node), dtype=np.bool_)
        for code, constants in enumerate(self.constants):
            mine = np.flatnonzero(self.step_constants == code)
            if is_composed(constants):
                ill[mine] = True
                continue
            rows = np.zeros(len(self.rows), dtype=np.bool_)
            for row in np.unique([self.before[mine], self.after[mine]]).tolist():
                rows[row] = not _has_form(self.stored_rows[row], constants)
            strangers = ~np.isin(self.node[mine], takers_of(constants))
            ill[mine] = rows[self.before[mine]] | rows[self.after[mine]] | strangers
        return ill

    @cached_property
    def is_message(self) -> list[bool]:
        """Per input: whether it is one."""
        return [type(item) in _MESSAGES for item in self.inputs]

    @cached_property
    def input_destination(self) -> Ints:
        """Per input: to whom the message goes, or NOT_A_MESSAGE."""
        items = zip(self.inputs, self.is_message, strict=True)
        return np.array([m.destination if is_one else NOT_A_MESSAGE for m, is_one in items], int)

    @cached_property
    def witness(self) -> Ints:
        """Per step: the first occurrence that took it; -1 if none did."""
        return first_taken(self.taken, len(self.node))

    @cached_property
    def by_node(self) -> tuple[Ints, Mask]:
        """Order occurrences by thread, then node, then time.

        Also say of each, in that order, whether it is the first of its thread and node.
        """
        node = self.node[self.taken]
        order = np.lexsort((node, self.thread))  # stable: time is the order of occurrences
        thread, node = self.thread[order], node[order]
        first = np.ones(len(order), dtype=np.bool_)
        first[1:] = (thread[1:] != thread[:-1]) | (node[1:] != node[:-1])
        return order, first

    @cached_property
    def begun(self) -> Ints:
        """The occurrences at which nodes enter their first row.

        One that is another one as it was has none of its own.
        """
        order, first = self.by_node
        begun = order[first]
        found: Ints = begun[~np.isin(self.node[self.taken[begun]], list(EARLIER))]
        return found

    def occurrences_of(self, run: int) -> range:
        """Those of a run, by its place in the part."""
        begin, end = self.steps_of_run.offsets[run : run + 2].tolist()
        return range(begin, end)

    def occurrence(self, at: int) -> Occurrence:
        step = int(self.taken[at])
        return Occurrence(
            at=at,
            step=step,
            node=int(self.node[step]),
            action=self.action[step],
            kind=type(self.inputs[self.input[step]]).__name__,
            role=KINDS[self.step_kind[step]].role(self.rows[self.before[step]]),
            where=component_name(
                self.constants[self.run_constants[self.run_at[at]]], int(self.component[at])
            ),
        )

    def step(self, number: int) -> Step:
        """The step with this id, as it was recorded."""
        node, before, input, after, sent = self.parts_of_steps[number]
        return Step(
            action=self.action[number],
            node=node,
            before=self.rows[before],
            input=self.inputs[input],
            after=self.rows[after],
            sent=self.messages(sent),
            ignored=self.ignored[number],
        )

    def step_in_pieces(self, number: int) -> Step:
        """The same, its rows in pieces, its input and messages as items (symmetry.py)."""
        node, before, input, after, sent = self.parts_of_steps[number]
        return Step(  # Without names, which take half as long again.
            self.action[number],
            node,
            self._row_pieces(before),
            self._item(input),
            self._row_pieces(after),
            tuple([self._item(self._sent(message)) for message in sent]),
            self.ignored[number],
        )

    def _row_pieces(self, number: int) -> Pieces:
        known = self._rows_apart.get(number)
        if known is None:
            known = self._rows_apart[number] = apart(self.rows[number])
        return known

    def _item(self, input: int) -> Item:
        known = self._items.get(input)
        if known is None:
            known = self._items[input] = item_of(apart(self.inputs[input]))
        return known

    def first_step(self, node: int, row: int) -> Step:
        """The step "Init" that puts a node into its first row."""
        return Step("Init", node, self.rows[row], None, self.rows[row], (), "")

    def messages(self, numbers: Sequence[int] | Ints) -> tuple[Any, ...]:
        return tuple([self.inputs[self._sent(number)] for number in numbers])

    def _sent(self, number: int) -> int:
        if not self.is_message[number]:
            raise TraceError(
                f"part {self.first_run}: {type(self.inputs[number]).__name__} was recorded as "
                "sent, but is no message"
            )
        return number

    def _stored(
        self, table: str, readers: Sequence[_Reader], bodies: Sequence[bytes]
    ) -> list[Stored]:
        """What was simulated in this process and stands here byte for byte is not read again."""
        values = []
        written = chain(self._known.get(table, ()), repeat(None))
        for number, (reader, body, known) in enumerate(zip(readers, bodies, written, strict=False)):
            try:
                if known is None or known.body != body or type(known.value) not in reader.types:
                    values.append(_stored(reader.decode, body))
                    continue
                if known.stored is None:
                    known.stored = Stored(known.value, known.name, whole=True)
                values.append(known.stored)
            except msgspec.MsgspecError as error:
                raise TraceError(
                    f"part {self.first_run}: {table} {number} cannot be read: {error}"
                ) from None
        return values


def _ragged(column: pa.ChunkedArray) -> Ragged:
    lengths, items = lists(column)
    return Ragged(np.concatenate(([0], np.cumsum(lengths))), ints(items))
