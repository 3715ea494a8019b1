"""Read a TLC configuration (cfg) just far enough to distrust it.

TLC 2.15 is silent about two mistakes that turn a check into nothing:

* `CONSTANT Q = 3` where no module declares Q is ignored;
* `Op <- BugOp` without a module name is ignored, exit code 0, when Op is reached through a LOCAL
  INSTANCE, or through an INSTANCE of a module with constants or variables (SANY then copies the
  definitions). `Op <- [DefiningModule] BugOp` always works.

Law of this file: it knows the grammar of a cfg and nothing of what the names mean. The runner
compares these names with the modules that TLC really read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_COMMENT = re.compile(r"\\\*[^\n]*|\(\*.*?\*\)", re.DOTALL)
_WORD = re.compile(r'"[^"]*"|<-|=|[{}\[\],]|[^\s{}\[\],=<"]+|<')

_CONSTANTS = ("CONSTANT", "CONSTANTS")
_NAME_LISTS = {
    "INVARIANT": "invariants",
    "INVARIANTS": "invariants",
    "PROPERTY": "properties",
    "PROPERTIES": "properties",
    "SPECIFICATION": "specification",
    "CONSTRAINT": "constraints",
    "CONSTRAINTS": "constraints",
    "VIEW": "view",
}
_OTHER_WORDS = """INIT NEXT ACTION_CONSTRAINT SYMMETRY ACTION_CONSTRAINTS TYPE TYPE_CONSTRAINT"""
_OTHER_SECTIONS = frozenset(_OTHER_WORDS.split())


@dataclass(frozen=True, slots=True)
class Config:
    """The names in a cfg.

    assigned: by the left side of `Name = value` the value, as words with blanks between them.
    substituted: left side, module in brackets (None without), right side of each `<-`.
    The others: the names listed, in order.
    """

    assigned: dict[str, str] = field(default_factory=dict)
    substituted: list[tuple[str, str | None, str]] = field(default_factory=list)
    invariants: list[str] = field(default_factory=list)
    properties: list[str] = field(default_factory=list)
    specification: list[str] = field(default_factory=list)
    constraints: list[str] = field(default_factory=list)
    view: list[str] = field(default_factory=list)


def read_config(text: str) -> Config:
    """The names in the text of a cfg. Never fails: what is no cfg, TLC itself will refuse."""
    config = Config()
    words = _WORD.findall(_COMMENT.sub(" ", text))
    section = name = ""
    for position, word in enumerate(words):
        before = words[position - 1] if position else ""
        after = words[position + 1] if position + 1 < len(words) else ""
        if word in _CONSTANTS or word in _NAME_LISTS or word in _OTHER_SECTIONS:
            section, name = word, ""
        elif section in _CONSTANTS and after == "=" and before != "<-":
            config.assigned[word], name = "", word
        elif section in _CONSTANTS and after == "<-":
            module, right = _substitute(words[position + 2 : position + 6])
            config.substituted.append((word, module, right))
            name = ""
        elif name and not (before == name and word == "="):
            config.assigned[name] = f"{config.assigned[name]} {word}".lstrip()
        elif section in _NAME_LISTS:
            getattr(config, _NAME_LISTS[section]).append(word)
    return config


def _substitute(words: list[str]) -> tuple[str | None, str]:
    """`[Module] Name` or `Name`, from the words behind an arrow."""
    if len(words) == 4 and words[0] == "[" and words[2] == "]":
        return words[1], words[3]
    return None, words[0] if words else ""
