"""What the tests of the TLC driver share: where the toy modules are, and shapes of TLA+ values."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def toys() -> Path:
    """The folder of toy TLA+ modules."""
    return Path(__file__).resolve().parent / "specs"
