"""The drawings behind docs/life-cycles.md: what TLC's graphs showed, stored with what they are of.

Looking at the graphs takes TLC a minute, so what was seen is kept in specs/cover/pictures.json,
with a digest of each graph's modules and cfg and of what the pictures look at. While these are the
same, the page is made of the file alone.

Law of this file: drawings of another spec or of other pictures are stale, and no page is made of
them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from tla_utils import Jar, Java, ToolError
from tla_utils.dump import Dump
from traces.cover.charts import graph_digest
from traces.cover.models import SPECS, dump_graph, read_covers, select
from traces.cover.pictures import PICTURES, Drawing, Picture, look_at, page

FILE: Final = Path("cover") / "pictures.json"


class Drawings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """of: a digest of what was looked at. edges: how many each graph has. pictures: in their
    order."""

    of: str
    edges: dict[str, int]
    pictures: tuple[Drawing, ...]


def digest(specs: Path = SPECS, pictures: Sequence[Picture] = PICTURES) -> str:
    """Of the graphs that the pictures look at, and of how they do."""
    models, found = read_covers(specs), sha256()
    for picture in pictures:
        for name in picture.graphs:
            found.update(f"{name}\0{graph_digest(models[name], specs)}\0".encode())
        told = (picture.name, picture.sentence, picture.variable, inspect.getsource(picture.view))
        found.update("\0".join(told).encode())
    return found.hexdigest()


def drawn(
    specs: Path = SPECS,
    *,
    jar: Jar | None = None,
    java: Java | None = None,
    note: Callable[[str], None] = lambda text: None,
) -> Drawings:
    """Has TLC dump the graphs, and looks at them. Raises ToolError as `dump_graph` does."""
    names = sorted({name for picture in PICTURES for name in picture.graphs})
    dumps: dict[str, Dump] = {}
    for model in select(read_covers(specs), names, []):
        dumps[model.name] = dump_graph(model, specs, jar=jar, java=java, note=note).dump
    seen = [look_at(each, [dumps[name] for name in each.graphs]) for each in PICTURES]
    edges = {name: len(dumps[name].source) for name in names}
    return Drawings(digest(specs), edges, tuple(seen))


def page_of(drawings: Drawings) -> str:
    """The page that shows them."""
    return page(drawings.pictures, drawings.edges)


def stored(specs: Path = SPECS) -> Drawings:
    """The kept drawings. Raises ToolError: there are none, or they are damaged or stale."""
    path = specs / FILE
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Drawings)
    except OSError as error:
        raise ToolError(f"{path}: {error.strerror}: make docs draws it") from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ToolError(f"{path}: damaged: {error}: make docs draws it again") from None
    if found.of != digest(specs):
        raise ToolError(f"{path} shows graphs that are no longer the spec's: run make docs")
    return found


def refresh(specs: Path = SPECS, note: Callable[[str], None] = lambda text: None) -> None:
    """Draws anew where the kept drawings are missing, damaged or stale: a minute of TLC."""
    try:
        stored(specs)
    except ToolError:
        text = msgspec.json.format(msgspec.json.encode(drawn(specs, note=note)), indent=1)
        (specs / FILE).write_bytes(text + b"\n")
