"""A run as a file: which scenario, with which bug, and every choice that was made (choices.py).

    kraftcheck schedule 1
    scenario  partition
    bug       Z34
    violates  WeakIsr
    options   {}

    faults 0 of 2
    network 17 of 1000

Law of this file: what is written is read back as it was; what is not a schedule is refused with
the line and the reason. Empty lines, and what follows #, say nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from reference.sim.choices import Choice, parse, render

VERSION: Final = 1
KIND: Final = "kraftcheck schedule"
HEAD: Final = f"{KIND} {VERSION}"
_KEYS: Final = ("scenario", "bug", "violates", "options")
_NONE: Final = "none"


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """violates: the invariant, or the verdict of a run that made no progress; empty for none.

    options: those that were fixed and not drawn.
    """

    scenario: str
    choices: tuple[Choice, ...]
    bug: str | None = None
    violates: str = ""
    options: Mapping[str, Any] = {}


def write(schedule: Schedule) -> str:
    options = msgspec.json.encode(dict(schedule.options), order="sorted").decode()
    said = (schedule.scenario, schedule.bug or _NONE, schedule.violates or _NONE, options)
    lines = [f"{key:<9} {value}" for key, value in zip(_KEYS, said, strict=True)]
    return "\n".join([HEAD, *lines, "", render(schedule.choices)])


def is_schedule(text: str) -> bool:
    """Whether a file that begins so means to be one, of whatever version."""
    return text.startswith(KIND)


def read(text: str) -> Schedule:
    """Raises ValueError with the line at which it is no schedule, and why."""
    head, _, rest = text.partition("\n")
    if head.strip() != HEAD:
        if is_schedule(head):
            raise ValueError(f"line 1: version {head.split()[-1]:.20}, this kraftcheck reads 1")
        raise ValueError(f"line 1: no schedule: it does not begin with {HEAD!r}")
    lines = rest.split("\n")
    said: dict[str, str] = {}
    for number, line in enumerate(lines[: len(_KEYS)], 2):
        key, _, value = line.strip().partition(" ")
        if key != _KEYS[number - 2] or not value.strip():
            raise ValueError(f"line {number}: {line.strip()!r:.60} is not `{_KEYS[number - 2]} …`")
        said[key] = value.strip()
    # The choices keep their line numbers.
    body = "\n" * (len(_KEYS) + 1) + "\n".join(lines[len(_KEYS) :])
    try:
        options = msgspec.json.decode(said["options"], type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"line 5: options: {error}") from None
    return Schedule(
        scenario=said["scenario"],
        bug=None if said["bug"] == _NONE else said["bug"],
        violates="" if said["violates"] == _NONE else said["violates"],
        options=options,
        choices=tuple(parse(body)),
    )
