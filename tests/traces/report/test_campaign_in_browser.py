"""The page about a campaign in a real browser: it fits, and what is too wide scrolls in its place.

Skipped where no Chromium is found.
"""

from __future__ import annotations

from pathlib import Path

from kraftcheck.traces.report.campaign import render_campaign
from tests.traces.report.browser import WIDTHS, in_a_browser, laid_out
from tests.traces.report.test_campaign_report import configuration, findings

pytestmark = in_a_browser

MEASURE = """<script>
addEventListener("load", () => parent.postMessage(JSON.stringify({
  name: document.documentElement.dataset.name,
  overflow: document.documentElement.scrollWidth - innerWidth,
  curves: document.querySelectorAll("svg.wide").length,
}), "*"));
</script>"""


def test_nothing_stands_outside_the_page(tmp_path: Path) -> None:
    page = render_campaign(findings(configuration("a"), configuration("b")))
    planted = page.replace("</body>", '<p style="width: 3000px">wide</p></body>')
    pages = {"page": page, "planted": planted}
    made = [(name, text, width) for name, text in pages.items() for width in WIDTHS]
    found = laid_out(tmp_path, made, MEASURE)
    for width in WIDTHS:
        assert found["page", width]["overflow"] == 0 and found["page", width]["curves"] == 4
        assert found["planted", width]["overflow"] > 1000
