"""A run as a file: which scenario, with which bug, and every choice that was made (choices.py).

    kraftcheck schedule 1
    scenario  partition
    bug       Z34
    violates  WeakIsr
    options   {}

    faults 0 of 2
    network 17 of 1000

Its head is that of headed.py. Empty lines, and what follows #, say nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from kraftcheck.reference.sim.choices import Choice, parse, render
from kraftcheck.reference.sim.headed import BODY, CHOICES, Form

FORM: Final = Form(CHOICES, "scenario")


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    scenario: str
    choices: tuple[Choice, ...]
    bug: str | None = None
    violates: str = ""
    """The invariant, or the verdict of a run that made no progress; empty for none."""
    options: Mapping[str, Any] = {}
    """Those that were fixed and not drawn."""


def write(schedule: Schedule) -> str:
    return FORM.write(schedule) + render(schedule.choices)


def read(text: str) -> Schedule:
    """Raises ValueError with the line at which it is no schedule, and why."""
    said, lines = FORM.read(text)
    # The choices keep their line numbers.
    choices = parse("\n" * (BODY - 1) + "\n".join(lines))
    return Schedule(**said, choices=tuple(choices))
