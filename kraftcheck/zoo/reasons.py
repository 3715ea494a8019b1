"""Why some bugs have no overlay, and why some expected detections have no stored run.

Why one oracle alone sees a bug stands in its entry of the catalogue.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

NO_OVERLAY: Mapping[str, str] = MappingProxyType(
    {
        "Z36": "in the reference only: in the models nothing else is sent before the answer",
        "Z40": "a configuration, nothing is replaced",
        "Z53": "a configuration, nothing is replaced",
        "Z54": "a configuration, nothing is replaced",
        "Z59": "in the reference only: no model sends so many batches",
    }
)
"""By bug that is replayed without an overlay: why."""

NO_RUN: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        ("Z03", "histories"): "no client happened to read or write while the state was wrong",
        ("Z04", "histories"): "no client happened to read or write while the state was wrong",
        (
            "Z05",
            "histories",
        ): "epochs must take turns so that a record of one is cut by another and comes "
        "back, as in the 14 states of its model; none in 2,000 runs, and a client must "
        "see it",
        ("Z08", "histories"): "no client happened to read or write while the state was wrong",
        ("Z44", "histories"): "no client happened to read or write while the state was wrong",
        ("Z48", "histories"): "no client happened to read or write while the state was wrong",
        ("Z49", "histories"): "no client happened to read or write while the state was wrong",
        (
            "Z56",
            "invariants",
        ): "the answer to a registration must outlive its process, and reach the next one "
        "while that waits for its own",
        (
            "Z56",
            "histories",
        ): "the answer to a registration must outlive its process, and reach the next one "
        "while that waits for its own, and a client must see it",
        (
            "Z60",
            "invariants",
        ): "a follower must cut a batch, be elected, and be sent that very batch again",
        (
            "Z60",
            "histories",
        ): "a follower must cut a batch, be elected, and be sent that very batch again, "
        "and a client must see it",
    }
)
"""By bug and oracle that is expected to find it: why no run in which it does is stored."""
