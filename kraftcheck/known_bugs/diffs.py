"""What a bug replaces, beside what is correct, on both sides."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from kraftcheck.known_bugs.entries import manifest_of
from kraftcheck.osutil.files import read_text
from kraftcheck.reference.bugs.bug import Bug
from tla_utils.config import cfg_text, read_config
from tla_utils.definitions import definition, definitions, difference, renamed
from tla_utils.errors import ToolError
from tla_utils.overrides import find_module


class Replaced(NamedTuple):
    """One replacement as a diff."""

    name: str
    """Of the rule or operator."""
    where: str
    """The file that has it."""
    lines: list[str]


# -- Python


def python_diffs(entry: Bug) -> list[Replaced]:
    """The replaced rules and handlers against the correct ones."""
    if entry.replacement is None or entry.base is None:
        return []
    return class_diffs(entry.replacement, entry.base)


def class_diffs(replacement: type, correct: type) -> list[Replaced]:
    """Every method of `replacement`, in the order of the file, against the one that it overrides.

    Raises OSError: the source of one of the two is not to be had.
    """
    own: dict[str, Any] = {
        name: member for name, member in vars(replacement).items() if inspect.isfunction(member)
    }
    found = []
    for name, member in own.items():
        old, new = _source(getattr(correct, name)), _source(member)
        where = f"{_place(correct)}, {name}", f"{_place(replacement)}, {name}"
        found.append(Replaced(name, where[1], difference(old, new, where)))
    return found


def _source(member: Any) -> str:
    """The function as it is written, without its docstring: what a bug's own prose says instead."""
    text = textwrap.dedent(inspect.getsource(member))
    function = ast.parse(text).body[0]
    assert isinstance(function, ast.FunctionDef)
    first = function.body[0]
    lines = text.splitlines()
    if ast.get_docstring(function) is not None and len(function.body) > 1:
        del lines[first.lineno - 1 : first.end_lineno]
    return "\n".join(lines)


def _place(of: type) -> str:
    return f"{of.__module__.replace('.', '/')}.py"


# -- TLA+


def tla_diffs(entry: Bug) -> list[Replaced]:
    """The operators that the bug's first model replaces against those of the correct modules."""
    manifest = manifest_of(entry.protocol)
    models = [model for model in manifest.models.values() if model.bug == entry.id]
    if not models:
        return []
    return overlay_diffs(cfg_text(models[0].config), models[0].overlays, manifest.libraries)


def overlay_diffs(cfg: str, overlays: tuple[str, ...], folders: list[Path]) -> list[Replaced]:
    """What a cfg puts in the place of operators, as far as the overlays define it."""
    known = {each.name for each in (t for name in overlays for t in _definitions_of(name, folders))}
    return [
        _tla_diff(old, new, module, overlays, folders)
        for old, module, new in read_config(cfg).substituted
        if new in known
    ]


def _definitions_of(module: str, folders: list[Path]) -> Iterator[Any]:
    path = find_module(module, folders)
    if path is not None:
        yield from definitions(read_text(path))


def _tla_diff(
    old: str, new: str, module: str | None, overlays: tuple[str, ...], folders: list[Path]
) -> Replaced:
    owner = module or _owner(old, folders)
    overlay = next(
        name for name in overlays if any(d.name == new for d in _definitions_of(name, folders))
    )
    before = definition(_text(owner, folders), old).text
    after = renamed(definition(_text(overlay, folders), new), new, old)
    where = (f"{owner}.tla", f"{overlay}.tla")
    return Replaced(old, where[1], difference(before, after, where))


def _owner(name: str, folders: list[Path]) -> str:
    """The module of the library that defines a name."""
    for path in sorted(folders[0].glob("*.tla")):
        if any(each.name == name for each in definitions(read_text(path))):
            return path.stem
    raise ToolError(f"no module defines {name}")


def _text(module: str, folders: list[Path]) -> str:
    path = find_module(module, folders)
    assert path is not None, module
    return read_text(path)
