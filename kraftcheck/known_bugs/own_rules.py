"""A substitution of one's own on the side of the reference, from a file, written like a bug.

The file defines one class that extends a class of rules or handlers of the reference, and overrides
some of its methods, and nothing else (docs/try.md). It is refused when it changes nothing,
replaces what does not exist, or calls what it replaces.

Law of this file: what is refused is refused before anything runs, in one line that says why. The
substitution is known under an id of its own, made of its text, for as long as the caller asks; no
catalogue and no rule of the kit is changed.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import inspect
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from kraftcheck.exits import BadInput
from kraftcheck.osutil.files import read_text
from kraftcheck.reference.bugs import catalog
from kraftcheck.reference.bugs.bug import BASES, Bug
from kraftcheck.reference.runner.run import forget


class OwnRules(NamedTuple):
    """A substitution that can be used."""

    path: Path
    base: type
    replacement: Any
    names: tuple[str, ...]
    """What it replaces, in the order of its file."""
    id: str
    """As the trace of its runs names it; another text has another id."""

    @property
    def scenario(self) -> str:
        return BASES[self.base].protocol


def read_rules(path: Path) -> OwnRules:
    """Load and judge a file. Raises BadInput, with the reason in one line."""
    text = _text(path)
    identity = f"{catalog.OWN}{hashlib.sha256(text.encode()).hexdigest()[:12].upper()}"
    module = _imported(path, f"kraftcheck_own_{identity[4:].lower()}")
    base, replacement = _only_class(path, module)
    own = {name: each for name, each in vars(replacement).items() if inspect.isfunction(each)}
    _refuse_strangers(path, base, replacement)
    if all(_same(member, getattr(base, name)) for name, member in own.items()):
        what = f"what {', '.join(own)} of {base.__name__} says already" if own else "no method"
        raise BadInput(f"{path} changes nothing: {replacement.__name__} overrides {what}")
    for name in own:
        _refuse_recursion(path, base, replacement, name)
    return OwnRules(path, base, replacement, tuple(own), identity)


def _text(path: Path) -> str:
    try:
        return read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else error
        raise BadInput(f"{path} cannot be read: {said}") from None


def _imported(path: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise BadInput(f"{path} is no Python file: its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    kept, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise BadInput(f"{path} cannot be loaded: {type(error).__name__}: {error}") from None
    finally:
        sys.dont_write_bytecode = kept
    return module


def _only_class(path: Path, module: ModuleType) -> tuple[type, Any]:
    found = [
        (next(base for base in each.__mro__ if base in BASES), each)
        for each in vars(module).values()
        if isinstance(each, type) and each.__module__ == module.__name__
        if any(issubclass(each, base) for base in BASES)
    ]
    if len(found) == 1:
        return found[0]
    many = ", ".join(each.__name__ for _, each in found) or "none"
    raise BadInput(
        f"{path}: one class that extends rules or handlers is needed, of those that "
        f"`kraftcheck try --list-rules` lists; there is {many}"
    )


def _refuse_strangers(path: Path, base: type, replacement: type) -> None:
    """Names that replace nothing, or with other parameters than what they replace."""
    known = BASES[base].names
    for name, member in vars(replacement).items():
        if name.startswith("__"):
            continue
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise BadInput(f"{path} replaces {name}, which {base.__name__} does not have{hint}")
        correct = getattr(base, name)
        takes = list(inspect.signature(correct).parameters)
        if not inspect.isfunction(member) or list(inspect.signature(member).parameters) != takes:
            raise BadInput(f"{path}: {name} is to be a method with ({', '.join(takes)})")


def _tree(member: Any) -> ast.FunctionDef:
    found = ast.parse(textwrap.dedent(inspect.getsource(member))).body[0]
    assert isinstance(found, ast.FunctionDef)
    return found


def _same(one: Any, other: Any) -> bool:
    """Whether two functions do the same by their text, whatever their prose."""
    return _body(one) == _body(other)


def _body(member: Any) -> list[str]:
    tree = _tree(member)
    told = ast.get_docstring(tree) is not None
    return [ast.dump(each) for each in tree.body[told:]]


def _refuse_recursion(path: Path, base: type, replacement: type, name: str) -> None:
    """A method that comes back to itself through `self`, directly or through other rules."""
    waiting: list[tuple[str, ...]] = [(name,)]
    seen = {name}
    while waiting:
        way = waiting.pop(0)
        member = getattr(replacement, way[-1])
        for called in _asked(member):
            if called == name:
                told = " -> ".join([*way, name])
                raise BadInput(f"{path}: {told} calls what it replaces; write super().{name}(...)")
            if called in BASES[base].names and called not in seen:
                seen.add(called)
                waiting.append((*way, called))


def _asked(member: Any) -> Iterator[str]:
    """The methods of `self` that a function calls."""
    for node in ast.walk(_tree(member)):
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "self"
        ):
            yield node.attr


def substitution(id: str | None, rules: Path | None) -> Bug | None:
    """A known bug, or rules of one's own in the place of one; None: neither was named.

    Raises UnknownBug; BadInput, for a file that is refused as well, with the reason in one line.
    """
    if id is not None and rules is not None:
        raise BadInput("name a known bug, or rules of your own, and not both")
    if rules is not None:
        return _entry(read_rules(rules))
    return None if id is None else catalog.bug(id)


# -- Known for a while


@contextmanager
def known(own: OwnRules) -> Iterator[Bug]:
    """Within it, the simulator and the probes know the substitution by its id."""
    entry = _entry(own)
    try:
        with catalog.known(entry):
            yield entry
    finally:
        forget()


@contextmanager
def within(rules: Path | None) -> Iterator[OwnRules | None]:
    """As `known`, of a file; without one, nothing is known. Raises BadInput: it is refused."""
    if rules is None:
        yield None
        return
    own = read_rules(rules.absolute())
    with known(own):
        yield own


def _entry(own: OwnRules) -> Bug:
    name = own.replacement.__name__
    return Bug(
        id=own.id,
        title=name,
        story=inspect.getdoc(own.replacement) or name,
        source=str(own.path),
        protocol=own.scenario,
        replacement=own.replacement,
        property="",
        boundary=name,
    )
