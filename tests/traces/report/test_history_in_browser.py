"""The page about a client history in a real browser: it fits, complains of nothing, obeys keys.

All pages are laid out at once: a page of frames, one for each history and width, each of which
measures itself and reports to the page around it. Skipped where no Chromium is found.
"""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.traces.report.histories import (
    divergent,
    log_history,
    many_faults,
    register_history,
    stale,
)
from traces.report.history import render

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
BROWSER = next((found for name in NAMES if (found := shutil.which(name))), None)
WIDTHS = (1200, 420)
PAPER = 718
"""The width of A4 between the margins that browsers leave, in CSS pixels."""
TIMEOUT_S = 120

pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason=f"no browser: none of {', '.join(NAMES)} on PATH"),
    pytest.mark.xdist_group("browser"),
    pytest.mark.slow,
]

MEASURE = """<script>
addEventListener("load", () => {
  const within = (element) => {
    const box = element.getBoundingClientRect();
    return box.right <= innerWidth + 1 && box.left >= -1;
  };
  const scrolled = (element) => {
    const around = element.closest(".scroll");
    return around !== null && getComputedStyle(around).overflowX === "auto";
  };
  const outside = [...document.body.querySelectorAll("*")].filter(
    (element) => element.getClientRects().length && !within(element) && !scrolled(element));
  const words = [...document.querySelectorAll("g.bar")].filter((bar) => {
    const text = bar.querySelector("text").getBoundingClientRect();
    const box = bar.querySelector("polygon").getBoundingClientRect();
    return text.width && (text.right > box.right + 2 || text.left < box.left - 2);
  });
  const covered = [...document.querySelectorAll(".strip svg")].flatMap((strip) => {
    const words = [...strip.querySelectorAll("text:not(g.bar text)")].map(
      (text) => [text.textContent, text.getBoundingClientRect()]);
    return words.flatMap(([said, a], at) => words.slice(at + 1).filter(([, b]) =>
      a.left < b.right && b.left < a.right && a.top + 3 < b.bottom && b.top + 3 < a.bottom
    ).map(([other]) => `${said} | ${other}`));
  });
  const bars = [...document.querySelectorAll("g.bar")];
  const said = document.getElementById("said");
  const press = (key) => document.activeElement.dispatchEvent(
    new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  const visited = [];
  if (bars.length) {
    bars[0].focus();
    for (const key of ["ArrowRight", "ArrowDown", "ArrowUp", "End", "Home", "ArrowLeft"]) {
      press(key);
      visited.push(bars.indexOf(document.activeElement));
    }
  }
  const heard = said && said.textContent === bars[0].querySelector("title").textContent;
  if (document.activeElement) document.activeElement.blur();
  parent.postMessage(JSON.stringify({
    name: document.documentElement.dataset.name,
    overflow: document.documentElement.scrollWidth - innerWidth,
    outside: outside.slice(0, 5).map((element) => element.outerHTML.slice(0, 120)),
    covered: covered.slice(0, 5),
    words: words.slice(0, 5).map((bar) => bar.querySelector("text").textContent),
    bars: bars.length, accused: document.querySelectorAll("g.accused").length, visited, heard,
    tabs: bars.filter((bar) => bar.tabIndex === 0).length,
    ink: getComputedStyle(document.body).color,
    paper: getComputedStyle(document.body).backgroundColor,
  }), "*");
});
</script>"""

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


def pages() -> dict[str, str]:
    sizes = {1: 30, 30: 300, 300: 3000}
    made = {f"{n} processes": render(h, stale(h)) for n, h in _logs(sizes).items()}
    made["many faults"] = render(*many_faults())
    made["divergent"] = render(*divergent())
    made["register"] = render(*register_history())
    wide = '<p style="width: 3000px">wide</p></main>'
    tick = re.search(r'<text class="tick".*?</text>', made["divergent"])
    assert tick is not None
    planted = made["divergent"].replace("</dl>", f"</dl>{wide}", 1)
    made["planted"] = planted.replace(tick.group(), tick.group() * 2, 1)
    return made


def printed(text: str) -> str:
    """The page as it is laid out on paper."""
    assert text.count("@media print") == 1
    return text.replace("@media print", "@media all")


def _logs(sizes: dict[int, int]) -> dict[int, Any]:
    return {processes: log_history(processes, size) for processes, size in sizes.items()}


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


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], dict[str, Any]]:
    frames = []
    made = [(name, text, width) for name, text in pages().items() for width in WIDTHS]
    made += [(name, printed(text), PAPER) for name, text in pages().items()]
    for name, text, width in made:
        # The policy would rightly refuse the script that measures.
        text = re.sub(r"<meta http-equiv=.*?>", "", text, flags=re.S)
        marked = text.replace('<html lang="en">', f'<html data-name="{name}@{width}">')
        marked = marked.replace("</body>", MEASURE + "</body>")
        frames.append(
            f'<iframe width="{width}" height="800" srcdoc="{html.escape(marked)}"></iframe>'
        )
    around = AROUND.replace("EXPECTED", str(len(frames))).replace("FRAMES", "".join(frames))
    folder = tmp_path_factory.mktemp("browser")
    document, console = run(folder, around)
    assert console == ""
    result = re.search(r'<pre id="result">(.*?)</pre>', document, re.S)
    assert result is not None, document[-2000:]
    found = json.loads(html.unescape(result.group(1)))
    return {_key(each["name"]): each for each in found}


def _key(name: str) -> tuple[str, int]:
    title, _, width = name.partition("@")
    return title, int(width)


@pytest.mark.parametrize("width", (*WIDTHS, PAPER))
@pytest.mark.parametrize("name", ["1 processes", "30 processes", "300 processes", "divergent"])
def test_nothing_stands_outside_the_page(
    name: str, width: int, measured: dict[tuple[str, int], dict[str, Any]]
) -> None:
    found = measured[name, width]
    assert (found["overflow"], found["outside"]) == (0, [])


def test_what_stands_outside_would_be_noticed(
    measured: dict[tuple[str, int], dict[str, Any]],
) -> None:
    assert measured["planted", 1200]["overflow"] > 1000 and measured["planted", 1200]["outside"]


def test_no_words_of_the_timeline_cover_others(
    measured: dict[tuple[str, int], dict[str, Any]],
) -> None:
    covered = {name: found["covered"] for (name, _), found in measured.items() if found["covered"]}
    assert list(covered) == ["planted"], covered


def test_words_fit_their_bars(measured: dict[tuple[str, int], dict[str, Any]]) -> None:
    assert [found["words"] for found in measured.values()] == [[]] * len(measured)


def test_the_evidence_is_marked(measured: dict[tuple[str, int], dict[str, Any]]) -> None:
    for (name, _), found in measured.items():
        assert found["bars"] > 5
        assert (found["accused"] >= 2) == (name != "register")


def test_arrow_keys_go_from_operation_to_operation(
    measured: dict[tuple[str, int], dict[str, Any]],
) -> None:
    for (name, _), found in measured.items():
        right, down, up, end, home, left = found["visited"]
        assert (right, end, home, left) == (1, found["bars"] - 1, 0, 0)
        assert up != down or name.startswith("1 ")
        assert found["heard"] and found["tabs"] == 1


def test_the_page_as_it_is_raises_no_complaint(tmp_path: Path) -> None:
    """With its policy, which a script of ours must not offend."""
    document, console = run(tmp_path, render(*divergent()))
    assert console == "" and 'id="said"' in document


def test_a_complaint_would_be_noticed(tmp_path: Path) -> None:
    """The negative twin: a script that the policy refuses is reported."""
    text = render(*divergent()).replace("</body>", "<script>alert(1)</script></body>")
    assert "Content Security Policy" in run(tmp_path, text)[1]
