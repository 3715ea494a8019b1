"""The manifest of models: complete, in order with the files, and its small tiers as it says."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.specs.cfgs import SPECS
from tla_utils import check_models, read_manifest
from tla_utils.manifest import lint

_NAMED = re.compile(r"^(\w+) ==", re.MULTILINE)
# In QuorumProperties: what is a property of the quorum, and not a part of one.
_PARTS = {"vars", "HistoryInit", "HistoryNext", "TraceAppends", "KnownCommitted", "Abstract"}


def properties() -> list[str]:
    """Every named property of QuorumProperties, read from the module's text."""
    text = (SPECS / "QuorumProperties.tla").read_text("utf-8")
    names = [match[1] for match in _NAMED.finditer(text)]
    return [name for name in names if name not in _PARTS and not name.endswith("Step")]


def complaints(specs: Path) -> list[str]:
    every = properties()
    roots = ("MCQuorum", "MCQuorumReduced", "MCQuorumLiveness")
    return lint(read_manifest(specs / "models.toml"), dict.fromkeys(roots, every))


def test_the_manifest_is_in_order() -> None:
    assert len(properties()) == 18
    assert complaints(SPECS) == []


def test_a_property_that_a_cfg_forgets_is_told(tmp_path: Path) -> None:
    copy = tmp_path / "specs"
    shutil.copytree(SPECS, copy)
    cfg = copy / "models" / "quorum-reduced.cfg"
    cfg.write_text(cfg.read_text("utf-8").replace("  LogMatching\n", ""), "utf-8")
    (copy / "models" / "nobody.cfg").write_text("SPECIFICATION Spec\n", "utf-8")
    told = "\n".join(complaints(copy))
    assert "quorum-reduced" in told and "LogMatching" in told
    assert "models/nobody.cfg is the cfg of no model" in told


@pytest.mark.tlc
@pytest.mark.parametrize("tier", ["small", "bugs"])
def test_tlc_finds_what_the_manifest_says(tier: str) -> None:
    manifest = read_manifest(SPECS / "models.toml")
    results = check_models(manifest, manifest.select((), [tier]))
    assert results
    assert [f"{r.model.name}: {r.reason}" for r in results if not r.matches] == []
