"""Porcupine's source and the drivers that time it, compiled by whatever Go there is.

Where Go is absent, or Porcupine cannot be had, one line says so and only ours is measured.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Final

DRIVERS: Final = Path(__file__).parent / "porcupine"
MODULE: Final = "github.com/anishathalye/porcupine"


def module_folder() -> Path | None:
    """Where Go keeps Porcupine's source; None, and a line that says why, where it does not."""
    if shutil.which("go") is None:
        print("Porcupine: skipped, there is no Go")
        return None
    ran = _go("mod", "download", "-json", MODULE)
    if ran.returncode != 0:
        reason = (ran.stdout + ran.stderr).strip().splitlines()[-1:]
        print(f"Porcupine: skipped, its module cannot be had: {' '.join(reason)[:200]}")
        return None
    return Path(json.loads(ran.stdout)["Dir"])


def build(driver: str, folder: Path) -> Path | None:
    """A driver, compiled into `folder`; None, and a line that says why, if it does not."""
    program = folder / driver
    ran = _go("build", "-o", str(program), f"./{driver}")
    if ran.returncode != 0:
        print(f"Porcupine: skipped, its driver does not build: {ran.stderr.strip()[:200]}")
        return None
    return program


def _go(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["go", *arguments], cwd=DRIVERS, capture_output=True, text=True)
