"""The campaigns in examples/ can be run: files are read, options are those of their scenario."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from kraftcheck.cli import cli

CAMPAIGNS = sorted((Path(__file__).parents[2] / "examples" / "campaigns").glob("*.toml"))


@pytest.mark.acceptance
@pytest.mark.tlc
@pytest.mark.parametrize("path", CAMPAIGNS, ids=lambda path: path.stem)
def test_a_campaign_of_the_examples_holds(path: Path, tmp_path: Path) -> None:
    asked = ["campaign", "run", path, "--runs", 2, "--out", tmp_path / "out", "--quiet"]
    result = CliRunner().invoke(cli, [str(each) for each in asked])
    assert result.exit_code == 0, result.output
    assert "verdict    holds" in result.stdout
