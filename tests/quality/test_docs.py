"""The generated parts of the documentation say what their sources say now."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import make_docs  # noqa: E402 (it is a script beside the package, not part of it)


@pytest.mark.parametrize("page", make_docs.PAGES)
def test_generated_parts_are_fresh(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    assert "<!-- generated: " in text
    assert make_docs.rewritten(text) == text, "run `make docs`"


def test_a_stale_part_is_noticed() -> None:
    text = "<!-- generated: models -->\n| stale |\n<!-- end -->"
    assert make_docs.rewritten(text) != text
