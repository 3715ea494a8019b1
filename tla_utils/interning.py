"""One small integer for each distinct TLA+ value.

Laws of this file:

* Two values get the same id exactly when TLA+ holds them to be the same value. Python's own
  equality is not enough, since it says `True == 1` and therefore `(1,) == (True,)`: scalars are
  told apart by type, and composite values by the ids of their parts.
* Ids depend on the order of arrival, so no id is ever written anywhere; they only say "same".

A value that arrives as the same Python object again costs one look-up. Recorders that keep one
object per distinct value therefore intern a step in about a microsecond.

Limit: a Python frozenset or dict has merged `True` and `1` before it gets here.
"""

from __future__ import annotations

from dataclasses import dataclass

from tla_utils.values import (
    Function,
    ModelValue,
    Record,
    Value,
    render,
    render_pairs,
    render_record,
)


@dataclass(frozen=True, slots=True)
class Node:
    """One distinct value by its parts."""

    kind: str
    """"scalar", "tuple", "set", "record" or "function"."""
    parts: tuple[int, ...] = ()
    """Ids of elements or of field values; for a function key, value, key, value."""
    names: tuple[str, ...] = ()
    """Field names of a record."""
    text: str = ""
    """The TLA+ text of a scalar."""
    height: int = 0
    """0 without records inside, else one more than that of the highest record inside; a record
    counts itself.
    """


class Interner:
    """Gives ids to values and keeps one Node and one Python value for each id."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.values: list[Value] = []
        self._ids: dict[object, int] = {}
        # Address of an object -> its id. The object is kept, or its address could be used again.
        self._seen: dict[int, int] = {}
        self._kept: list[Value] = []
        self._texts: dict[int, str] = {}

    def id_of(self, value: Value) -> int:
        """The id of the value. Raises TypeError or ValueError for what TLA+ cannot hold."""
        kind = type(value)
        if kind is str or kind is int or kind is bool:
            known = self._ids.get((kind, value))
            if known is not None:
                return known
            return self._new((kind, value), value, Node("scalar", text=render(value)))
        seen = self._seen.get(id(value))
        if seen is not None:
            return seen
        number = self._seen[id(value)] = self._composite(value)
        self._kept.append(value)
        return number

    def text(self, number: int) -> str:
        """The plain TLA+ text of the value with this id, as `values.render` writes it."""
        known = self._texts.get(number)
        if known is None:
            known = self._texts[number] = render(self.values[number])
        return known

    def _composite(self, value: Value) -> int:
        if isinstance(value, Record):
            # The hot path: most fields of a row are scalars seen before.
            ids, id_of = self._ids, self.id_of
            parts = tuple(
                [ids.get((type(item), item)) or id_of(item) for item in value._fields.values()]
            )
            return self._node("record", value, parts, tuple(value._fields))
        if isinstance(value, tuple):
            return self._node("tuple", value, tuple([self.id_of(item) for item in value]))
        if isinstance(value, frozenset):
            # Elements in the order of their text: the order of a Python set is not the same in
            # another process.
            members = sorted({self.id_of(item) for item in value}, key=self._member_order)
            return self._node("set", value, tuple(members))
        if isinstance(value, Function):
            pairs = [self.id_of(part) for pair in value.items() for part in pair]
            return self._node("function", value, tuple(pairs))
        if isinstance(value, ModelValue):
            return self._new(value, value, Node("scalar", text=value.name))
        # Subclasses of str, int (enumerations for instance) are their plain value.
        if isinstance(value, str):
            return self.id_of(str.__str__(value))
        if isinstance(value, int):
            return self.id_of(int(value))
        raise TypeError(f"{type(value).__name__} is not a TLA+ value: {value!r}")

    def _member_order(self, number: int) -> tuple[int, int, str]:
        value = self.values[number]
        if type(value) is int:
            return (0, value, "")
        return (1, 0, self.text(number))

    def _node(
        self, kind: str, value: Value, parts: tuple[int, ...], names: tuple[str, ...] = ()
    ) -> int:
        key = (kind, names, parts)
        known = self._ids.get(key)
        if known is not None:
            return known
        inner = max((self.nodes[part].height for part in parts), default=0)
        height = inner + 1 if kind == "record" else inner
        return self._new(key, value, Node(kind, parts, names, height=height))

    def _new(self, key: object, value: Value, node: Node) -> int:
        number = len(self.nodes)
        self.nodes.append(node)
        self.values.append(value)
        self._ids[key] = number
        return number


def literal(node: Node, parts: list[str]) -> str:
    """The TLA+ text of a node from the texts of its parts."""
    if node.kind == "scalar":
        return node.text
    if node.kind == "tuple":
        return f"<<{', '.join(parts)}>>"
    if node.kind == "set":
        return f"{{{', '.join(parts)}}}"
    if node.kind == "record":
        return render_record(list(zip(node.names, parts, strict=True)))
    return render_pairs(list(zip(parts[::2], parts[1::2], strict=True)))
