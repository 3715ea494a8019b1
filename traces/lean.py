"""Arrow without pandas, which costs each process that imports it 0.4 processor seconds.

The first time that Arrow makes an array of a Python list, it imports pandas to know whether the
list is one of its own. Nothing of ours is. It asks once: told then that there is no pandas, it
imports it only where it is called for (`to_pandas`). There is no setting for it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

import pyarrow as pa


class _Without(MetaPathFinder):
    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name == "pandas":
            raise ModuleNotFoundError("not now", name=name)
        return None


_welcome = False


def welcome_pandas() -> None:
    """For a program of the user's, in which Arrow and pandas may yet meet."""
    global _welcome
    _welcome = True


def leave_pandas_out() -> None:
    """For the rest of the process. Without effect where it is imported already, or welcome."""
    if _welcome or "pandas" in sys.modules:
        return
    finder = _Without()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(finder)
