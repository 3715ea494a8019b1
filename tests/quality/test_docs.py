"""The generated parts of the documentation say what their sources say now."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraftcheck import docs

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("page", docs.PAGES)
def test_generated_parts_are_fresh(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    assert "<!-- generated: " in text
    assert docs.rewritten(text) == text, "run `make docs`"


def test_a_stale_part_is_noticed() -> None:
    text = "<!-- generated: models -->\n| stale |\n<!-- end -->"
    assert docs.rewritten(text) != text
