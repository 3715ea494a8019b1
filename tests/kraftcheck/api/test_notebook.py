"""The notebooks in examples/: each cell is executed, in order, in one namespace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parents[3] / "examples/notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    notebook = json.loads(path.read_text("utf-8"))
    cells = [each for each in notebook["cells"] if each["cell_type"] == "code"]
    assert len(cells) > 3 and not any(each["outputs"] for each in cells), "outputs are not stored"
    names: dict[str, Any] = {}
    for cell in cells:
        exec("".join(cell["source"]), names)
    assert names["report"].holds and names["violated"].verdict == "violated"


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS
