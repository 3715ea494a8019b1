"""The one exception that bad input raises.

Law of this file: whoever calls the tools with something they cannot use (a missing jar, a module
that does not parse, an output that is not TLC's) gets a `ToolError`, and its message is *one* line
that says what is wrong, where, and what to do. A command line prints that line and exits with 3.
What TLC finds out about a specification is never an exception; it is a verdict.
"""

from __future__ import annotations


class ToolError(Exception):
    """Bad input or a missing tool; `str(error)` is one clear line without a line break."""

    def __init__(self, message: str) -> None:
        # Messages often quote what Java or TLC printed: fold that to one line here, once.
        super().__init__(" ".join(message.split()))
