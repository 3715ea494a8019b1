"""A steered run as a file: which machine, its setting, and every move in words.

    kraftcheck moves 1
    machine   cluster
    bug       Z41
    violates  WeakIsr
    options   {"shape": {"brokers": 3}}

    broker 1 reads metadata 0 to 2
    crash broker 2, losing 1 of partition 0

Its head is that of reference/sim/headed.py. Empty lines, and lines that begin with #, say nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from kraftcheck.reference.protocols import CLUSTER, CLUSTER_PARTS, PROTOCOLS
from kraftcheck.reference.sim.headed import BODY, MOVES, Form

MACHINES: Final = (*CLUSTER_PARTS, CLUSTER, *(each.name for each in PROTOCOLS if each.by_chance))
"""Last those of protocols that have no simulation of their own (plain.py)."""
FORM: Final = Form(MOVES, "machine", MACHINES)


class Script(msgspec.Struct, frozen=True, kw_only=True):
    machine: str
    moves: tuple[str, ...]
    bug: str | None = None
    violates: str = ""
    """The name of the failure (failures.py), which may come after the last move, when everything is
    healed; empty for none.
    """
    options: Mapping[str, Any] = {}
    """The setting of the machine."""


def write(script: Script) -> str:
    return FORM.write(script) + "".join(f"{move}\n" for move in script.moves)


def read(text: str) -> tuple[Script, list[int]]:
    """The script, and the line at which each move stands.

    Raises ValueError with the line at which it is no script, and why.
    """
    said, lines = FORM.read(text)
    moves = [
        (number, line.strip())
        for number, line in enumerate(lines, BODY)
        if line.strip() and not line.strip().startswith("#")
    ]
    script = Script(**said, moves=tuple([words for _, words in moves]))
    return script, [number for number, _ in moves]
