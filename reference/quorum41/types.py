"""The state of a voter: the quorum's, with fetches that say what their sender knows.

Law of this file: values only. The row is that of specs/quorum/QuorumHandlers.tla.
"""

from __future__ import annotations

from msgspec.structs import asdict

from kraftcheck.reference.kit.fields import SetOf
from kraftcheck.reference.quorum import types as quorum
from kraftcheck.reference.quorum41.messages import FetchRequest


class Constants(quorum.Constants, frozen=True, tag="quorum41", tag_field="protocol"):
    """Who votes (Q1: the static voter set of kraft.version 0), and what a majority is."""


class Row(quorum.Row, frozen=True, gc=False, cache_hash=True):
    """The whole state of one voter. The hash is kept, because steps are memoised by row."""

    parked: SetOf[FetchRequest]
    """Leader: fetches waiting for records or news, in the order of `kit.messages.canonical`."""


def initial_row(constants: quorum.Constants) -> Row:
    """The first state of every voter: it knows nothing, has nothing, and begins with a start."""
    return Row(**{**asdict(quorum.initial_row(constants)), "role": "Down"})
