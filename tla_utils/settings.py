"""The constants of a graph, as the text of its cfg gives them.

Law of this file: what is missing or malformed is a ToolError that names the constant.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from tla_utils import ToolError
from tla_utils.sources import REMARK

_CONSTANT: Final = re.compile(r"(\w+)\s*(?:=|<-)\s*(\{(?:[^{}]|\{[^{}]*\})*\}|[^\s=]+)")

_INNER: Final = re.compile(r"\{[^{}]*\}")


def constants_of(text: str) -> dict[str, str]:
    """Constant -> its value, or the name of the definition that it is replaced by."""
    return dict(_CONSTANT.findall(REMARK.sub(" ", text)))


class Settings:
    """Constants by name, read as what they should be. Each method raises ToolError."""

    def __init__(self, constants: Mapping[str, str]) -> None:
        self._constants = constants

    def text(self, name: str) -> str:
        """As it stands."""
        if name not in self._constants:
            raise ToolError(f"the cfg does not say {name}")
        return self._constants[name]

    def number(self, name: str) -> int:
        text = self._constants.get(name, "")
        if not text.removeprefix("-").isdecimal():
            raise ToolError(f"the cfg gives {name} no number")
        return int(text)

    def truth(self, name: str) -> bool:
        text = self.text(name)
        if text not in ("TRUE", "FALSE"):
            raise ToolError(f"the cfg gives {name} neither TRUE nor FALSE")
        return text == "TRUE"

    def members(self, name: str) -> list[str]:
        """The members of a set, strings without their quotes."""
        return _members(self.text(name))

    def sets(self, name: str) -> list[list[str]]:
        """The members of each set of a set of sets."""
        return [_members(each) for each in _INNER.findall(self.text(name).strip()[1:-1])]


def _members(text: str) -> list[str]:
    listed = text.strip("{} \n").split(",")
    return [member.strip().strip('"') for member in listed if member.strip()]
