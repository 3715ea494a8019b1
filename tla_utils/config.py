"""The configuration of a TLC model (cfg): read, as far as it says anything, and written again.

TLC 2.15 is silent about two mistakes that turn a check into nothing:

* `CONSTANT Q = 3` where no module declares Q is ignored;
* `Op <- BugOp` without a module name is ignored, exit code 0, when Op is reached through a LOCAL
  INSTANCE, or through an INSTANCE of a module with constants or variables (SANY then copies the
  definitions). `Op <- [DefiningModule] BugOp` always works.

Laws of this file: it knows the grammar of a cfg and nothing of what the names mean. The runner
compares these names with the modules that TLC really read. What is rendered reads as the same
configuration, so a rendered text is the *normal form* of every text that says the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

_COMMENT = re.compile(r"\\\*[^\n]*|\(\*.*?\*\)", re.DOTALL)
_WORD = re.compile(r'"[^"]*"|<-|=|[{}\[\],]|[^\s{}\[\],=<"]+|<')

_CONSTANTS = ("CONSTANT", "CONSTANTS")
NAMED: Final = {
    "SPECIFICATION": "specification",
    "INIT": "init",
    "NEXT": "next",
    "VIEW": "view",
    "SYMMETRY": "symmetry",
}
"""The sections of one name each, as fields of a Config."""
LISTED: Final = {
    "CONSTRAINTS": "constraints",
    "ACTION_CONSTRAINTS": "action_constraints",
    "INVARIANTS": "invariants",
    "PROPERTIES": "properties",
}
"""The sections that list names."""
_SINGULAR = {
    "CONSTRAINT": "constraints",
    "ACTION_CONSTRAINT": "action_constraints",
    "INVARIANT": "invariants",
    "PROPERTY": "properties",
}
_FIELDS = NAMED | LISTED | _SINGULAR
# Of old versions of TLC; it says itself what it makes of them.
_OTHER_SECTIONS = frozenset(("TYPE", "TYPE_CONSTRAINT"))


@dataclass(frozen=True, slots=True)
class Config:
    """What a cfg says."""

    assigned: dict[str, str] = field(default_factory=dict)
    """By the left side of `Name = value` the value, as words with blanks between them."""
    substituted: list[tuple[str, str | None, str]] = field(default_factory=list)
    """Left side, module in brackets (None without), right side of each `<-`. The others: the names
    listed, in order.
    """
    specification: list[str] = field(default_factory=list)
    init: list[str] = field(default_factory=list)
    next: list[str] = field(default_factory=list)
    view: list[str] = field(default_factory=list)
    symmetry: list[str] = field(default_factory=list)
    constraints: list[str] = field(default_factory=list)
    action_constraints: list[str] = field(default_factory=list)
    invariants: list[str] = field(default_factory=list)
    properties: list[str] = field(default_factory=list)


def read_config(text: str) -> Config:
    """What the text of a cfg says. Never fails: what is no cfg, TLC itself will refuse."""
    config = Config()
    words = _WORD.findall(_COMMENT.sub(" ", text))
    section = name = ""
    for position, word in enumerate(words):
        before = words[position - 1] if position else ""
        after = words[position + 1] if position + 1 < len(words) else ""
        if word in _CONSTANTS or word in _FIELDS or word in _OTHER_SECTIONS:
            section, name = word, ""
        elif section in _CONSTANTS and after == "=" and before != "<-":
            config.assigned[word], name = "", word
        elif section in _CONSTANTS and after == "<-":
            module, right = _substitute(words[position + 2 : position + 6])
            config.substituted.append((word, module, right))
            name = ""
        elif name and not (before == name and word == "="):
            config.assigned[name] = f"{config.assigned[name]} {word}".lstrip()
        elif section in _FIELDS:
            getattr(config, _FIELDS[section]).append(word)
    return config


def _substitute(words: list[str]) -> tuple[str | None, str]:
    """`[Module] Name` or `Name`, from the words behind an arrow."""
    if len(words) == 4 and words[0] == "[" and words[2] == "]":
        return words[1], words[3]
    return None, words[0] if words else ""


def cfg_text(config: Config) -> str:
    """The text of a cfg that says this."""
    return "".join(f"{line}\n" for line in _lines(config))


def _lines(config: Config) -> Iterator[str]:
    for section, name in NAMED.items():
        if named := getattr(config, name):
            yield f"{section} {' '.join(named)}"
    if config.assigned or config.substituted:
        yield "CONSTANTS"
    for left, value in config.assigned.items():
        yield f"  {left} = {written(value)}"
    for left, module, right in config.substituted:
        yield f"  {left} <- {right if module is None else f'[{module}] {right}'}"
    for section, name in LISTED.items():
        if listed := getattr(config, name):
            yield section
            yield from (f"  {each}" for each in listed)


def written(value: str) -> str:
    """A value as one writes it: {n1, n2}, and not { n1 , n2 }; strings are left as they are."""
    text = ""
    for word in _WORD.findall(value):
        tight = word in ("]", "}", ",") or not text or text[-1] in "{["
        text += word if tight else f" {word}"
    return text
