"""The core is a function of its arguments: other processes and hash seeds give the same bytes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.reference.quorum.walks import digest

SCRIPT = "from tests.reference.quorum.walks import digest; print(digest(seed=5, steps=400))"


@pytest.mark.parametrize("hash_seed", ["0", "1"])
def test_the_same_bytes_come_out_under_any_hash_seed(hash_seed: str, repo_root: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=repo_root,
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(repo_root)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == digest(seed=5, steps=400)


def test_the_digest_sees_a_difference() -> None:
    assert digest(seed=5, steps=400) != digest(seed=6, steps=400)
    assert digest(seed=5, steps=399) != digest(seed=5, steps=400)
