"""What TLC's models ask for and no run draws: asked_by_models.json, by protocol.

The data are made by `python -m tests.specs.asked_by_models`.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

DATA = "asked_by_models.json"


def asked_by_models(protocol: str) -> list[dict[str, Any]]:
    """Constants of a protocol, as the reference has them."""
    return _asked().get(protocol, [])


@cache
def _asked() -> dict[str, list[dict[str, Any]]]:
    # A worker of a cluster imports from an archive, in which there are no paths.
    text = (files(__package__) / DATA).read_text("utf-8")
    return {
        name: [{of: _tuples(value) for of, value in own.items()} for own in sets]
        for name, sets in json.loads(text).items()
    }


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
