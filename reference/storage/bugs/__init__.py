"""Known bugs of the storage engine: each replaces a rule of rules.py."""

from __future__ import annotations

from typing import Final

STATES: Final = 20
SEEDS: Final = {
    "Z140": 283,
    "Z141": 0,
    "Z142": 56,
    "Z143": 5,
    "Z145": 0,
    "Z146": 4,
    "Z148": 2,
    "Z151": 0,
    "Z152": 14,
    "Z153": 10,
    "Z154": 4,
    "Z161": 6,
    "Z162": 3,
    "Z171": 1,
    "Z178": 6,
}
"""Of histories by chance that show the bug in the first STATES of the states that crashes leave."""
