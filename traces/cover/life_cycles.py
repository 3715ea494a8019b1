"""The page docs/measured/life-cycles.md: what TLC's graphs show, with what they are of.

Looking at the graphs takes TLC a minute, so the page is kept, and its second line is a digest of
each graph's modules and cfg and of what the pictures look at.

Law of this file: a page of another spec or of other pictures is stale.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path

from kraftcheck.specs import SPECS
from kraftcheck.traces.cover.charts import graph_digest
from kraftcheck.traces.cover.models import dump_graph, read_covers, select
from kraftcheck.traces.cover.pictures import PICTURES, Picture, look_at, page
from tla_utils import Jar, Java


def digest(specs: Path = SPECS, pictures: Sequence[Picture] = PICTURES) -> str:
    """Of the graphs that the pictures look at, and of how they do."""
    models, found = read_covers(specs), sha256()
    for picture in pictures:
        for name in picture.graphs:
            found.update(f"{name}\0{graph_digest(models[name], specs)}\0".encode())
        told = (
            picture.name,
            picture.sentence,
            str(picture.of_controller),
            inspect.getsource(picture.view),
        )
        found.update("\0".join(told).encode())
    return found.hexdigest()


def drawn(
    specs: Path = SPECS,
    *,
    jar: Jar | None = None,
    java: Java | None = None,
    note: Callable[[str], None] = lambda text: None,
) -> str:
    """The page: has TLC dump the graphs, and looks at them. Raises ToolError as `dump_graph`."""
    names = sorted({name for picture in PICTURES for name in picture.graphs})
    dumps = {
        model.name: dump_graph(model, specs, jar=jar, java=java, note=note).dump
        for model in select(read_covers(specs), names, [])
    }
    seen = [look_at(each, [dumps[name] for name in each.graphs]) for each in PICTURES]
    edges = {name: len(dumps[name].source) for name in names}
    title, _, body = page(seen, edges).partition("\n")
    return f"{title}\n{_mark(specs)}\n{body}"


def is_stale(text: str, specs: Path = SPECS) -> bool:
    """Whether a page is not of these specs, seen as the pictures look at them now."""
    return text.splitlines()[1:2] != [_mark(specs)]


def _mark(specs: Path) -> str:
    return f"<!-- of: {digest(specs)} -->"
