"""The text of a module's definitions: cut one out, put another in its place, tell two apart.

Law of this file: it relies on how the modules are laid out, and on no more: a definition begins at
the left margin, and all its further lines are indented or empty. Comments stay with the definition
that they are inside of. Meaning is TLC's business.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tla_utils.errors import ToolError
from tla_utils.sources import without_remarks

_HEAD = re.compile(
    r"^(?:LOCAL\s+)?(?P<name>[A-Za-z_]\w*)[ \t]*(?P<parameters>\((?:[^()]|\([^()]*\))*\))?"
    r"(?:\[[^\]]*\])?[ \t]*==(?!=)",
    re.MULTILINE,
)
# What is left of a module without its definitions, if it has nothing else.
_FRAME = re.compile(
    r"(?P<head>-{4,} *MODULE +\w+ *-{4,}\n(EXTENDS +\w+(\s*,\s*\w+)*\n)?)\s*(?P<foot>={4,})\s*"
)
_WORD = re.compile(r"\w+")
_MARGIN = re.compile(r"^(?=[^\s])", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Text:
    """One definition as it is written.

    start, end: where it stands in the module's text.
    """

    name: str
    start: int
    end: int
    head: str
    """Name and parameters, up to the `==`."""
    body: str
    """What is behind it, line breaks and indentation included."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of its parameters; `F(_, _)` is F."""
        inner = re.sub(r"\([\s_,]*\)", "", self.head.partition("(")[2].rpartition(")")[0])
        return tuple(word.strip() for word in inner.split(",") if word.strip())

    @property
    def text(self) -> str:
        return f"{self.head}=={self.body}"


def definitions(module: str) -> Iterator[Text]:
    """Every definition at the margin of a module's text, in order.

    Those in comments count too: no module has any.
    """
    for match in _HEAD.finditer(module):
        following = _MARGIN.search(module, match.end())
        end = following.start() if following else len(module)
        head = match.group()[: -len("==")]
        body = module[match.end() : end].rstrip()
        yield Text(match["name"], match.start(), match.end() + len(body), head, body)


def needed_definitions(module: str, text: str) -> str:
    """Remove the definitions that a text does not need from a module.

    Definitions stay if the text names them, or if one that stays names them. A module with more
    than a head and definitions is returned unchanged.

    Args:
        module: the text of the module.
        text: the text that uses it.
    """
    all_of_them = {each.name: each for each in definitions(module)}
    rest = module
    for each in reversed(all_of_them.values()):
        rest = rest[: each.start] + rest[each.end :]
    head = _FRAME.fullmatch(without_remarks(rest))
    if head is None:
        return module
    waiting, kept = [*_words(text)], set[str]()
    while waiting:
        name = waiting.pop()
        if name in all_of_them and name not in kept:
            kept.add(name)
            waiting += _words(all_of_them[name].text)
    own = [each.text for name, each in all_of_them.items() if name in kept]
    return "\n\n".join([head["head"], *own, head["foot"]]) + "\n"


def _words(text: str) -> set[str]:
    return {*_WORD.findall(without_remarks(text))}


def definition(module: str, name: str) -> Text:
    """The definition of this name. Raises ToolError: there is none."""
    for found in definitions(module):
        if found.name == name:
            return found
    raise ToolError(f"the module does not define {name}")


def renamed(found: Text, old: str, new: str) -> str:
    """The text of a definition with one name in the place of another, wherever it is a word."""
    return re.sub(rf"(?<![A-Za-z0-9_]){re.escape(old)}(?![A-Za-z0-9_])", new, found.text)


def difference(before: str, after: str, names: tuple[str, str]) -> list[str]:
    """Two texts as a unified diff, without line numbers, which would say nothing."""
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), *names, lineterm="", n=100
    )
    return [line for line in lines if not line.startswith("@@")]
