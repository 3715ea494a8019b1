"""While models move from cfg files into tables: each configuration says what it said."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

from kraftcheck.specs import SPECS
from tla_utils import read_manifest
from tla_utils.config import cfg_text

HERE = Path(__file__).resolve()
KEPT = HERE.with_suffix(".json")
REPO_ROOT = HERE.parents[2]
ROOTS = (SPECS, REPO_ROOT / "examples" / "lease", REPO_ROOT / "tests" / "protocols" / "two_phase")


def test_every_configuration_says_what_it_said() -> None:
    found = {}
    for root in ROOTS:
        manifest = read_manifest(root / "models.toml")
        for model in manifest.models.values():
            normal = cfg_text(model.config)
            given = "\0".join([model.module, *model.overlays, str(model.deadlock), normal])
            found[model.name] = sha256(given.encode()).hexdigest()[:16]
    assert found == json.loads(KEPT.read_text("utf-8"))
