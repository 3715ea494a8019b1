"""The examples of documents are run, and say what the documents say."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

PAGES = ("docs/histories.md", "docs/reference/histories.md")


@pytest.mark.parametrize("page", PAGES)
def test_examples_say_the_truth(
    page: str, repo_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repo_root)
    found = doctest.testfile(str(repo_root / page), module_relative=False, encoding="utf-8")
    assert found.attempted >= 5 and found.failed == 0


def test_an_example_that_lies_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\n>>> 1 + 1\n3\n\n```\n", encoding="utf-8")
    assert doctest.testfile(str(page), module_relative=False).failed == 1
