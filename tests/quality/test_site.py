"""The site lists each page once, and a link that leads nowhere fails its build."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tools import site

ROOT = Path(__file__).resolve().parents[2]
UV = [str(ROOT / ".venv/bin/uv"), "run", "--quiet", "--isolated", "--no-project"]


def test_each_page_has_one_place() -> None:
    pages = ["README.md", "docs/measured/a.md", "docs/try.md", "finds/Z1/README.md", "x/y.md"]
    sections = {name: own for each in site.listed(pages) for name, own in each.items()}
    assert sorted(page for own in sections.values() for page in own) == pages
    assert sections["Start"] == ["README.md"]
    assert sections["Finds"] == ["finds/Z1/README.md"]
    assert sections["Measured"] == ["docs/measured/a.md"]
    assert sections["Guides"] == ["docs/try.md"]
    assert sections["The repository"] == ["x/y.md"]


@pytest.mark.slow
@pytest.mark.acceptance
@pytest.mark.parametrize("link", ["other.md#there", "gone.md", "other.md#gone", "/other.md"])
def test_a_link_that_leads_nowhere_fails(
    link: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site, "PAGES", tmp_path / "pages")
    monkeypatch.setattr(site, "SITE", tmp_path / "site")
    site.PAGES.mkdir()
    (site.PAGES / "index.md").write_text(f"# One\n\n[two]({link})\n")
    (site.PAGES / "other.md").write_text("# Two\n\n## There\n")
    config = tmp_path / "mkdocs.yml"
    config.write_text(json.dumps(site.settings(["index.md", "other.md"])))
    words = [*UV, "--with-requirements", str(ROOT / "requirements/site.txt"), "mkdocs", "build"]
    done = subprocess.run([*words, "--strict", "-f", str(config)], capture_output=True, text=True)
    assert (done.returncode == 0) == (link == "other.md#there"), done.stderr
    assert done.returncode == 0 or link in done.stderr
