"""Who imports whom, read from the source with `ast`: nothing is imported to find out.

The rules themselves are data and stand at the top of test_import_ladder.py. An import counts
wherever it is written: at the top, in a function, or under TYPE_CHECKING. What an import inside a
function hides from Python it does not hide from a reader.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import networkx as nx


class Rule(NamedTuple):
    """What one package may import besides itself and the standard library."""

    ours: tuple[str, ...] = ()
    third_party: tuple[str, ...] = ()
    # Standard modules that it must not touch.
    forbidden: tuple[str, ...] = ()


# "*" among `third_party`: any library.
ANY = "*"


class Import(NamedTuple):
    target: str
    line: int


Modules = Mapping[str, Path]

# The rungs inside `kraftcheck`. The tables name them without it, so `kraftcheck.*` is the rest.
BELOW = ("osutil", "reference", "traces", "specs")


def short(name: str) -> str:
    """`kraftcheck.reference.kit` as the tables name it: `kraftcheck.reference.kit`."""
    head, _, rest = name.partition(".")
    return rest if head == "kraftcheck" and rest.split(".")[0] in BELOW else name


def find_modules(root: Path, tops: tuple[str, ...]) -> dict[str, Path]:
    """Dotted name to file, for every Python file below the named top folders.

    The links inside `kraftcheck` are not followed: their files are found in the folders at the top.
    """
    modules = {}
    links = [path for path in (root / "kraftcheck").glob("*") if path.is_symlink()]
    for top in tops:
        for path in sorted((root / top).rglob("*.py")):
            if any(path.is_relative_to(link) for link in links):
                continue
            parts = path.relative_to(root).with_suffix("").parts
            modules[short(".".join(parts[:-1] if parts[-1] == "__init__" else parts))] = path
    return modules


def by_folder(root: Path, tops: tuple[str, ...]) -> list[str]:
    """Imports that name a rung without `kraftcheck`, as `file:line: what`.

    In a checkout they would load a second copy of the module; in an installation, nothing.
    """
    return [
        f"{path.relative_to(root)}:{line}: import kraftcheck.{target}"
        for name, path in find_modules(root, tops).items()
        for target, line in _targets(name, path, {})
        if target.split(".")[0] in BELOW
    ]


def imports_of(name: str, path: Path, modules: Modules) -> list[Import]:
    """Everything that the module names in an import, as precisely as it can be told.

    `from a.b import c` is an import of `a.b.c` where that is a module of ours, else of `a.b`. So a
    package that re-exports its modules is no cycle with them.
    """
    return [Import(short(target), line) for target, line in _targets(name, path, modules)]


def _targets(name: str, path: Path, modules: Modules) -> list[Import]:
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found = []
    for node in _statements(path.read_text(encoding="utf-8"), str(path)):
        if isinstance(node, ast.Import):
            found += [Import(alias.name, node.lineno) for alias in node.names]
        else:
            base = absolute(package, node)
            for alias in node.names:
                full = f"{base}.{alias.name}"
                found.append(Import(full if short(full) in modules else base, node.lineno))
    return found


@cache
def _statements(text: str, path: str) -> list[ast.Import | ast.ImportFrom]:
    return [
        node
        for node in ast.walk(ast.parse(text, path))
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]


def absolute(package: str, node: ast.ImportFrom) -> str:
    """The dotted name that a possibly relative import starts from."""
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    parts = parts[: len(parts) - node.level + 1]
    return ".".join([*parts, node.module] if node.module else parts)


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def package_of(name: str, rules: Mapping[str, Rule]) -> str | None:
    """The longest key of the rules that the module falls under.

    A key `a.b.*` covers the package and all below it, a plain key `a` that one module alone.
    """
    fitting = [
        key
        for key in rules
        if (within(name, key.removesuffix(".*")) if key.endswith(".*") else name == key)
    ]
    return max(fitting, key=len, default=None)


def violations(root: Path, rules: Mapping[str, Rule]) -> list[str]:
    """Every import that the rules do not allow, as `file:line: what`."""
    modules = find_modules(root, tops_of(rules))
    ours = {name.split(".")[0] for name in modules}
    known = cache(partial(package_of, rules=rules))
    found = []
    for name, path in modules.items():
        place = path.relative_to(root)
        key = known(name)
        if key is None:
            found.append(f"{place}:1: {name} has no rule in the table of imports")
            continue
        home = key.removesuffix(".*")
        for target, line in imports_of(name, path, modules):
            if not allowed(target, home, rules, ours, known):
                found.append(f"{place}:{line}: {home} must not import {target}")
    return found


def tops_of(rules: Mapping[str, Rule]) -> tuple[str, ...]:
    return tuple(sorted({key.split(".")[0] for key in rules}))


def allowed(
    target: str,
    home: str,
    rules: Mapping[str, Rule],
    ours: set[str],
    known: Callable[[str], str | None],
) -> bool:
    """ours: the first names of our modules. known: `package_of` a name."""
    rule = rules[home if home in rules else f"{home}.*"]
    top = target.split(".")[0]
    if top in ours:
        key = known(target)
        # A package that has a rule is its own modules: what lies in it with a rule of its own has
        # to be named beside it.
        return any(
            key == f"{package}.*" if f"{package}.*" in rules else within(target, package)
            for package in (home, *rule.ours)
        )
    if top in sys.stdlib_module_names:
        return top not in rule.forbidden
    return ANY in rule.third_party or top in rule.third_party


def cycles(root: Path, tops: tuple[str, ...]) -> list[str]:
    """Each group of modules that import each other in a circle, with the circle spelled out."""
    modules = find_modules(root, tops)
    graph = nx.DiGraph(list(edges(modules)))
    found = []
    for group in nx.strongly_connected_components(graph):
        circle = nx.find_cycle(graph.subgraph(group)) if is_circle(graph, group) else []
        if circle:
            found.append(" -> ".join([*(source for source, _ in circle), circle[0][0]]))
    return sorted(found)


def is_circle(graph: nx.DiGraph[str], group: set[str]) -> bool:
    return len(group) > 1 or any(graph.has_edge(name, name) for name in group)


def edges(modules: Modules) -> Iterator[tuple[str, str]]:
    for name, path in modules.items():
        for target, _ in imports_of(name, path, modules):
            # `import a.b` may name something inside a module: the longest known part counts.
            while target and target not in modules:
                target = target.rpartition(".")[0]
            if target:
                yield name, target
