"""`bugs list` and `bugs show`: the catalogue, as it stands in reference/bugs/catalog.py."""

from __future__ import annotations

import textwrap
from typing import Any

from kraftcheck import exits
from kraftcheck.screen import Columns, Screen
from reference.bugs.catalog import CATALOG, Bug, bug

LISTED = ("bug", "class", "property", "seen by", "title")


def show_list(screen: Screen) -> int:
    rows = [_row(each) for each in CATALOG]
    columns = Columns(LISTED, rows)
    screen.line(columns.head)
    for row in rows:
        screen.line(columns.row(row))
    screen.document([as_json(each) for each in CATALOG])
    return exits.HOLDS


def _row(each: Bug) -> list[object]:
    seen = ", ".join(each.detectors) if each.in_scope else "out of scope"
    return [each.id, each.klass, each.property, seen, each.title]


def show(id: str, screen: Screen) -> int:
    """Print one bug. Raises UnknownBug, which names the nearest."""
    found = bug(id)
    screen.line(f"{found.id}  {found.title}")
    screen.line()
    for line in textwrap.wrap(found.story, 96):
        screen.line(line)
    screen.line()
    screen.facts(_facts(found))
    screen.document(as_json(found))
    return exits.HOLDS


def _facts(found: Bug) -> list[tuple[str, str]]:
    facts = [
        ("source", found.source),
        ("class", found.klass),
        ("breaks", ", ".join([found.property, *found.also])),
        ("voters", str(found.voters)),
    ]
    if not found.in_scope:
        return [*facts, ("out of scope", found.scope)]
    simulate = f"kraftcheck simulate --scenario quorum --runs 300 --seed 1 --bug {found.id}"
    return [
        *facts,
        ("seen by", ", ".join(found.detectors)),
        ("replaces", ", ".join(found.rules)),
        ("try it", f"{simulate} --out runs/{found.id}"),
    ]


def as_json(found: Bug) -> dict[str, Any]:
    return {
        "id": found.id,
        "title": found.title,
        "story": found.story,
        "source": found.source,
        "year": found.year,
        "class": found.klass,
        "properties": [found.property, *found.also],
        "voters": found.voters,
        "detectors": list(found.detectors),
        "replaces": list(found.rules),
        "in_scope": found.in_scope,
        "scope": found.scope,
    }
