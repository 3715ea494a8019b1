"""The page of a judged folder, `verify`'s, in a real browser: it fits, and draws its figures.

Skipped where no Chromium is found.
"""

from __future__ import annotations

from pathlib import Path

from tests.traces.report.browser import WIDTHS, in_a_browser, laid_out
from tests.traces.report.test_report import MODEL, page, rejection, summary

pytestmark = in_a_browser

MEASURE = """<script>
addEventListener("load", () => parent.postMessage(JSON.stringify({
  name: document.documentElement.dataset.name,
  overflow: document.documentElement.scrollWidth - innerWidth,
  bars: document.querySelectorAll("svg").length,
}), "*"));
</script>"""


def test_nothing_stands_outside_the_page(tmp_path: Path) -> None:
    long = {**MODEL, "name": "kafka-4.3-forgets-metadata-offset", "property": "NoStaleRefusalProbe"}
    good = page(tmp_path, summary(), [MODEL, long])
    bad = page(tmp_path, summary(verdict="violated", rejections=[rejection()]), [MODEL])
    planted = good.replace("</body>", '<p style="width: 3000px">wide</p></body>')
    pages = {"good": good, "bad": bad, "planted": planted}
    made = [(name, text, width) for name, text in pages.items() for width in WIDTHS]
    found = laid_out(tmp_path, made, MEASURE)
    for width in WIDTHS:
        for name in ("good", "bad"):
            assert found[name, width]["overflow"] == 0, (name, width)
            assert found[name, width]["bars"] >= 3
        assert found["planted", width]["overflow"] > 1000
