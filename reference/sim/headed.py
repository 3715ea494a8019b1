"""The head of a file that has a run: what it is, under which bug, and with which options.

    kraftcheck schedule 1
    scenario  partition
    bug       Z34
    violates  WeakIsr
    options   {}

Law of this file: what is written is read back as it was; what is no such file is refused with the
line and the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec

VERSION: Final = 1
MOVES: Final = "kraftcheck moves"
CHOICES: Final = "kraftcheck schedule"
"""The first words of the two kinds of such files."""
BODY: Final = 6
"""The line at which the rest begins, from 1."""
_NONE: Final = "none"


class Form(NamedTuple):
    """A kind of such files."""

    kind: str
    first: str
    """The field that its first line has."""
    known: Sequence[str] = ()
    """What that may be; empty: anything."""

    def is_meant(self, text: str) -> bool:
        """Whether a file that begins so means to be one, of whatever version."""
        return text.startswith(self.kind)

    def write(self, run: Any) -> str:
        """All that comes before the rest. run: has these fields."""
        options = msgspec.json.encode(dict(run.options), order="sorted").decode()
        said = (getattr(run, self.first), run.bug or _NONE, run.violates or _NONE, options)
        lines = [f"{key:<9} {value}" for key, value in zip(self._keys, said, strict=True)]
        return "\n".join([f"{self.kind} {VERSION}", *lines, "", ""])

    def read(self, text: str) -> tuple[dict[str, Any], list[str]]:
        """The fields, and the lines of the rest. Raises ValueError: there is no such head."""
        begins, _, rest = text.partition("\n")
        head = f"{self.kind} {VERSION}"
        if begins.strip() != head:
            if self.is_meant(begins):
                version = begins.removeprefix(self.kind).strip()
                raise ValueError(f"line 1: version {version:.20}, this kraftcheck reads {VERSION}")
            named = self.kind.split()[-1]
            raise ValueError(f"line 1: no {named}: it does not begin with {head!r}")
        lines, said = rest.split("\n"), dict[str, Any]()
        for number, key in enumerate(self._keys, 2):
            line = lines[number - 2].strip() if number - 2 < len(lines) else ""
            name, _, value = line.partition(" ")
            if name != key or not value.strip():
                there = f"{line!r:.60} is not" if line else "the head ends before"
                raise ValueError(f"line {number}: {there} `{key} …`")
            said[key] = value.strip()
        if self.known and said[self.first] not in self.known:
            there = f"there is no {self.first} {said[self.first]!r:.40}"
            raise ValueError(f"line 2: {there}; there are {', '.join(self.known)}")
        try:
            said["options"] = msgspec.json.decode(said["options"], type=dict[str, Any])
        except (msgspec.DecodeError, RecursionError) as error:
            raise ValueError(f"line 5: options: {error}") from None
        none = {"bug": None, "violates": ""}
        said |= {name: value for name, value in none.items() if said[name] == _NONE}
        return said, lines[BODY - 2 :]

    @property
    def _keys(self) -> tuple[str, ...]:
        return (self.first, "bug", "violates", "options")
