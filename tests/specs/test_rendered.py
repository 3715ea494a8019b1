"""While models move from cfg files into tables: each configuration says what it said."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

from kraftcheck.specs import SPECS
from tla_utils import Manifest, Model, read_manifest
from tla_utils.config import read_config, render

HERE = Path(__file__).resolve()
KEPT = HERE.with_suffix(".json")
REPO_ROOT = HERE.parents[2]
ROOTS = (SPECS, REPO_ROOT / "examples" / "lease", REPO_ROOT / "tests" / "protocols" / "two_phase")


def text_of(manifest: Manifest, model: Model) -> str:
    return (manifest.root / model.config).read_text("utf-8")


def test_every_configuration_says_what_it_said() -> None:
    found = {}
    for root in ROOTS:
        manifest = read_manifest(root / "models.toml")
        for model in manifest.models.values():
            normal = render(read_config(text_of(manifest, model)))
            given = "\0".join([model.module, *model.overlays, str(model.deadlock), normal])
            found[model.name] = sha256(given.encode()).hexdigest()[:16]
    assert found == json.loads(KEPT.read_text("utf-8"))
