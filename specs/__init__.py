"""The specifications as data: TLA+ modules, cfgs, the lists of models and graphs, what was found.

A package without code, so that an installation has them too. README.md has their reading order.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

SPECS: Final = Path(__file__).resolve().parent
"""Where they lie, in a checkout and in an installation. Nothing writes there in the latter."""
