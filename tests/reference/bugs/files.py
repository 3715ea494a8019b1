"""A known bug as files of one's own: rules, and an overlay."""

from __future__ import annotations

import inspect
from pathlib import Path

from kraftcheck.reference.bugs.catalog import bug
from kraftcheck.specs import SPECS
from tla_utils.definitions import definitions
from tla_utils.overrides import read_module


def rules_file(id: str, folder: Path) -> Path:
    """The class of a bug, with what its module imports."""
    replacement = bug(id).replacement
    assert replacement is not None
    head = inspect.getsource(inspect.getmodule(replacement) or inspect).partition("\n\n\n")[0]
    path = folder / f"{replacement.__name__.lower()}.py"
    path.write_text(f"{head}\n\n\n{inspect.getsource(replacement)}", "utf-8")
    return path


def overlay_file(id: str, name: str, folder: Path) -> Path:
    """The definitions of a bug as a module of this name, which is their prefix too."""
    texts = [path.read_text("utf-8") for path in SPECS.rglob("bugs/*.tla")]
    (text,) = [each for each in texts if f"\n{id}_" in each]
    own = [each.text for each in definitions(text) if each.name.startswith(f"{id}_")]
    extended = ", ".join(read_module(text).extends)
    lines = [f"---- MODULE {name} ----", f"EXTENDS {extended}", *own, "===="]
    path = folder / f"{name}.tla"
    path.write_text("\n".join(lines).replace(f"{id}_", f"{name}_") + "\n", "utf-8")
    return path
