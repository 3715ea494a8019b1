"""Profiles: what a version of an implementation does otherwise than the specs, by name.

The specs say what is right. A profile (`profiles` in the folder of a protocol's specs) is a module
that replaces operators of theirs as a bug's overlay does, and a list of entries, each a departure
with its class and its source. To judge by a profile is to judge by the specs with these operators
in place: more is allowed, never without a name.

Law of this file: what is asked for and not there is a ToolError that names it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final, Literal, TypeAlias

import msgspec

from specs import SPECS
from system.files import read_toml
from tla_utils import StepFrame, ToolError

FOLDER: Final = "profiles"
Class: TypeAlias = Literal["bug", "grain", "old spec"]


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"of": "class"}):
    """One departure. of: bug (of the implementation), grain (safe: only when or how often) or old
    spec. source: where it is read or reported.
    """

    name: str
    of: Class
    says: str
    source: str


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    module: str
    versions: list[str]
    replaces: dict[str, str]
    entry: list[Entry]


class Profile(msgspec.Struct, frozen=True):
    """module: with the replacements, each named K43_X for the operator X, or for Step_X. versions:
    of the implementation that it is true of, as their numbers begin. replaces: by operator, the
    module that defines it. entries: those that apply.
    """

    name: str
    versions: tuple[str, ...]
    module: str
    replaces: dict[str, str]
    entries: tuple[Entry, ...]

    def without(self, name: str) -> Profile:
        """The profile less one entry."""
        left = tuple([entry for entry in self.entries if entry.name != name])
        assert len(left) < len(self.entries), f"{self.name} has no entry {name}"
        return msgspec.structs.replace(self, entries=left)

    def cfg(self) -> str:
        """What a cfg needs to have the entries applied."""
        listed = ", ".join(f'"{entry.name}"' for entry in self.entries)
        put = (
            f"  {old} <- [{module}] K43_{old.removeprefix('Step_')}\n"
            for old, module in self.replaces.items()
        )
        return f"CONSTANTS\n  Entries = {{{listed}}}\n" + "".join(put)


def _files(specs: Path) -> dict[str, Path]:
    """The list of each profile, by its name."""
    return {path.stem: path for path in sorted(specs.glob(f"*/{FOLDER}/*.toml"))}


def names(specs: Path = SPECS) -> list[str]:
    return [*_files(specs)]


def read_profile(name: str, specs: Path = SPECS) -> Profile:
    """The profile of this name. Raises ToolError: there is none, or it is not in order."""
    if name not in names(specs):
        raise ToolError(f"there is no profile {name!r:.40}; there are {', '.join(names(specs))}")
    path = _files(specs)[name]
    try:
        file = msgspec.convert(read_toml(path), _File)
    except (OSError, ValueError) as error:
        raise ToolError(f"{path}: {error}") from None
    return Profile(
        name=name,
        versions=tuple(file.versions),
        module=file.module,
        replaces=file.replaces,
        entries=tuple(file.entry),
    )


def profile_of(version: str, specs: Path = SPECS) -> Profile | None:
    """The profile of a version such as 4.2.1, if there is one."""
    short = ".".join(version.split(".")[:2])
    profiles = (read_profile(name, specs) for name in names(specs))
    return next((profile for profile in profiles if short in profile.versions), None)


def under(profile: Profile | None, frame: StepFrame, specs: Path = SPECS) -> StepFrame:
    """The frame, judging by the profile where the frame's module is one that it extends."""
    if profile is None or frame.module not in profile.replaces.values():
        return frame
    return replace(
        frame,
        module=profile.module,
        libraries=[*frame.libraries, _files(specs)[profile.name].parent],
        constants=frame.constants + profile.cfg(),
    )
