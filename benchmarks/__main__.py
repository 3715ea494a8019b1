"""Lists the benchmarks, or runs one: `python -m benchmarks [--list | NAME [ARGUMENT ...]]`.

By itself it runs the board. A benchmark is a module in this folder with a function `main` that
takes the arguments and prints its figures, and with a docstring whose first line says what it
compares with what.

Exit codes: 0 it ran, 1 it failed, 3 a name that is no benchmark.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
RAN, BAD_INPUT = 0, 3


def benchmarks() -> dict[str, str]:
    """Name and first docstring line of each, read without importing anything."""
    found = {}
    for path in sorted(HERE.glob("[!_]*.py")):
        docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        found[path.stem] = (docstring.splitlines() or ["(no docstring)"])[0]
    return found


def main(words: Sequence[str]) -> int:
    known = benchmarks()
    name, *arguments = words or ["board"]
    if name == "--list":
        for each, said in known.items():
            print(f"{each:<24} {said}")
        return RAN
    if name not in known:
        there = ", ".join(known)
        print(f"benchmarks: no benchmark {name!r}; there are: {there}", file=sys.stderr)
        return BAD_INPUT
    print(f"== {name}: {known[name]}", flush=True)
    importlib.import_module(f"benchmarks.{name}").main(arguments)
    return RAN


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
