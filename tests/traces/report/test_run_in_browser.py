"""The page about a run in a real browser: it fits, complains of nothing, obeys keys.

Skipped where no Chromium is found.
"""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.traces.report.run import render
from tests.traces.report.browser import in_a_browser, run
from tests.traces.report.runs import run_of

pytestmark = in_a_browser

WITHOUT_POLICY = re.compile(r"<meta http-equiv=.*?>", re.S)
ASK = """<script>
addEventListener("load", () => {
  const heading = () => document.querySelector("#panel h2").textContent;
  const seen = [heading()];
  const box = document.querySelector("g.step.here").getBoundingClientRect();
  const first = { top: box.top, bottom: innerHeight - box.bottom, scrolled: scrollY };
  for (const key of ["Home", "ArrowDown", "ArrowRight", "ArrowUp", "End", "Home", "n"]) {
    document.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    seen.push(heading());
  }
  const mark = document.querySelectorAll("g.step")[1];
  mark.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  const cells = [...document.querySelectorAll("#panel td")].map((cell) => cell.textContent);
  const lit = document.querySelectorAll("g.arrow.here").length;
  const result = document.createElement("pre");
  result.id = "result";
  result.textContent = JSON.stringify({
    seen, first, clicked: heading(), cells, lit,
    wrong: document.querySelectorAll("#panel .changed").length,
    overflow: document.documentElement.scrollWidth - innerWidth,
    panel: document.getElementById("panel").getBoundingClientRect().right - innerWidth,
  });
  document.body.replaceChildren(result);
});
</script>"""


def asked(folder: Path, page: str, width: int) -> Any:
    marked = WITHOUT_POLICY.sub("", page).replace("</body>", ASK + "</body>")
    document, console = run(folder, marked, f"--window-size={width},900")
    assert console == ""
    found = re.search(r'<pre id="result">(.*?)</pre>', document, re.S)
    assert found is not None, document[-2000:]
    return json.loads(html.unescape(found.group(1)))


@pytest.mark.parametrize("width", [1300, 500])
@pytest.mark.parametrize(("steps", "lanes"), [(3, 3), (200, 3), (200, 14)])
def test_keys_and_clicks_show_steps(steps: int, lanes: int, width: int, tmp_path: Path) -> None:
    found = asked(tmp_path, render(run_of(steps, lanes)), width)
    last = f"step {steps - 1}: Pass"
    # It begins at the first step of which something is said.
    assert found["seen"] == [
        *(last, "step 0: Pass", "step 1: Pass", "step 2: Pass", "step 1: Pass"),
        *(last, "step 0: Pass", last),
    ]
    assert found["first"]["top"] >= 0 and found["first"]["bottom"] >= 0
    assert (found["first"]["scrolled"] > 0) == (steps > 3)
    assert found["clicked"] == "step 1: Pass"
    # Node 1 has passed on a first token, the one that it got from step 0.
    assert found["cells"][1] == "0 1" and found["wrong"] == 1 and found["lit"] == 2
    assert found["overflow"] <= 0 and found["panel"] <= 1


def test_the_page_as_it_is_raises_no_complaint(tmp_path: Path) -> None:
    document, console = run(tmp_path, render(run_of(200)))
    assert console == "" and "step 199: Pass" in document


def test_too_wide_a_page_would_be_noticed(tmp_path: Path) -> None:
    wide = render(run_of(3)).replace("<main>", '<p style="width: 3000px">wide</p><main>')
    assert asked(tmp_path, wide, 1300)["overflow"] > 1000
