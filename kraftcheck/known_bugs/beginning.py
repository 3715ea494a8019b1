"""What a change of one's own may replace, and the two files to begin one with (docs/try.md).

The files have the correct rules under the names of replacements, word for word: what is not edited
changes nothing, and `try` refuses it as that.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from kraftcheck.artifacts import write_whole
from kraftcheck.exits import BadInput
from kraftcheck.known_bugs.entries import manifest_of
from kraftcheck.osutil.files import read_text
from kraftcheck.reference.bugs.bug import BASES
from kraftcheck.reference.kit.dispatch import snake
from kraftcheck.reference.protocols import PROTOCOLS
from tla_utils.definitions import definition, renamed
from tla_utils.overrides import find_module, read_modules

NAME = re.compile(r"[A-Z][A-Za-z0-9]*")
PREFIX = "Mine"
OF_STORAGE = "StorageRules"
"""The module of the storage engine, which is no protocol, with all decisions that specs have."""


class Rule(NamedTuple):
    """A decision on both sides."""

    protocol: str
    base: type
    name: str
    """In Python, of the class `base`."""
    module: str
    operator: str
    """In the module; empty where the specs have none of that name."""
    said: str
    """The first line of its prose."""


def class_name(rule: Rule) -> str:
    """The class of a rule, with its protocol where others have a class of the same name."""
    name = rule.base.__name__
    alike = [each for each in BASES if each.__name__ == name]
    return name if len(alike) == 1 else f"{rule.protocol}.{name}"


def rules() -> Iterator[Rule]:
    """All that may be replaced, in the order of the reference."""
    protocols = dict.fromkeys(replaceable.protocol for replaceable in BASES.values())
    operators = {protocol: _operators(protocol) for protocol in protocols}
    for base, replaceable in BASES.items():
        for name in replaceable.names:
            module, operator = operators[replaceable.protocol].get(name, ("", ""))
            said = _said(base, name)
            yield Rule(replaceable.protocol, base, name, module, operator, said)


def prose(protocol: str) -> Iterator[tuple[str, str]]:
    """Of each rule and handler of a protocol, its name and the first line of its prose."""
    for base, replaceable in BASES.items():
        if replaceable.protocol == protocol:
            yield from ((name, _said(base, name)) for name in replaceable.names)


def _said(base: type, name: str) -> str:
    return (inspect.getdoc(getattr(base, name)) or "").partition("\n")[0]


def _operators(name: str) -> dict[str, tuple[str, str]]:
    """By the name that the reference has for it, each operator's module and name.

    Which of several modules is meant by a name that they share, nothing tells.
    """
    kinds = [kind.module for each in PROTOCOLS if each.name == name for kind in each.kinds]
    manifest = manifest_of(name)
    modules = read_modules(kinds or [OF_STORAGE], manifest.libraries)
    found = dict[str, list[tuple[str, str]]]()
    for module, source in modules.items():
        for operator in source.definitions:
            found.setdefault(snake(operator.removeprefix("Step_")), []).append((module, operator))
    return {each: places[0] for each, places in found.items() if len(places) == 1}


def begin(name: str, wanted: Sequence[str], folder: Path) -> list[Path]:
    """Writes NAME.tla and name.py; returns what was written.

    wanted: rules, by the name of either side. Raises BadInput: there is no such rule, they are of
    several classes, a file is there already, or one cannot be written.
    """
    if not NAME.fullmatch(name):
        raise BadInput(f"{name}: a change is named as a module and a class: letters, as in MyVote")
    for path in (folder / f"{name}.tla", folder / f"{snake(name)}.py"):
        if path.exists():
            raise BadInput(f"{path} is there already: choose another name")
    every = list(rules())
    chosen = _of_one_class([_candidates(each, every) for each in dict.fromkeys(wanted)])
    overlaid = [each for each in chosen if each.operator]
    files = {folder / f"{snake(name)}.py": _python(name, chosen)}
    if overlaid:
        files = {folder / f"{name}.tla": _overlay(name, overlaid), **files}
    for path, text in files.items():
        try:
            write_whole(path, text)
        except OSError as error:
            raise BadInput(f"{path}: {error.strerror}") from None
    return list(files)


def _candidates(wanted: str, every: Sequence[Rule]) -> list[Rule]:
    """The rules of this name; `Class.rule` and `protocol.Class.rule` are of that class."""
    *of, name = wanted.rsplit(".", 1)
    found = [each for each in every if name in (each.name, each.operator)]
    found = [each for each in found if not of or of[0] in (each.base.__name__, class_name(each))]
    if not found:
        near = get_close_matches(name, [w for each in every for w in (each.name, each.operator)], 1)
        hint = f"did you mean {near[0]}?" if near else "--list-rules has all"
        raise BadInput(f"there is no rule {wanted}; {hint}")
    return found


def _of_one_class(candidates: Sequence[Sequence[Rule]]) -> list[Rule]:
    """Of each one, such that all are of one class."""
    if not candidates:
        raise BadInput("which rules are to change? --rule NAME, one of those of --list-rules")
    common = set.intersection(*[{each.base for each in of} for of in candidates])
    if len(common) == 1:
        return [next(each for each in of if each.base in common) for of in candidates]
    told = ", ".join(f"{class_name(each)}.{each.name}" for of in candidates for each in of)
    raise BadInput(f"a change replaces rules of one class; say of which: {told}")


def _overlay(name: str, chosen: Sequence[Rule]) -> str:
    manifest = manifest_of(chosen[0].protocol)
    modules = list(dict.fromkeys(each.module for each in chosen))
    replacements = []
    for each in chosen:
        where = find_module(each.module, manifest.libraries)
        assert where is not None
        found = definition(read_text(where), each.operator)
        replacements.append(renamed(found, each.operator, f"{PREFIX}_{each.operator}").strip())
    head = f" MODULE {name} ".center(78, "-")
    body = "\n\n".join(replacements)
    return f"{head}\nEXTENDS {', '.join(modules)}\n\n{body}\n{'=' * 78}\n"


def _python(name: str, chosen: Sequence[Rule]) -> str:
    base = chosen[0].base
    methods = [textwrap.dedent(inspect.getsource(getattr(base, each.name))) for each in chosen]
    module = inspect.getmodule(base)
    assert module is not None
    known = {name for name in vars(module) if not name.startswith("__")}
    words = set(re.findall(r"\b[A-Za-z_]\w*\b", "\n".join(methods))) & known
    imports: dict[str, set[str]] = {base.__module__: {base.__name__}}
    for word in words:
        place, found = _imported(word, vars(module)[word], module)
        imports.setdefault(place, set()).add(found)
    lines = [
        f"from {place} import {', '.join(sorted(imports[place]))}" for place in sorted(imports)
    ]
    body = "\n".join(textwrap.indent(each, "    ") for each in methods)
    return (
        f'"""What is changed, and why it should be safe."""\n\n'
        f"from __future__ import annotations\n\n{chr(10).join(lines)}\n\n\n"
        f"class {name}({base.__name__}):\n{body}"
    )


def _imported(word: str, value: Any, module: ModuleType) -> tuple[str, str]:
    """From where, and as what, a file gets a name that the rules' module has."""
    if isinstance(value, ModuleType):
        package, _, last = value.__name__.rpartition(".")
        return package, last if last == word else f"{last} as {word}"
    known = getattr(value, "__name__", "") == word
    return value.__module__ if known else module.__name__, word
