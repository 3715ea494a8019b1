"""Pages about judged folders and campaigns in a real browser: they fit, and draw their figures.

Skipped where no Chromium is found.
"""

from __future__ import annotations

from pathlib import Path

from kraftcheck.traces.report.campaign import render_campaign
from tests.traces.report.browser import WIDTHS, in_a_browser, laid_out
from tests.traces.report.test_campaign_report import configuration, findings
from tests.traces.report.test_report import MODEL, page, rejection, summary

pytestmark = in_a_browser

MEASURE = """<script>
addEventListener("load", () => parent.postMessage(JSON.stringify({
  name: document.documentElement.dataset.name,
  overflow: document.documentElement.scrollWidth - innerWidth,
  figures: document.querySelectorAll("svg").length,
  curves: document.querySelectorAll("svg.wide").length,
}), "*"));
</script>"""
PLANTED = '<p style="width: 3000px">wide</p></body>'


def test_nothing_stands_outside_a_page(tmp_path: Path) -> None:
    long = {**MODEL, "name": "kafka-4.3-forgets-metadata-offset", "property": "NoStaleRefusalProbe"}
    pages = {
        "good": page(tmp_path, summary(), [MODEL, long]),
        "bad": page(tmp_path, summary(verdict="violated", rejections=[rejection()]), [MODEL]),
        "campaign": render_campaign(findings(configuration("a"), configuration("b"))),
    }
    pages |= {f"wide {name}": text.replace("</body>", PLANTED) for name, text in pages.items()}
    made = [(name, text, width) for name, text in pages.items() for width in WIDTHS]
    for (name, width), found in laid_out(tmp_path, made, MEASURE).items():
        if name.startswith("wide"):
            assert found["overflow"] > 1000, (name, width)
        else:
            assert found["overflow"] == 0 and found["figures"] >= 3, (name, width)
        assert found["curves"] == 4 or not name.endswith("campaign")
