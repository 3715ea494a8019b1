"""The bugs of a protocol's package, from its classes and its table (bug.py says what stands where).

Law of this file: a table that is not in order, and a class or an entry without the other, are
errors of one line.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from importlib import import_module
from importlib.resources import files
from types import ModuleType
from typing import Annotated, Any, Final

import msgspec

from kraftcheck.reference.bugs.bug import ALL, BASES, Bug, Class, Detector

MODULE: Final = "bugs"
TABLE: Final = "bugs.toml"
_ID: Final = re.compile(r"[A-Z]\d+")


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a table says of a bug."""

    title: Annotated[str, msgspec.Meta(min_length=1)]
    properties: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    """The one that names it, and others that it breaks. detectors, unless said: all of a bug of
    safety, and of one of liveness TLC and the relation of steps; nobody of what cannot be replayed.
    """
    source: str
    story: str = ""
    class_of: str = ""
    """The bug whose class it is too, in other circumstances. The others are the fields of `Bug`."""
    protocol: str = ""
    """Where nothing is replaced."""
    year: int | None = None
    klass: Class = "safety"
    nodes: int = 3
    lossy: bool = False
    detectors: tuple[Detector, ...] | None = None
    boundary: str = ""
    field: str = ""
    configuration: str = ""
    alone: str = ""
    scope: str = ""
    options: dict[str, Any] = {}
    no_overlay: str = ""
    no_run: dict[str, str] = {}


def declared(package: str) -> list[Bug]:
    """The bugs of a protocol's package, in the order of its table.

    Raises ValueError: the table is not in order, or does not have the same bugs as the module; and
    whatever the module raises.
    """
    place = files(package)
    old = place / "bugs"
    if old.is_dir() and any(each.name.endswith(".py") for each in old.iterdir()):
        raise ValueError(f"bugs/*.py: write bugs as classes of {MODULE}.py and entries of {TABLE}")
    table, has_classes = place / TABLE, (place / f"{MODULE}.py").is_file()
    if not table.is_file():
        if has_classes:
            raise ValueError(f"there is no {TABLE} beside {MODULE}.py")
        return []
    classes = _classes(import_module(f"{package}.{MODULE}")) if has_classes else {}
    entries = tomllib.loads(table.read_text("utf-8"))
    if unsaid := classes.keys() - entries.keys():
        raise ValueError(f"{TABLE} has no entry for {', '.join(sorted(unsaid))}")
    return [_bug(id, entry, classes) for id, entry in entries.items()]


def _classes(module: ModuleType) -> dict[str, type]:
    """The replacements of a module by the ids with which their names begin."""
    own = [each for each in vars(module).values() if isinstance(each, type)]
    found: dict[str, type] = {}
    for each in own:
        id = _ID.match(each.__name__)
        if id is None or each.__module__ != module.__name__:
            continue
        if id[0] in found:
            raise ValueError(f"{found[id[0]].__name__} and {each.__name__} have one id")
        found[id[0]] = each
    return found


def _bug(id: str, entry: object, classes: Mapping[str, type]) -> Bug:
    """A bug, from its entry and its class. Raises ValueError: they are not in order."""
    if not _ID.fullmatch(id):
        raise ValueError(f"{TABLE}: {id!r} is no id: write a capital letter and a number")
    try:
        said = msgspec.convert(entry, Entry)
    except msgspec.ValidationError as error:
        raise ValueError(f"{TABLE}: {id}: {error}") from None
    replacement = classes.get(said.class_of or id)
    if replacement is None and not (said.protocol or said.scope):
        raise ValueError(
            f"{TABLE}: {id}: no class of {MODULE}.py has a name that begins with its id"
        )
    detectors = said.detectors
    if detectors is None:
        detectors = () if said.scope else ALL if said.klass == "safety" else ("tlc", "steps")
    bug = Bug(
        id=id,
        title=" ".join(said.title.split()),
        story=" ".join(said.story.split()),
        source=said.source,
        protocol=said.protocol,
        year=said.year,
        replacement=replacement,
        configuration=said.configuration,
        property=said.properties[0],
        also=said.properties[1:],
        klass=said.klass,
        nodes=said.nodes,
        lossy=said.lossy,
        detectors=detectors,
        boundary=said.boundary,
        field=said.field,
        alone=said.alone,
        scope=said.scope,
        options=said.options,
        no_overlay=said.no_overlay,
        no_run={oracle: " ".join(why.split()) for oracle, why in said.no_run.items()},
    )
    if bug.base is None:
        return bug
    return msgspec.structs.replace(
        bug,
        protocol=BASES[bug.base].protocol,
        boundary=said.boundary or ", ".join(bug.replaces),
    )
