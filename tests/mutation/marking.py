"""Compiled modules whose functions say that they were called: recording/reached.py hears of it.

The text of a module stays as it is, since tests may read it.
"""

from __future__ import annotations

import ast
import importlib.util
import marshal
import struct
from pathlib import Path
from typing import Final

from tests.mutation.mutants import outermost

_UNCHECKED: Final = 1
"""Python is not to compare it with the text (PEP 552)."""
_HEARS: Final = ast.parse("from reached import reached as __reached__").body


def mark(root: Path, path: str) -> Path:
    """Where the compiled module is, which Python takes without looking at the text."""
    source = (root / path).read_bytes()
    module = ast.parse(source)
    for name, node in outermost(module):
        [call] = ast.parse(f"__reached__({f'{path}::{name}'!r})").body
        assert isinstance(call, ast.Expr)
        if isinstance(node, ast.Lambda):
            both = ast.Tuple([call.value, node.body], ast.Load())
            node.body = ast.Subscript(both, ast.Constant(1), ast.Load())
        else:
            node.body.insert(_after_words(node.body), call)
    first = _after_words(module.body)
    while any(map(_is_of_the_future, module.body[first : first + 1])):
        first += 1
    module.body[first:first] = _HEARS
    code = compile(ast.fix_missing_locations(module), str(root / path), "exec")
    compiled = Path(importlib.util.cache_from_source(str(root / path)))
    compiled.parent.mkdir(exist_ok=True)
    head = struct.pack("<4sI8s", importlib.util.MAGIC_NUMBER, _UNCHECKED, bytes(8))
    compiled.write_bytes(head + marshal.dumps(code))
    return compiled


def _after_words(body: list[ast.stmt]) -> int:
    """A docstring is first, and stays so."""
    match body:
        case [ast.Expr(ast.Constant(str())), *_]:
            return 1
    return 0


def _is_of_the_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
