"""Why a mutant that no test notices is no hole: reasons.toml beside this file.

A reason belongs to one mutant and to one change of text: when the function is written anew, it
has to be given anew. A reason for a mutant that is noticed, or that is not there, is an error.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from kraftcheck.exits import BadInput
from tests.mutation.mutants import Mutant


class Reason(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """change: as Mutant.change has it, broken into lines anywhere. why: what makes it equivalent,
    or harmless.
    """

    change: str
    why: str


def read(path: Path) -> dict[str, Reason]:
    """The reasons by mutant. Raises BadInput: the file is damaged, or a reason is empty."""
    try:
        found = msgspec.convert(tomllib.loads(path.read_text("utf-8")), dict[str, Reason])
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise BadInput(f"{path}: {error}") from None
    if empty := [id for id, reason in found.items() if not reason.why.strip()]:
        raise BadInput(f"{path}: {empty[0]} has no reason")
    return found


def misplaced(reasons: dict[str, Reason], every: Iterable[Mutant]) -> list[str]:
    """A line for each reason whose mutant is not there, or is another one by now."""
    changes = {mutant.id: mutant.change for mutant in every}
    return [
        f"{id}: " + (f"is now {changes[id]}" if id in changes else "no such mutant")
        for id, reason in reasons.items()
        if changes.get(id) != " ".join(reason.change.split())
    ]
