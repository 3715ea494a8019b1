"""Which operators, constants and record fields a definition mentions, with all it builds on.

Law of this file: it reads names, not meanings, so that it only ever finds too much. What is not
found is not there: a field whose name stands nowhere in a definition, nor in any that it reaches,
is neither read nor changed by it, except as part of a whole record.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tla_utils.errors import ToolError
from tla_utils.overrides import Definition, ModuleSource


class Mentions(NamedTuple):
    operators: frozenset[str]
    """By name, the one that was asked about among them."""
    fields: frozenset[str]
    """Of any record."""
    whole: frozenset[str]
    """Those of them that are read, or written, other than as a way to a field within."""
    paths: frozenset[tuple[str, str]]
    """Such ways, from one field to the next."""
    constants: frozenset[str]
    """Those that the modules declare."""
    entries: Mapping[str, str]


def mentions(
    operator: str, modules: Mapping[str, ModuleSource], replaced: Mapping[str, str] | None = None
) -> Mentions:
    """Return what an operator mentions, directly and through other operators.

    An operator that mentions an instance of a module mentions everything in that module.

    Args:
        operator: its name.
        modules: the modules, which build on each other.
        replaced: replaced operators with their replacements. Mentioning the former mentions both.

    Raises:
        ToolError: no module defines the operator, or a module has an INSTANCE without a name, whose
            operators this function cannot follow.
    """
    instanced = sorted(name for name, module in modules.items() if module.unnamed)
    if instanced:
        raise ToolError(
            f"the module {instanced[0]} has an INSTANCE without a name, which is not followed"
        )
    definitions: dict[str, list[Definition]] = {}
    for module in modules.values():
        for name, definition in module.definitions.items():
            definitions.setdefault(name, []).append(definition)
    if operator not in definitions:
        raise ToolError(f"no module defines {operator}")
    found: set[str] = set()
    fields: set[str] = set()
    whole: set[str] = set()
    paths: set[tuple[str, str]] = set()
    declared = frozenset().union(*[module.constants for module in modules.values()])
    constants: set[str] = set()
    waiting = [operator]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        if replaced and name in replaced:
            waiting.append(replaced[name])
        if name in modules:
            found.add(name)
            waiting += [*modules[name].definitions, *modules[name].extends]
        for definition in definitions.get(name, ()):
            found.add(name)
            fields |= definition.fields
            whole |= definition.whole_fields
            paths |= definition.paths
            constants |= definition.words & declared
            waiting += definition.words
    own = definitions[operator]
    entries: dict[str, str] = {}
    if len(own) == 1 and own[0].parameters:
        others = [d for name in found - {operator} for d in definitions.get(name, ())]
        elsewhere = frozenset().union(*[each.fields for each in others])
        for field, indices in own[0].entries.items():
            first, *rest = [index.split(".", 1) for index in indices]
            if not rest and field not in elsewhere and first[0] == own[0].parameters[-1]:
                entries[field] = first[-1] if len(first) > 1 else ""
    return Mentions(
        frozenset(found),
        frozenset(fields),
        frozenset(whole),
        frozenset(paths),
        frozenset(constants),
        entries,
    )
