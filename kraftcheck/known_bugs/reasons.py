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
        "Z64": "a configuration, nothing is replaced",
        "Z75": "a configuration, nothing is replaced",
        "Z124": "a configuration, nothing is replaced",
        "Z164": "a configuration, nothing is replaced",
        "Z309": "in a producer, of which the specs know the requests only",
        "Z310": "in a producer, of which the specs know the requests only",
    }
)
"""By bug that is replayed without an overlay: why."""

_ONCE = (
    "in a run what the controller says comes once and in order, so that an answer reaches a "
    "process before the heartbeat by which that begins to fetch; harm takes a second copy, which "
    "reaches the next process, as in its model"
)

_FORMER_RECORDS = (
    "a consumer must hold a record of the former leader as the next one's answer arrives, and "
    "acknowledge it: none in 3,000 runs"
)

_THREE_LEADERS = (
    "three leaders, the third the first again, then a snapshot: none in 3,800 runs; one that is "
    "told comes to it (tests/corpus/snapshots-Z122-NoIllegalState.schedule)"
)

NO_RUN: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        (
            "Z48",
            "histories",
        ): "one client must ask where the log ends before an election, and again "
        "in the moments before the new leader's followers have fetched, with no old leader left; "
        "none in 6,000 runs, and a steered client asks once",
        ("Z49", "histories"): "a replica that was wiped is in no ISR, so it does not lead before "
        "its next fetch has put this right, and until then it shows no record to whoever reads "
        "from it",
        ("Z56", "invariants"): _ONCE,
        ("Z56", "histories"): _ONCE,
        ("Z122", "steps"): _THREE_LEADERS,
        ("Z122", "invariants"): _THREE_LEADERS,
        ("Z430", "steps"): _FORMER_RECORDS,
        ("Z430", "invariants"): _FORMER_RECORDS,
    }
)
"""By bug and oracle that is expected to find it: why no run in which it does is stored."""
