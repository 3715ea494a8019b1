"""Pages in a real browser (Chromium), for tests that ask how they are laid out and obey keys.

All pages of a test are laid out at once: a page of frames, one for each page and width, each of
which measures itself and reports to the page around it.
"""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
BROWSER = next((found for name in NAMES if (found := shutil.which(name))), None)
WIDTHS = (1200, 420)
PAPER = 718
"""The width of A4 between the margins that browsers leave, in CSS pixels."""
TIMEOUT_S = 120

in_a_browser = [
    pytest.mark.skipif(BROWSER is None, reason=f"no browser: none of {', '.join(NAMES)} on PATH"),
    pytest.mark.acceptance,
    pytest.mark.xdist_group("browser"),
    pytest.mark.slow,
]
"""The marks of a module of such tests."""

AROUND = """<!DOCTYPE html><meta charset="utf-8"><body><script>
const found = [];
addEventListener("message", (event) => {
  found.push(JSON.parse(event.data));
  if (found.length === EXPECTED) {
    const result = document.createElement("pre");
    result.id = "result";
    result.textContent = JSON.stringify(found);
    document.body.replaceChildren(result);
  }
});
</script>FRAMES"""


def run(folder: Path, text: str, *options: str) -> tuple[str, str]:
    """The document after its scripts ran, and what was complained of on the console."""
    path = folder / "page.html"
    path.write_text(text, encoding="utf-8")
    assert BROWSER is not None
    done = subprocess.run(
        [
            *(BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
            *("--no-first-run", "--disable-extensions", "--disable-background-networking"),
            *(f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=20000"),
            *("--window-size=1300,1000", "--enable-logging=stderr", *options, "--dump-dom"),
            path.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        env={**os.environ, "HOME": str(folder)},
    )
    console = "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)
    return done.stdout, console


def laid_out(
    folder: Path, pages: Iterable[tuple[str, str, int]], measure: str
) -> dict[tuple[str, int], dict[str, Any]]:
    """What each page (name, text, width) measures of itself, by name and width. measure: a script
    element that posts it to its parent, with the name that stands in the root element."""
    frames = []
    for name, text, width in pages:
        # The policy would rightly refuse the script that measures.
        text = re.sub(r"<meta http-equiv=.*?>", "", text, flags=re.S)
        marked = text.replace('<html lang="en">', f'<html data-name="{name}@{width}">')
        marked = marked.replace("</body>", measure + "</body>")
        frames.append(
            f'<iframe width="{width}" height="800" srcdoc="{html.escape(marked)}"></iframe>'
        )
    around = AROUND.replace("EXPECTED", str(len(frames))).replace("FRAMES", "".join(frames))
    document, console = run(folder, around)
    assert console == ""
    result = re.search(r'<pre id="result">(.*?)</pre>', document, re.S)
    assert result is not None, document[-2000:]
    found = json.loads(html.unescape(result.group(1)))
    return {_key(each["name"]): each for each in found}


def _key(name: str) -> tuple[str, int]:
    title, _, width = name.partition("@")
    return title, int(width)
