"""`bugs list` and `bugs show`: the catalogue, as it stands in reference/bugs/catalog.py."""

from __future__ import annotations

import textwrap
from typing import Any

from kraftcheck import exits
from kraftcheck.screen import Columns, Screen
from reference.bugs.catalog import CATALOG, Bug, UnknownBug, bug
from reference.bugs.partition_catalog import PARTITION_CATALOG, PartitionBug, partition_bug

ALL: tuple[Bug | PartitionBug, ...] = tuple(
    sorted((*CATALOG, *PARTITION_CATALOG), key=lambda each: each.id)
)
"""The bugs of the quorum and of the partition, by id."""

LISTED = ("bug", "class", "property", "seen by", "title")


def show_list(screen: Screen) -> int:
    rows = [_row(each) for each in ALL]
    columns = Columns(LISTED, rows)
    screen.line(columns.head)
    for row in rows:
        screen.line(columns.row(row))
    screen.document([as_json(each) for each in ALL])
    return exits.HOLDS


def _row(each: Bug | PartitionBug) -> list[object]:
    seen = ", ".join(each.detectors) if each.in_scope else "out of scope"
    return [each.id, each.klass, each.property, seen, each.title]


def show(id: str, screen: Screen) -> int:
    """Print one bug. Raises UnknownBug, which names the nearest."""
    found = _found(id)
    screen.line(f"{found.id}  {found.title}")
    screen.line()
    for line in textwrap.wrap(found.story, 96):
        screen.line(line)
    screen.line()
    screen.facts(_facts(found))
    screen.document(as_json(found))
    return exits.HOLDS


def _found(id: str) -> Bug | PartitionBug:
    try:
        return bug(id)
    except UnknownBug as unknown:
        try:
            return partition_bug(id)
        except UnknownBug:
            raise unknown from None


def _facts(found: Bug | PartitionBug) -> list[tuple[str, str]]:
    facts = [
        ("source", found.source),
        ("class", found.klass),
        ("breaks", ", ".join([found.property, *found.also])),
        _size(found),
    ]
    if not found.in_scope:
        return [*facts, ("out of scope", found.scope)]
    if isinstance(found, PartitionBug):
        replaces = [*found.rules, *found.handlers] or [f"nothing: {found.configuration}"]
        return [
            *facts,
            ("seen by", ", ".join(found.detectors)),
            ("replaces", ", ".join(replaces)),
        ]
    simulate = f"kraftcheck simulate --scenario quorum --runs 300 --seed 1 --bug {found.id}"
    return [
        *facts,
        ("seen by", ", ".join(found.detectors)),
        ("replaces", ", ".join(found.rules)),
        ("try it", f"{simulate} --out runs/{found.id}"),
    ]


def _size(found: Bug | PartitionBug) -> tuple[str, str]:
    """The smallest cluster that shows it."""
    if isinstance(found, PartitionBug):
        return ("replicas", str(found.replicas))
    return ("voters", str(found.voters))


def as_json(found: Bug | PartitionBug) -> dict[str, Any]:
    return {
        "id": found.id,
        "title": found.title,
        "story": found.story,
        "source": found.source,
        "year": found.year,
        "class": found.klass,
        "properties": [found.property, *found.also],
        _size(found)[0]: int(_size(found)[1]),
        "detectors": list(found.detectors),
        "replaces": list(found.rules),
        "in_scope": found.in_scope,
        "scope": found.scope,
    }
