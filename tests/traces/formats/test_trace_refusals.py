"""Damaged traces are refused in one line of bounded length, whatever their manifest says."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kraftcheck.traces.formats import trace
from kraftcheck.traces.history import HistoryError
from kraftcheck.traces.sealed import sealed, unsealed
from kraftcheck.traces.store import MANIFEST, read_manifest

GOLDEN = Path(__file__).parents[2] / "conformance" / "golden"


def test_a_long_digest_in_a_manifest_is_told_in_part(tmp_path: Path) -> None:
    """Found by tests/traces/formats/fuzz.py: a digest was quoted whole."""
    folder = shutil.copytree(GOLDEN, tmp_path / "trace")
    digest = read_manifest(folder).parts[0].tables["runs"].sha256
    manifest = folder / MANIFEST
    said = unsealed(manifest.read_bytes())
    longer = digest[:9] + "x" * 10_000
    manifest.write_bytes(sealed(said.replace(digest.encode(), longer.encode())))
    with pytest.raises(HistoryError, match=r"sha256 is .*, the manifest has .*x…$") as told:
        list(trace.histories(folder))
    assert len(told.value.reason) < 500 and str(told.value).isprintable()
