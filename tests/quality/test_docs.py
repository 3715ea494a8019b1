"""The generated parts of the documentation say what their sources say now, and the glossary lists
terms that are used."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kraftcheck import docs
from tests.quality import tidy

ROOT = Path(__file__).resolve().parents[2]
GLOSSARY = "docs/glossary.md"


@pytest.mark.parametrize("page", docs.PAGES)
def test_generated_parts_are_fresh(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    assert "<!-- generated: " in text
    assert docs.rewritten(text) == text, "run `make docs`"


def test_a_stale_part_is_noticed() -> None:
    text = "<!-- generated: models -->\n| stale |\n<!-- end -->"
    assert docs.rewritten(text) != text


def unused(glossary: str, used: str) -> list[str]:
    """Terms of the glossary (a first column of its tables) that occur nowhere else."""
    terms = re.findall(r"^\| ([^|]+) \|", glossary, re.MULTILINE)
    assert "row" in terms
    return [
        term
        for term in terms
        if term != "term" and not re.search(rf"\b{re.escape(term)}", used, re.IGNORECASE)
    ]


def test_the_glossary_lists_terms_that_are_used() -> None:
    names = [
        name
        for name in tidy.tracked_files(ROOT)
        if Path(name).suffix in {".py", ".tla", ".md"} and name != GLOSSARY
    ]
    used = "\n".join((ROOT / name).read_text("utf-8") for name in names)
    assert unused((ROOT / GLOSSARY).read_text("utf-8"), used) == []


def test_a_term_that_nobody_uses_is_noticed() -> None:
    glossary = "| term | means |\n|---|---|\n| row | state |\n| gribble | none |\n"
    assert unused(glossary, "Rows are values.") == ["gribble"]
