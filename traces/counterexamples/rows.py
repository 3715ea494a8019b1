"""TLC's values as rows of the reference: the way back of traces/steps/translation.py, by types.

Model values stay what they are called in the model: the number of a node says "b3", not "3".

Law of this file: nothing is guessed. A field that a model does not show is `UNSHOWN`, and whoever
looks at it is told so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from kraftcheck.reference.kit.fields import Field, Kind, fields_of
from tla_utils.values import Function, ModelValue, Record, render

T = TypeVar("T", bound=msgspec.Struct)

Texts: TypeAlias = Mapping[str, str]
"""Of constants, as a cfg gives them."""
Values: TypeAlias = Mapping[str, Any]
"""Of the variables, as TLC shows a state."""


class NotShownError(LookupError):
    """A property looked at something that the model does not show."""


class _Unshown:
    """In the place of a field that a model leaves out."""

    def _look(self, *_: object) -> Any:
        raise NotShownError

    __eq__ = __lt__ = __gt__ = __le__ = __ge__ = __contains__ = __iter__ = __len__ = _look
    __bool__ = __add__ = __radd__ = __or__ = __getitem__ = _look
    __hash__ = _look


UNSHOWN: Final = _Unshown()


class Named(int):
    """The number of a node, in words the name of its model value."""

    name: str

    def __new__(cls, number: int, name: str) -> Named:
        made = super().__new__(cls, number)
        made.name = name
        return made

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__


class Rows:
    """Rows under the names that a model gives its nodes.

    The nodes are numbered in their order from first on; listed: they are in that order already.
    """

    def __init__(self, names: Iterable[object], first: int = 1, listed: bool = False) -> None:
        found = [str(getattr(each, "name", each)) for each in names]
        ordered = found if listed else sorted(found)
        self._nodes = {name: Named(number, name) for number, name in enumerate(ordered, first)}

    @property
    def nodes(self) -> list[Named]:
        return [*self._nodes.values()]

    def value(self, value: Any) -> Any:
        """A number, a text, or a node."""
        if isinstance(value, ModelValue):
            return self._nodes[value.name]
        return tuple([self.value(each) for each in value]) if isinstance(value, tuple) else value

    def set_of(self, values: Iterable[Any]) -> frozenset[Any]:
        return frozenset(self.value(each) for each in values)

    def struct(self, of: type[T], value: Any) -> T:
        return of(**{field.name: self._field(field, value) for field in fields_of(of)})

    def structs(self, of: type[T], values: Iterable[Any]) -> tuple[T, ...]:
        return tuple([self.struct(of, each) for each in values])

    def by_node(self, of: type[T], value: Any) -> dict[int, T]:
        """A function of nodes; TLC shows one of 1 to n as a sequence."""
        pairs = enumerate(value, 1) if isinstance(value, tuple) else value.items()
        return {self.value(node): self.struct(of, each) for node, each in pairs}

    def _field(self, field: Field, record: Any) -> Any:
        if field.spec_name not in record:
            return UNSHOWN
        value = record[field.spec_name]
        if not field.is_tuple:
            return self._one(field, value)
        if field.many is Kind.SET:
            members = sorted(value, key=render)
            return tuple(sorted([self._one(field, each) for each in members], key=_number))
        if field.many is Kind.BY_NODE and isinstance(value, Function | Record):
            pairs = [(self.value(node), self._one(field, each)) for node, each in value.items()]
            return tuple([each for _, each in sorted(pairs, key=lambda pair: pair[0])])
        return tuple([self._one(field, each) for each in value])

    def _one(self, field: Field, value: Any) -> Any:
        if isinstance(value, tuple) and field.structs:
            # A struct of the reference around a sequence, which has no name in the specification.
            [of] = field.structs
            [inner] = fields_of(of)
            return of(**{inner.name: self._field(inner, Record({inner.spec_name: value}))})
        if not isinstance(value, Record):
            return self.value(value)
        tag = value.get("type")
        [of] = [of for of in field.structs if of.__struct_config__.tag in (None, tag)]
        return self.struct(of, value)


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0
