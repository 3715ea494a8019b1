"""A steered run as a file: which machine, its setting, and every move in words.

    kraftcheck moves 1
    machine   cluster
    bug       Z41
    violates  WeakIsr
    options   {"shape": {"brokers": 3}}

    broker 1 reads metadata 0 to 2
    crash broker 2, losing 1 of partition 0

Law of this file: what is written is read back as it was; what is no such file is refused with the
line and the reason. Empty lines, and lines that begin with #, say nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from reference.protocols import CLUSTER, CLUSTER_PARTS, PROTOCOLS

VERSION: Final = 1
KIND: Final = "kraftcheck moves"
HEAD: Final = f"{KIND} {VERSION}"
MACHINES: Final = (*CLUSTER_PARTS, CLUSTER, *(each.name for each in PROTOCOLS if each.world))
"""Last those of protocols that have no simulation of their own (plain.py).
"""
_KEYS: Final = ("machine", "bug", "violates", "options")
_NONE: Final = "none"


class Script(msgspec.Struct, frozen=True, kw_only=True):
    """violates: the name of the failure (failures.py), which may come after the last move, when
    everything is healed; empty for none. options: the setting of the machine.
    """

    machine: str
    moves: tuple[str, ...]
    bug: str | None = None
    violates: str = ""
    options: Mapping[str, Any] = {}


def write(script: Script) -> str:
    options = msgspec.json.encode(dict(script.options), order="sorted").decode()
    said = (script.machine, script.bug or _NONE, script.violates or _NONE, options)
    head = [f"{key:<9} {value}" for key, value in zip(_KEYS, said, strict=True)]
    return "\n".join([HEAD, *head, "", *script.moves, ""])


def is_script(text: str) -> bool:
    """Whether a file that begins so means to be one, of whatever version."""
    return text.startswith(KIND)


def read(text: str) -> tuple[Script, list[int]]:
    """The script, and the line at which each move stands.

    Raises ValueError with the line at which it is no script, and why.
    """
    head, _, rest = text.partition("\n")
    if head.strip() != HEAD:
        if is_script(head):
            version = head.removeprefix(KIND).strip()
            raise ValueError(f"line 1: version {version:.20}, this kraftcheck reads {VERSION}")
        raise ValueError(f"line 1: no moves: it does not begin with {HEAD!r}")
    lines = rest.split("\n")
    said = _head(lines[: len(_KEYS)])
    if said["machine"] not in MACHINES:
        known = ", ".join(MACHINES)
        raise ValueError(f"line 2: there is no machine {said['machine']!r:.40}; there are {known}")
    try:
        options = msgspec.json.decode(said["options"], type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"line 5: options: {error}") from None
    moves = [
        (number, line.strip())
        for number, line in enumerate(lines[len(_KEYS) :], 2 + len(_KEYS))
        if line.strip() and not line.strip().startswith("#")
    ]
    script = Script(
        machine=said["machine"],
        bug=None if said["bug"] == _NONE else said["bug"],
        violates="" if said["violates"] == _NONE else said["violates"],
        options=options,
        moves=tuple([words for _, words in moves]),
    )
    return script, [number for number, _ in moves]


def _head(lines: list[str]) -> dict[str, str]:
    said: dict[str, str] = {}
    for number, key in enumerate(_KEYS, 2):
        line = lines[number - 2].strip() if number - 2 < len(lines) else ""
        name, _, value = line.partition(" ")
        if name != key or not value.strip():
            raise ValueError(f"line {number}: {line!r:.60} is not `{key} …`")
        said[key] = value.strip()
    return said
