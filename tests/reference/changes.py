"""Single changes of a value: one number, word, member or record in it becomes another.

What tests judge in several ways, to see whether all ways say the same. A change is a function of
the random numbers alone. Values keep their types and sets stay sets, so that whatever comes of a
change has a form in the spec; whether it makes sense there is what is asked.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from kraftcheck.reference.kit.fields import NODES, Field, Kind, fields_of, within
from kraftcheck.reference.protocols import KINDS

S = TypeVar("S", bound=Struct)
Place = tuple[str, ...]
"""The names of fields, from the outermost one to that which was changed."""


def _named(wanted: Callable[[Field], bool]) -> frozenset[str]:
    """The names of fields of rows and of what they have."""
    structs = within(kind.row for kind in KINDS)
    return frozenset(each.name for struct in structs for each in fields_of(struct) if wanted(each))


ALIGNED: Final = _named(lambda field: field.many is Kind.BY_NODE) | {"rows", "ballots"}
"""Tuples with an entry for each node, which keep their length."""
MEMBERS: Final = _named(lambda field: field.many is Kind.SET) | {"given", "appended", "acked"}
NAMES: Final = _named(lambda field: not field.is_tuple and field.of in NODES)
"""What holds the name of a node; no other number is one."""
OFTEN: Final = 6


class Pool:
    """What the fields of some structs hold: where a changed field finds another value.

    more: values to find besides, by field ("Row.role"), or of its members ("Row.unacked[]").
    often: the names of fields that are changed more often than others.
    """

    def __init__(
        self,
        structs: Iterable[Struct],
        more: Mapping[str, Iterable[Any]],
        often: frozenset[str] = frozenset(),
    ) -> None:
        self._often = often
        self._values: dict[str, dict[Any, None]] = {}
        for struct in structs:
            self._enter(struct)
        for field, values in more.items():
            self._values.setdefault(field, {}).update(dict.fromkeys(values))

    def _enter(self, struct: Struct) -> None:
        for name in struct.__struct_fields__:
            field, value = f"{type(struct).__name__}.{name}", getattr(struct, name)
            if value in self._values.setdefault(field, {}):
                continue
            self._values[field][value] = None
            for part in value if isinstance(value, tuple) else (value,):
                members = self._values.setdefault(f"{field}[]", {})
                if part not in members:
                    members[part] = None
                    if isinstance(part, Struct):
                        self._enter(part)

    def changed(self, struct: S, chance: random.Random) -> tuple[Place, S]:
        """Which field was changed, and the changed struct."""
        names = struct.__struct_fields__
        weights = [OFTEN if name in self._often else 1 for name in names]
        while True:
            (name,) = chance.choices(names, weights)
            old = getattr(struct, name)
            inner, value = self._other(f"{type(struct).__name__}.{name}", old, chance)
            if value != old:
                return (name, *inner), replace(struct, **{name: value})

    def _other(self, field: str, old: Any, chance: random.Random) -> tuple[Place, Any]:
        """Another value for a field, if there is one."""
        if isinstance(old, bool):
            return (), not old
        if isinstance(old, int):
            near = [] if field.partition(".")[2] in NAMES else [old - 1, old + 1]
            return (), chance.choice([*near, *self._values[field]])
        if isinstance(old, tuple):
            return self._other_items(field, old, chance)
        if isinstance(old, Struct) and old.__struct_fields__ and chance.random() < 0.8:
            return self.changed(old, chance)
        return (), chance.choice([*self._values[field]])

    def _other_items(
        self, field: str, old: tuple[Any, ...], chance: random.Random
    ) -> tuple[Place, tuple[Any, ...]]:
        name, items = field.partition(".")[2], [*self._values.get(f"{field}[]", ())]
        kind = chance.choice(("whole", "shorter", "longer", "item"))
        if not items:
            return (), old
        if name in MEMBERS:
            return (), _toggled(old, chance.choice(items))
        if old and (kind == "item" or name in ALIGNED):
            at = chance.randrange(len(old))
            inner: Place = ()
            item = chance.choice(items)
            if isinstance(old[at], Struct):
                inner, item = self.changed(old[at], chance)
            return inner, (*old[:at], item, *old[at + 1 :])
        if kind == "longer":
            return (), (*old, chance.choice(items))
        return (), old[:-1] if kind == "shorter" else chance.choice([*self._values[field]])


def _toggled(old: tuple[Any, ...], one: Any) -> tuple[Any, ...]:
    """One member more or less; numbers are sorted."""
    members = tuple(m for m in old if m != one) if one in old else (*old, one)
    return tuple(sorted(members)) if isinstance(one, int) else members
