"""The emitters that others are to copy: what they write is a trace.

Each is built and run where its toolchain is; elsewhere it is skipped by name.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kraftcheck.traces.foreign.reading import read_foreign

EMITTERS = Path(__file__).resolve().parents[3] / "examples/foreign/emitters"
NODE = """node --input-type=module -e '
import { writeSync } from "fs";
const { example } = await import("./emitter.js");
example(text => writeSync(1, text));'"""
BUILDS = {
    "go": (["go", "run", "{source}"], "emitter.go"),
    "java": (["java", "{source}"], "Emitter.java"),
    "rustc": (["rustc", "-o", "{out}", "{source}"], "emitter.rs"),
    "g++": (
        ["g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-o", "{out}", "{source}"],
        "emitter.cpp",
    ),
    sys.executable: ([sys.executable, "{source}"], "emitter.py"),
    "tsc": (
        ["sh", "-c", "tsc --strict --target es2022 --outDir . {source} && " + NODE],
        "emitter.ts",
    ),
}


@pytest.mark.acceptance
@pytest.mark.parametrize("tool", BUILDS, ids=lambda tool: Path(tool).name)
def test_what_an_emitter_writes_is_a_trace(tool: str, tmp_path: Path) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"no {tool}: its emitter is not tried here")
    words, name = BUILDS[tool]
    out = tmp_path / "emitter"
    command = [
        word.replace("{source}", str(EMITTERS / name)).replace("{out}", str(out)) for word in words
    ]
    own = {
        "GO111MODULE": "off",
        "GOCACHE": os.environ.get("GOCACHE", str(Path.home() / ".cache/go-build")),
        "GOFLAGS": "",
    }
    told = subprocess.run(
        command, capture_output=True, check=True, cwd=tmp_path, env={**os.environ, **own}
    ).stdout
    if out.exists():
        told = subprocess.run([out], capture_output=True, check=True).stdout
    path = tmp_path / "steps.jsonl"
    path.write_bytes(told)
    trace = read_foreign(path)
    assert (trace.producer, trace.full) == ("emitter", False)
    (step,) = trace.steps
    assert (step.node, step.action) == (1, "HandleElectionTimeout")
    assert step.after == {"role": "Prospective", "epoch": 0}


def test_an_emitter_is_short() -> None:
    """Nobody copies what is long."""
    assert all(len((EMITTERS / name).read_text().splitlines()) < 70 for _, name in BUILDS.values())
