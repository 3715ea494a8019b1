"""A known bug as a file of rules of one's own."""

from __future__ import annotations

import inspect
from pathlib import Path

from kraftcheck.reference.bugs.catalog import bug


def rules_file(id: str, folder: Path) -> Path:
    """The class of a bug, with what its module imports."""
    replacement = bug(id).replacement
    assert replacement is not None
    head = inspect.getsource(inspect.getmodule(replacement) or inspect).partition("\n\n\n")[0]
    path = folder / f"{replacement.__name__.lower()}.py"
    path.write_text(f"{head}\n\n\n{inspect.getsource(replacement)}", "utf-8")
    return path
