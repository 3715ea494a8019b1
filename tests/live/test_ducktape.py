"""A run of ducktape, judged from its results folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import kraftcheck
from kraftcheck.kafka.live.artifacts import libraries

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.skipif(
        shutil.which("ducktape") is None, reason="no `ducktape` command: see examples/ducktape"
    ),
]

EXAMPLE = Path(__file__).resolve().parents[2] / "examples/ducktape"


def test_a_bounce_holds_and_a_planted_loss_is_found(tmp_path: Path) -> None:
    project = tmp_path / "project"
    shutil.copytree(EXAMPLE, project)
    command = Path(sys.executable).with_name("kraftcheck")
    own = {"KRAFTCHECK": str(command), "KAFKA_JARS": f"{libraries()}/*"}
    call = ["ducktape", "--cluster", "local.LocalCluster", "bounce_test.py"]
    done = subprocess.run(
        call, cwd=project, env={**os.environ, **own}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:]
    results = project / "results" / "latest"
    report = kraftcheck.check(results, faults="clean", complete=True)
    assert report.holds, report
    assert len(report.documents) == 2
    (console,) = results.rglob("console_consumer.stdout")
    lines = console.read_text().splitlines()
    console.write_text("\n".join(lines[:100] + lines[101:]) + "\n")
    report = kraftcheck.check(results, faults="clean", complete=True)
    assert report.verdict == "violated", report
