"""The one exception that bad input raises.

Law of this file: whoever calls the tools with something they cannot use (a missing jar, a module
that does not parse, an output that is not TLC's) gets a `ToolError`, and its message is *one* line
that says what is wrong, where, and what to do. A command line prints that line and exits with 3.
What TLC finds out about a specification is never an exception; it is a verdict.
"""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches


class ToolError(Exception):
    """Bad input or a missing tool; `str(error)` is one clear line without a line break."""

    def __init__(self, message: str) -> None:
        # Messages often quote what Java or TLC printed: fold that to one line here, once.
        super().__init__(" ".join(message.split()))


def nearest(name: str, known: Collection[str]) -> str:
    """A hint for a misspelt name: the nearest known ones, or all if there are few."""
    close = get_close_matches(name, list(known), 3, 0.5)
    return f"; nearest: {', '.join(close)}" if close else f"; {some(known)}"


def some(known: Collection[str]) -> str:
    """What there is, as far as it is few."""
    shown = list(known)[:12]
    more = ", ..." if len(known) > len(shown) else ""
    return f"there are: {', '.join(shown)}{more}" if shown else "there are none"
