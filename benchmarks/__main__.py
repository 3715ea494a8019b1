"""Lists and runs the benchmarks: `python -m benchmarks [--list] [name ...]`; by itself, the board.

A benchmark is a module in this folder with a function `main()` that prints its figures, and with a
docstring whose first line says what it compares with what. Each runs in a process of its own, so
that none is measured with the caches, the memory or the JVM that another left behind.

Exit codes: 0 all ran, 1 one failed, 3 a name that is no benchmark.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
RAN, FAILED, BAD_INPUT = 0, 1, 3


def benchmarks() -> dict[str, str]:
    """Name and first docstring line of each, read without importing anything."""
    found = {}
    for path in sorted(HERE.glob("[!_]*.py")):
        docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        found[path.stem] = (docstring.splitlines() or ["(no docstring)"])[0]
    return found


def run(name: str) -> bool:
    call = f"import importlib; importlib.import_module('benchmarks.{name}').main()"
    return subprocess.run([sys.executable, "-c", call], cwd=HERE.parent).returncode == 0


def main(argv: list[str]) -> int:
    known = benchmarks()
    names = [argument for argument in argv if argument != "--list"]
    unknown = [name for name in names if name not in known]
    if unknown:
        there = ", ".join(known) or "none yet"
        print(f"benchmarks: no benchmark {unknown[0]!r}; there are: {there}", file=sys.stderr)
        return BAD_INPUT
    if "--list" in argv:
        for name in names or known:
            print(f"{name:<24} {known[name]}")
        return RAN
    failed = []
    for name in names or ["board"]:
        print(f"== {name}: {known[name]}", flush=True)
        if not run(name):
            failed.append(name)
    if failed:
        print(f"benchmarks: failed: {', '.join(failed)}", file=sys.stderr)
    return FAILED if failed else RAN


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
