"""How TLC's states are read where a model does not show nodes and messages as they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

from tla_utils import Value


class Reading(NamedTuple):
    """constants: from the texts of a cfg. seen: of each node its row, and the messages in the
    network, under these constants. own: as much of a row or message of the reference.
    """

    constants: Callable[[Mapping[str, str]], Any]
    seen: Callable[[Any, Mapping[str, Value]], tuple[dict[int, Value | None], Value | None]]
    own: Callable[[Value], Value]


def reading_of(protocol: str) -> Reading | None:
    """Of the module here that has the protocol's name; None: there is none, or it has none."""
    name = f"{__package__}.{protocol}"
    found: Reading | None = None
    if find_spec(name) is not None:
        found = getattr(import_module(name), "READING", None)
    return found
