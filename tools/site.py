"""The documentation as a site: `make site` builds it into build/site.

The pages are the repository's Markdown where it stands, README.md first, and one more with the
functions of `import kraftcheck` by their docstrings. A link that leads nowhere, to a page, a file
or a heading, fails the build.
"""

from __future__ import annotations

import json
import posixpath
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
BUILD: Final = ROOT / "build"
PAGES: Final = BUILD / "site-pages"
SITE: Final = BUILD / "site"
LINK: Final = re.compile(r"\]\(([^)\s#:]+)(?:#[^)\s]*)?\)")
API: Final = "api.md"
SECTIONS: Final = (
    ("Start", ("README.md", "docs/README.md")),
    ("Reference", ("docs/reference/",)),
    ("Measured", ("docs/measured/",)),
    ("Guides", ("docs/",)),
    ("Python", (API, "tla_utils/README.md")),
    ("Finds", ("finds/",)),
    ("Specifications", ("specs/",)),
    ("The repository", ("",)),
)
"""What each section lists: pages, and folders with all pages below that no section before has."""


def staged() -> list[str]:
    """Copies every tracked page, and the files that pages link to; returns the pages."""
    shutil.rmtree(PAGES, ignore_errors=True)
    told = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, text=True, check=True
    )
    tracked = {*told.stdout.split("\0")}
    pages = sorted(each for each in tracked if each.endswith(".md"))
    linked = {
        posixpath.normpath(posixpath.join(posixpath.dirname(page), target))
        for page in pages
        for target in LINK.findall((ROOT / page).read_text(encoding="utf-8"))
    }
    for each in sorted({*pages, *(linked & tracked)}):
        (PAGES / each).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / each, PAGES / each)
    (PAGES / API).write_text("# Functions of `import kraftcheck`\n\n::: kraftcheck.api\n")
    return [*pages, API]


def listed(pages: list[str]) -> list[dict[str, list[str]]]:
    """The table of contents."""
    left = dict.fromkeys(pages)
    found: list[dict[str, list[str]]] = []
    for name, wanted in SECTIONS:
        own = [page for each in wanted for page in left if is_in(page, each)]
        left = {page: None for page in left if page not in own}
        found.append({name: own})
    return found


def is_in(page: str, wanted: str) -> bool:
    return page == wanted or ((wanted == "" or wanted.endswith("/")) and page.startswith(wanted))


def settings(pages: list[str]) -> dict[str, Any]:
    """As MkDocs reads them."""
    options = {"docstring_style": "google", "show_source": False, "members_order": "source"}
    return {
        "site_name": "kraftcheck",
        "docs_dir": str(PAGES),
        "site_dir": str(SITE),
        "theme": "readthedocs",
        "use_directory_urls": False,
        "nav": listed(pages),
        "plugins": [
            "search",
            {"mkdocstrings": {"handlers": {"python": {"paths": [str(ROOT)], "options": options}}}},
        ],
        "markdown_extensions": ["tables", "fenced_code", "sane_lists"],
        "validation": {
            "omitted_files": "warn",
            "absolute_links": "warn",
            "unrecognized_links": "warn",
            "anchors": "warn",
        },
    }


def main() -> int:
    """Ends with MkDocs' exit code, which is not 0 after a warning."""
    file = BUILD / "mkdocs.yml"
    pages = staged()
    file.write_text(json.dumps(settings(pages), indent=1))  # YAML includes JSON.
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(file)],
        check=False,
    ).returncode


if __name__ == "__main__":
    raise SystemExit(main())
