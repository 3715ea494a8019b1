"""The form of a transcript: commands, each with the output that it is known to give.

    # The story, for people.
    time-out 1
    ----
    what was observed, up to the next empty line

Law of this file: nothing here knows what a command means. Reading a transcript and writing it again
unchanged gives the same text, so a rewrite touches expected output and nothing else.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

DIVIDER = "----"


class ScriptError(Exception):
    """The script itself is wrong: one line that begins with file and line."""


class Block(NamedTuple):
    """A command and what it is expected to print."""

    lead: tuple[str, ...]
    """Comments and empty lines before the command, as they stand."""
    line: int
    command: str
    """Empty for what follows the last command."""
    expected: tuple[str, ...]


Execute = Callable[[str, int], Sequence[str]]
"""From a command and its line to its output."""


def parse(name: str, text: str) -> list[Block]:
    """The blocks of a transcript, the last of which may be only comments."""
    blocks: list[Block] = []
    lead: list[str] = []
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        line = lines[at]
        if not line.strip() or line.startswith("#"):
            lead.append(line)
            at += 1
            continue
        if line == DIVIDER:
            raise ScriptError(f"{name}:{at + 1}: {DIVIDER} without a command above it")
        if at + 1 < len(lines) and lines[at + 1] != DIVIDER:
            raise ScriptError(f"{name}:{at + 2}: expected {DIVIDER} below the command {line!r}")
        end = at + 2
        while end < len(lines) and lines[end].strip():
            end += 1
        blocks.append(Block(tuple(lead), at + 1, line, tuple(lines[at + 2 : end])))
        lead, at = [], end
    if lead:
        blocks.append(Block(tuple(lead), len(lines), "", ()))
    return blocks


def render(blocks: Sequence[Block]) -> str:
    lines: list[str] = []
    for block in blocks:
        lines += block.lead
        if block.command:
            lines += [block.command, DIVIDER, *block.expected]
    return "".join(f"{line}\n" for line in lines)


def observe(blocks: Sequence[Block], execute: Execute) -> list[Block]:
    """The same blocks with the output that the commands give now."""
    return [
        block._replace(expected=tuple(execute(block.command, block.line)))
        if block.command
        else block
        for block in blocks
    ]


def difference(name: str, expected: Sequence[Block], observed: Sequence[Block]) -> str:
    """Each command whose output is not the expected one, with a diff; empty when all agree."""
    parts: list[str] = []
    for want, got in zip(expected, observed, strict=True):
        if want.expected != got.expected:
            diff = difflib.ndiff(want.expected, got.expected)
            parts.append(f"{name}:{want.line}: {want.command}  (- expected, + observed)")
            parts += [f"    {line}" for line in diff if not line.startswith("?")]
    return "\n".join(parts)


def check(path: Path, execute: Execute, rewrite: bool) -> str:
    """Runs a transcript: the difference in words, or, with `rewrite`, nothing and a new file."""
    text = path.read_text(encoding="utf-8")
    blocks = parse(path.name, text)
    observed = observe(blocks, execute)
    if not rewrite:
        return difference(path.name, blocks, observed)
    if (fresh := render(observed)) != text:
        path.write_text(fresh, encoding="utf-8")
    return ""
