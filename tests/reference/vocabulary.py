"""What the specs and the reference call things: both are read, and compared as lists of names.

The specs are read as text and never run. What is compared of each protocol stands in its folder
(names.py).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias

from msgspec import Struct

from kraftcheck.reference.kit.dispatch import action_name, handler_name
from kraftcheck.reference.kit.properties import Property
from kraftcheck.reference.kit.protocol import Protocol
from tla_utils import read_manifest

OPERATOR = re.compile(r"^(?:LOCAL )?(\w+)(?:\(((?:[^()]|\([^()]*\))*)\))?\s*==", re.MULTILINE)
COMMENT = re.compile(r"\(\*.*?\*\)|\\\*[^\n]*", re.DOTALL)


def text_of(specs_dir: Path, module: str) -> str:
    """A module's text, wherever it lies."""
    (path,) = specs_dir.rglob(f"{module}.tla")
    return path.read_text("utf-8")


def spec(specs_dir: Path, module: str) -> str:
    return COMMENT.sub("", text_of(specs_dir, module))


def operators(text: str) -> dict[str, list[str]]:
    """The operators that a module defines, with the names of their parameters, in order."""
    return {
        name: [re.sub(r"\(.*\)", "", p).strip() for p in parameters.split(",") if p.strip()]
        for name, parameters in OPERATOR.findall(text)
    }


def records(text: str, start: str) -> list[list[str]]:
    """The field names, in order, of every record in the text that begins with `start`."""
    return [outer_fields(text[at.start() :]) for at in re.finditer(re.escape(start), text)]


def outer_fields(text: str) -> list[str]:
    """The fields of the record at the start of the text, without those of records inside it."""
    depth, found = 0, []
    for part in re.finditer(r"[\[\]({})]|<<|>>|(\w+)\s*\|->", text):
        if part[1]:
            found += [part[1]] if depth == 1 else []
        else:
            depth += 1 if part[0] in ("[", "(", "{", "<<") else -1
            if not depth:
                break
    return found


def snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def differences(spec_side: Iterable[str], our_side: Iterable[str]) -> list[str]:
    """What only one of the two says, and what they say in another order."""
    theirs, ours = list(spec_side), list(our_side)
    found = [f"only in specs: {name}" for name in theirs if name not in ours]
    found += [f"only in reference: {name}" for name in ours if name not in theirs]
    return found or ([] if theirs == ours else [f"in another order: {ours}"])


Names: TypeAlias = Callable[[Path], tuple[list[str], list[str]]]
"""What the specs in a folder say, and what the reference does."""


class Compared(NamedTuple):
    """What is compared of a protocol; and text that is planted in a module, with what is then
    reported of one of these.
    """

    protocol: str
    names: tuple[Names, ...]
    planted: tuple[tuple[Names, str, str, str], ...]


def signatures(
    specs_dir: Path, module: str, rules: type, words: Collection[str] = ()
) -> tuple[list[str], list[str]]:
    """Of the rules, which are all operators of the module but for words, and all public methods."""
    theirs = [
        f"{snake(name)}({', '.join(map(snake, parameters))})"
        for name, parameters in operators(spec(specs_dir, module)).items()
        if name not in words
    ]
    ours = []
    for name, member in vars(rules).items():
        if inspect.isfunction(member) and not name.startswith("_"):
            parameters = list(inspect.signature(member).parameters)[1:]
            ours.append(f"{name}({', '.join(parameters)})")
    return theirs, ours


def steps_of(specs_dir: Path, modules: Collection[str], before: str = "Step_") -> list[str]:
    """The actions of which the modules have an operator."""
    found = [n for m in modules for n in operators(spec(specs_dir, m)) if n.startswith(before)]
    return [name.removeprefix(before) for name in found]


def actions_of(protocol: Protocol) -> list[str]:
    return sorted({action_name(of) for kind in protocol.kinds for of in kind.inputs})


def methods_of(protocol: Protocol, classes: Collection[type]) -> tuple[list[str], list[str]]:
    """The handlers that the actions need, and those that there are. A layer takes other inputs as
    the protocol below it does.
    """
    needed = [handler_name(action) for action in actions_of(protocol)]
    own = sorted(n for of in classes for n in vars(of) if n.startswith("handle_"))
    layer = any(hasattr(of, "_taken") for of in classes)
    return [name for name in needed if name in own] if layer else needed, own


def listed(specs_dir: Path, model: str) -> list[str]:
    """The properties of a model."""
    config = read_manifest(specs_dir / "models.toml").models[model].config
    return [*config.invariants, *config.properties]


# --- Comparisons that protocols have in common. Each is called as what it compares.


def functions(module: str, of: ModuleType, values: Collection[str] = ()) -> Names:
    """Operators on logs, and functions; but for values, which are none. MinOf and MaxOf are
    Python's own; a slice is a word of Python, so it is `slice_of`.
    """

    def log_functions(specs_dir: Path) -> tuple[list[str], list[str]]:
        names = operators(spec(specs_dir, module))
        theirs = [snake(n) for n in names if n not in (*values, "MinOf", "MaxOf")]
        ours = [n for n, m in vars(of).items() if inspect.isfunction(m)]
        own = [n for n in ours if getattr(of, n).__module__ == of.__name__]
        return theirs, ["slice" if name == "slice_of" else name for name in own]

    return log_functions


def lifted(module: str, actions: Iterable[str]) -> Names:
    """The actions of a composition, and those of its nodes."""

    def lifted_actions(specs_dir: Path) -> tuple[list[str], list[str]]:
        names = operators(spec(specs_dir, module))
        return sorted(n for n in names if n.startswith("Handle")), sorted(actions)

    return lifted_actions


def values_in(places: Mapping[type[Struct], tuple[str, str]]) -> Names:
    """The records inside a row and a message: by type the module where one is, and its start."""

    def values(specs_dir: Path) -> tuple[list[str], list[str]]:
        theirs = [
            f"{of.__name__}.{snake(field)}"
            for of, (module, start) in places.items()
            for field in records(spec(specs_dir, module), start)[0]
        ]
        return theirs, [f"{of.__name__}.{f}" for of in places for f in of.__struct_fields__]

    return values


def errors(modules: Collection[str], ours: Collection[ModuleType]) -> Names:
    pattern = r'"((?:NONE|[A-Z]+_[A-Z_]+))"'

    def error_codes(specs_dir: Path) -> tuple[list[str], list[str]]:
        text = "".join(spec(specs_dir, module) for module in modules)
        source = "".join(map(inspect.getsource, ours))
        return sorted({*re.findall(pattern, text)}), sorted({*re.findall(pattern, source)})

    return error_codes


def ignored(
    modules: Collection[str], ours: Collection[ModuleType], theirs_as: str, ours_as: Sequence[str]
) -> Names:
    """The reasons for which an input is ignored. theirs_as, ours_as: patterns of how."""

    def reasons(specs_dir: Path) -> tuple[list[str], list[str]]:
        text = "".join(spec(specs_dir, module) for module in modules)
        source = "".join(map(inspect.getsource, ours))
        said = {reason for pattern in ours_as for reason in re.findall(pattern, source)}
        return sorted({*re.findall(theirs_as, text)}), sorted(said)

    return reasons


def promised_in(module: str, properties: Collection[Any], helping: Collection[str]) -> Names:
    """What a module defines from its types on, but for the steps' own predicates, and the helping
    definitions that properties need.
    """

    def invariants(specs_dir: Path) -> tuple[list[str], list[str]]:
        text = text_of(specs_dir, module)
        names = operators(COMMENT.sub("", text[text.index("(* Types.") :]))
        theirs = [n for n in names if not n.endswith("Step") and n not in helping]
        return theirs, [each.name for each in properties]

    return invariants


def steps_in(module: str, properties: Collection[Any]) -> Names:
    """Those that speak of two states: an action under a box, or a refinement."""

    def step_invariants(specs_dir: Path) -> tuple[list[str], list[str]]:
        text = spec(specs_dir, module)
        theirs = re.findall(r"^(\w+) == (?:\[\]\[|Abstract!)", text, re.MULTILINE)
        return theirs, [each.name for each in properties if each.kind == "step"]

    return step_invariants


def compared(
    protocol: Protocol,
    *,
    modules: tuple[str, ...],
    handlers: tuple[type, ...],
    models: tuple[str, ...],
    properties: Collection[Property],
    rows: Mapping[str, type[Struct]],
    base: type[Struct] = Struct,
    words: Collection[str] = (),
    messages_alone: Collection[str] = (),
) -> Compared:
    """What is compared of a protocol with one class of rules.

    modules: of its handlers, in the spec; handlers: the classes that have them here. models: of the
    spec, which ask for all properties together, and for those of messages, which have no
    counterpart. rows: by a text in the modules, the type whose fields the next record there has,
    but for those of the base. words: what the module of rules defines besides rules.
    """
    [rules] = protocol.rules
    module = rules.__name__

    def rule_signatures(specs_dir: Path) -> tuple[list[str], list[str]]:
        return signatures(specs_dir, module, rules, words)

    def steps(specs_dir: Path) -> tuple[list[str], list[str]]:
        return sorted(steps_of(specs_dir, modules)), actions_of(protocol)

    def methods(_: Path) -> tuple[list[str], list[str]]:
        return methods_of(protocol, handlers)

    def promised(specs_dir: Path) -> tuple[list[str], list[str]]:
        theirs = [name for model in models for name in listed(specs_dir, model)]
        return sorted({*theirs} - {*messages_alone}), sorted(each.name for each in properties)

    def row_fields(specs_dir: Path) -> tuple[list[str], list[str]]:
        text = "".join(spec(specs_dir, each) for each in modules)
        theirs = [
            f"{of.__name__}.{snake(field)}"
            for start, of in rows.items()
            for field in outer_fields(text[text.index("[", text.index(start)) :])
        ]
        ours = [
            f"{of.__name__}.{field}"
            for of in rows.values()
            for field in of.__struct_fields__
            if field not in base.__struct_fields__
        ]
        return theirs, ours

    return Compared(
        protocol.name,
        (rule_signatures, steps, methods, promised, row_fields),
        (
            (rule_signatures, module, "MayForget(row) == TRUE", "may_forget(row)"),
            (steps, modules[-1], "Step_HandleNap(n, row, m) == {}", "HandleNap"),
        ),
    )
