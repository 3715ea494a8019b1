"""Tables in Markdown: of generated parts of pages, and of files that verbs write."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """heads: as those of `screen.Columns`, with ">" in front of what is aligned to the right.

    What stands in cells is not escaped.
    """
    names = [head.removeprefix(">") for head in heads]
    rule = "".join("|---:" if head.startswith(">") else "|---" for head in heads)
    return "\n".join([line(names), f"{rule}|", *map(line, rows)]) + "\n"


def line(cells: Sequence[object]) -> str:
    return " | ".join(["", *map(str, cells), ""]).strip()
