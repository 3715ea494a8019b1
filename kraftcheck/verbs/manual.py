"""`manual`: the pages of docs/, which help and messages name, wherever the kit is installed."""

from __future__ import annotations

from pathlib import Path

import click

from kraftcheck.exits import HOLDS, BadInput
from kraftcheck.screen import Screen
from kraftcheck.verbs.options import shown

PAGES = Path(__file__).parents[1] / "manual"


@click.command()
@click.argument("page", metavar="[PAGE]", required=False)
@shown
def manual(page: str | None, screen: Screen) -> int:
    """Print a page of docs/, or list the pages.

    \b
    Example: kraftcheck manual histories
    """
    files = sorted(PAGES.rglob("*.md"), key=lambda path: (path.parent != PAGES, path))
    pages = {_name(path): path.read_text("utf-8") for path in files}
    if page is None:
        titles = {name: text.partition("\n")[0].removeprefix("# ") for name, text in pages.items()}
        screen.facts(titles.items())
        screen.document(titles)
        return HOLDS
    # As a message names it: docs/histories.md#models. The folder may be left out.
    name = page.partition("#")[0].removeprefix("docs/").removesuffix(".md")
    name = next((each for each in pages if f"/{each}".endswith(f"/{name}")), "")
    if not name:
        raise BadInput(f"no page {page!r}; there are {', '.join(pages)}")
    screen.line(pages[name].rstrip("\n"))
    screen.document({"page": name, "text": pages[name]})
    return HOLDS


def _name(path: Path) -> str:
    return path.relative_to(PAGES).with_suffix("").as_posix()
