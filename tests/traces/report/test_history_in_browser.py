"""The page about a client history in a real browser: it fits, complains of nothing, obeys keys.

Skipped where no Chromium is found.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.traces.report.history import render
from tests.traces.report.browser import PAPER, WIDTHS, in_a_browser, laid_out, run
from tests.traces.report.histories import (
    divergent,
    log_history,
    many_faults,
    register_history,
    stale,
)

pytestmark = in_a_browser

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


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], dict[str, Any]]:
    made = [(name, text, width) for name, text in pages().items() for width in WIDTHS]
    made += [(name, printed(text), PAPER) for name, text in pages().items()]
    return laid_out(tmp_path_factory.mktemp("browser"), made, MEASURE)


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
