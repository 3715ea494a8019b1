"""What TLC is given for each model of a table: written as differences from another one.

A table of models is a TOML file with one table for each model. Its run, that is the root module and
the configuration, is written in full or, with `like = "other"`, as what is different from the run
of another model:

    module = "MCQuorum"; overlays = ["QuorumBugs"]; deadlock = true
    specification, init, next, view, symmetry        a name
    constants = { Voters = "{n1, n2}", MaxEpoch = 2, Lossy = true }
    replaces = { LogOk = "[QuorumRules] Z06_LogOk" } what TLC is to take for an operator or constant
    constraints, action_constraints, invariants, properties
                                                     a list of names, or what is different from the
                                                     other's: { add = [...], drop = [...] }

"" takes away what the other one has. `cfg_text` (config.py) makes the cfg of it.

Laws of this file:

* Only the run is taken over from another model, never what is claimed or expected of it.
* A key that is unknown or of the wrong type, a model that is not there and a circle of models are
  ToolErrors that name the file and the model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from tla_utils.config import LISTED, NAMED, Config, read_config
from tla_utils.errors import ToolError, nearest

LIKE: Final = "like"
_ARROW = re.compile(r"(?:\[(\w+)\] )?(\w+)")
_V = TypeVar("_V")
_NAMES: Final = frozenset(NAMED.values())
_LISTS: Final = frozenset(LISTED.values())
KEYS: Final = frozenset(
    (LIKE, "module", "overlays", "deadlock", "constants", "replaces", *_NAMES, *_LISTS)
)
"""The keys of a model that say what TLC is given."""


@dataclass(frozen=True, slots=True)
class Run:
    """What TLC is given.

    The root module, modules to extend beside it, whether a state without successor is a violation,
    and the configuration.
    """

    module: str = ""
    overlays: tuple[str, ...] = ()
    deadlock: bool = False
    config: Config = field(default_factory=Config)


def read_runs(entries: Mapping[str, tuple[str, Mapping[str, Any]]]) -> dict[str, Run]:
    """The run of each model.

    Args:
        entries: by the model's name, the words that name it in a message, and its table.

    Raises:
        ToolError: a table is not in order, or no model is the beginning of a chain of `like`.
    """
    made: dict[str, Run] = {}
    for name in entries:
        chain = [name]
        while chain[-1] not in made and (base := _base(chain[-1], entries)) is not None:
            if base in chain:
                circle = " -> ".join([*chain[chain.index(base) :], base])
                raise ToolError(f"{entries[name][0]}: `like` goes round in a circle: {circle}")
            chain.append(base)
        for each in reversed(chain):
            label, table = entries[each]
            base = _base(each, entries)
            made[each] = _changed(made[base] if base is not None else Run(), table, label)
    return made


def _base(name: str, entries: Mapping[str, tuple[str, Mapping[str, Any]]]) -> str | None:
    label, table = entries[name]
    base = table.get(LIKE)
    if base is None:
        return None
    _require(isinstance(base, str), label, LIKE, "the name of a model", base)
    if base not in entries:
        raise ToolError(f"{label}: there is no model {base!r} to be like{nearest(base, entries)}")
    return str(base)


def _changed(base: Run, table: Mapping[str, Any], label: str) -> Run:
    """The run with what a table says of it."""
    module = table.get("module", base.module)
    if not module:
        raise ToolError(f"{label}: the key 'module' is missing, or `like` another model")
    _require(_is_name(module), label, "module", "the name of a module", module)
    overlays = _named(table.get("overlays", [*base.overlays]), label, "overlays")
    deadlock = table.get("deadlock", base.deadlock)
    _require(isinstance(deadlock, bool), label, "deadlock", "true or false", deadlock)
    config = base.config
    sections: dict[str, Any] = {
        name: _name(table[name], label, name) if name in table else [*getattr(config, name)]
        for name in _NAMES
    }
    for name in _LISTS:
        sections[name] = _listed(getattr(config, name), table.get(name), label, name)
    assigned = dict(config.assigned)
    for name, value in _pairs(table, "constants", label):
        _put(assigned, name, _constant(value, label, name))
    substituted = {left: (module, right) for left, module, right in config.substituted}
    for name, value in _pairs(table, "replaces", label):
        _put(substituted, name, _substitute(value, label, name))
    arrows = [(left, *right) for left, right in substituted.items()]
    made = replace(config, assigned=assigned, substituted=arrows, **sections)
    return Run(module, overlays, deadlock, made)


def _put(values: dict[str, _V], name: str, value: _V | None) -> None:
    if value is None:
        values.pop(name, None)
    else:
        values[name] = value


def _pairs(table: Mapping[str, Any], key: str, label: str) -> Iterator[tuple[str, Any]]:
    pairs = table.get(key, {})
    _require(isinstance(pairs, dict), label, key, "a table", pairs)
    yield from pairs.items()


def _constant(value: object, label: str, name: str) -> str | None:
    """A value as a cfg has it, in words with blanks between them; None if it is taken away."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int):
        return str(value)
    said = "a number, true, false, or a value as TLA+ writes it"
    _require(isinstance(value, str), label, f"constants.{name}", said, value)
    text = str(value).strip()
    read = read_config(f"CONSTANTS\n  {name} = {text}")
    if text and ([*read.assigned] != [name] or read.substituted):
        raise ToolError(f"{label}: constants.{name}: {value!r} is no value of a cfg")
    return read.assigned[name] if text else None


def _substitute(value: object, label: str, name: str) -> tuple[str | None, str] | None:
    """The module, if there is one, and the name behind an arrow."""
    found = _ARROW.fullmatch(value) if isinstance(value, str) else None
    said = 'a text "[Module] Operator" or "Operator"'
    _require(found is not None or value == "", label, f"replaces.{name}", said, value)
    return (found[1], found[2]) if found else None


def _name(value: object, label: str, key: str) -> list[str]:
    _require(value == "" or _is_name(value), label, key, "a name", value)
    return [str(value)] if value else []


def _listed(base: list[str], said: object, label: str, key: str) -> list[str]:
    """The names of a section: a list of its own, or the base's with some added or dropped."""
    if said is None:
        return [*base]
    if isinstance(said, list):
        return [*_named(said, label, key)]
    _require(isinstance(said, dict), label, key, "a list of names, or add and drop", said)
    assert isinstance(said, dict)
    if unknown := [each for each in said if each not in ("add", "drop")]:
        raise ToolError(f"{label}: unknown key {f'{key}.{unknown[0]}'!r}; there are: add, drop")
    add, drop = (_named(said.get(each, []), label, f"{key}.{each}") for each in ("add", "drop"))
    for each in drop:
        if each not in base:
            raise ToolError(
                f"{label}: {key}.drop has {each}, which is not there{nearest(each, base)}"
            )
    for each in add:
        if each in base:
            raise ToolError(f"{label}: {key}.add has {each}, which is there already")
    return [*(each for each in base if each not in drop), *add]


def _named(value: object, label: str, key: str) -> tuple[str, ...]:
    good = isinstance(value, list) and all(map(_is_name, value))
    _require(good, label, key, "a list of names", value)
    assert isinstance(value, list)
    return tuple(value)


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value.isidentifier()


def _require(good: bool, label: str, key: str, kind: str, value: object) -> None:
    if not good:
        raise ToolError(f"{label}: {key} must be {kind}, not {value!r}")
