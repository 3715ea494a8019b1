"""Which tests cover a module, and the choice of modules: targets.toml beside this file.

Near are the test that mirrors the module's path and those that import it; far are those that the
table names besides. Of these a mutant is asked those that call its function (recording/reached.py).
"""

from __future__ import annotations

import ast
import hashlib
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from kraftcheck.exits import BadInput
from tests.quality.ladder import find_modules, imports_of


class Group(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Modules that the same tests cover. modules: paths or patterns. mutants: of each module.

    tests: files, or folders with all their files.
    """

    modules: list[str]
    tests: list[str]
    mutants: int


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """moved: by its path, the module by whose names the mutants of a file were first chosen."""

    group: list[Group]
    moved: dict[str, str] = {}


class Target(NamedTuple):
    """A module, how many mutants of it, and the test files that cover it. Paths from the root.

    first: the module's path when its mutants were chosen.
    """

    path: str
    mutants: int
    tests: tuple[str, ...]
    first: str


def targets(root: Path, table: Path) -> list[Target]:
    """Every module of the table, in its order. Raises BadInput: the table names what is not there,
    or a module that no test covers.
    """
    read = _read(table)
    groups = read.group
    tops = {Path(pattern).parts[0] for group in groups for pattern in group.modules}
    importers = _importers(root, (*sorted(tops - {"tests"}), "tests"))
    found: dict[str, Target] = {}
    for group in groups:
        far = tuple(file for named in group.tests for file in _test_files(root, named, table))
        for pattern in group.modules:
            paths = sorted(path.relative_to(root).as_posix() for path in root.glob(pattern))
            if not paths:
                raise BadInput(f"{table}: {pattern} is no module")
            for path in paths:
                near = _near(root, path, importers)
                named = read.moved.get(path)
                first = f"{named.replace('.', '/')}.py" if named else path
                tests = tuple(dict.fromkeys(near + far))
                target = Target(path, group.mutants, tests, first)
                found.setdefault(path, target)
    if bare := [target.path for target in found.values() if not target.tests]:
        raise BadInput(f"{table}: no test covers {bare[0]}")
    return list(found.values())


def _read(table: Path) -> _Table:
    try:
        return msgspec.convert(tomllib.loads(table.read_text("utf-8")), _Table)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise BadInput(f"{table}: {error}") from None


def _test_files(root: Path, named: str, table: Path) -> Iterator[str]:
    place = root / named
    if not place.exists():
        raise BadInput(f"{table}: {named} is not there")
    files = sorted(place.rglob("test_*.py")) if place.is_dir() else [place]
    yield from (file.relative_to(root).as_posix() for file in files)


def _near(root: Path, path: str, importers: Mapping[str, list[str]]) -> tuple[str, ...]:
    module = Path(path)
    mirrored = Path("tests") / module.with_name(f"test_{module.name}")
    same = [mirrored.as_posix()] if (root / mirrored).exists() else []
    importing = importers.get(".".join(module.with_suffix("").parts), [])
    return tuple(dict.fromkeys(same + importing))


def _importers(root: Path, tops: tuple[str, ...]) -> dict[str, list[str]]:
    """Of each module the test files that import it themselves."""
    modules = find_modules(root, tops)
    found: dict[str, list[str]] = {}
    for name, path in modules.items():
        if path.name.startswith("test_"):
            for imported in dict.fromkeys(each.target for each in imports_of(name, path, modules)):
                found.setdefault(imported, []).append(path.relative_to(root).as_posix())
    return found


def digest(root: Path, files: tuple[str, ...]) -> str:
    """Of the files' contents and names."""
    whole = hashlib.sha256()
    for file in sorted(files):
        whole.update(file.encode() + b"\0" + (root / file).read_bytes() + b"\0")
    return whole.hexdigest()[:12]


def digest_of_test(root: Path, test: str) -> str:
    """Of the text of one test, `file::name[parameters]`; empty if it is not there."""
    file, _, name = test.partition("::")
    wanted = name.partition("[")[0].rpartition("::")[2]
    try:
        tree = ast.parse((root / file).read_text("utf-8"))
    except (OSError, SyntaxError):
        return ""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == wanted:
            return hashlib.sha256(ast.dump(node).encode()).hexdigest()[:12]
    return ""
