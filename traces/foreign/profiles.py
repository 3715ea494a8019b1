"""Profiles: what a version of an implementation does otherwise than the specs, by name.

The specs say what is right. A profile (`profiles` in the folders of protocols' specs) has for each
protocol a module that replaces operators of theirs as a bug's overlay does, and a list of entries,
each a departure with its class and its source. To judge by a profile is to judge by the specs with
these operators in place: more is allowed, never without a name.

Law of this file: what is asked for and not there is a ToolError that names it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal, TypeAlias

import msgspec

from kraftcheck.osutil.files import read_toml
from kraftcheck.specs import SPECS
from tla_utils import StepFrame, ToolError

FOLDER: Final = "profiles"
Class: TypeAlias = Literal["bug", "grain"]


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"of": "class"}):
    """One departure."""

    name: str
    of: Class
    """Bug (of the implementation), or grain (safe: only when or how often)."""
    says: str
    source: str
    """Where it is read or reported."""
    since: str = ""
    """The first version that departs so, if not all do."""
    until: str = ""
    """The last version that departs so, if it is mended."""

    def is_of(self, version: str) -> bool:
        """Whether a version such as 4.2 departs so."""
        number = _number(version)
        return number >= _number(self.since) and (not self.until or number <= _number(self.until))


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    module: str
    judges: list[str]
    versions: list[str]
    replaces: dict[str, str]
    entry: list[Entry] = []
    protocol: str = ""
    like: str = ""
    """The profile beside it whose entries apply as well, but for those that `drop` names."""
    drop: list[str] = []


class Part(msgspec.Struct, frozen=True):
    """What a profile says of one protocol: that of the folder of specs, if the file names none."""

    protocol: str
    module: str
    """With the replacements, each named Kafka_X for the operator X, or for Step_X."""
    judges: tuple[str, ...]
    """The modules of steps in whose place it stands."""
    versions: tuple[str, ...]
    """Of the implementation that it is true of, as their numbers begin."""
    replaces: dict[str, str]
    """By operator, the module that defines it."""
    entries: tuple[Entry, ...]
    """Those that apply."""

    def cfg(self, entries: str) -> str:
        """What a cfg needs to have the entries of a set applied; "": the frame gives it a value."""
        put = (
            f"  {old} <- [{module}] Kafka_{old.removeprefix('Step_')}\n"
            for old, module in self.replaces.items()
        )
        return "CONSTANTS\n" + (entries and f"  Entries = {entries}\n") + "".join(put)

    def listed(self, less: str = "") -> str:
        """The names of the entries as a set, without one of them."""
        names = (f'"{entry.name}"' for entry in self.entries if entry.name != less)
        return f"{{{', '.join(names)}}}"


class Profile(msgspec.Struct, frozen=True):
    """What implementations of a name do otherwise, protocol by protocol."""

    name: str
    parts: tuple[Part, ...]

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(entry for part in self.parts for entry in part.entries)

    def for_protocol(self, protocol: str) -> Profile:
        """As far as it is about one protocol."""
        parts = tuple(part for part in self.parts if part.protocol == protocol)
        return msgspec.structs.replace(self, parts=parts)

    def less(self, *entries: str) -> Profile:
        """Without the entries of these names."""
        kept = self.keeping(lambda each: each.name not in entries)
        return msgspec.structs.replace(kept, name=f"{self.name} without {', '.join(entries)}")

    def keeping(self, wanted: Callable[[Entry], bool]) -> Profile:
        """With these of its entries."""
        put = msgspec.structs.replace
        parts = tuple(put(p, entries=tuple(filter(wanted, p.entries))) for p in self.parts)
        return put(self, parts=parts)


def _number(version: str) -> list[int]:
    """Of 4.10, that is after 4.9; of none, before all."""
    return [int(part) for part in version.split(".") if part]


def _files(specs: Path) -> dict[str, list[Path]]:
    """The lists of each profile, by its name: one for each protocol that it is about."""
    found: dict[str, list[Path]] = {}
    for path in sorted(specs.rglob(f"{FOLDER}/*.toml")):
        found.setdefault(path.stem, []).append(path)
    return dict(sorted(found.items()))


def names(specs: Path = SPECS) -> list[str]:
    return [*_files(specs)]


def _entries(path: Path, file: _File) -> tuple[Entry, ...]:
    """Raises OSError, ValueError: the profile that it is like is not there, or not in order."""
    if not file.like:
        return tuple(file.entry)
    like = path.with_name(f"{file.like}.toml")
    others = _entries(like, msgspec.convert(read_toml(like), _File))
    if strange := {*file.drop} - {each.name for each in others}:
        raise ValueError(f"{file.like} has no entry {min(strange)} to drop")
    return (*[each for each in others if each.name not in file.drop], *file.entry)


def read_profile(name: str, specs: Path = SPECS) -> Profile:
    """The profile of this name. Raises ToolError: there is none, or it is not in order."""
    if name not in names(specs):
        raise ToolError(f"there is no profile {name!r:.40}; there are {', '.join(names(specs))}")
    parts: list[Part] = []
    for path in _files(specs)[name]:
        try:
            file = msgspec.convert(read_toml(path), _File)
            entries = _entries(path, file)
        except (OSError, ValueError) as error:
            raise ToolError(f"{path}: {error}") from None
        about = file.protocol or path.parents[1].name
        judges, versions = tuple(file.judges), tuple(file.versions)
        parts.append(Part(about, file.module, judges, versions, file.replaces, entries))
    return Profile(name, tuple(parts))


def departing() -> set[str]:
    """The protocols that profiles are about; of the others nothing is done otherwise."""
    return {part.protocol for name in names() for part in read_profile(name).parts}


def profile_of(version: str, protocol: str) -> Profile | None:
    """Give the profile of a version such as 4.2.1 for a protocol, if there is one.

    It has the entries of this version.
    """
    short = ".".join(version.split(".")[:2])
    for name in names():
        profile = read_profile(name)
        if any(short in part.versions for part in profile.for_protocol(protocol).parts):
            return profile.keeping(lambda each: each.is_of(short))
    return None


def under(profile: Profile | None, frame: StepFrame, specs: Path = SPECS) -> StepFrame:
    """The frame, judging by the profile where the frame's module is one that it extends."""
    part = part_for(profile, frame)
    if part is None:
        return frame
    return _put(part, frame, specs, part.listed())


def part_for(profile: Profile | None, frame: StepFrame) -> Part | None:
    """What a profile says of the steps that a frame judges, if it says anything."""
    found = [part for part in profile.parts if frame.module in part.judges] if profile else []
    return found[0] if found else None


def less_one(part: Part, frame: StepFrame, specs: Path = SPECS) -> StepFrame:
    """Make the frame that judges steps by all entries of a profile but one.

    A step with number n in the column `given` is judged without the nth: one run of TLC says which
    steps need which entry.
    """
    given = [
        {**constants, "Entries": part.listed(entry.name)}
        for constants, entry in zip(frame.given, part.entries, strict=False)
    ]
    return _put(part, replace(frame, given=given), specs, "")


def _put(part: Part, frame: StepFrame, specs: Path, entries: str) -> StepFrame:
    kept = [
        line
        for line in frame.constants.splitlines(keepends=True)
        if line.split(" <- ")[0].strip() not in part.replaces
    ]
    return replace(
        frame,
        module=part.module,
        libraries=[*frame.libraries, *sorted(specs.rglob(FOLDER))],
        constants="".join(kept) + part.cfg(entries),
    )
